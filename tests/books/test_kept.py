"""Windows in a recording that is kept within bounds: they outlive the events around them, with their detail, until they alone are more than
half of the limit; then the oldest go, and nothing tells of them as if they were there."""
import json
import os
import re
import signal
import time

import pytest

from books import BLOCK, DEPTH, OPTIONS, check_books, own_calls, own_counts, session_size, until, wait_for_counts
from live import Live

MIB = 1 << 20
SECOND = 10**9
AROUND = 9 * SECOND // 10       # of the second around a window: the drain's moment isn't the window's
FAR = 3 * SECOND                # a longer stall than that isn't expected
ROLLS = "pre=300ev,post=300ev"


@pytest.fixture
def live(ada, program, tmp_path):
    """live(OPTION...): two threads that make some million events a second until they are killed."""
    running = []

    def start(*options):
        running.append(Live(ada, tmp_path / "out", [program, tmp_path / "book", 2, 0, 1, "slow"], *OPTIONS, "--on-full=block", *options))
        return running[-1], tmp_path / "book"
    yield start
    for one in running:
        one.close()


def kill(one):
    os.kill(int(next(one.session.glob("pid_*")).name.split("_")[1]), signal.SIGKILL)


def end(one):
    kill(one)
    one.process.communicate(timeout=60)


def windows_of(ada, session):
    result = ada("windows", "--format=json", session)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def mark(ada, one):
    """A window is there in the end; returns its rank."""
    count = len(windows_of(ada, one.session))
    assert ada("mark", "--no-wait", one.session).status == 0
    until(lambda: len(windows_of(ada, one.session)) > count and windows_of(ada, one.session)[-1]["settled"])
    return count


def rows_of(ada, session, query):
    result = ada("query", "--format=json", session, query)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def has_gone(one, ns):
    """All of the events up to then are in totals."""
    return all(thread.get("firstSegment", 0) and first_ns(one, thread) > ns for thread in threads_of(one) if thread["events"] > 1000)


def threads_of(one):
    return json.loads(next(one.session.glob("pid_*/manifest.json")).read_text())["threads"]


def first_ns(one, thread):
    """When the first segment begins that is not in totals, by its header's sort of file: its directory's oldest."""
    directory = next(one.session.glob(f"pid_*/{thread['directory']}"))
    data = (directory / "totals").read_bytes()
    return int.from_bytes(data[64:72], "little")


def dump_of(ada, session, row):
    """The window's events, and what is said of how complete they are."""
    result = ada("dump", "--detail", "--format=json", f"--window={row['id']}", session)
    assert result.status == 0, result.stderr.decode()
    *events, last = map(json.loads, result.stdout.splitlines())
    return events, last["completeness"]


def check_whole(ada, session, row):
    """All that the window says it has is there, and what is around it."""
    assert row["eventCount"] and row.get("agedCount") is None
    events, completeness = dump_of(ada, session, row)
    assert sum(event.get("detail") is not None for event in events) == row["eventCount"]
    assert "aged" not in completeness and completeness["complete"] and not any(event["kind"] == "lost" for event in events)
    # A thread may have no processor for a while just there: so what is asked for is an event on each side, and no hole between the two.
    start, end = row["startNs"] - AROUND, row["endNs"] + AROUND
    threads = rows_of(ada, session, f"SELECT thread, MAX(timestamp_ns) - MIN(timestamp_ns) AS ns, MAX(iif(timestamp_ns <= {start}, timestamp_ns, 0)) AS "
                      f"before, MIN(iif(timestamp_ns >= {end}, timestamp_ns, {2 * end})) AS behind FROM events WHERE kind <> 'lost' AND "
                      f"timestamp_ns BETWEEN {start - FAR} AND {end + FAR} GROUP BY thread")
    busy = [thread for thread in threads if thread["ns"] > SECOND]
    assert len(busy) == 2
    for thread in busy:
        assert thread["before"] and thread["behind"] < 2 * end, (thread, start, end)
        assert not rows_of(ada, session, f"SELECT index_seq FROM events WHERE thread = {thread['thread']} AND kind = 'lost' AND "
                           f"timestamp_ns BETWEEN {thread['before']} AND {thread['behind']}")


