"""Where a session is and how it is named; options that make no sense; where an answer goes."""
import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest

from asking import FEW, SOME, WAYS

READING = {way: words[0][0] for way, words in WAYS.items() if way in SOME}


# --- sessions ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("place", ["symlink", "slash", "spaces", "pid", "pid slash", "relative", "dots", "newline", "not utf-8"])
def test_sessions_by_another_name(ask, copy, place):
    path = copy("plain")
    options = {}
    if place == "symlink":
        (ask.directory / "link").symlink_to(path)
        given = ask.directory / "link"
    elif place in ("spaces", "newline", "not utf-8"):
        name = {"spaces": "a  b 'c' -", "newline": "a\nb\x1b[31m", "not utf-8": os.fsdecode(b"a\xff\xfeb")}[place]
        given = path.rename(ask.directory / name)
    else:
        given = {"slash": f"{path}///", "pid": path / "pid_100", "pid slash": f"{path}/pid_100/", "relative": "copy",
                 "dots": f"{path}/pid_100/../../copy/."}[place]
        options = {"cwd": ask.directory}
    for way in SOME:
        answer = ask(way, given, statuses=(0,), **options)
        if way == "dump-json":
            assert len(answer.value()) == 11


@pytest.mark.parametrize("place", ["nonexistent", "file", "fifo", "empty directory", "loop", "empty name", "too long", "device", "ada_traces"])
def test_no_session(ask, synth, place):
    given = {"nonexistent": "/nonexistent/session", "file": synth("plain") / "session.json", "fifo": ask.directory / "fifo",
             "empty directory": ask.directory / "none", "loop": ask.directory / "loop", "empty name": "", "too long": "x" * 5000,
             "device": "/dev/null", "ada_traces": synth("plain").parent}[place]
    os.mkfifo(ask.directory / "fifo")
    (ask.directory / "none").mkdir()
    (ask.directory / "loop").symlink_to("loop")
    for way in SOME:
        if not (way.startswith("query") or way.startswith("trigger")) or place not in ("file", "fifo", "loop", "device"):
            status = 2 if way == "verify-json" and place not in ("loop", "too long") else 125
            answer = ask(way, given, statuses=(status,), seconds=10)
            assert answer.stdout == b""


@pytest.mark.parametrize("way", SOME)
def test_no_latest_and_no_home(ask, way):
    """Nothing given, nowhere to look; and the directory it runs in is gone."""
    words = [word for word in WAYS[way][0] if word != "@"]
    words = [word.replace("OUT", str(ask.directory / "out")) for word in words]
    gone = ask.directory / "gone"
    gone.mkdir()
    for cwd in ask.directory, gone:
        script = f'cd "{cwd}" && rmdir "{gone}" 2>/dev/null; exec "$0" "$@"'
        result = subprocess.run(["sh", "-c", script, ask.ada.path, *words], env={"PATH": "/usr/bin"}, capture_output=True, timeout=60,
                                check=False)
        assert (result.returncode, result.stdout) == (2 if way == "verify-json" else 125, b""), result.stderr
        assert result.stderr.count(b"\n") == 1, result.stderr
        if cwd == ask.directory:
            gone.mkdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="root may read what nobody may write")
def test_a_session_that_nobody_may_write(ask, copy):
    path = copy("detail")
    for entry in [path, *path.rglob("*")]:
        entry.chmod(0o500 if entry.is_dir() else 0o400)
    for way in SOME:
        ask(way, path, statuses=(0,))


# --- options -------------------------------------------------------------------------------------------------------------

NARROWING = ["report", "graph", "narrate", "dump", "export"]
BAD = ["--thread=9", "--thread=nobody", "--thread=-1", "--thread=99999999999999999999", "--thread=", "--from=yesterday", "--from=-5s",
       "--from=99999999999999999999", "--from=+99999999999h", "--to=", "--window=2", "--window=-1", "--window=99999999999999999999",
       "--window=", "--format=xml", "--format=", "--limit=0", "--limit=-1", "--limit=99999999999999999999", "--limit=1.5", "--limit=",
       "--colour-me", "--window", "--diff=/nonexistent", "--diff=", "--diff=/dev/null"]


@pytest.mark.parametrize("option", BAD)
@pytest.mark.parametrize("command", ["info", "windows", *NARROWING, "query", "verify"])
def test_bad_option(ask, synth, command, option):
    """Options that the command hasn't are as wrong as bad values."""
    answer = ask.run(command, [command, option, synth("detail"), *(["SELECT 1"] if command == "query" else [])], seconds=10)
    assert (answer.status, answer.stdout) == (125, b"") and answer.stderr.count(b"\n") == 1, answer
    assert answer.stderr.startswith(f"ada {command}: ".encode())


@pytest.mark.parametrize("command", NARROWING)
def test_from_behind_to(ask, synth, command):
    answer = ask.run(command, [command, "--from=+2s", "--to=+1s", synth("detail")])
    assert (answer.status, answer.stdout) == (125, b"") and answer.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", NARROWING)
