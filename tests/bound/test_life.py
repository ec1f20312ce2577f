"""What happens to a program meanwhile leaves its bound calls whole: a debugger, a crash, `ada stop`, a recorder that dies, rules that come
and go, functions that are hooked late, fork, exec. The counts are the program's own (served.c)."""
import os
import re
import shutil
import signal
import subprocess

import pytest

from harness import CALL, RETURN, Session, check_recording
from live import LINE_S, Live
from recording import Process, check_process

FRAMES = ["inner", "outer", "main"]


class Served(Live):
    def say(self, text):
        super().say(text + "\n")


@pytest.fixture
def start(ada, build_dir, tmp_path):
    running = []

    def begin(*options, before=()):
        running.append(Served(ada, tmp_path / "ada", [build_dir / "tests/bound/served"], "--no-libcalls", *options, before=before))
        return running[-1]
    yield begin
    for one in running:
        one.close()


def pid_of(program):
    return int(Session(program.output).processes()[0].name.split("_")[1])


def processes(ada, program, states=("complete",)):
    check_recording(ada, program.output, states)
    found = [Process(path) for path in Session(program.output).processes()]
    for process in found:
        check_process(process)
    return found


def count(process, name, kind=CALL):
    ids = process.ids(name)
    return sum(event[3] == kind and event[1] in ids for thread in process.threads for event in thread.events)


def bound(process):
    return process.manifest["hooks"]["bound"]


def check_backtraces(told, least, named=False):
    """Each of them goes from the function that is called, or about to be, out to main, and through nothing else. Named: where what the
    agent brings for gdb is loaded, that function and no other place of ada's but a hook in the midst of its work."""
    traces = [re.findall(r"^#\d+ .*", trace, re.MULTILINE) for trace in told.split("step ")[1:]]
    assert len(traces) >= least, told
    for trace in traces:
        names = [match.group(1) for match in (re.search(r"(?:in )?([\w?.]+) \(", line) for line in trace) if match]
        assert [name for name in FRAMES if name in names] == FRAMES, "\n".join(trace)
        assert all(name not in ("??", "ada_entry_near") for name in names[1:]), "\n".join(trace)
        if named:
            own = [name for name in names if not name.startswith("ada_") and name != "calls"]      # which may be inline
            assert own in (FRAMES, ["leaf", *FRAMES]), "\n".join(trace)
            assert not [line for line in trace if "<signal handler called>" in line], "\n".join(trace)


