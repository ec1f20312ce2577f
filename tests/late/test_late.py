"""Rules that are added while the program runs, and name what isn't hooked yet: from then on every call is recorded, and the
program doesn't notice. The counts are the program's own (program.c: as many calls as its stdin says)."""
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

import pytest

from harness import Session, check_recording
from live import LINE_S, Live

SWAPS = 400                 # tests/windows makes more


class Traced(Live):
    def say(self, text):
        super().say(text + "\n")

    def add(self, rule):
        result = self.ada("trigger", "add", self.session, rule)
        assert result.status == 0, result.stderr.decode()
        self.warning = result.stderr.decode()
        return result.stdout.decode().split()[1].rstrip(",")

    def remove(self, number):
        assert self.ada("trigger", "remove", self.session, number).status == 0

    def pid(self):
        return int(Session(self.output).processes()[0].name.split("_")[1])

    def hear(self, text):
        """Waits for ada's next line: what it has to say of the start it says while the program goes on."""
        line = b""
        while not line.endswith(b"\n"):
            assert select.select([self.process.stderr], [], [], LINE_S)[0], "ada says nothing"
            line += os.read(self.process.stderr.fileno(), 1) or b"(the end)\n"
        assert text in line.decode(), line

    def end(self, said=()):
        """What the program wrote last; ada must have `said` just these."""
        out, err = super().end()
        lines = err.splitlines()
        assert len(lines) == len(said) and all(text in line for text, line in zip(said, lines)), err
        return out


@pytest.fixture
def start(ada, build_dir, tmp_path):
    running = []

    def begin(mode, *options):
        running.append(Traced(ada, tmp_path / "ada", [build_dir / "tests/late/late_program", mode], *options))
        return running[-1]
    yield begin
    for one in running:
        one.close()


def calls(ada, output):
    session = check_recording(ada, output)
    assert session.lost() == 0
    return {row["function"]: row["calls"] for row in ada.rows("report", session.path)}


def test_an_excluded_function_is_recorded_from_the_rule_on(ada, start, tmp_path):
    program = start("serve", "--exclude=quiet")
    program.tell("quiet 100")
    program.add("symbol=quiet")
    program.tell("quiet 250")
    program.end()
    assert calls(ada, tmp_path / "ada")["quiet"] == 250


def test_a_function_inside_a_library_that_is_not_traced(ada, start, tmp_path):
    program = start("serve")
    program.tell("library 70")
    program.add("symbol=ada_late_inner")
    program.tell("library 30")
    program.add("symbol=ada_late_library")      # is hooked in the GOT as well: one event a call
    program.tell("library 5")
    program.end()
    counted = calls(ada, tmp_path / "ada")
    assert counted["ada_late_inner"] == 35
    assert counted["ada_late_library"] == 3


def test_a_rule_given_at_the_start_names_what_is_not_traced(ada, start, tmp_path):
    program = start("serve", "--exclude=quiet", "--trigger=symbol=quiet,ada_late_inner")
    program.tell("quiet 11")
    program.tell("library 12")
    program.end()
    counted = calls(ada, tmp_path / "ada")
    assert (counted["quiet"], counted["ada_late_inner"], counted["ada_late_library"]) == (11, 12, 1)


UNKNOWN = "symbol=ada_late_plugin: no function is called ada_late_plugin"


def test_a_library_that_is_loaded_after_the_rule(ada, start, tmp_path):
    program = start("serve", "--trigger=symbol=ada_late_plugin")
    program.hear(UNKNOWN)                       # or it would be known by then
    program.tell("plugin 7")
    program.tell("plugin 8")
    program.end()
    assert calls(ada, tmp_path / "ada")["ada_late_plugin"] == 15


def test_a_rule_that_names_nothing_yet_is_told_of(ada, start, tmp_path):
    program = start("serve")
    program.add("symbol=ada_late_plugin")
    assert UNKNOWN in program.warning and "may be loaded later" in program.warning
    program.add("symbol=quite")
    assert "near it: quiet" in program.warning
    program.tell("plugin 4")
    program.end([UNKNOWN, "quite"])
    assert calls(ada, tmp_path / "ada")["ada_late_plugin"] == 4


def test_a_library_that_was_loaded_before_the_rule_and_again_behind_it(ada, start, tmp_path):
    program = start("serve")
    program.tell("plugin 4")
    program.add("symbol=ada_late_plugin")
    program.tell("plugin 5")                    # hooked before anything of it runs
    program.tell("plugin 6")
    program.end()
    assert calls(ada, tmp_path / "ada")["ada_late_plugin"] == 11


