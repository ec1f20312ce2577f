"""What the tests that drive ada as a user would share: run a program with and without it, and look at the recording.

Every run has a time limit and its own process group, so that a hang is a failure and leaves nothing behind.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from dataclasses import dataclass

import pytest

EVENT = struct.Struct("<QQIIII")        # abi/record.h: time, function, thread, kind, depth, detail_seq
CALL, RETURN, EXCEPTION, LOST = 1, 2, 3, 4
HEADER_BYTES = 64
FULL = 4                                # tests/meson.build's limits end a test that takes longer
KEPT, KEPT_BYTES = 3, 1 << 30           # failed recordings beside the command under test: so many, of so many bytes each

LIBATF = None                           # the library's path: conftest.py says it
PERTURB = None                          # MALLOC_PERTURB_ of the commands under test: conftest.py says it, too, and when
PERTURB_TRACED = False                  # and of what they trace, which has it from `ada trace`
FOOTER_MAGIC = b"2ITA"

# Before a command: in a user namespace that allows no other, where ada gets no tmpfs of its own, and shared memory is in /dev/shm.
NO_OWN_MEMORY = ("/usr/bin/unshare", "-r", "/bin/sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh")

# The same with a small /dev/shm of its own; and with a /tmp and a /dev/shm that nobody else uses.
SMALL_DEV_SHM = ("/usr/bin/unshare", "-m", "/bin/sh", "-c", 'mount -t tmpfs -o size=30m tmpfs /dev/shm && exec "$@"', "sh", *NO_OWN_MEMORY)
OWN_MOUNTS = ("/usr/bin/unshare", "-rm", "/bin/sh", "-c", 'mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm && exec "$@"', "sh")


def enter(group):
    """Words before a command: in a control group (the fixture `group`)."""
    return "/bin/sh", "-c", f'echo $$ >{group}/cgroup.procs && exec "$@"', "sh"


def skip_unless_possible(before):
    """Words before a command: not every machine lets the tests have namespaces, and none does in a chroot."""
    tried = subprocess.run([*before, "/bin/true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip("needs namespaces: " + tried.stderr.strip())


def keeper_of(recorder):
    """The pid of a recorder's keeper; None: it has none."""
    try:
        children = pathlib.Path(f"/proc/{recorder}/task/{recorder}/children").read_text().split()
        return next((int(pid) for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() == "ada-keeper\n"), None)
    except OSError:
        return None


def wait_for_end(pid, seconds):
    """Of any process, also of one that isn't a child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([descriptor], [], [], seconds)[0], f"{pid} goes on"
    os.close(descriptor)


def index_files(thread):
    """A thread directory's segments in order, plain or packed."""
    def number(path):
        parts = path.name.split(".")
        return int(parts[1]) if len(parts) == 3 else 0
    return sorted([*thread.glob("index*.atf"), *thread.glob("index*.atp")], key=number)


def unpacked(path):
    """The bytes of a packed segment as its plain one would have them, by libatf: the footer has nothing but its magic, and is missing where
    the packed one is. Of a copy: one that is being recorded becomes shorter when it is finished."""
    with tempfile.NamedTemporaryFile(suffix=path.suffix) as copy:
        copy.write(path.read_bytes())
        copy.flush()
        return unpacked_copy(pathlib.Path(copy.name)) if copy.tell() else bytes(HEADER_BYTES)


def unpacked_copy(path):
    library, index, message = ctypes.CDLL(str(LIBATF)), ctypes.c_void_p(), ctypes.create_string_buffer(256)
    library.atf_index_events.restype, library.atf_index_count.restype = ctypes.c_void_p, ctypes.c_uint64
    status = library.atf_index_open(ctypes.byref(index), bytes(path), message)
    assert status == 0, f"{path}: {message.value}"
    events = ctypes.string_at(library.atf_index_events(index), EVENT.size * library.atf_index_count(index))
    complete = library.atf_index_completeness(index) == 0
    library.atf_index_close(index)
    return bytes(HEADER_BYTES) + events + (FOOTER_MAGIC.ljust(64, bytes(1)) if complete else b"")


