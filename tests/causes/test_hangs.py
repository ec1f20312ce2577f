"""Programs that hang: `ada mark` gives a window although no event comes any more, narrate says why while the program hangs, and an open
call lasts until now in every answer."""
import csv
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from live import Live

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
# kind, the function that waits, words of the headline, threads that wait in the function
HANGS = {
    "deadlock": ("deadlock", "pthread_mutex_lock", ["serve", "rebuild"], 2),
    "three": ("deadlock", "pthread_mutex_lock", ["serve", "rebuild", "reindex"], 2),
    "twice": ("deadlock", "pthread_mutex_lock", ["serve > look_up > pthread_mutex_lock, which it holds itself"], 1),
    "embrace": ("deadlock", "pthread_join", ["waits for the end of thread", "serve > pthread_join", "rebuild > pthread_mutex_lock"], 1),
    "lost": ("condition", "pthread_cond_wait", ["announcer > announce"], 1),
}
LIMIT_S = 60


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("hangs")
    for name in HANGS:
        subprocess.run(["cc", "-g", "-O1", "-o", directory / name, HERE / f"{name}.c", "-pthread"], check=True)
    return directory


@pytest.fixture
def hang(ada, programs, tmp_path, monkeypatch):
    """Begins a program, awaits the hang (open calls last until now), and marks it: the recording, once the window is there."""
    started = []

    def begin(name, mode, marked=True, filtered=False):
        rolls = ["--post-roll-sec=0.1"] if mode == "crowd" else []      # its events go on
        if filtered:
            monkeypatch.setenv("CAUSES_AWAIT", "1")
        live = Live(ada, tmp_path, [programs / name, mode], *rolls, *["--debug-filter"] * filtered)
        started.append(live)
        if filtered:
            await_(lambda: rows(ada, "query", live.session, "SELECT 1 FROM mutes WHERE left_out = 'uncontended'", status=(0, 125)))
            live.process.stdin.close()
            assert live.line() == "ready\n"
        waits = HANGS[name][1] if mode != "control" else "await_input"
        threads = HANGS[name][3] if mode != "control" else 1
        open_for = f"SELECT thread FROM calls WHERE function = '{waits}' AND outcome = 'open' AND duration_ns > 200000000"
        # a recording that has just begun has files that are still being written, and the answer says so
        await_(lambda: len(rows(ada, "query", live.session, open_for, status=(0, 125))) == threads)
        if not marked:
            await_(lambda: len(manifest_of(live.session)["threads"]) == len([*live.session.glob("pid_*/thread_*")]))
            return live
        told = ada("mark", live.session).stdout.decode()       # comes back when the window is there
        assert "window 0: `ada narrate " in told and all(window["settled"] for window in rows(ada, "windows", live.session)), told
        return live
    yield begin
    for live in started:
        live.close(0)


def manifest_of(session):
    return json.loads(next(session.glob("pid_*/manifest.json")).read_text())


def await_(what):
    limit = time.monotonic() + LIMIT_S
    while not what():
        assert time.monotonic() < limit
        time.sleep(0.05)


def rows(ada, *words, status=(0,)):
    result = ada(words[0], "--format=json", *words[1:])
    assert result.status in status, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def of_window(ada, session):
    """What narrate says first of the window."""
    return next(row for row in rows(ada, "narrate", session) if row["window"] == 0)


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("name", HANGS)
def test_a_hang_is_told_while_it_lasts(ada, hang, name, mode):
    kind, waited, words, _ = HANGS[name]
    session = hang(name, mode).session
    headline = of_window(ada, session)
    assert (headline["cause"]["kind"], headline["cause"]["function_waited"]) == (kind, waited)
    assert headline["cause"]["object"] and "decoy" not in headline["text"]
    for word in words + ["deadlock"] * (kind == "deadlock"):
        assert word in headline["text"]
    assert rows(ada, "query", session, "SELECT kind FROM causes") == [{"kind": kind}]


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_a_deadlock_is_told_where_locks_are_filtered(ada, hang, mode):
    """Each of the two found the first of its locks free: who has it, the mutex said."""
    session = hang("deadlock", mode, filtered=True).session
    assert not rows(ada, "query", session, "SELECT 1 FROM calls WHERE function = 'pthread_mutex_lock' AND caller IN ('serve', 'rebuild')"
                    " AND outcome <> 'open'")
    headline = of_window(ada, session)
    assert headline["cause"]["kind"] == "deadlock" and "decoy" not in headline["text"]
    assert "serve" in headline["text"] and "rebuild" in headline["text"]


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_a_mutex_taken_twice_is_told_where_locks_are_filtered(ada, hang, mode):
    """It was free when it was taken first, so no call of that time is there: that the thread itself has it, the mutex says."""
    session = hang("twice", mode, filtered=True).session
    assert not rows(ada, "query", session, "SELECT 1 FROM calls WHERE function = 'pthread_mutex_lock' AND caller = 'serve'")
    headline = of_window(ada, session)
    assert headline["cause"]["kind"] == "deadlock" and "decoy" not in headline["text"]
    assert HANGS["twice"][2][0] in headline["text"]