def test_every_process_is_patched(ada, start, tmp_path):
    program = start("serve", "--exclude=quiet")
    program.tell("child 40")
    program.add("symbol=quiet")
    program.tell("quiet 2")
    program.tell("go 0")
    program.tell("child 3")                     # has its parent's hooks
    program.tell("go 0")
    program.end()
    assert calls(ada, tmp_path / "ada")["quiet"] == 45


def test_a_process_that_is_being_debugged_is_named(ada, start, tmp_path):
    program = start("serve", "--exclude=quiet", "--no-follow")
    program.tell("traced 0")
    program.add("symbol=quiet")
    assert f"symbol=quiet: not hooked in process {program.pid()}: it can't be stopped" in program.warning
    program.tell("quiet 3")
    program.end(["symbol=quiet: not hooked"])
    assert "quiet" not in calls(ada, tmp_path / "ada")


def test_hooks_stay_when_their_rule_goes(ada, start, tmp_path):
    program = start("serve", "--exclude=quiet")
    program.remove(program.add("symbol=quiet"))
    program.tell("quiet 5")
    program.add("symbol=quiet")
    program.tell("quiet 6")
    program.end()
    assert calls(ada, tmp_path / "ada")["quiet"] == 11


def test_a_stopped_program_is_patched_and_stays_stopped(ada, start, tmp_path):
    program = start("serve", "--exclude=quiet")
    pid = program.pid()
    os.kill(pid, signal.SIGSTOP)

    def state():
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    def await_stopped():
        deadline = time.monotonic() + LINE_S
        while state() != "T":
            assert time.monotonic() < deadline
            time.sleep(0.001)
    await_stopped()
    program.add("symbol=quiet")
    await_stopped()     # whom a tracer lets go of wakes in the kernel, and stops there again
    os.kill(pid, signal.SIGCONT)
    program.tell("quiet 9")
    program.end()
    assert calls(ada, tmp_path / "ada")["quiet"] == 9


def stop_inside(pid):
    """Stops the process in the midst of the agent's own code."""
    ranges = [line.split()[0].split("-") for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
              if line.endswith("/libada-agent.so") and line.split()[1] == "r-xp"]
    while True:
        os.kill(pid, signal.SIGSTOP)
        while pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        counter = int(pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[-1], 16)
        if any(int(start, 16) <= counter < int(end, 16) for start, end in ranges):
            return
        os.kill(pid, signal.SIGCONT)


def test_a_program_that_is_stopped_inside_a_hook_is_patched(ada, start, tmp_path):
    program = start("inside", "--exclude=target_1?", "--index-mode=circular", "--index-buffer=8M", "--detail=off")
    pid = program.pid()
    for number in range(10, 20):
        stop_inside(pid)
        program.add(f"symbol=target_{number}")
        assert not program.warning
        os.kill(pid, signal.SIGCONT)
    os.kill(pid, signal.SIGUSR1)
    assert program.end() == "sum 1450\n"
    session = check_recording(ada, tmp_path / "ada")
    counted = {row["function"]: row["calls"] for row in ada.rows("report", session.path)}
    assert [counted[f"target_{number}"] for number in range(10, 20)] == [10] * 10


def test_a_thread_in_a_loop_that_comes_back_into_the_patch(ada, start):
    program = start("loops", "--exclude=loops_early")
    pid = program.pid()
    program.add("symbol=loops_early")
    assert "not hooked" in program.warning, program.warning
    os.kill(pid, signal.SIGUSR1)
    assert program.end(("not hooked",)) == "sum 21\n"


