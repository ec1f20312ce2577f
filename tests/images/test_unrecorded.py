"""Every program image that ada followed is recorded, or named as not recorded: in the summary, in session.json and by `ada info`.

How many there are is known beforehand: what starts them (starter.c) counts them.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess

import pytest
from harness import NO_OWN_MEMORY, Session, run, skip_unless_possible

TRUE = "/bin/true"
SMALL = ("--detail=off", "--index-buffer=1M")       # of each process: there are many
# mov $1,%eax (exit); xor %ebx,%ebx; int $0x80: a whole program, of 32 bits
CODE32 = bytes.fromhex("b80100000031dbcd80")


@pytest.fixture(scope="module")
def starter(tmp_path_factory):
    path = tmp_path_factory.mktemp("starter") / "starter"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", path, pathlib.Path(__file__).with_name("starter.c")], check=True)
    return path


@pytest.fixture
def count(ada, tmp_path):
    """count(COMMAND...): records it. How many images: recorded to their end, not to their end, not at all; and their reasons."""
    if ada is None:
        pytest.skip("tests ada itself")

    def record(*command, options=SMALL, timeout=60, status=0, inside=()):
        result = run([*inside, ada.path, "trace", f"--output={tmp_path / 'out'}", *options, "--", *command], timeout=timeout)
        summary = result.stderr.decode(errors="replace")
        assert result.status == status, summary
        session = Session(tmp_path / "out")
        document = json.loads((session.path / "session.json").read_text())
        states = [m["recording"] for m in session.manifests().values()]
        assert len(document["processes"]) == len(states)
        cut = [s["reason"] for s in states if s["state"] != "complete"]
        missing = [entry["reason"] for entry in document["notRecorded"]]
        told = next(line for line in summary.splitlines() if line.startswith(f"ada: {session.path}: "))
        assert ("nothing lost" in told) == (not cut and not missing), told
        assert (f"{len(missing)} program{'s' if len(missing) > 1 else ''} NOT RECORDED" in told) == bool(missing), told
        assert (f"{len(cut)} CUT SHORT" in told) == bool(cut), told
        assert not states or ", 0 process" not in told, told      # one with a recorded image is one, whatever became of it
        info = ada("info", session.path).stdout.decode()
        for reason in cut + missing:
            assert reason in info
        rows = ada("info", "--format=json", session.path)
        assert json.loads(rows.stdout)["completeness"]["complete"] == (not cut and not missing)
        return len(states) - len(cut), cut, missing
    return record


def static(path):
    subprocess.run(["gcc", "-static", "-x", "c", "-", "-o", path], input=b"int main(void) { return 0; }", check=True)


def setuid(path):
    shutil.copy(TRUE, path)
    path.chmod(0o4755)


def narrow(path):
    """A program of 32 bits: header, one segment, nine bytes of code."""
    start, size = 0x10000, 52 + 32 + len(CODE32)
    header = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 3, 1, start + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    path.write_bytes(header + struct.pack("<8I", 1, 0, start, start, size, size, 5, 4096) + CODE32)
    path.chmod(0o755)


def other_libc(path):
    """As far as its loader's name says."""
    loader = path.with_name("ld-musl-x86_64.so.1")
    loader.symlink_to("/lib64/ld-linux-x86-64.so.2")
    subprocess.run(["gcc", "-x", "c", "-", "-o", path, f"-Wl,--dynamic-linker={loader}"], input=b"int main(void) { return 0; }",
                   check=True)


@pytest.mark.parametrize("how", [("exec",), ("spawn", 1, 1), ("spawn", 150, 3)], ids=["exec", "spawn", "many"])
@pytest.mark.parametrize("make, reason", [(static, "static"), (setuid, "setuid"), (narrow, "architecture"), (other_libc, "glibc")])
def test_what_takes_no_agent_in(make, reason, how, count, starter, tmp_path):
    program = tmp_path / "program"
    make(program)
    try:
        subprocess.run([program], check=True)
    except OSError:
        pytest.skip("needs a kernel that runs programs of 32 bits")      # no package brings one
    complete, cut, missing = count(starter, *how, program)
    assert (complete, cut, len(missing)) == (1, [], how[1] if len(how) > 1 else 1)
    # Of more at once than the agent's table holds, the rest is counted.
    assert sum(reason in text for text in missing) >= min(len(missing), 64)


@pytest.mark.parametrize("limit, reason", [("-v 65536", "RLIMIT_AS"), ("-v 20000", "never reported"), ("-n 3", "file descriptor")])
def test_no_room_for_the_agent(limit, reason, count):
    """The recorder finds no room for a segment, or the loader none for the agent; or nothing is left to take it along by."""
    result = 127 if "-n" in limit else 0        # then the loader has no file left for libc, either
    complete, cut, missing = count("/bin/bash", "-c", f"ulimit {limit}; exec /bin/echo", status=result)
    assert (complete, cut, len(missing)) == (1, [], 1) and reason in missing[0]


