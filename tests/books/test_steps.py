"""The recorder is killed just before each change that it makes to files while segments go into totals, are kept for windows, or give up their
detail (fault.c): the books are exact, and nothing counts twice."""
import contextlib
import json
import os
import re
import signal
import subprocess

import pytest

from books import DEPTH, OPTIONS, books_of, check_books, own_books, own_calls, until
from harness import Session

ROLLS = "pre=300ev,post=300ev"
RUNS = {  # options, then the program's threads, rounds, generations and "slow"
    "windows": (("--disk-limit=4M", f"--trigger=symbol=counted_jumper@every=3000,{ROLLS}"), (2, 0, 1, "slow")),
    "ends": (("--disk-limit=1M", "--detail=off"), (2, 40000, 20)),
    "detail": (("--detail-limit=1M", f"--trigger=symbol=counted_jumper@every=3000,{ROLLS}"), (2, 0, 1, "slow")),
}
TOTALS = ("make totals.tmp", "write.0 totals.tmp", "sync totals.tmp", "rename totals", "sync thread_N")
EMPTY = ("make index.N.atp", *(f"write.{i} index.N.atp" for i in range(3)), "cut index.N.atp", "sync index.N.atp")
DETAIL = ("make detail.N.atf.tmp", *(f"write.{i} detail.N.atf.tmp" for i in range(3)), "sync detail.N.atf.tmp", "rename detail.N.atf")
STEPS = {
    "windows": (*TOTALS, "rename kept.N.atp", "remove detail.N.atf", "remove kept.N.atp"),
    "ends": (*TOTALS, *EMPTY, "remove index.N.atp"),
    "detail": DETAIL,
}
EACH = [("windows", step) for step in STEPS["windows"]] + [("ends", step) for step in (*EMPTY, "remove index.N.atp")] + \
       [("detail", step) for step in DETAIL]


def which(step, number):
    """That time of the step: threads of which all has gone are few, two on a slow machine."""
    return 1 if step in EMPTY else number


@pytest.fixture
def start(ada, program, build_dir, tmp_path):
    """start(RUN, FAULT): the recorder's process, the session's parent, the program's book."""
    running = []

    def begin(run, fault):
        options, words = RUNS[run]
        place = tmp_path / str(len(running))
        place.mkdir()
        book, output = place / "book", place / "out"
        command = [ada.path, "trace", "--quiet", f"--output={output}", *OPTIONS, "--on-full=block", *options, "--", program, book, *words]
        environment = {**os.environ, "LD_PRELOAD": str(build_dir / "tests" / "books" / "libbound_fault.so"), "BOUND_FAULT": fault}
        running.append(subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        start_new_session=True))
        return running[-1], output, book
    yield begin
    for one in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGKILL)
        one.communicate(timeout=60)


def killed(start, run, fault):
    """Of a run that was killed at the step; threads of which all has gone come 3 to 12 times in one, and in a rare one not at all."""
    for _ in range(3):
        process, output, book = start(run, fault)
        if process.wait(60) != 0:
            break
    assert process.returncode == -9
    return output, book


def calls_of(ada, session):
    result = ada("report", "--format=json", session)
    assert result.status == 0, result.stderr.decode()
    return sum(row["calls"] for row in json.loads(result.stdout)["rows"] if row["function"].startswith("counted_"))


def check_files(ada, session, manifest):
    """No file is left over, and each that is told of is there; so is the detail of windows."""
    assert not list(session.rglob("*.tmp"))
    for thread in manifest["threads"]:
        for names, told in ("index", thread["segments"]), ("kept", thread.get("kept", [])):
            there = sorted(path.name for path in session.glob(f"pid_*/{thread['directory']}/{names}*"))
            assert there == sorted(segment["file"] for segment in told)
    rows = json.loads(ada("windows", "--format=json", session).stdout)["rows"]
    for row in rows[:2] + rows[-2:]:
        result = ada("dump", "--detail", "--format=json", f"--window={row['id']}", session)
        assert result.status == 0, result.stderr.decode()
        assert sum(json.loads(line).get("detail") is not None for line in result.stdout.splitlines()[:-1]) == row["eventCount"]


@pytest.mark.parametrize("run", RUNS)
def test_each_step_is_known(start, tmp_path, run):
    """What is done to files is what the other tests kill at; the log goes on over runs, for the reason that `killed` has."""
    log = tmp_path / "log"

    def seen():
        lines = log.read_text().splitlines() if log.exists() else []
        # Of a thread's first segment no number is in the name.
        return {re.sub(r"(index|kept|detail)\.at", r"\1.N.at", line) for line in lines}
    for _ in range(3):
        process, _, _ = start(run, f"log:{log}")
        until(lambda process=process: seen() >= set(STEPS[run]) or process.poll() is not None)
        if seen() >= set(STEPS[run]):
            break
    assert set(STEPS[run]) <= seen() <= {*STEPS["windows"], *STEPS["ends"], *STEPS["detail"]}


@pytest.mark.parametrize("run,step", EACH)
def test_killed_at_each_step(ada, start, rounds, run, step):
    output, book = killed(start, run, f"kill:{which(step, rounds(3, 2))}:{step}")
    session = Session(output).path
    until(lambda: json.loads((session / "session.json").read_text()).get("recovered"))
    assert ada("recover", session).status == 0
    _, manifest = check_books(ada, output, book, slack=2, aged=True)
    assert abs(calls_of(ada, session) - own_calls(book)) <= DEPTH
    check_files(ada, session, manifest)


@pytest.mark.parametrize("number,run,step", [(number, *each) for number, each in enumerate(EACH)])
def test_killed_with_its_keeper(ada, start, rounds, number, run, step):
    """Memory is gone, too: who reads it then, or after `ada recover`, counts no event twice. Of these one in seven is tried in `make check`."""
    if rounds(0, number % 7):
        pytest.skip("in `make soak`")
    output, book = killed(start, run, f"killall:{which(step, 2)}:{step}")
    session = Session(output).path
    before = calls_of(ada, session)
    assert 0 < before <= own_calls(book)
    assert ada("recover", session).status == 0
    found, _, manifest = books_of(ada, Session(output), aged=True)
    own = own_books(book)
    assert all(found[tid]["captured"] <= own[tid] + 2 for tid in found)
    assert before <= calls_of(ada, session) <= own_calls(book)
    check_files(ada, session, manifest)
    assert b"nothing to do" in ada("recover", session).stdout