RECVMSG, PPOLL = "47", "271"
# A library in the recorder: as long as the gate is there an answer isn't sent, or what reads that the agent is done doesn't come back.
SLOW = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
static void hold_up(const char *call)
{
	while (!strcmp(call, getenv("SLOW_CALL")) && !strcmp(program_invocation_short_name, "ada") && !access(getenv("SLOW_GATE"), F_OK))
		usleep(1000);
}
ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
	hold_up("47");
	return ((ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg"))(socket, message, flags);
}
ssize_t process_vm_readv(pid_t pid, const struct iovec *own, unsigned long count, const struct iovec *other, unsigned long others,
			 unsigned long flags)
{
	ssize_t (*next)(pid_t, const struct iovec *, unsigned long, const struct iovec *, unsigned long, unsigned long);
	const unsigned long done = 1;
	*(void **)&next = dlsym(RTLD_NEXT, "process_vm_readv");
	ssize_t got = next(pid, own, count, other, others, flags);
	if (got == sizeof(done) && !memcmp(own->iov_base, &done, sizeof(done)))
		hold_up("271");
	return got;
}
"""


@pytest.mark.parametrize("call", [RECVMSG, PPOLL], ids=["waits", "done"])
def test_a_program_outlives_a_recorder_that_is_killed_in_a_late_patch(ada, start, tmp_path, monkeypatch, call):
    """While the thread waits for it: for an answer, or, when that is done, to be taken back."""
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-x", "c", "-", "-o", tmp_path / "slow.so"], input=SLOW.encode(),
                   check=True)
    gate = tmp_path / "gate"
    for name, value in ("LD_PRELOAD", tmp_path / "slow.so"), ("SLOW_CALL", call), ("SLOW_GATE", gate):
        monkeypatch.setenv(name, str(value))
    # A sanitized recorder comes behind it in the list, which does no harm here.
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    program = start("inside", "--exclude=target_*", "--index-mode=circular", "--index-buffer=8M", "--detail=off")
    pid, sockets = program.pid(), pathlib.Path(program.address()).parent
    gate.touch()
    adding = subprocess.Popen([ada.path, "trigger", "add", program.session, "symbol=target_10"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    while pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0] != call:      # it makes no such call of its own
        assert adding.poll() is None
    program.process.kill()
    adding.wait(60)
    program.process.wait(60)
    shutil.rmtree(sockets, ignore_errors=True)  # what it had no time for: its keeper may do so meanwhile
    os.kill(pid, signal.SIGUSR1)
    assert program.line() == "sum 1450\n"


def test_who_waits_in_the_kernel_does_not_notice(ada, start, tmp_path):
    program = start("blocked", "--exclude=target_*")
    for number in range(10, 20):
        program.add(f"symbol=target_{number}")
    program.say("go on")
    assert program.end() == "done\n"
    assert calls(ada, tmp_path / "ada")["target_15"] == 1


def test_100_patches_under_8_threads(ada, start, tmp_path):
    program = start("threads", "--exclude=target_*", "--index-mode=circular", "--index-buffer=8M", "--detail=off")
    for number in range(100):
        program.tell(str(number))
        program.remove(program.add(f"symbol=target_{number + 10}"))
    words = program.end().split()
    assert words[::2] == ["wrong", "sent", "taken"]
    assert words[1] == "0" and words[3] == words[5] and int(words[3]) > 0
    manifest = list(check_recording(ada, tmp_path / "ada").manifests().values())[0]
    main = next(module for module in manifest["modules"] if module["kind"] == "main")
    assert "excluded" not in main["skipped"], json.dumps(main)
    assert main["functions"] == main["hooked"] + sum(main["skipped"].values())


def test_a_policy_that_is_swapped_all_the_time_under_8_threads(ada, start, tmp_path):
    """Rules take turns in few slots; a mark under a policy that never was would join a rule and a function that it doesn't name."""
    program = start("pairs", "--index-mode=circular", "--index-buffer=8M", "--detail-buffer=8M", "--pre-roll-events=10",
                    "--post-roll-events=10", "--trigger=crash")
    live = []
    for number in range(SWAPS // 2):
        target = 10 + number % 2
        live.append(program.request("trigger-add", rule=f"symbol=target_{target}@label={target},every=100000")["id"])
        if len(live) > 3:
            program.request("trigger-remove", id=live.pop(0))
    words = program.end().split()
    assert words[1] == "0" and words[3] == words[5]
    session = check_recording(ada, tmp_path / "ada")
    manifest = list(session.manifests().values())[0]
    names = {int(line.split("\t")[0]): line.split("\t")[3] for line in
             (session.processes()[0] / "modules/0.tsv").read_text().splitlines() if not line.startswith("#")}
    marks = [mark for window in manifest["detail_lane"]["windows"] for mark in window["marks"]]
    overwritten = sum(thread["overwritten"] for thread in manifest["threads"])     # what circular is for; no other is lost
    assert marks and session.lost() == overwritten
    # Marks that came faster than a recorder without a CPU takes them are known by their number and rules alone.
    known = [mark for mark in marks if mark["thread"] is not None]
    assert known and all(mark["functionId"] is None for mark in marks if mark["thread"] is None)
    for mark in known:
        assert mark["label"] and names[mark["functionId"] & 0xffffffff] == f"target_{mark['label']}", mark
