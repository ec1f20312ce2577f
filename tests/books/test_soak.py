"""A million events a second for hours, in bounded space: the books are exact, and so are the times. `make check` takes some seconds of it;
SOAK_SECONDS says how many `make soak` takes, in place of 7,200."""
import bisect
import collections
import json
import os
import subprocess

from books import ENTRY, OPTIONS, check_books, session_size
from harness import Session

OFF_NS = 1000                           # from CLOCK_BOOTTIME, at most
RATE, THREADS = 500_000, 2              # calls a second
LIMIT = 64 << 20


def ticks_of(path):
    """tid -> what the clock said before and behind each, in order."""
    found, data = collections.defaultdict(list), path.read_bytes()
    for tid, before, after, _ in ENTRY.iter_unpack(data[:len(data) - len(data) % ENTRY.size]):
        found[tid].append((before, after))
    return found


def test_books_and_times_are_exact(ada, build_dir, tmp_path, rounds):
    seconds = rounds(int(os.environ.get("SOAK_SECONDS", 7200)), 4)
    output, book, ticks = tmp_path / "out", tmp_path / "book", tmp_path / "ticks"
    command = [ada.path, "trace", "--quiet", f"--output={output}", *OPTIONS, f"--disk-limit={LIMIT}", "--", build_dir / "tests/books/books_ticks",
               book, ticks, THREADS, RATE, seconds]
    result = subprocess.run([str(word) for word in command], capture_output=True, timeout=2 * seconds + 60)
    assert result.returncode == 0, result.stderr.decode()
    lane, _ = check_books(ada, output, book, aged=True)
    assert lane["event_count"] + lane["lost"] - lane["gaps"] >= 2 * RATE * seconds * 0.99
    assert session_size(output) <= LIMIT
    query = ada("query", "--format=json", Session(output).path, "SELECT tid, start_ns FROM calls WHERE function = 'counted_tick'")
    assert query.status == 0, query.stderr
    own, rows = ticks_of(ticks), json.loads(query.stdout)["rows"]
    assert rows and len(rows) <= sum(map(len, own.values()))
    for row in rows:
        pairs = own[row["tid"]]
        before, after = pairs[bisect.bisect_right(pairs, (row["start_ns"] + OFF_NS, 2 ** 64)) - 1]
        assert before - OFF_NS <= row["start_ns"] <= after + OFF_NS
    print(f"{seconds} s: {lane['event_count']:,} events kept or aged, {lane['lost']:,} lost, {lane.get('aged', 0):,} aged; {len(rows):,} times looked at")
