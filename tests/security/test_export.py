"""Exports into a directory where another user may write."""
import os
import signal
import subprocess
import time

import pytest
from conftest import NOBODY


def stopped_while_it_writes(ada, session, output, form):
    """An export that has begun, stopped; None: it was done before."""
    process = subprocess.Popen([ada.path, "export", "--quiet", "-f", form, f"--output={output}", session("large")], stderr=subprocess.PIPE)
    while process.poll() is None and not list(output.parent.glob("out.ada-*/out")):
        time.sleep(0.0001)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)       # it has stopped, or is done
    beside = list(output.parent.glob("out.ada-*"))
    return process, beside[0] if beside else None


@pytest.mark.parametrize("form", ["csv", "sqlite"])
def test_a_directory_that_is_exchanged(ada, session, theirs, victim, form):
    """He moves the one that the export is made in, and lays one of his own in its place, with a link to what he would like to have
    the mode of the file that was there before."""
    path = theirs / "out"
    for _ in range(10):
        path.write_text("before")
        path.chmod(0o4666)
        os.chown(path, NOBODY, NOBODY)
        process, beside = stopped_while_it_writes(ada, session, path, form)
        if beside:
            beside.rename(theirs / "moved")
            beside.mkdir()
            os.chown(beside, NOBODY, NOBODY)
            os.symlink(victim, beside / "out")
        process.send_signal(signal.SIGCONT)
        _, said = process.communicate(timeout=60)
        if beside:
            break
    assert beside, "never caught at it"
    assert os.path.islink(beside / "out") and not list((theirs / "moved").iterdir())
    if form == "sqlite":                    # which goes by names: it meets the link, and what that leads to is none of its files
        assert process.returncode == 125 and said.count(b"\n") == 1 and path.read_text() == "before"
        return
    assert (process.returncode, said) == (0, b"")
    assert path.stat().st_mode & 0o7777 == 0o666 and path.stat().st_size > 1000
