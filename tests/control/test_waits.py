"""The program has ended, and what it left behind hasn't: ada says for whom it waits, and how not to."""
import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
from harness import Session

SECONDS = 60
DAEMON = "setsid sh -c 'read line <gate' </dev/null >/dev/null 2>&1 & exit 3"
STOPPED = """sh -c 'kill -STOP $$; read line <gate' </dev/null >/dev/null 2>&1 &
while ! grep -q '^State:.T' /proc/$!/status; do :; done; exit 3"""


class Left:
    """ada, whose program has left something behind that ends when the gate is opened."""

    def __init__(self, ada, place, script, *options):
        self.ada, self.output, self.gate = ada, place / "out", place / "gate"
        os.mkfifo(self.gate)
        self.master, slave = pty.openpty()
        words = [ada.path, "trace", f"--output={self.output}", *options, "--", "sh", "-c", script]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, cwd=place,
                                        start_new_session=True)
        os.close(slave)
        self.text = ""

    def say(self):
        """Some more of what it says; False: that was all."""
        assert select.select([self.master], [], [], SECONDS)[0], self.text
        with contextlib.suppress(OSError):
            piece = os.read(self.master, 1 << 16)
            self.text += piece.decode()
            return bool(piece)
        return False

    def waits(self):
        """For whom, once it has said so."""
        end = time.monotonic() + SECONDS
        while not (line := re.search(r"ada: the program has ended, but not what it started: (.*?)\r\n", self.text)):
            assert self.say() and time.monotonic() < end, self.text
        return line[1]

    def end(self):
        end = time.monotonic() + SECONDS
        while self.say() and time.monotonic() < end:
            pass
        return self.process.wait(SECONDS)

    def close(self):
        gate = os.open(self.gate, os.O_RDWR)         # of those that --no-wait left behind before they were recorded, too
        os.write(gate, b"go\n" * 4)
        for pid in {int(d.name.split("_")[1]) for d in self.output.glob("session_*/pid_*")}:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(gate)
        os.close(self.master)


@pytest.fixture
def leave(ada, tmp_path):
    started = []

    def start(script, *options):
        started.append(Left(ada, tmp_path, script, *options))
        return started[-1]
    yield start
    for one in started:
        one.close()


def lives(pid):
    return os.path.exists(f"/proc/{pid}/exe")


def test_a_program_that_takes_the_interrupt_for_itself(leave):
    """The first one is the program's: it is said what the second one does, once, and it does it."""
    recording = leave("trap : INT; echo begins >&2; while :; do read line <gate; done")
    end = time.monotonic() + SECONDS
    while "begins" not in recording.text:
        assert recording.say() and time.monotonic() < end, recording.text
    recording.process.send_signal(signal.SIGINT)
    while "Ctrl-C once more ends the recording\r\n" not in recording.text:
        assert recording.say() and time.monotonic() < end, recording.text
    recording.process.send_signal(signal.SIGINT)
    while "was not recorded to its end: the recording was ended by the user" not in recording.text:
        assert recording.say() and time.monotonic() < end, recording.text
    assert recording.text.count("Ctrl-C once more") == 1


@pytest.mark.parametrize("script, named", [(DAEMON, r"^sh \((\d+)\): `ada stop`"), (STOPPED, r"^sh \((\d+), stopped\): `ada stop`")],
                         ids=["daemon", "stopped"])
@pytest.mark.parametrize("way", ["ada stop", "two interrupts"])
def test_it_says_for_whom_and_how_to_end_it(ada, leave, script, named, way):
    recording = leave(script)
    line = recording.waits()
    pid = int(re.search(named, line)[1])
    assert "Ctrl-C twice" in line and "--no-wait" in line
    if way == "ada stop":
        assert ada("stop", Session(recording.output).path, timeout=SECONDS).status == 0
    else:
        end = time.monotonic() + SECONDS
        while recording.process.poll() is None and time.monotonic() < end:     # two that come at once are one
            recording.process.send_signal(signal.SIGINT)
            time.sleep(0.05)
    assert recording.end() == 3
    assert recording.text.count("the program has ended") == 1
    assert lives(pid)
    document = json.loads((Session(recording.output).path / "session.json").read_text())
    assert document["finalized"] is True and document["exit"] == {"kind": "exited", "status": 3}


@pytest.mark.parametrize("script", [DAEMON, STOPPED], ids=["daemon", "stopped"])
def test_no_wait(ada, leave, script):
    recording = leave(script, "--no-wait")
    assert recording.end() == 3
    assert "the program has ended" not in recording.text
    assert all(m["finalized"] for m in Session(recording.output).manifests().values())
    assert ada("verify", Session(recording.output).path).status == 0


def test_it_ends_with_the_last(leave):
    recording = leave(DAEMON)
    recording.waits()
    recording.gate.write_text("go\n")
    assert recording.end() == 3