def test_a_window_outlives_its_time(ada, live):
    one, book = live("--disk-limit=16M", f"--trigger=manual@{ROLLS}")
    wait_for_counts(book, 4000000)              # a second before it, which the limit has room for, also where blocks are written raw
    mark(ada, one)
    row, = windows_of(ada, one.session)
    until(lambda: has_gone(one, row["endNs"] + 2 * SECOND))
    said = ada("status", one.session).stdout
    assert re.search(rb"segments of \S+ ?\S* events \([1-9][\d.]* %\) have gone", said), said
    assert re.search(rb"^kept for windows: [1-9][\d.]* [KM]iB$", said, re.MULTILINE), said
    end(one)
    assert session_size(one.output) <= 16 * MIB + 2 * BLOCK
    lane, manifest = check_books(ada, one.output, book, slack=DEPTH, aged=True)
    assert lane["lost"] == 0 and any(thread.get("kept") for thread in manifest["threads"])
    now, = windows_of(ada, one.session)
    assert now["eventCount"] == row["eventCount"]
    check_whole(ada, one.session, now)
    # Where the kernel allows it, when threads ran is known of it, too: the oldest file of that begins before it, unless the lane has its
    # sixteenth of the limit already.
    facts = sorted(one.session.glob("sched.*.atf"), key=lambda path: int(path.name.split(".")[-2]))    # kept ones, too
    assert not facts or int.from_bytes(facts[0].read_bytes()[64:72], "little") < now["startNs"] or \
        sum(path.stat().st_size for path in facts) > MIB * 7 // 8
    result = ada("narrate", "--all", one.session)
    assert result.status == 0 and b"counted_" in result.stdout, result.stderr.decode()
    # Each call counts once, in totals alone.
    answer = json.loads(ada("report", "--format=json", one.session).stdout)
    calls = sum(line["calls"] for line in answer["rows"] if line["function"].startswith("counted_"))
    assert abs(calls - own_calls(book)) <= DEPTH
    # What lies between is told to be missing, once a thread, and lost is none of it.
    for thread in (thread for thread in manifest["threads"] if thread.get("kept")):
        holes = rows_of(ada, one.session, f"SELECT lost FROM events WHERE thread = {thread['id']} AND kind = 'lost'")
        assert holes and not any(hole["lost"] for hole in holes)
    assert not rows_of(ada, one.session, "SELECT * FROM losses WHERE events > 0")
    # A reader of a live session may list one that has gone when it comes to open it.
    for path in one.session.glob("pid_*/thread_*/kept.*.atp"):
        path.unlink()
        path.symlink_to("gone")
    result = ada("query", one.session, "SELECT COUNT(*) FROM events")
    assert result.status == 0, result.stderr.decode()


def test_too_many_windows(ada, live):
    """The oldest are given up, whole; those that are left are whole."""
    one, book = live("--disk-limit=4M", f"--trigger=symbol=counted_jumper@every=3000,{ROLLS}")
    until(lambda: sum(row.get("agedCount") is not None for row in windows_of(ada, one.session)) >= 10)
    end(one)
    assert session_size(one.output) <= 4 * MIB + 2 * BLOCK
    check_books(ada, one.output, book, slack=DEPTH, aged=True)
    rows = windows_of(ada, one.session)
    gone = [row.get("agedCount") is not None for row in rows]
    assert gone == sorted(gone, reverse=True) and not gone[-1]
    for row in rows:
        if row.get("agedCount") is None and row is not rows[-1]:
            assert sum(event.get("detail") is not None for event in dump_of(ada, one.session, row)[0]) == row["eventCount"] > 0
        elif row.get("agedCount") is not None:
            assert "have gone" in row["shortReason"]


@pytest.mark.parametrize("moment", range(4))
def test_killed(ada, live, moment):
    """The recorder dies as segments go, or are kept: books and windows are sound."""
    one, book = live("--disk-limit=4M", f"--trigger=symbol=counted_jumper@every=20000,{ROLLS}")
    until(lambda: any(one.session.glob("pid_*/thread_*/kept.*")))
    wait_for_counts(book, sum(own_counts(book)) + 200000 * moment)
    # A recorder that falls behind gives up all that it keeps to stay within the limit, and keeps the next window's.
    until(lambda: any(one.session.glob("pid_*/thread_*/kept.*")))
    kill(one)
    one.process.kill()
    one.process.communicate(timeout=60)
    until(lambda: json.loads((one.session / "session.json").read_text())["finalized"])
    assert ada("recover", one.session).status == 0
    _, manifest = check_books(ada, one.output, book, slack=2, aged=True)
    assert any(thread.get("kept") for thread in manifest["threads"]), sorted(map(str, one.session.rglob("*")))
    rows = windows_of(ada, one.session)
    assert any(row["eventCount"] for row in rows)
    for thread in manifest["threads"]:
        there = sorted(path.name for path in one.session.glob(f"pid_*/{thread['directory']}/kept*"))
        assert there == sorted(segment["file"] for segment in thread.get("kept", []))


def test_detail_has_a_limit_of_its_own(ada, live):
    """The oldest detail goes, and no event: windows say how many records they have still. Files go whole: the
    limit has room for eight windows, so that the newest stay though a recorder without a CPU writes several into one file."""
    one, book = live("--detail-limit=8M", f"--trigger=symbol=counted_jumper@every=6000,{ROLLS}")
    until(lambda: sum(row.get("agedCount") is not None for row in windows_of(ada, one.session)) >= 10)
    assert one.request("status")["bound"]["detailLimit"] == 8 * MIB
    assert re.search(rb"^detail: [\d.]+ [KM]iB of 8\.00 MiB$", ada("status", one.session).stdout, re.MULTILINE)
    end(one)
    lane, _ = check_books(ada, one.output, book, slack=DEPTH)
    assert not lane.get("aged", 0)
    detail = sum(path.stat().st_size for path in one.session.glob("pid_*/thread_*/detail*"))
    assert detail <= 8 * MIB
    rows = windows_of(ada, one.session)
    gone = [row.get("agedCount") is not None for row in rows]
    assert gone[0] and rows[0]["eventCount"] == 0
    assert not all(gone), [(row["eventCount"], row.get("agedCount")) for row in rows]
    for row in rows[-3:] + rows[:3]:
        events, _ = dump_of(ada, one.session, row)
        assert events and sum(event.get("detail") is not None for event in events) == row["eventCount"]