@dataclass
class Result:
    """What a program leaves: its output and how it ended (negative: the signal that killed it)."""
    stdout: bytes
    stderr: bytes
    status: int
    pid: int


def without_processor_s(session):
    """For how long the thread that waited most, of a session's processes that are there, was ready and had no processor."""
    most = 0
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):      # it ended
            if int(stat.read_text().rpartition(")")[2].split()[3]) == session:
                most = max([most, *(int((task / "schedstat").read_text().split()[1]) for task in (stat.parent / "task").iterdir())])
    return most / 1e9


def time_left(session, begun, timeout):
    """On a full machine a session isn't hung while it only waits for a processor: that is no part of its time, up to FULL times as much."""
    return timeout + min(without_processor_s(session), FULL * timeout) - (time.monotonic() - begun)


def wait_for(process, data, timeout):
    """Until it ends, or its time is over."""
    begun, left = time.monotonic(), timeout
    while True:
        try:
            process.communicate(data, left)
            return
        except subprocess.TimeoutExpired:
            left = time_left(process.pid, begun, timeout)
            if left <= 0:
                raise
            data = None                         # it is on its way


def run(argv, timeout=60, **options):
    """Runs argv; what it still runs at the end of the time limit is killed with its whole group.

    Output goes through files, not pipes: a daemon that keeps its stdout open must not hold the test up.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        data = options.pop("input", None)
        stdin = subprocess.PIPE if data is not None else options.pop("stdin", subprocess.DEVNULL)
        process = subprocess.Popen([str(a) for a in argv], stdin=stdin, stdout=out, stderr=err, start_new_session=True,
                                   **options)
        try:
            wait_for(process, data, timeout)
            hung = ""
        except subprocess.TimeoutExpired:
            hung = f"\n*** still running after {timeout} s: killed"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        return Result(out.read(), err.read() + hung.encode(), process.returncode, process.pid)


def shell_status(status):
    """The exit status that a shell (and ada) makes of a Popen's."""
    return 128 - status if status < 0 else status


def of_rules(options):
    """The options of a recording, whose rules, where it has any, are all the rules that there are."""
    given = any(str(option).startswith("--trigger") for option in options)
    return [*options, "--no-default-triggers"] if given else [*options]


class Ada:
    """The command under test."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.sanitized = b"__asan_init" in self.path.read_bytes()

    def __call__(self, *arguments, **options):
        if PERTURB and (PERTURB_TRACED or arguments[:1] != ("trace",)):
            options["env"] = {**(options.get("env") or os.environ), "MALLOC_PERTURB_": PERTURB}
        return run([self.path, *arguments], **options)

    def trace(self, output, argv, *trace_options, **options):
        """Records argv below the directory `output`; ada itself stays silent."""
        return self("trace", "--quiet", f"--output={output}", *of_rules(trace_options), "--", *argv, **options)

    def rows(self, command, session, *arguments):
        """The rows that a reading command prints as JSON."""
        result = self(command, "--format=json", *arguments, session)
        assert result.status == 0, f"ada {command}: status {result.status}: {result.stderr.decode()}"
        return json.loads(result.stdout)["rows"]


class Session:
    """A recording on disk, read without any code of ada's."""

    def __init__(self, output):
        sessions = [s for s in pathlib.Path(output).glob("session_*") if s.is_dir()]
        assert len(sessions) == 1, f"expected one session in {output}, found {sessions}"
        self.path = sessions[0]

    def processes(self):
        return sorted(self.path.glob("pid_*"))

    def manifests(self):
        return {p.name: json.loads((p / "manifest.json").read_text()) for p in self.processes()}

    def lost(self):
        return sum(thread.get("lost", 0) for m in self.manifests().values() for thread in m.get("threads", []))

    def threads(self):
        """The thread directories of all processes."""
        return sorted(self.path.glob("pid_*/thread_*"))

    @staticmethod
    def events(thread):
        """All events of a thread directory, over its segments in order."""
        for segment in index_files(thread):
            data = unpacked(segment) if segment.suffix == ".atp" else segment.read_bytes()
            footer = data.rfind(FOOTER_MAGIC, max(HEADER_BYTES, len(data) - 64))
            end = footer if footer > 0 else len(data)
            yield from EVENT.iter_unpack(data[HEADER_BYTES:end - (end - HEADER_BYTES) % EVENT.size])


