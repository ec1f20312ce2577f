"""Exact books: what `ada verify` says that each thread captured is what the thread itself counted (program.c), whatever was full,
failed or was killed meanwhile."""
import fcntl
import json
import os
import signal
import subprocess

import pytest

from books import DEPTH, OPTIONS, books_of, check_books, own_books, wait_for_counts
from harness import SMALL_DEV_SHM, Session, skip_unless_possible
from live import Live

@pytest.mark.parametrize("pack", ["auto", "always", "never"])
def test_all_is_there(ada, record, pack):
    lane, _ = check_books(ada, *record(4, 5000, 1, f"--pack={pack}"))
    assert lane["lost"] == 0


def test_many_threads_packed(ada, record):
    """More busy threads than workers, and than long runs of events."""
    output, book = record(64, 2000, 1, "--pack=always", "--on-full=block")
    lane, manifest = check_books(ada, output, book)
    assert lane["lost"] == 0 and lane["event_count"] > 64 * 2000
    assert all(segment["packed"] for thread in manifest["threads"] for segment in thread["segments"])
    size = sum(path.stat().st_size for path in output.glob("*/pid_*/thread_*/index.atp"))
    assert size < 3 * lane["event_count"], f"{size / lane['event_count']:.2f} bytes an event"


@pytest.mark.parametrize("detail", ["off", "stack"])
@pytest.mark.parametrize("pack", ["always", "never"])
def test_drops(ada, record, detail, pack):
    """A buffer far too small for the rate."""
    lane, _ = check_books(ada, *record(4, 150000, 1, "--index-buffer=1M", f"--detail={detail}", f"--pack={pack}"))
    assert lane["lost"] > 0


def test_waits(ada, record):
    lane, _ = check_books(ada, *record(4, 30000, 1, "--index-buffer=1M", "--on-full=block"))
    assert lane["lost"] == 0


@pytest.mark.parametrize("pack", ["auto", "always", "never"])
def test_segments(ada, record, pack):
    """`auto` goes on packed behind the first segment. What is unpacked is sound, too, and keeps the same books."""
    output, book = record(2, 20000, 1, "--segment-size=1M", f"--pack={pack}")
    lane, manifest = check_books(ada, output, book)
    threads = [thread for thread in manifest["threads"] if thread["events"]]
    assert lane["lost"] == 0 and all(len(thread["segments"]) > 3 for thread in threads)
    for thread in threads:
        packed = [segment.get("packed", False) for segment in thread["segments"]]
        assert packed == [pack == "always"] + [pack != "never"] * (len(packed) - 1)
        assert all(segment["file"].endswith(".atp") == segment.get("packed", False) for segment in thread["segments"])
    assert ada("unpack", Session(output).path).status == 0
    check_books(ada, output, book)


def test_circular(ada, record):
    lane, _ = check_books(ada, *record(4, 50000, 1, "--index-mode=circular", "--index-buffer=1M"))
    assert lane["lost"] == lane["overwritten"] > 0


def test_threads_come_and_go(ada, record):
    """Entries and chunks are used again; each thread's books are its own."""
    lane, manifest = check_books(ada, *record(20, 3, 60))
    assert lane["lost"] == 0 and len(manifest["threads"]) >= 1200


def test_threads_come_and_go_where_events_are_dropped(ada, record):
    check_books(ada, *record(16, 1000, 20, "--index-buffer=1M"))


def test_threads_come_and_go_in_a_circle(ada, record):
    check_books(ada, *record(8, 300, 40, "--index-mode=circular", "--index-buffer=1M"))


def test_oneshot(ada, record):
    """What fitted is there; what came afterwards nobody wanted."""
    output, book = record(4, 50000, 1, "--index-mode=oneshot", "--index-buffer=1M")
    own, (found, lane, manifest) = own_books(book), books_of(ada, Session(output))
    assert manifest["recording"]["state"] == "stopped" and 30000 < lane["event_count"] < sum(own.values())
    assert all(found.get(tid, {}).get("captured", 0) <= count for tid, count in own.items())


def test_the_disk_is_full(ada, record, tmp_path, need):
    """What was committed until then is in the files or lost; then recording ends."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3M,mode=0777", "tmpfs", disk]
    need(os.geteuid() == 0 and not subprocess.run(mount, capture_output=True).returncode, "root and mount(2)")
    try:
        output, book = record(4, 100000, 1, output=disk / "out")
        own, (found, lane, manifest) = own_books(book), books_of(ada, Session(output))
        assert manifest["recording"]["state"] == "failed" and lane["lost"] > 0
        assert all(found.get(tid, {}).get("captured", 0) <= count for tid, count in own.items())
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.parametrize("mode", ["streaming", "circular"])
def test_no_memory_left(ada, record, need, mode, monkeypatch):
    """/dev/shm is full, the segment grows no more."""
    need(os.geteuid() == 0, "root, for a /dev/shm of its own")
    skip_unless_possible(SMALL_DEV_SHM)
    lane, _ = check_books(ada, *record(4, 200000, 1, "--detail=off", f"--index-mode={mode}", "--index-buffer=128M", before=SMALL_DEV_SHM))
    assert lane["lost"] > 0


KILLED = pytest.mark.parametrize("options", [(), ("--index-buffer=1M",), ("--index-mode=circular", "--index-buffer=1M"),
                                             ("--index-buffer=1M", "--on-full=block")], ids=["plain", "drops", "circular", "waits"])


@KILLED
def test_the_program_is_killed(ada, program, tmp_path, options):
    """What it had committed is there, but for what each thread was just at: a call that is dropped counts with its end, also those
    that are open, and a jump ends two before the next event says so."""
    book = tmp_path / "book"
    live = Live(ada, tmp_path / "out", [program, book, 4, 0, 1], *OPTIONS, *options)
    try:
        wait_for_counts(book, 200000)
        pid = int(next(live.session.glob("pid_*")).name.split("_")[1])
        os.kill(pid, signal.SIGKILL)
        live.process.communicate(timeout=60)
        check_books(ada, tmp_path / "out", book, slack=DEPTH if "--on-full=block" not in options else 2)
    finally:
        live.close()


@KILLED
def test_program_and_recorder_are_killed(ada, program, tmp_path, options):
    """The keeper finishes it: the books are as exact as if the recorder had."""
    book = tmp_path / "book"
    live = Live(ada, tmp_path / "out", [program, book, 4, 0, 1], *OPTIONS, *options)
    try:
        wait_for_counts(book, 200000)
        os.kill(int(next(live.session.glob("pid_*")).name.split("_")[1]), signal.SIGKILL)
        live.process.kill()
        live.process.communicate(timeout=60)
        directory = os.open(live.session, os.O_RDONLY)
        fcntl.flock(directory, fcntl.LOCK_EX)           # the keeper's, until it is done
        os.close(directory)
        assert json.loads((live.session / "session.json").read_text())["recovered"]["by"] == "keeper"
        check_books(ada, tmp_path / "out", book, slack=DEPTH if "--on-full=block" not in options else 2)
    finally:
        live.close()
