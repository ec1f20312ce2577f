"""What the program of these tests counted of itself, and what `ada verify` says of its recording."""
import collections
import json
import os
import pathlib
import struct
import time

from harness import Session

ENTRY = struct.Struct("<QQQQ")
OPTIONS = ("--functions=counted_*", "--no-libcalls")
BLOCK = 64 << 10                        # what a thread's next block takes at most, with the file system's rounding
DEPTH = 9                               # of the program's calls at most, with the one that it is just at


def own_books(path):
    """tid -> calls and ends that its threads counted."""
    data, own = path.read_bytes(), collections.Counter()
    for tid, calls, ends, _ in ENTRY.iter_unpack(data[:len(data) - len(data) % ENTRY.size]):
        if tid:
            own[tid] += calls + ends
    assert own, "nothing was counted"
    return own


def books_of(ada, session, aged=False):
    """What verify prints, which is sound: tid -> sum of its threads' books, and the manifest's index lane. `aged`: segments have gone."""
    result = ada("verify", "--format=json", session.path)
    assert result.stdout, result.stderr
    answer = json.loads(result.stdout)
    assert result.status == 0, [row for row in answer["rows"] if not row["ok"]]
    found = {}
    for book in answer["books"]:
        assert not book["torn"] and (aged or not book["aged"])
        assert book["captured"] == book["calls"] + book["ends"] + book["aged"] + book["lost"]
        assert book["event_count"] == book["calls"] + book["ends"] + book["others"] and book["told"] <= book["lost"]
        found.setdefault(book["tid"], collections.Counter()).update({k: book[k] for k in ("captured", "lost", "told", "event_count")})
    manifest, = session.manifests().values()
    lane = manifest["index_lane"]
    assert lane.get("aged", 0) == sum(b["aged"] for b in answer["books"])
    # What has gone had LOST records, too, and others.
    assert lane["event_count"] - sum(b["event_count"] + b["aged"] for b in answer["books"]) >= 0
    assert aged or lane["event_count"] == sum(b["event_count"] for b in answer["books"])
    assert lane["lost"] == sum(b["lost"] for b in answer["books"])
    return found, lane, manifest


def check_books(ada, output, book, slack=0, aged=False):
    """captured is what the program counted, thread by thread; to `slack` events where it was killed. Returns lane, manifest."""
    own = own_books(book)
    found, lane, manifest = books_of(ada, Session(output), aged)
    wrong = {tid: (count, dict(found.get(tid, {}))) for tid, count in own.items()
             if abs(found.get(tid, {}).get("captured", 0) - count) > slack}
    assert not wrong, f"{len(wrong)} of {len(own)} threads, own count and books: {dict(list(wrong.items())[:5])}"
    assert not {tid: books for tid, books in found.items() if tid not in own and books["captured"]}, "threads that counted nothing"
    return lane, manifest


def wait_for_counts(book, events):
    """Until the program has counted so many. It counts in memory that is this file: nothing else can tell."""
    while not book.exists() or not book.stat().st_size or sum(own_counts(book)) < events:
        os.sched_yield()


def own_counts(book):
    data = book.read_bytes()[:ENTRY.size * 64]
    return [calls + ends for _, calls, ends, _ in ENTRY.iter_unpack(data)]


def own_calls(book):
    """Calls that the program counted."""
    data = book.read_bytes()
    return sum(int.from_bytes(data[at + 8:at + 16], "little") for at in range(0, len(data), 32))


def session_size(output):
    """What the sessions take on the disk; files may go meanwhile."""
    total = 0
    for directory, _, names in os.walk(output):
        for name in names:
            try:
                total += os.lstat(pathlib.Path(directory) / name).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


def until(condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "it doesn't come"
        time.sleep(0.01)
