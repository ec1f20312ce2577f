"""`ada trace --disk-limit` and `--max-age`: a recording of any length stays as large, or as young, as asked. The oldest segments go while it is
recorded, and nothing is lost: the books are exact, and sums by function are those of all calls, whoever looks, or is killed, meanwhile."""
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

from books import BLOCK, DEPTH, OPTIONS, books_of, check_books, own_calls, own_counts, session_size, until, wait_for_counts
from harness import Session
from live import Live

MIB = 1 << 20
LIMIT = 4 * MIB


class Watch(threading.Thread):
    """How large it ever was."""

    def __init__(self, output):
        super().__init__()
        self.output, self.largest, self.over = output, 0, False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *unused):
        self.over = True
        self.join()

    def run(self):
        while not self.over:
            self.largest = max(self.largest, session_size(self.output))
            time.sleep(0.005)


def calls_of(ada, session, *words):
    """Calls that the report counts of the program's functions, and what it says of how complete it is."""
    result = ada("report", "--format=json", *words, session)
    assert result.status == 0, result.stderr.decode()
    answer = json.loads(result.stdout)
    return sum(row["calls"] for row in answer["rows"] if row["function"].startswith("counted_")), answer["completeness"]


def test_a_limit_is_kept(ada, record, tmp_path):
    output = tmp_path / "out"
    with Watch(output) as watch:
        _, book = record(4, 600000, 1, f"--disk-limit={LIMIT}", "--on-full=block", "--detail=off", output=output)
    assert watch.largest <= LIMIT + 4 * BLOCK and session_size(output) <= LIMIT
    lane, manifest = check_books(ada, output, book, aged=True)
    assert lane["lost"] == 0 and lane["aged"] > lane["event_count"] // 5
    calls, completeness = calls_of(ada, Session(output).path)
    assert calls == own_calls(book)
    assert completeness["aged"] == lane["aged"] and not completeness["complete"]
    for thread in manifest["threads"]:
        assert all(segment["packed"] for segment in thread["segments"])


def test_threads_that_have_ended(ada, record, tmp_path):
    """Also their last segments go; what they added up to stays."""
    output = tmp_path / "out"
    _, book = record(2, 40000, 20, "--disk-limit=1M", "--on-full=block", "--detail=off", output=output)
    assert session_size(output) <= MIB
    lane, manifest = check_books(ada, output, book, aged=True)
    gone = [thread for thread in manifest["threads"] if thread.get("aged", 0) == thread["events"] and thread["events"]]
    assert len(gone) > 4 and all(len(thread["segments"]) == 1 and not thread["segments"][0]["events"] for thread in gone)
    assert calls_of(ada, Session(output).path)[0] == own_calls(book)


@pytest.mark.parametrize("threads,generations", [(2, 40), (80, 1)])
def test_a_limit_that_cant_be_kept(ada, program, tmp_path, threads, generations):
    """Sums and files of so many threads are more than it: it is raised, which one line says, and nothing waits for room that can't come."""
    command = [ada.path, "trace", f"--output={tmp_path / 'out'}", *OPTIONS, "--on-full=block", "--disk-limit=1M", "--detail=off", "--",
               program, tmp_path / "book", threads, 40000 if threads < 80 else 10000, generations]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    said = [line for line in result.stderr.splitlines() if "--disk-limit" in line]
    assert len(said) == 1 and re.search(r": --disk-limit=1\.00 MiB is too little: names of functions and sums of threads take [\d.]+ [KM]iB that "
                                        r"can't go, and \d+ threads write; it may have [248]\.00 MiB now, and more as these grow$", said[0]), said
    limit = re.search(r"of (\d+)\.00 MiB on the disk", result.stderr)
    told = {"diskLimit": int(limit[1]) * MIB, "diskLimitAsked": MIB, "detailLimit": None, "maxAgeNs": None}
    session = Session(tmp_path / "out").path
    assert all(json.loads(file.read_text())["bound"] == told for file in (session / "session.json", next(session.glob("pid_*/manifest.json"))))
    shown = subprocess.run([ada.path, "info", session], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^limits +{limit[1]}\.00 MiB on the disk \(--disk-limit=1\.00 MiB was too little\)$", shown, re.M), shown
    assert limit and MIB < session_size(tmp_path / "out") <= int(limit[1]) * MIB
    lane, _ = check_books(ada, tmp_path / "out", tmp_path / "book", aged=True)
    assert lane["lost"] == 0 and calls_of(ada, Session(tmp_path / "out").path)[0] == own_calls(tmp_path / "book")


def test_the_summary_names_limits(ada, program, tmp_path):
    command = [ada.path, "trace", f"--output={tmp_path / 'out'}", *OPTIONS, "--on-full=block", "--disk-limit=1M", "--detail-limit=1M",
               "--max-age=1h", "--trigger=symbol=counted_jumper@every=3000,pre=300ev,post=300ev", "--", program, tmp_path / "book", 2, 100000, 1]
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120)
    said = next(line for line in result.stderr.splitlines() if " events, " in line)
    assert re.search(r", nothing lost, \d+ older ones \([1-9][\d.]* %\) gone but for their sums, [\d.]+ [KM]iB of 1\.00 MiB on the disk, "
                     r"the last 3600 s, [\d.]+ [KM]?i?B of 1\.00 MiB of detail(, [\d.]+ [KM]iB kept for windows)?, \d+ windows of", said), said
    shown = subprocess.run([ada.path, "info", Session(tmp_path / "out").path], capture_output=True, text=True, check=True).stdout
    assert re.search(r"^limits +1\.00 MiB on the disk, 1\.00 MiB of detail, 3600 s of time$", shown, re.M), shown