@pytest.mark.parametrize("options", [["--from=+1h"], ["--to=0"], ["--from=18446744073709551615"], ["--from=+5ns", "--to=+5ns"],
                                     ["--thread=quiet", "--thread=prog"], ["--window=0", "--window=1"]])
def test_nothing_there_and_twice_the_same(ask, synth, command, options):
    answer = ask.run(command, [command, *options, *(["-fcsv", "-q"] if command == "export" else []), synth("detail")])
    assert answer.status == 0 and answer.stderr == b"" or answer.status == 125 and answer.stderr.count(b"\n") == 1, answer


def test_damaged_other(ask, synth, copy):
    path = copy("plain")
    index, = path.glob("pid_*/thread_0/index.atf")
    os.truncate(index, 150)
    for command in "report", "graph":
        answer = ask.run(command, [command, f"--diff={path}", synth("plain")])
        assert answer.status == 125 and answer.stderr.count(b"\n") == 1 and b"thread_0" in answer.stderr and answer.stdout


# --- standard output ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("way", WAYS)
def test_full(ask, synth, way):
    if "OUT" in " ".join(WAYS[way][0]):
        pytest.skip("writes a file")
    with open("/dev/full", "wb") as full:
        answer = ask(way, synth("plain"), stdout=full, statuses=(125,))
    assert b"No space left" in answer.stderr


@pytest.mark.parametrize("way", WAYS)
def test_closed(ask, synth, way):
    """>&-: an answer that nobody got is no success, and no file of the session or of the export is written into instead."""
    words = [word.replace("@", str(synth("plain"))).replace("OUT", str(ask.directory / "out")) for word in WAYS[way][0]]
    result = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', ask.ada.path, *words], stderr=subprocess.PIPE, timeout=60, check=False)
    if "OUT" in " ".join(WAYS[way][0]):
        assert result.returncode == 0, result.stderr
    else:
        assert result.returncode == 125 and result.stderr.count(b"\n") == 1, result


@pytest.mark.parametrize("way", ["dump", "dump-json", "dump-csv", "query-events", "export-chrome", "export-csv", "export-perfetto",
                                 "export-rowbinary"])
def test_reader_that_leaves(ask, synth, way):
    words = [word.replace("@", str(synth("large"))) for word in WAYS[way][0]]
    process = subprocess.Popen([ask.ada.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == -signal.SIGPIPE


def test_closed_stderr(ask, synth):
    """Nothing meant for stderr lands in a file that took its number."""
    for way in FEW:
        words = [word.replace("@", str(synth("plain"))) for word in WAYS[way][0]]
        result = subprocess.run(["sh", "-c", 'exec "$0" "$@" 2>&-', ask.ada.path, *words], stdout=subprocess.PIPE, timeout=60, check=False)
        assert result.returncode == 0 and result.stdout == ask(way, synth("plain")).stdout


# --- terminals ------------------------------------------------------------------------------------------------------------

def on_terminal(words, stdout, stderr, environment):
    """What a command writes to a terminal; stdout and stderr say whether they are that terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen([str(word) for word in words], stdin=slave, stdout=slave if stdout else subprocess.DEVNULL,
                               stderr=slave if stderr else subprocess.DEVNULL, env={"PATH": "/usr/bin", "ADA_PAGER": "", **environment})
    os.close(slave)
    text, end = b"", time.monotonic() + 60
    while time.monotonic() < end and select.select([master], [], [], 60)[0]:
        try:
            piece = os.read(master, 1 << 16)
        except OSError:
            break
        text += piece
    os.close(master)
    return process.wait(60), text


@pytest.mark.parametrize("way", ["report", "graph", "narrate", "dump", "windows", "info", "verify", "query-stats", "trigger-test"])
def test_colours(ask, synth, way):
    words = [ask.ada.path] + [word.replace("@", str(synth("detail"))) for word in WAYS[way][0]]
    coloured = on_terminal(words, True, True, {"TERM": "xterm"})
    plain = on_terminal(words, True, True, {"TERM": "xterm", "NO_COLOR": "1"})
    assert b"\x1b" not in plain[1] and re.sub(rb"\x1b\[[0-9;]*m", b"", coloured[1]) == plain[1]


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_comes_and_goes(ask, synth, tmp_path, terminal):
    """On a terminal a line that is taken away again; nowhere else anything. The answer waits for its reader until it is time."""
    master, slave = pty.openpty()
    with open(tmp_path / "stderr", "wb") as file:
        process = subprocess.Popen([ask.ada.path, "export", "-q", "-fcsv", synth("large")], stdout=subprocess.PIPE,
                                   stderr=slave if terminal else file)
        first = process.stdout.read(1)              # it has begun
        time.sleep(0.7)         # FIRST_NS of src/base/progress.c
        assert (first + process.stdout.read()).count(b"\n") == 1000005 and process.wait(60) == 0
    os.write(slave, b"end")
    said = b""
    while not said.endswith(b"end"):
        said += os.read(master, 1 << 16)
    os.close(slave)
    os.close(master)
    if terminal:
        assert b"exporting: " in said and said.endswith(b"\r\x1b[Kend") and b"\n" not in said
    else:
        assert said == b"end" and (tmp_path / "stderr").read_bytes() == b""