@pytest.mark.parametrize("name, pattern, excluded", [
    ("twice", "pthread_mutex_lock", "pthread_mutex_lock"), ("twice", "pthread_mutex_*,sem_post", "pthread_mutex_clocklock, pthread_mutex_lock, "
     "pthread_mutex_timedlock and 3 more"), ("lost", "look_up,decoy", None)])
def test_what_a_hang_is_in_may_be_excluded(ada, programs, tmp_path, name, pattern, excluded):
    """Nobody is blamed then, and it is said why."""
    live = Live(ada, tmp_path, [programs / name, "cause"], f"--exclude={pattern}")
    try:
        await_(lambda: rows(ada, "query", live.session, "SELECT 1 FROM calls WHERE function = 'serve' AND outcome = 'open' AND duration_ns >"
                            " 200000000", status=(0, 125)))
        assert ada("mark", live.session).status == 0
        assert (of_window(ada, live.session)["cause"] is None) == (excluded is not None)
        told = [row["text"] for row in rows(ada, "narrate", live.session) if row["kind"] == "excluded"]
        assert told == [f"By --exclude, calls of {excluded} are missing, but where a rule names the function: who waits there, for what and "
                        "for whom, is unknown, and that time is the callers' own."] * (excluded is not None)
        assert (b"By --exclude" in ada("narrate", live.session).stdout) == (excluded is not None)
    finally:
        live.close(0)


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_that_nobody_marked_is_told(ada, hang, name):
    """First of all; and by what it was when it was killed."""
    live = hang(name, "cause", marked=False)
    while_it_lasts = rows(ada, "narrate", live.session)[0]
    assert ada("windows", live.session).stdout.startswith(b"No window yet: nothing marked, or ")
    pid, = (int(path.name.removeprefix("pid_")) for path in live.session.glob("pid_*"))
    os.kill(pid, signal.SIGKILL)
    live.close(128 + signal.SIGKILL)
    for headline in [while_it_lasts, rows(ada, "narrate", live.session)[0]]:
        assert headline["kind"] == "headline" and headline["window"] is headline["cause"]["window"] is None
        assert (headline["cause"]["kind"], headline["cause"]["function_waited"]) == HANGS[name][:2]
        assert all(word in headline["text"] for word in HANGS[name][2])


def test_whoever_may_have_taken_it_unseen_is_not_looked_for_for_ever(ada, hang):
    """Locks were filtered until just before the wait, which goes on: what is earlier proves nothing, and nothing is later."""
    live = hang("deadlock", "cause", marked=False)
    pid, = (int(path.name.removeprefix("pid_")) for path in live.session.glob("pid_*"))
    os.kill(pid, signal.SIGKILL)
    live.close(128 + signal.SIGKILL)
    first = rows(ada, "query", live.session, "SELECT thread, index_seq, start_ns FROM waits WHERE kind = 'lock' AND end_index_seq IS NULL"
                 " ORDER BY start_ns LIMIT 1")[0]
    cause = f"SELECT kind, culprit_thread FROM causes({first['thread']}, {first['index_seq']})"
    assert rows(ada, "query", live.session, cause)[0]["culprit_thread"] is not None
    function, = rows(ada, "query", live.session, f"SELECT function_id FROM events WHERE thread = {first['thread']} AND"
                     f" index_seq = {first['index_seq']}")
    manifest = manifest_of(live.session)
    manifest["muted"] = [{"functionId": function["function_id"], "filtered": True, "fromNs": manifest["startNs"],
                          "toNs": first["start_ns"] - 1, "callsPerSecond": 1.0}]
    next(live.session.glob("pid_*/manifest.json")).write_text(json.dumps(manifest))
    assert rows(ada, "query", live.session, cause) == [{"kind": "lock", "culprit_thread": None}]


