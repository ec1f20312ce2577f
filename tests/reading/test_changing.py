"""Files that change while they are read: cut, finished, taken away."""
import contextlib
import os
import shutil
import signal
import subprocess

import pytest

from asking import check_form, Answer

EVENT_BYTES, HEADER_BYTES = 32, 64


def await_mapped(process, name):
    """Until it has mapped such a file, or is over."""
    maps = f"/proc/{process.pid}/maps"
    with contextlib.suppress(ProcessLookupError):
        while process.poll() is None and name not in open(maps).read():
            pass


def stop_early(ada, argv):
    """The command, stopped by a full pipe before it has read much."""
    process = subprocess.Popen([ada.path, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    first = process.stdout.read(100)
    assert len(first) == 100 and process.poll() is None
    return process, first


@pytest.mark.parametrize("argv, form", [(["dump", "-fcsv"], "csv"), (["dump", "-fjson"], "lines"), (["export", "-q", "-fchrome"], "json"),
                                        (["export", "-q", "-fcsv"], "csv"), (["query", "-fjson"], "json")])
def test_cut_while_read(ada, copy, argv, form):
    """No SIGBUS: what was there is answered, whole in its form, and the thread is named."""
    path = copy("large")
    process, first = stop_early(ada, [*argv, path, *(["SELECT * FROM events"] if argv[0] == "query" else [])])
    for victim in path.glob("pid_*/thread_*/index.atf"):
        os.truncate(victim, 1 << 16)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 125, stderr
    assert stderr.count(b"\n") == 1 and b"became shorter" in stderr and b"thread_" in stderr
    answer = Answer(" ".join(argv), form, 125, first + stdout, stderr, 0)
    check_form(answer)
    assert answer.stdout.count(b"\n") > 100


@pytest.mark.parametrize("argv", [["report"], ["graph"], ["verify"], ["narrate"], ["trigger", "test"]])
def test_cut_at_any_moment(ada, copy, argv):
    """Wherever in the work it is: no death, and no more than a line."""
    path = copy("large")
    victims = sorted(path.glob("pid_*/thread_*/index.atf"))
    sizes = [victim.stat().st_size for victim in victims]
    for turn in range(4):
        words = [ada.path, *argv, path] + (["latency=function:leaf>90ns"] if argv[0] == "trigger" else [])
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        await_mapped(process, "index.atf")
        for victim in victims[turn:]:
            os.truncate(victim, 5000)
        stdout, stderr = process.communicate(timeout=60)
        assert process.returncode in (0, 1, 125), (process.returncode, stderr)
        assert stderr.count(b"\n") == (process.returncode == 125) and (stdout or process.returncode)
        for victim, size in zip(victims, sizes):
            os.truncate(victim, size)       # zeros behind the cut: damaged, but mapped whole again


def test_taken_away_while_read(ada, copy):
    path = copy("large")
    process, first = stop_early(ada, ["dump", "-fcsv", path])
    shutil.rmtree(path)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (0, b"")
    assert (first + stdout).count(b"\n") == 2000009


LONG = {
    "report": ["report", "@"], "report-diff": ["report", "--diff=@", "@"], "graph": ["graph", "@"], "narrate": ["narrate", "@"],
    "dump": ["dump", "@"], "dump-json": ["dump", "-fjson", "@"], "verify": ["verify", "@"],
    "trigger": ["trigger", "test", "@", "latency=function:leaf>90ns"], "query": ["query", "@", "SELECT * FROM events e ORDER BY function"],
    "chrome": ["export", "-fchrome", "-oOUT", "@"], "sqlite": ["export", "-fsqlite", "-oOUT", "@"], "ctf": ["export", "-fctf", "-oOUT", "@"],
    "folded": ["export", "-ffolded", "@"],
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", LONG)
def test_interrupted(ada, synth, tmp_path, name, number):
    """128+N, nothing left half, and at most a line. It may be done before the signal comes: then it is whole."""
    out = tmp_path / "out"
    words = [word.replace("@", str(synth("large"))).replace("OUT", str(out)) for word in LONG[name]]
    process = subprocess.Popen([ada.path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    await_mapped(process, "thread_0/index.atf")
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode in (128 + number, -number, 0), (process.returncode, stderr)
    assert stderr.count(b"\n") <= 1
    if process.returncode:
        assert os.listdir(tmp_path) == [], "left half"