def check_balance(events, ends=True):
    """Returns and exceptions match the calls, as a stack, and time never falls; where `ends`, every call has its end. Returns
    what is wrong, or None."""
    stack, last = [], 0
    for number, (time, function, _, kind, depth, _) in enumerate(events):
        if time < last:
            return f"event {number}: time falls from {last} to {time}"
        last = time
        if kind == CALL:
            if depth != len(stack):
                return f"event {number}: call at depth {depth}, {len(stack)} calls are open"
            stack.append(function)
        elif kind in (RETURN, EXCEPTION):
            if not stack or depth != len(stack) - 1:
                return f"event {number}: kind {kind} at depth {depth}, {len(stack)} calls are open"
            if stack.pop() != function:
                return f"event {number}: kind {kind} of another function than its call's"
    return f"{len(stack)} calls have no end" if stack and ends else None


def keep_recording(ada, session):
    """A copy of a recording that failed, as the test's own is removed with the test. Where it is too large the largest files
    are left out. Returns its path."""
    place = ada.path.parent / "failed-recordings"
    for old in sorted(place.glob("*"), key=lambda p: p.stat().st_mtime)[:1 - KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    kept = place / f"{session.path.name}-{os.getpid()}"
    left = KEPT_BYTES
    for file in sorted((f for f in session.path.rglob("*") if f.is_file()), key=lambda f: f.stat().st_size):
        left -= file.stat().st_size
        if left >= 0:
            copy = kept / file.relative_to(session.path)
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(file, copy)
            except OSError:             # another file system
                shutil.copyfile(file, copy)
    return kept


def windows_named(session, report):
    """What the manifests say of the first windows that ada verify found wanting."""
    for process, number in re.findall(r"^(\S+)/manifest\.json: window (\d+): ", report, re.MULTILINE)[:3]:
        window = json.loads((session.path / process / "manifest.json").read_text())["detail_lane"]["windows"][int(number)]
        window["marks"] = window["marks"][:3]
        yield f"{process} window {number}: {json.dumps(window)}"


def check_recording(ada, output, states=("complete",)):
    """What holds for every session: finished, sound by ada's own check, and no agent gave up. Returns the session."""
    session = Session(output)
    assert session.processes(), "no process was recorded"
    for name, manifest in session.manifests().items():
        assert manifest["finalized"] is True, f"{name} is not finalized"
        state = manifest["recording"]
        assert state["state"] in states and state["internalErrors"] == 0, f"{name}: {state}"
    result = ada("verify", session.path, timeout=240)
    if result.status:
        report = result.stdout.decode()
        windows = "\n".join(windows_named(session, report))
        kept = keep_recording(ada, session)
        raise AssertionError(f"ada verify: {report[-2000:]}{result.stderr.decode()}{windows}\nthe recording: {kept}")
    ada.rows("info", session.path)
    return session


def changed_manifest(source, path, change):
    """A copy of a session of one process at `path`, whose manifest `change` has changed; one that is there already is changed further."""
    if not path.exists():
        shutil.copytree(source, path)
    manifest, = path.glob("pid_*/manifest.json")
    document = json.loads(manifest.read_text())
    change(document)
    manifest.write_text(json.dumps(document))
    return path
