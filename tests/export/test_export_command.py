"""ada export as a command: where it writes, what it says, and that nothing of it stays where it fails."""
import os
import pty
import random
import resource
import shutil
import signal
import struct
import subprocess
import time

import pytest

import perfetto
from calls import from_speedscope
from harness import run

STREAMS = ["perfetto", "chrome", "speedscope", "folded", "svg", "csv", "rowbinary"]
BINARY = ["perfetto", "rowbinary"]


def failed(ada, *arguments, words, **options):
    """One line that says what is wrong, and status 125."""
    result = ada("export", *arguments, **options)
    assert result.status == 125 and not result.stdout, result.stderr.decode()
    assert words in result.stderr.decode() and result.stderr.count(b"\n") == 1, result.stderr.decode()


@pytest.mark.parametrize("form", STREAMS)
def test_a_file_is_what_standard_output_is(ada, session, export, tmp_path, form):
    path = tmp_path / "out"
    result = ada("export", f"--format={form}", f"--output={path}", session("plain"))
    assert (result.status, result.stdout) == (0, b"")
    assert result.stderr == b"ada export: exported 10 events; none was lost\n"
    assert path.read_bytes() == export(form, session("plain"))
    assert export(form, session("plain"), "--output=-") == path.read_bytes()
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_said_at_the_end(ada, session):
    def said(scenario, *options):
        return ada("export", "--format=csv", *options, session(scenario)).stderr.decode()
    assert said("lossy") == "ada export: exported 7 events; 12 were lost in what it covers\n"
    assert said("large") == "ada export: exported 2,000,008 events; none was lost\n"
    assert said("running").startswith("ada export: exported 10 events; no loss is recorded, but the recording is not complete")
    assert said("plain", "--from=+1000ns") == "ada export: exported 1 event; none was lost\n"
    assert said("lossy", "--quiet") == ""


@pytest.mark.parametrize("form", ["csv", "sqlite"])
def test_a_new_file_is_private_as_recordings_are_and_an_old_one_keeps_its_mode(ada, session, tmp_path, form):
    new, old, link = tmp_path / "new", tmp_path / "old", tmp_path / "link"
    old.write_text("before")
    old.chmod(0o604)
    link.symlink_to("old")
    assert ada("export", f"--format={form}", f"--output={new}", session("plain")).status == 0
    assert new.stat().st_mode & 0o777 == 0o600
    assert ada("export", f"--format={form}", f"--output={link}", session("plain")).status == 0
    assert link.is_symlink() and old.stat().st_mode & 0o777 == 0o604 and old.stat().st_size == new.stat().st_size
    assert sorted(os.listdir(tmp_path)) == ["link", "new", "old"]


@pytest.mark.parametrize("arguments, words", [
    ([], "name a format with --format=FORMAT: perfetto, chrome, speedscope, folded, svg, ctf, csv, rowbinary, clickhouse or sqlite"),
    (["--format=prefetto"], "unknown format 'prefetto': did you mean perfetto?"),
    (["--format=xyzzy"], "unknown format 'xyzzy': it is perfetto, chrome,"),
    (["--format=json"], "unknown format 'json'"),
    (["--format=csv", "--limit=3"], "unknown option '--limit=3'"),
    (["--format=chrome", "--events"], "--events is of --format=csv"),
    (["--format=csv", "--url=http://localhost"], "are of --format=clickhouse"),
    (["--format=clickhouse"], "--url=http://HOST:8123"),
    (["--format=clickhouse", "--url=http://localhost:1", "--thread=0"], "takes whole sessions"),
    (["--format=clickhouse", "--url=http://localhost:1", "--output=x"], "goes to a server, not to --output"),
    (["--format=ctf"], "makes a directory: name one with --output=DIRECTORY"),
    (["--format=sqlite", "--output=-"], "makes a file: name one with --output=FILE"),
    (["--format=csv", "--thread=99"], "no thread '99'"),
    (["--format=csv", "--window=0"], "no window 0"),
    (["--format=csv", "--from=+5s", "--to=+1s"], "is not before"),
    (["--format=csv", "--output=/nowhere/at/all"], "can't write /nowhere/at/all: No such file or directory"),
    (["--format=csv", "--output="], "--output ''"),
])
def test_bad_options(ada, session, arguments, words):
    failed(ada, *arguments, session("plain"), words=words)


def test_the_list_of_formats(ada):
    result = ada("export", "--format=list")
    assert result.status == 0 and not result.stderr
    listed = [line.split()[0] for line in result.stdout.decode().splitlines()]
    assert listed == ["perfetto", "chrome", "speedscope", "folded", "svg", "ctf", "csv", "rowbinary", "clickhouse", "sqlite"]
    assert all(name in ada("export", "--help").stdout.decode() for name in listed)


def test_bad_places(ada, session, tmp_path):
    failed(ada, "--format=csv", f"--output={tmp_path}", session("plain"), words="is a directory")
    failed(ada, "--format=ctf", f"--output={tmp_path}", session("plain"), words="exists: --format=ctf makes a new directory")
    failed(ada, "--format=sqlite", "--output=/dev/null", session("plain"), words="is no regular file")
    failed(ada, "--format=csv", tmp_path / "none", words="none")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("form", BINARY)
def test_binary_is_nothing_for_a_terminal(ada, session, form):
    master, terminal = pty.openpty()
    try:
        result = subprocess.run([ada.path, "export", f"--format={form}", session("plain")], stdout=terminal,
                                stderr=subprocess.PIPE, timeout=60)
        assert result.returncode == 125 and b"is binary, nothing for a terminal" in result.stderr
    finally:
        os.close(master)
        os.close(terminal)


