"""Recorders that die where there is little, or with all that is around them: in containers, control groups, a small /dev/shm."""
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest
from harness import SMALL_DEV_SHM, Session, enter, keeper_of, skip_unless_possible, wait_for_end
from test_kept import BLOCK, CALLS, COUNTS_BYTES, THREADS, WAIT_S, Trial, programs  # noqa: F401

# The recorder is the first process of a pid namespace: as of a container whose command it is.
# With what a container has for shared memory, and nothing else.
CONTAINERS_SHM = tuple(word.replace("size=30m", "size=64m") for word in SMALL_DEV_SHM)
CONTAINER = ("/usr/bin/unshare", "--pid", "--fork", "--mount-proc")


def children_of(pid):
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.traces
def test_a_container_that_is_killed(ada, programs, tmp_path):  # noqa: F811
    """With its first process die all: recorder, keeper and program, and with them the memory. What is on the disk is whole, and the answer
    says that something is missing."""
    skip_unless_possible(CONTAINER)
    output, counts = tmp_path / "out", tmp_path / "counts"
    counts.write_bytes(bytes(COUNTS_BYTES))
    outer = subprocess.Popen([*CONTAINER, ada.path, "trace", "--quiet", f"--output={output}", *BLOCK, "--", programs[0], counts,
                              str(THREADS), "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        while not list(output.glob("session_*/pid_*/manifest.json")):
            assert outer.poll() is None
            os.sched_yield()
        recorder, = children_of(outer.pid)
        keeper, everybody = keeper_of(recorder), children_of(recorder)
        assert keeper in everybody and len(everybody) == 2
        while int.from_bytes(counts.read_bytes()[:8], "little") < CALLS:
            os.sched_yield()
        os.kill(recorder, signal.SIGKILL)
        for pid in (recorder, *everybody):
            wait_for_end(pid, WAIT_S)
    finally:
        outer.kill()
        outer.wait()
    session = Session(output).path
    result = ada("recover", session)
    assert result.status == 0, result.stderr.decode()
    (tmp_path / "none").write_bytes(bytes(COUNTS_BYTES))
    threads = sorted(session.glob("pid_*/thread_*"))
    check = subprocess.run([programs[1], "block", tmp_path / "none", counts, *threads], capture_output=True)
    assert check.returncode == 0, check.stdout.decode()
    assert ada("verify", session).status == 0
    assert "its recorder died: what it had in memory is missing" in ada("info", session).stdout.decode()
    assert json.loads((session / "session.json").read_text())["recovered"]["by"] == "command"


def kill_and_check(trial):
    trial.until(lambda: trial.calls() > CALLS)
    pids = trial.kill("recorder")
    trial.end()
    trial.stop_program(pids)
    trial.check("by the keeper: ", "keeper")


@pytest.mark.traces
def test_in_a_small_dev_shm(ada, programs, tmp_path):  # noqa: F811
    """64 MB, as containers have, hold the segment, the arena, and what the program still writes."""
    skip_unless_possible(CONTAINERS_SHM)
    kill_and_check(Trial(ada, programs, tmp_path / "trial", *BLOCK, "--index-buffer=8M", "--detail=off", before=CONTAINERS_SHM))


@pytest.mark.traces
@pytest.mark.parametrize("options", [(), ("--segment-size=1M",), ("--pack=always",)], ids=["plain", "segments", "packed"])
def test_in_a_full_dev_shm(ada, programs, tmp_path, options):  # noqa: F811
    """The arena finds no room: the recorder keeps in its own memory what it writes, and what dies with it is said, thread by thread."""
    skip_unless_possible(SMALL_DEV_SHM)
    trial = Trial(ada, programs, tmp_path / "trial", *BLOCK, *options, before=SMALL_DEV_SHM)
    trial.until(lambda: trial.calls() > 20 * CALLS)
    pids = trial.kill("recorder")
    trial.end()
    trial.stop_program(pids)
    note = json.loads((trial.session / "session.json").read_text())["recovered"]
    if "notSaved" not in note:
        trial.check("by the keeper: ", "keeper")
    for line in note.get("notSaved", []):
        # Or there was no room for the notes of threads either.
        assert re.fullmatch(r"pid_\d+/thread_\d+: \d+ events were in its recorder's own memory|"
                            r"of \d+ threads nothing tells what of their shared memory is in their files: it is lost", line)
        assert line in (trial.session / "recover.log").read_text()
    assert ada("verify", trial.session).status == 0


@pytest.mark.traces
def test_with_all_of_it_in_a_control_group(ada, programs, tmp_path, group):  # noqa: F811
    """128 MB for recorder, keeper, program and shared memory."""
    kill_and_check(Trial(ada, programs, tmp_path / "trial", *BLOCK, before=enter(group)))


@pytest.mark.traces
def test_where_the_pages_count_for_the_program(ada, programs, tmp_path, group):  # noqa: F811
    """The program alone is in the control group, and makes memory of its pools itself."""
    wrapper = tmp_path / "inside"
    wrapper.write_text(f'#!/bin/sh\necho $$ >{group}/cgroup.procs && exec {programs[0]} "$@"\n')
    wrapper.chmod(0o755)
    kill_and_check(Trial(ada, (wrapper, programs[1]), tmp_path / "trial", *BLOCK, "--index-buffer=256M"))


@pytest.mark.traces
def test_stopped_and_then_killed(ada, programs, tmp_path):  # noqa: F811
    """As a debugger, or who looks at it, may leave it: the memory is full by then, and all threads wait."""
    trial = Trial(ada, programs, tmp_path / "trial", *BLOCK, "--index-buffer=1M")
    trial.until(lambda: trial.calls() > CALLS)
    os.kill(trial.process.pid, signal.SIGSTOP)
    while True:                             # until nobody goes on
        calls = trial.calls()
        os.sched_yield()
        if calls == trial.calls():
            break
    kill_and_check(trial)


@pytest.mark.traces
def test_everybody_is_asked_to_end(ada, programs, tmp_path):  # noqa: F811
    """As a service manager does that stops a service: SIGTERM to all, the keeper too. It ends in order; none is killed."""
    trial = Trial(ada, programs, tmp_path / "trial", *BLOCK)
    trial.until(lambda: trial.calls() > CALLS)
    trial.note()
    for pid in (trial.keeper, trial.process.pid, *trial.pids()):
        os.kill(pid, signal.SIGTERM)
    assert trial.process.wait(timeout=WAIT_S) == 128 + signal.SIGTERM
    wait_for_end(trial.keeper, WAIT_S)
    trial.check("ended: ")
    assert "recovered" not in json.loads((trial.session / "session.json").read_text())
