"""The recorder dies, the program lives: at full speed, whatever it waited for, and to its own end. The recorder is this test's child
and is not waited for, so it stays a zombie. One that is stopped is waited for only so long."""
import ctypes
import mmap
import os
import pathlib
import select
import signal
import struct
import time

import pytest

from harness import Session, check_recording
from live import Live

LINE, WORDS = 64, 64                        # as in program.c
FUTEX, RECVMSG = "202", "47"
WAIT_S = 60
CALLS = 100000                              # more than any buffer of 1 MB holds
PR_SET_CHILD_SUBREAPER = 36
BLOCK = "--on-full=block", "--index-buffer=1M", "--detail=off"
DROP = "--index-buffer=1M", "--detail=off"


def until(condition):
    end = time.monotonic() + WAIT_S
    while not (result := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.001)
    return result


def in_call(path, number):
    try:
        return (path / "syscall").read_text().split()[0] == number
    except OSError:
        return False


class Program(Live):
    """The program of program.c, its threads counting in a file that we map."""

    def __init__(self, ada, build_dir, output, threads, *options):
        self.words = output.parent / "words"
        self.words.write_bytes(bytes(LINE * WORDS))
        with open(self.words, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), LINE * WORDS)
        self.threads = threads
        super().__init__(ada, output, [build_dir / "tests/orphan/orphan_program", self.words, threads,
                                       build_dir / "tests/orphan/libada-tests-orphan.so"], "--no-libcalls", *options)
        self.recorder = self.process.pid
        self.pid = int(Session(output).processes()[0].name.split("_")[1])

    def counts(self):
        return [struct.unpack_from("<Q", self.map, LINE * thread)[0] for thread in range(self.threads)]

    def tasks(self):
        return [path for path in pathlib.Path(f"/proc/{self.pid}/task").iterdir() if path.name != str(self.pid)]

    def goes_on(self, calls=CALLS):
        """Waits until each thread has made so many calls more."""
        before = self.counts()
        until(lambda: all(now - then >= calls for now, then in zip(self.counts(), before)))

    def stop_recorder(self):
        os.kill(self.recorder, signal.SIGSTOP)
        until(lambda: self.recorder_state() == "T")

    def stand(self):
        """Stops the recorder, and waits until every thread waits for it."""
        self.stop_recorder()
        until(lambda: all(in_call(task, FUTEX) for task in self.tasks()))

    def events(self):
        return self.request("status")["events"]

    def kill(self):
        os.kill(self.recorder, signal.SIGKILL)

    def recorder_state(self):
        return pathlib.Path(f"/proc/{self.recorder}/stat").read_text().rpartition(")")[2].split()[0]

    def end_alone(self):
        """It ends as without ada: status, output; and its recorder was a zombie all the time."""
        until(lambda: self.recorder_state() == "Z")
        self.process.stdin.close()
        assert self.line() == "wrong 0\n"
        until(lambda: f"\nPPid:\t{os.getpid()}\n" in pathlib.Path(f"/proc/{self.pid}/status").read_text())
        assert os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]) == 7


@pytest.fixture
def start(ada, build_dir, tmp_path):
    # What the recorder leaves behind becomes this process's child.
    assert not ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    running = []

    def begin(threads, *options):
        running.append(Program(ada, build_dir, tmp_path / "ada", threads, *options))
        return running[-1]
    yield begin
    for one in running:
        one.close(0)


@pytest.mark.parametrize("threads", [1, 4, 40])
def test_killed_while_all_threads_wait_for_it(start, threads):
    program = start(threads, *BLOCK)
    program.stand()
    program.kill()
    program.goes_on()
    program.end_alone()


@pytest.mark.parametrize("options", [BLOCK, DROP, (*DROP, "--index-mode=circular"), ("--on-full=block",)],
                         ids=["block", "drop", "circular", "detail"])
def test_killed_at_full_rate(start, options):
    program = start(4, *options)
    program.goes_on()
    program.kill()
    program.goes_on()
    for order in "load", "fork", "exec", "load":
        program.tell(order + "\n")
    program.say("count\n")
    assert program.line() == "3\n"
    program.end_alone()


def talker(program, order):
    """The thread that waits for an answer, of the program or of the child that it has made."""
    tasks = [pathlib.Path(f"/proc/{program.pid}")]
    if order != "load":
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
        tasks = [pathlib.Path(f"/proc/{child}") for child in children]
    return any(in_call(task, RECVMSG) for task in tasks)


@pytest.mark.parametrize("order", ["load", "fork", "exec"])
def test_killed_in_a_conversation(start, order):
    program = start(2, *DROP)
    program.stop_recorder()
    program.say(order + "\n")
    until(lambda: talker(program, order))
    program.kill()
    assert program.line() == "done\n"
    program.goes_on()
    program.end_alone()


def test_stopped_and_continued(ada, start, tmp_path):
    """It waits for some seconds and goes on without; when the recorder does, all is recorded again; and the recording says it."""
    program = start(4, *BLOCK)
    program.stand()
    program.goes_on()
    program.tell("load\n")
    os.kill(program.recorder, signal.SIGCONT)
    written = program.events()
    until(lambda: program.events() > written + CALLS)
    out, err = program.end(7)
    assert (out, err) == ("wrong 0\n", "")
    manifest = next(iter(check_recording(ada, tmp_path / "ada", ("complete",)).manifests().values()))
    index = manifest["index_lane"]
    assert manifest["buffering"]["index"]["waitsGivenUp"] >= 4
    assert index["lost"] == index["lost_buffer_full"] >= 4 * 2 * CALLS
