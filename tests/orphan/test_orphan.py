"""The recorder dies, the program lives: at full speed, whatever it waited for, and to its own end. The recorder is this test's child
and is not waited for, so it stays a zombie. One that is stopped is waited for only so long."""
import contextlib
import ctypes
import json
import mmap
import os
import pathlib
import select
import signal
import struct
import time

import pytest

from harness import Session, check_recording, keeper_of
from live import Live

LINE, WORDS = 64, 64                        # as in program.c
FUTEX, RECVMSG = "202", "47"
WAIT_S = 60
CALLS = 100000                              # more than any buffer of 1 MB holds
PR_SET_CHILD_SUBREAPER = 36
BLOCK = "--on-full=block", "--index-buffer=1M", "--detail=off"
DROP = "--index-buffer=1M", "--detail=off"
ASKS = "--index-buffer=1M", "--trigger=symbol=twice"  # with rules that name functions a fork's child asks for its segment
AT_ONCE_S = 4                               # less than anyone waits for a recorder that stands
READY_S = 10


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

    def keeper(self):
        return keeper_of(self.recorder)

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
    program = start(2, *(ASKS if order == "fork" else DROP))
    program.stop_recorder()
    program.say(order + "\n")
    until(lambda: talker(program, order))
    program.kill()
    assert program.line() == "done\n"
    program.goes_on()
    program.end_alone()


def lies_ready(program):
    """As many segments as do once a process has forked. None ever does where memory is limited, or not the recorder's own."""
    names = set()
    for path in pathlib.Path(f"/proc/{program.recorder}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):    # it may be closed by now
            names.add(os.readlink(path))
    return sum("/ready." in name for name in names) >= 4


def calls_of_children(ada, recording, pid):
    """Of children of forks: how often they called leaf, which each does twice."""
    sql = "SELECT process, COUNT(*) AS calls FROM calls WHERE function = 'leaf' GROUP BY process"
    answer = ada("query", "--format=json", recording.path, sql)
    assert answer.status == 0, answer.stderr
    rows = json.loads(answer.stdout)
    return [row["calls"] for row in (rows["rows"] if isinstance(rows, dict) else rows) if row["process"] != f"pid_{pid}"]


def fork_beside_a_stopped_recorder(program, orders):
    program.tell("fork\n")
    end = time.monotonic() + READY_S
    while not lies_ready(program):
        if time.monotonic() > end:
            pytest.skip("no segments lie ready here")
        time.sleep(0.001)
    program.stop_recorder()
    begin = time.monotonic()
    for order in orders:
        program.tell(order + "\n")
    assert time.monotonic() - begin < AT_ONCE_S


@pytest.mark.parametrize("options", [DROP, ("--index-buffer=1M",)], ids=["index", "detail"])
def test_children_begin_while_the_recorder_stands(ada, start, tmp_path, options):
    """They wait for nobody, and are recorded from their first call on once it goes on: the HELLO of a child and that of its child, and
    their deaths, lie there by then."""
    program = start(1, *options)
    fork_beside_a_stopped_recorder(program, ["family", "fork"])
    os.kill(program.recorder, signal.SIGCONT)
    program.end(7)
    recording = check_recording(ada, tmp_path / "ada")
    assert calls_of_children(ada, recording, program.pid) == [2] * 4
    for name, manifest in recording.manifests().items():
        assert manifest["index_lane"]["lost"] == 0 or name == f"pid_{program.pid}"
        # Linux before 6.16 knows no more how a process ended that is gone.
        assert manifest["exit"] in ({"kind": "exited", "status": 3}, {"kind": "unknown"}) or name == f"pid_{program.pid}"


def test_a_child_that_is_another_program_by_then(ada, start, tmp_path):
    """It forks and executes while the recorder stands: the recorder hears of both, in their order."""
    program = start(1, *DROP)
    fork_beside_a_stopped_recorder(program, [])
    program.say("exec\n")
    until(lambda: talker(program, "exec"))
    os.kill(program.recorder, signal.SIGCONT)
    assert program.line() == "done\n"
    program.end(7)
    manifests = check_recording(ada, tmp_path / "ada").manifests()
    child = next(name for name in manifests if name.count("_") == 2).rpartition("_")[0]
    assert manifests[child]["exit"]["kind"] == "exec" and manifests[child]["parentPid"] == program.pid
    assert manifests[child + "_2"]["program"].endswith("/true") and manifests[child + "_2"]["provider"] > manifests[child]["provider"]


def test_children_that_nobody_heard_of_are_recovered(ada, start, tmp_path):
    """The recorder dies before it reads their HELLOs: what they did is saved, with names."""
    program = start(1, *DROP)
    fork_beside_a_stopped_recorder(program, ["family", "fork"])
    keeper = os.pidfd_open(program.keeper())
    program.kill()
    program.end_alone()
    assert select.select([keeper], [], [], WAIT_S)[0]
    os.close(keeper)
    recording = Session(tmp_path / "ada")
    assert ada("verify", recording.path).status == 0
    assert calls_of_children(ada, recording, program.pid) == [2] * 4
    parents = {manifest["pid"]: manifest["parentPid"] for manifest in recording.manifests().values()}
    assert sorted(parents[pid] == program.pid for pid in parents if pid != program.pid) == [False, True, True, True]


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