@pytest.mark.parametrize("named", [False, True])
def test_gdb_and_cores_at_each_instruction_of_a_bound_call(start, build_dir, need, tmp_path, named):
    need(shutil.which("gdb"), "gdb")
    command = ["gdb", "-nx", "-batch", *(["-iex", f"add-auto-load-safe-path {build_dir / 'src/agent'}"] if named else [])]
    program = start()
    program.tell("calls 3")                 # the call is known: its stub jumps on by itself
    script = tmp_path / "script"
    script.write_text("break *served_call\ncontinue\n"
                      "set $i = 0\nwhile $i < 40\nprintf \"step %d\\n\", $i\nbacktrace\n"
                      "if $i == 1\ngenerate-core-file {0}/first\nend\nif $i == 4\ngenerate-core-file {0}/hook\nend\n"
                      "stepi\nset $i = $i + 1\nend\ndelete\ndetach\n".format(tmp_path))
    gdb = subprocess.Popen([*command, "-p", str(pid_of(program)), "-ex", "echo attached\\n", "-x", script],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    told = ""
    for line in gdb.stdout:
        told += line
        if line == "attached\n":
            program.say("calls 2")
    assert gdb.wait(60) == 0, told
    assert program.line() == "done\n"
    check_backtraces(told.partition("step 0")[1] + told.partition("step 0")[2], 40, named)
    program.end()
    for core in "first", "hook":
        told = subprocess.run([*command, "-ex", "echo step 0\\n", "-ex", "backtrace", build_dir / "tests/bound/served", tmp_path / core],
                              capture_output=True, text=True, timeout=60).stdout
        check_backtraces(told, 1, named)


def test_a_crash_leaves_a_core_with_all_who_called(start, build_dir, need, tmp_path):
    need(shutil.which("gdb"), "gdb")
    program = start(before=["prlimit", "--core=unlimited", "env", f"--chdir={tmp_path}"])
    program.tell("calls 3")
    program.say("crash 0")
    program.process.wait(LINE_S)
    cores = [path for path in tmp_path.iterdir() if path.name.startswith("core")]
    need(cores, "core dumps in the working directory")
    told = subprocess.run(["gdb", "-nx", "-batch", "-ex", "echo step 0\\n", "-ex", "backtrace", build_dir / "tests/bound/served", cores[0]],
                          capture_output=True, text=True, timeout=60).stdout
    check_backtraces(told, 1)
    assert "leaf (" in told


def test_stop_ends_the_recording_and_not_the_calls(ada, start):
    program = start("--on-full=block")
    program.tell("calls 1000")
    assert ada("stop", program.session).status == 0
    program.tell("calls 3000")
    program.end()
    process, = processes(ada, program, ["stopped"])
    assert bound(process) >= 3
    assert count(process, "leaf") == count(process, "leaf", RETURN) == 1000


def test_stop_while_a_thread_calls(ada, start):
    program = start("--index-mode=circular", "--index-buffer=2M")
    program.tell("spin 0")
    program.tell("calls 1000")
    assert ada("stop", program.session).status == 0
    program.tell("calls 1000")
    assert int(program.end()[0].split()[1]) > 1000
    process, = processes(ada, program, ["stopped"])
    assert bound(process) >= 3


@pytest.mark.parametrize("options", [(), ("--detail=off",), ("--debug-poison",)])
def test_the_recorder_dies_while_a_thread_calls(start, options):
    program = start("--index-mode=circular", "--index-buffer=2M", *options)
    program.tell("spin 0")
    pid = pid_of(program)
    os.kill(program.process.pid, signal.SIGKILL)
    program.process.wait(LINE_S)
    program.tell("calls 100000")            # hooks only pass
    program.tell("calls 100000")
    os.kill(pid, signal.SIGKILL)


def test_rules_come_and_go_while_a_thread_calls(ada, start):
    program = start("--on-full=block", "--index-buffer=8M", "--detail-buffer=16M")
    program.tell("spin 0")
    for round in range(60):
        number = program.request("trigger-add", rule="symbol=leaf@pre=2ev,post=2ev")["id"]
        while round == 0 and not program.request("status")["policy"]["rules"][-1]["marks"]:    # the thread may not have run so far
            os.sched_yield()
        program.request("trigger-remove", id=number)
    said = program.end()[0]
    process, = processes(ada, program)
    assert bound(process) >= 3 and process.manifest["detail_lane"]["windows"]
    assert count(process, "leaf") == int(said.split()[1])


def test_a_function_that_is_hooked_late_has_its_calls_bound(ada, start):
    program = start("--exclude=leaf", "--on-full=block")
    program.tell("calls 100")
    assert ada("trigger", "add", program.session, "symbol=leaf").status == 0
    program.tell("calls 250")
    program.tell("fork 30")
    program.end()
    first, child = processes(ada, program)
    assert (count(first, "leaf"), count(child, "leaf")) == (250, 30)
    assert count(first, "outer") == 350
    assert bound(first) >= 3                # inner's call of leaf among them: the only one


def test_children_and_images(ada, start):
    program = start("--on-full=block")
    program.tell("calls 7")
    program.tell("fork 40")
    program.say("exec 0")
    assert program.line() == "ready\n"
    program.tell("calls 50")
    program.tell("fork 60")
    program.end()
    found = processes(ada, program)
    assert sorted(count(process, "leaf") for process in found) == [7, 40, 50, 60]
    assert all(bound(process) >= 3 for process in found)