@pytest.fixture
def live(ada, program, tmp_path):
    """live(OPTION...): the program, which goes on until it is killed."""
    running = []

    def start(*options, threads=4):
        running.append(Live(ada, tmp_path / "out", [program, tmp_path / "book", threads, 0, 1], *OPTIONS, "--on-full=block", *options))
        return running[-1], tmp_path / "book"
    yield start
    for one in running:
        one.close()


def end(one):
    """Kills the program: ada ends in order."""
    os.kill(int(next(one.session.glob("pid_*")).name.split("_")[1]), signal.SIGKILL)
    one.process.communicate(timeout=60)


def test_many_threads(ada, live, rounds):
    """Each may have a block more. They make more events than two processors can pack: some are dropped, and counted."""
    threads, limit = rounds(256, 16), rounds(256, 6) * MIB
    one, book = live(f"--disk-limit={limit}", "--detail=off", "--on-full=drop", threads=threads)
    with Watch(one.output) as watch:
        until(lambda: bound(one)["segments"] > 2 * threads, rounds(1800, 120))
        end(one)
    assert watch.largest <= limit + threads * BLOCK
    check_books(ada, one.output, book, slack=DEPTH, aged=True)


def bound(one):
    return one.request("status")["bound"]


def aged(one):
    return bound(one)["aged"]


def test_who_reads_meanwhile(ada, live):
    """Segments vanish under them."""
    one, _ = live(f"--disk-limit={LIMIT}", "--detail=off")
    until(lambda: aged(one))
    before = 0
    for _ in range(6):
        calls, completeness = calls_of(ada, one.session)
        assert calls > before and completeness["aged"] > 0
        before = calls
        result = ada("query", "--format=json", one.session, "SELECT SUM(calls) AS calls FROM fn_stats()")
        assert result.status == 0 and json.loads(result.stdout)["rows"][0]["calls"] >= calls, result.stderr.decode()
        for words in ("dump", "--limit=3"), ("info",), ("top", "--once"), ("status",):
            result = ada(*words, one.session)
            assert result.status == 0, (words, result.stderr.decode())
    assert b"on the disk: " in result.stdout and b" of 4.00 MiB; " in result.stdout
    end(one)


def test_age(ada, live):
    """What is older goes, also of threads that have nothing more to write."""
    one, book = live("--max-age=2s", "--detail=off", threads=1)
    until(lambda: bound(one)["segments"] > 2)
    end(one)
    check_books(ada, one.output, book, slack=DEPTH, aged=True)
    result = ada("query", "--format=json", one.session, "SELECT MIN(timestamp_ns) AS first, MAX(timestamp_ns) AS last FROM events")
    row = json.loads(result.stdout)["rows"][0]
    # A segment lasts a second, and stays until its last event is old enough.
    start = json.loads((one.session / "session.json").read_text())["startNs"]
    assert row["first"] - start > 5e8 and row["last"] - row["first"] > 1.5e9
    assert abs(calls_of(ada, one.session)[0] - own_calls(book)) <= 4