def test_who_waits_for_input_unmarked(ada, hang):
    assert not [row for row in rows(ada, "narrate", hang("lost", "control", marked=False).session) if row["kind"] == "headline"]


@pytest.mark.parametrize("name", HANGS)
def test_who_waits_for_input_is_not_said_to_hang(ada, hang, name):
    assert of_window(ada, hang(name, "control").session)["cause"] is None


def test_the_window_of_a_hang_says_why_it_is_short(ada, hang):
    """Its pre-roll is all that there was: fewer events than were asked for."""
    window, = rows(ada, "windows", hang("lost", "cause").session)
    assert window["eventCount"] > 10 and "fewer than the 1000 events" in window["shortReason"]
    assert "no event came for 1 s" in window["shortReason"]
    assert 1 <= window["postRollSec"] < 30


def test_an_open_call_lasts_until_now(ada, hang, tmp_path):
    """Each answer is asked for later than the one before, and the call has lasted for so much longer."""
    session = hang("lost", "cause").session
    took = [row["duration_ns"] for row in rows(ada, "query", session, "SELECT duration_ns FROM calls WHERE function = 'serve'")]
    took += [row["total_ns"] for row in rows(ada, "query", session, "SELECT total_ns FROM fn_stats WHERE function = 'serve'")]
    took += [row["total_ns"] for row in rows(ada, "report", session) if row["function"] == "serve"]
    took += [of_window(ada, session)["cause"]["duration_ns"]]
    output = tmp_path / "calls.csv"
    assert ada("export", session, "--format=csv", f"--output={output}").status == 0
    with output.open(newline="") as file:
        took += [int(row["duration_ns"]) for row in csv.DictReader(file) if row["function"] == "serve"]
    chrome = tmp_path / "calls.json"
    assert ada("export", session, "--format=chrome", f"--output={chrome}").status == 0
    took += [round(event["dur"] * 1000) for event in json.loads(chrome.read_text())["traceEvents"] if event.get("name") == "serve"]
    assert len(took) == 6 and took[0] > 10**9
    # the wait is innermost: the headline is about pthread_cond_wait's own time, in serve
    assert took == sorted(took), took


@pytest.mark.parametrize("place", ["program", "library"])
def test_a_call_that_runs_for_ever_is_told(ada, tmp_path, place):
    """Marked, and also where nobody did; of a library that isn't recorded it is said how to record it."""
    library = tmp_path / "libendless.so"
    if place == "library":
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, HERE / "endless.c"], check=True)
    subprocess.run(["cc", "-O1", "-o", tmp_path / "endless", HERE / "endless_main.c", library if place == "library" else HERE / "endless.c",
                    f"-Wl,-rpath,{tmp_path}"], check=True)
    live = Live(ada, tmp_path, [tmp_path / "endless"])
    try:
        open_for = "SELECT thread FROM calls WHERE function = 'serve' AND outcome = 'open' AND duration_ns > 1500000000"
        await_(lambda: rows(ada, "query", live.session, open_for, status=(0, 125)))
        assert ada("mark", live.session).status == 0
        await_(lambda: any(window["settled"] for window in rows(ada, "windows", live.session)))
        told = [of_window(ada, live.session)]
        library_told = [row["text"] for row in rows(ada, "narrate", live.session) if row["kind"] == "library"]
    finally:
        pid, = (int(path.name.removeprefix("pid_")) for path in live.session.glob("pid_*"))
        os.kill(pid, signal.SIGKILL)
        live.close(128 + signal.SIGKILL)
    told.append(of_window(ada, live.session))
    for headline in told:
        assert headline["text"].startswith("A call of serve has not returned for "), headline["text"]
        assert " before the mark it " in headline["text"] and headline["cause"]["kind"] in ("cpu", "unknown")
        assert (headline["cause"]["function"], headline["cause"]["function_waited"]) == ("serve", "serve")
    assert len(library_told) == (place == "library")
    if place == "library":
        assert "`ada trace --modules='libendless.so*'`" in library_told[0]
