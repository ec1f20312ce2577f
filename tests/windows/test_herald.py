"""--on-window: a command beside the recorder is told of each window once, with its headline, and can harm nothing."""
import contextlib
import json
import os
import pathlib
import subprocess
import time

import pytest

from harness import Session, run

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
RULE = "--trigger=symbol=re:^serve_@pre=1ev,post=1ev"


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    """Ten windows, of functions serve_0 to serve_9."""
    program = tmp_path_factory.mktemp("herald") / "ten"
    subprocess.run(["cc", "-g", "-O1", "-o", program, HERE.parent / "causes" / "ten.c"], check=True)
    return program


def after(number):
    """Words of a command, which let the program end in the run of that number: what isn't done 5 s behind the recording is killed, and in that
    time a full machine runs fewer than ten."""
    return f'echo >>runs; [ "$(wc -l <runs)" -lt {number} ] || : >all; '


def trace(ada, output, program, command, *rules):
    (output / "traces").mkdir()
    os.mkfifo(output / "all")
    result = ada.trace(output / "traces", [program, "all"], *rules or [RULE], f"--on-window={command}", cwd=output)
    return result, Session(output / "traces")


def told(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_each_window_is_told_once(ada, ten, tmp_path):
    """One at a time, with what narrate says of it; not in the program's own environment."""
    command = "mkdir running || echo overlap >>wrong; cat >>told; env | grep -e LD_PRELOAD -e ADA_ >>wrong; echo said; rmdir running; " + after(10)
    result, session = trace(ada, tmp_path, ten, command)
    assert (result.status, result.stdout) == (0, b"") and result.stderr == b"said\n" * 10
    rows = told(tmp_path / "told")
    assert sorted(r["window"] for r in rows) == list(range(10)) and not (tmp_path / "wrong").read_text()
    assert {r["session"] for r in rows} == {os.path.realpath(session.path)}
    headlines = {r["window"]: r for r in ada.rows("narrate", session.path) if r["kind"] == "headline"}
    for row in rows:
        expected = headlines[row["window"]]
        assert set(row) == {*expected, "session"} and row["cause"] == expected["cause"] and row["kind"] == "headline"
        assert f"serve_{row['window']}" in row["text"]
    assert len(list(session.path.glob("pid_*"))) == 1      # the command was not recorded


def test_limit(ada, ten, tmp_path):
    """Marks beyond a rule's limit= make no window, and nobody is told."""
    result, _ = trace(ada, tmp_path, ten, "cat >>told; " + after(3), RULE + ",limit=3/h")
    assert result.status == 0 and len(told(tmp_path / "told")) == 3


@pytest.mark.parametrize("command, says", [("exit 3", "exit 3` ended with status 3"), ("kill -9 $$", "signal 9 killed `"),
                                           ("/no/such/command 2>/dev/null", "ended with status 127")])
def test_a_failure_is_told_once(ada, ten, tmp_path, command, says):
    result, session = trace(ada, tmp_path, ten, after(10) + command)
    first, count = result.stderr.decode().splitlines()
    assert result.status == 0 and says in first and "window" in first and count.startswith("ada: --on-window: 9 windows failed")
    assert all(m["finalized"] for m in session.manifests().values())


def wait_for_end(pid, unreaped=False):
    """Of a process that has been killed: on a full machine it is there for a while. `unreaped`: it may stay there, ended."""
    until = time.monotonic() + 30
    status = pathlib.Path(f"/proc/{pid}/status")
    while status.exists() and time.monotonic() < until:
        with contextlib.suppress(OSError):
            if unreaped and "State:\tZ" in status.read_text():
                return
        time.sleep(0.05)
    assert not status.exists()


def test_a_command_that_hangs_is_killed(ada, ten, tmp_path):
    """With all that it started, a few seconds behind the recording; what it was told stays."""
    result, session = trace(ada, tmp_path, ten, "cat >>told; echo $$ >pid; : >all; sleep 1000; true")
    pid = int((tmp_path / "pid").read_text())
    assert result.status == 0 and b"was killed" in result.stderr and len(told(tmp_path / "told")) == 1
    wait_for_end(pid, unreaped=True)
    assert all(m["finalized"] for m in session.manifests().values())


def test_it_ends_with_a_killed_recorder(ada, ten, tmp_path):
    """Nothing of it stays when nobody ends it any more."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (tmp_path / "traces").mkdir()
    recorder = subprocess.Popen([ada.path, "trace", "--quiet", f"--output={tmp_path / 'traces'}", RULE,
                                 f"--on-window=echo $$ >{fifo}; sleep 1000", ten], stderr=subprocess.DEVNULL)
    command = int(fifo.read_text())                         # waits for the first window
    recorder.kill()
    recorder.wait()
    wait_for_end(command)


def test_words(ada, ten, tmp_path):
    refused = ada("trace", "--on-window=", ten, cwd=tmp_path)
    assert refused.status == 125 and b"names no command" in refused.stderr
    nothing = run([ada.path, "trace", "--on-window=cat", "/no/such/program"], cwd=tmp_path)
    assert nothing.status == 127 and nothing.stderr.count(b"\n") == 1