def test_a_process_counts_once(ada, tmp_path):
    """Whichever of its images are recorded: here all, then all but the last, then all but one in the midst."""
    if ada is None:
        pytest.skip("tests ada itself")
    small = "ulimit -S -v 65536; exec "
    for number, script in enumerate(("exec /bin/true", small + "/bin/true", small + "/bin/sh -c 'ulimit -S -v unlimited; exec /bin/true'")):
        result = run([ada.path, "trace", f"--output={tmp_path / str(number)}", *SMALL, "--", "/bin/sh", "-c", script], timeout=60)
        summary = result.stderr.decode()
        assert ", 1 process, " in summary and ("1 program NOT RECORDED" in summary) == bool(number), summary


def test_a_full_dev_shm(count, need):
    """For a child and what it executes; there is room again for what comes then. Where ada gets no memory of its own."""
    need(os.geteuid() == 0, "root, for a /dev/shm of its own")
    inside = ("/usr/bin/unshare", "-m", "--propagation", "unchanged", "/bin/sh", "-c",      # in a chroot / is no mount to change
              'for m in /dev/shm /dev /; do mount --make-private $m 2>/dev/null; done; mount -t tmpfs -o size=30m tmpfs /dev/shm && exec "$@"',
              "sh", *NO_OWN_MEMORY)
    skip_unless_possible(inside)
    complete, cut, missing = count(
        "/bin/bash", "-c", "while printf '%1048576s' x; do :; done >/dev/shm/fill 2>&1; /bin/true; : >/dev/shm/fill; exec /bin/true",
        inside=inside)
    assert (complete, cut, len(missing)) == (2, [], 2) and all("/dev/shm" in reason for reason in missing)


def test_a_fork_without_files(count, starter):
    complete, cut, missing = count(starter, "files")
    assert (complete, cut, len(missing)) == (1, [], 1) and "descriptor" in missing[0]


def test_more_threads_than_ada_has_descriptors(count, starter):
    """Their files leave some to manifests and to processes that come, be they written or on their way to the disk."""
    few = ("/bin/bash", "-c", 'ulimit -n 60 && exec "$@"', "bash")
    assert count(starter, "crowd", 200, options=("--detail=off",), inside=few) == (3, [], [])


def test_a_fork_of_a_process_that_is_recorded_no_more(count, starter):
    complete, cut, missing = count(starter, "counter")
    assert (complete, len(cut), len(missing)) == (0, 1, 1) and "PR_SET_TSC" in cut[0] and "no longer" in missing[0]


def test_seccomp_keeps_the_agent_from_going_along(count, starter):
    complete, cut, missing = count(starter, "confined", TRUE)
    assert (complete, cut, len(missing)) == (1, [], 1) and "seccomp" in missing[0]


def root_for(program, directory):
    """A root that holds the program and what it needs; no /proc."""
    for file in {program, "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"}:
        (directory / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, directory / file[1:])
    return directory


def test_a_root_without_the_agent(count, starter, tmp_path, need):
    need(os.geteuid() == 0, "root, for chroot")
    complete, cut, missing = count(starter, "root", root_for(TRUE, tmp_path / "root"), TRUE)
    assert (complete, cut, len(missing)) == (1, [], 1) and "its root" in missing[0]


def test_no_way_to_the_recorder(count, starter, tmp_path, need):
    need(os.geteuid() == 0, "root, for chroot")
    (tmp_path / "empty").mkdir()
    complete, cut, missing = count(starter, "away", tmp_path / "empty")
    assert (complete, cut, len(missing)) == (1, [], 1) and "could not reach the recorder" in missing[0]


def test_another_effective_user(count, starter, need):
    need(os.geteuid() == 0, "root, to change the user")
    complete, cut, missing = count(starter, "user", TRUE)
    assert (complete, cut, len(missing)) == (1, [], 1) and "another user" in missing[0]


def test_a_child_that_its_parent_traces(count, starter):
    complete, cut, missing = count(starter, "traced", TRUE)
    assert (complete, len(cut), len(missing)) == (1, 1, 1) and "PTRACE_TRACEME" in cut[0] and "tracer" in missing[0]


@pytest.mark.parametrize("command", [("raw", TRUE), ("exec", TRUE), ("spawn", 1, 1, TRUE)], ids=lambda command: command[0])
def test_what_takes_the_agent_in(command, count, starter):
    assert count(starter, *command) == (2, [], [])


def test_a_cleared_environment(count):
    assert count("/usr/bin/env", "-i", TRUE) == (2, [], [])


def test_failing_execs_are_no_images(count, starter):
    assert count(starter, "failing", 100) == (1, [], [])


def test_killed_at_its_start(count, starter):
    """At all moments of its start: it was recorded, or its agent was not ready, or said nothing yet."""
    complete, cut, missing = count(starter, "kill", 150, TRUE)
    assert complete + len(cut) + len(missing) == 151
    assert complete >= 1 and all("before its agent was ready" in reason for reason in cut)


@pytest.mark.parametrize("how", [("chain", 1000), ("spawn", 200, 1, TRUE), ("spawn", 200, 80, TRUE)], ids=["chain", "turn", "crowd"])
def test_a_thousand_images(how, count, starter):
    """One after another in a process, in turn, and more at once than the table of announcements holds."""
    complete, cut, missing = count(starter, *how, timeout=500)
    assert complete + len(cut) + len(missing) == how[1] + 1
    # Whom a busy machine keeps waiting too long says so.
    assert missing == [] and all("in time" in reason for reason in cut)