def test_nothing_older_stays(ada, tmp_path, monkeypatch, capfd):
    """The oldest event on the disk, ten times a second while it is recorded: a segment lasts a second and goes whole, a look comes twice a
    second, and what goes is summed up first. For how long the machine gave no processor or no disk is measured, and counts as its own."""
    slack, bench = 3, pathlib.Path(__file__).resolve().parents[2] / "bench" / "age_bench"
    monkeypatch.setenv("BENCH_PLACE", str(tmp_path))
    done = subprocess.run([bench, ada.path, "0.2", "10", "2"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with capfd.disabled():
        print(done.stdout, end="")
    median, looks, most, own, part, events = re.fullmatch(
        r"0\.2 million events a second: the oldest event is (-?[0-9.]+) s older than 2 s at the median of (\d+) looks, (-?[0-9.]+) s at most, "
        r"(-?[0-9.]+) of it ada's; the machine's part ([0-9.]+) s, ([0-9,]+) events made, late [0-9.]+ s\n", done.stdout).groups()
    # Ten looks a second, where this process has a processor.
    assert int(looks) / 10 + float(part) > 2 and int(events.replace(",", "")) > 1000000
    # What is younger than that would have gone too soon.
    assert -.2 < float(median) <= float(most) and float(own) < slack, done.stdout + done.stderr


def test_windows_go_with_the_index(ada, live):
    """What is left of detail is sound; a window that has gone is named still."""
    one, _ = live(f"--disk-limit={LIMIT}", "--trigger=symbol=counted_jumper@every=1000,pre=10ev,post=10ev")

    def windows():
        answer = ada("windows", "--format=json", one.session)
        assert answer.status == 0, answer.stderr.decode()
        return json.loads(answer.stdout)["rows"]
    until(lambda: aged(one) and windows())
    early = windows()
    now = aged(one)
    until(lambda: aged(one) > 2 * now)
    end(one)
    books_of(ada, Session(one.output), aged=True)
    rows = windows()
    assert len(rows) > len(early) > 0
    for words in ("narrate", "--all"), ("dump", "--window=0"):
        result = ada(*words, one.session)
        assert result.status == 0, (words, result.stderr.decode())
    newest = [ada("dump", "--detail", f"--window={row['window']}", one.session) for row in rows[-10:]]
    assert all(dump.status == 0 for dump in newest) and any(b"counted_jumper" in dump.stdout for dump in newest), (rows[-10:], newest[-1].stdout)


@pytest.mark.parametrize("moment", range(4))
def test_killed(ada, live, moment):
    """The recorder dies as segments go: each event counts once, in totals, files or memory."""
    one, book = live(f"--disk-limit={LIMIT}", "--detail=off")
    until(lambda: aged(one))
    wait_for_counts(book, sum(own_counts(book)) + 100000 * moment)
    os.kill(int(next(one.session.glob("pid_*")).name.split("_")[1]), signal.SIGKILL)
    one.process.kill()
    one.process.communicate(timeout=60)
    until(lambda: json.loads((one.session / "session.json").read_text())["finalized"])
    assert ada("recover", one.session).status == 0
    lane, manifest = check_books(ada, one.output, book, slack=2, aged=True)
    assert lane["aged"] > 0 and manifest["recovered"]["by"] == "keeper"
    assert not list(one.session.rglob("*.tmp"))
    for thread in manifest["threads"]:
        there = sorted(path.name for path in (one.session.glob(f"pid_*/{thread['directory']}/index*")))
        assert there == sorted(segment["file"] for segment in thread["segments"])


@pytest.mark.parametrize("words,error", [
    (("--disk-limit=1K",), b"--disk-limit=1K: must be between 1.00 MiB and"), (("--max-age=1ms",), b"--max-age=1ms: must be 1s at least"),
    (("--max-age=5",), b"--max-age: "), (("--disk-limit=1G", "--pack=never"), b"--disk-limit needs packed files"),
    (("--max-age=1h", "--index-mode=circular"), b"--max-age needs --index-mode=streaming")])
def test_refused(ada, words, error):
    result = subprocess.run([ada.path, "trace", *words, "true"], capture_output=True)
    assert result.returncode == 125 and error in result.stderr and result.stderr.count(b"\n") == 1