def test_progress_is_for_terminals_only(ada, session, tmp_path):
    """Text to a terminal is fine; and on stderr there is no progress where it is none."""
    assert ada("export", "--format=chrome", f"--output={tmp_path / 'o'}", session("large")).stderr.count(b"\r") == 0


# --- nothing half ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("form", STREAMS)
def test_a_full_disk(ada, session, form):
    failed(ada, f"--format={form}", "--output=/dev/full", session("plain"), words="can't write /dev/full: No space left on device")
    with open("/dev/full", "wb") as full:
        result = subprocess.run([ada.path, "export", "-f", form, session("plain")], stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert result.returncode == 125 and result.stderr == b"ada export: can't write standard output: No space left on device\n"


@pytest.mark.parametrize("form", STREAMS)
def test_a_file_that_has_no_room_leaves_nothing(ada, session, tmp_path, form):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
    path = tmp_path / "out"
    for before in (False, True):
        if before:
            path.write_text("before")
        result = run([ada.path, "export", f"--format={form}", f"--output={path}", session("random:1:1:2000")], preexec_fn=limit)
        assert result.status == 125
        assert os.listdir(tmp_path) == (["out"] if before else [])
    assert path.read_text() == "before"


@pytest.mark.parametrize("form", STREAMS)
def test_a_closed_pipe_is_no_error_to_speak_of(ada, session, form):
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run([ada.path, "export", "-f", form, session("large")], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert result.returncode == -signal.SIGPIPE and result.stderr == b""


@pytest.mark.parametrize("form", ["perfetto", "chrome", "speedscope", "csv"])
def test_interrupted_leaves_nothing(ada, session, tmp_path, form):
    """The file before stays; what is being made beside it goes."""
    path = tmp_path / "out"
    path.write_text("before")
    for _ in range(10):         # it may be done before the signal comes
        process = subprocess.Popen([ada.path, "export", "-f", form, f"--output={path}", session("large")], stderr=subprocess.PIPE)
        while process.poll() is None and not list(tmp_path.glob("out.ada-*/out")):
            time.sleep(0.0001)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert os.listdir(tmp_path) == ["out"]
        if process.returncode:
            break
        path.write_text("before")
    assert (process.returncode, said, path.read_text()) == (130, b"", "before")


def test_interrupted_while_the_reader_waits(ada, session):
    process = subprocess.Popen([ada.path, "export", "-f", "rowbinary", session("large")], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.read(1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_damaged_session_is_exported_without_what_is_damaged(ada, session, tmp_path):
    copy = shutil.copytree(session("detail"), tmp_path / "session")
    index, = copy.glob("pid_*/thread_1/index.atf")
    index.write_bytes(b"no")
    result = ada("export", "--format=csv", copy)
    assert result.status == 125 and result.stdout.count(b"\n") == 8     # the other thread's calls
    assert b"answered without what can't be read" in result.stderr


@pytest.mark.parametrize("form", STREAMS)
def test_memory_does_not_grow_with_the_session(ada, session, tmp_path, form):
    """Two million events, 64 MB of them: far more than what is kept."""
    def peak(scenario):
        result = subprocess.run(["/usr/bin/python3", "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
                                 "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", ada.path, "export", "-q", "-f",
                                 form, "-o", tmp_path / "out", session(scenario)], capture_output=True, check=True)
        return int(result.stdout) / 1024
    assert peak("large") < peak("plain") + 24


@pytest.mark.parametrize("form", STREAMS)
def test_a_thread_whose_time_runs_backwards(ada, session, tmp_path, form):
    copy = shutil.copytree(session("plain"), tmp_path / "session")
    index, = copy.glob("pid_*/thread_*/index.atf")
    data = bytearray(index.read_bytes())
    struct.pack_into("<Q", data, 64, 2**64 - 1)
    struct.pack_into("<Q", data, len(data) - 64 - 32, 0)
    index.write_bytes(data)
    assert ada("export", "-q", "-f", form, copy).status in (0, 125)


@pytest.mark.parametrize("seed", range(12))
def test_events_that_make_no_sense(ada, session, perfetto_proto, tmp_path, seed):
    """Kinds, depths, functions and times of any value: no crash, and what comes out keeps its format's rules."""
    chance = random.Random(seed)
    copy = shutil.copytree(session("detail" if seed % 2 else "random:1:1:2000"), tmp_path / "session")
    for index in sorted(copy.glob("pid_*/thread_*/index*.atf")):
        data = bytearray(index.read_bytes())
        for at in range(64, len(data) - 64 - 31, 32):
            if chance.random() < 0.2:
                field, form, values = chance.choice([(0, "<Q", [0, 2**63, 2**64 - 1, 1000000000300]), (8, "<Q", [0, 3, 2**32, 2**64 - 1]),
                                                     (20, "<I", [0, 1, 2, 3, 4, 5, 2**32 - 1]), (24, "<I", [0, 1, 2, 2**32 - 1]),
                                                     (28, "<I", [0, 2**32 - 1])])
                struct.pack_into(form, data, at + field, chance.choice(values))
        index.write_bytes(data)
    for form in STREAMS:
        result = ada("export", "-q", "-f", form, copy)
        assert result.status in (0, 125), (form, result)
        if form == "perfetto":
            perfetto.read(perfetto_proto, result.stdout)
        if form == "speedscope":
            from_speedscope(result.stdout)
