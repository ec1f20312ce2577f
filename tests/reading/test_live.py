"""A recording under way: every way to read is asked again and again while files grow, roll and are finished."""
import os
import pathlib
import signal
import subprocess
import time

import pytest
from harness import EVENT, HEADER_BYTES, Session, unpacked
from live import Live

from asking import FORMS, SOME, WAYS, Answer, check_form

# Of a session that can't be compared with itself later: what all have is that they end well.
ASKED = [way for way in WAYS if way not in ("info-csv", "windows-csv", "graph-csv", "narrate-markdown", "query-detail", "verify-csv")]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "program"
    subprocess.run(["gcc", "-O1", "-pthread", pathlib.Path(__file__).with_name("program.c"), "-o", path], check=True)
    return path


@pytest.fixture
def live(ada, tmp_path, program):
    running = []

    def start(threads, period_us, *options):
        running.append(Live(ada, tmp_path / "traces", [program, threads, period_us], *options))
        return running[-1]
    yield start
    for one in running:
        one.close()


def events_in(path):
    """No more than it holds: what of its size is header, and may be footer, is no event."""
    size = len(unpacked(path)) if path.suffix == ".atp" else path.stat().st_size
    return max(0, size - 2 * HEADER_BYTES) // EVENT.size


def await_events(session, count):
    """Until that many are in the files."""
    end = time.monotonic() + 30
    while sum(events_in(path) for path in session.glob("pid_*/thread_*/index*.at[fp]")) < count:
        assert time.monotonic() < end, "nothing is recorded"
        time.sleep(0.005)


@pytest.mark.parametrize("options", [["--segment-size=64K"], ["--pack=always"], ["--index-mode=circular", "--index-buffer=1M"],
                                     ["--detail-mode=streaming"]],
                         ids=["rolls", "packed", "circular", "detail"])
def test_every_way_meanwhile(ask, live, options):
    recording = live(3, 5000, *options)
    if "circular" not in options[0]:
        await_events(recording.session, 2000)
    counts = []
    for way in SOME if "detail" in options[0] else ASKED:
        answer = ask(way, recording.session, statuses=(0,))
        if FORMS[way] in ("json", "lines") and answer.stdout and b'"completeness"' in answer.stdout:
            completeness = answer.completeness()
            assert completeness["complete"] is False, f"{way} calls it complete"
            if way != "top-json":           # which is of a second alone
                counts.append(completeness["events"])
        if way == "query-events":
            assert len(answer.value()["rows"]) == completeness["events"]
        elif way == "dump-json":
            assert len(answer.value()) == completeness["events"] + 1
        elif way == "report-json":
            assert 0 <= completeness["events"] - sum(2 * row["calls"] for row in answer.value()["rows"]) + 10, way
    assert counts == sorted(counts), "what was there is there no more"
    if "circular" not in options[0]:
        await_events(recording.session, counts[0] + 1)
        assert ask("report-json", recording.session, statuses=(0,)).completeness()["events"] > counts[0] > 0
    recording.process.stdin.close()
    assert recording.process.wait(60) == 0
    answer = ask("report-json", recording.session, statuses=(0,))
    # That one may have only the newest by now.
    assert answer.completeness()["complete"] is (answer.completeness()["lost"] == 0)
    assert "circular" in options[0] or answer.completeness()["complete"]
    assert answer.completeness()["events"] >= counts[-1]
    assert ask("verify-json", recording.session).status == 0


@pytest.mark.parametrize("argv, form", [(["dump", "-fcsv"], "csv"), (["query", "-fjson"], "json"), (["export", "-q", "-fchrome"], "json")])
def test_it_ends_while_an_answer_is_read(ada, live, argv, form):
    """Files are finished, under a reader that has them mapped: it answers on what was there when it looked."""
    recording = live(3, 200, "--segment-size=256K")
    await_events(recording.session, 60000)
    words = [ada.path, *argv, recording.session] + (["SELECT * FROM events"] if argv[0] == "query" else [])
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    first = process.stdout.read(100)
    recording.process.stdin.close()
    assert recording.process.wait(60) == 0
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    check_form(Answer(argv[0], form, 0, first + stdout, stderr, 0))


@pytest.mark.parametrize("pack", ["always", "never"])
def test_a_quiet_thread_is_soon_there(ask, live, pack):
    """Ten calls twenty times a second fill neither chunk nor block: what was done before a moment is answered soon behind it."""
    recording = live(1, 50000, f"--pack={pack}")
    await_events(recording.session, 200)
    for _ in range(3):
        asked, found = time.clock_gettime_ns(time.CLOCK_BOOTTIME), 0
        while found < asked:
            assert time.clock_gettime_ns(time.CLOCK_BOOTTIME) < asked + 10 * 10**9, "nothing of it is in the files"
            rows = ask("query-events", recording.session, statuses=(0,)).value()["rows"]
            found = max(row["timestamp_ns"] for row in rows)
    result = recording.ada("stop", recording.session)
    assert result.status == 0, result.stderr.decode()
    assert recording.ada("verify", recording.session).status == 0
    recording.end(0)


def test_killed_recorder(ask, live):
    """kill -9 of ada, then of the program: no footer, no final manifest, and all that had been written is answered."""
    recording = live(3, 1000, "--segment-size=64K")
    await_events(recording.session, 20000)
    pid = int(next(recording.session.glob("pid_*")).name[4:])
    os.kill(recording.process.pid, signal.SIGKILL)
    recording.process.wait(60)
    os.kill(pid, signal.SIGKILL)
    for way in WAYS:
        answer = ask(way, recording.session, statuses=(0, 1) if way.startswith("verify") else (0,))
        if way in ("report-json", "dump-json", "query-events"):
            completeness = answer.completeness()
            assert completeness["complete"] is False and completeness["events"] >= 19000
