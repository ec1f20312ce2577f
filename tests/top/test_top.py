"""ada top: what a session shows at a moment."""
import contextlib
import functools
import json
import pathlib
import re
import subprocess
import time

import pytest

from live import Live

SOURCE = pathlib.Path(__file__).parent / "held.c"
PATIENCE = 60
START_NS = 1000000000000


def top(ada, *arguments, status=0):
    result = ada("top", "--once", "--format=json", *arguments)
    assert result.status == status, result.stderr.decode()
    return json.loads(result.stdout)


def test_the_functions_of_the_last_second(ada, session):
    answer = top(ada, session("plain"))
    assert (answer["recording"], answer["endNs"] - answer["fromNs"]) == (False, 10**9)
    assert [(row["function"], row["calls_per_second"], row["self_ns"]) for row in answer["functions"]] == [
        ("main", 1, 640), ("leaf", 2, 300), ("thrower", 1, 50), ("ns::add(int, int)", 1, 10)]
    by_calls = top(ada, "--sort=calls", "--limit=1", session("plain"))["functions"]
    assert [(row["function"], row["total_ns"], row["p99_ns"]) for row in by_calls] == [("leaf", 300, 200)]
    assert answer["completeness"]["complete"] and answer["threads"][0]["function"] is None


def test_the_moment_that_is_asked_for(ada, session):
    """Right before an event the thread is in the call that the events before it leave open."""
    rows = [json.loads(line) for line in ada("dump", "--format=json", session("plain")).stdout.splitlines()][:-1]
    begun, at = [], next(row["timestamp_ns"] for row in rows if row["timestamp_ns"] > rows[0]["timestamp_ns"])
    for row in rows:
        if row["timestamp_ns"] < at and row["kind"] == "call":
            begun.append(row)
        elif row["timestamp_ns"] < at:
            begun.pop()
    answer = top(ada, f"--at={at}", session("plain"))
    assert answer["endNs"] == at and begun
    (thread,) = answer["threads"]
    assert (thread["function"], thread["since_ns"]) == (begun[-1]["function"], at - begun[-1]["timestamp_ns"])
    assert {row["function"] for row in answer["functions"]} == {row["function"] for row in rows
                                                                if row["kind"] == "call" and row["timestamp_ns"] < at}


def test_text_is_for_people(ada, session):
    result = ada("top", session("plain"))           # a session that has ended: one screen, also without --once
    assert result.status == 0 and not result.stderr
    lines = result.stdout.decode().splitlines()
    assert lines[0].endswith(": 1.00 s of 1.00 s: 10 events/s, 0 lost")
    assert lines[2].split()[:2] == ["CALLS/S", "TOTAL"] and lines[3].split()[-2:] == ["main", "prog"]
    assert "\x1b" not in result.stdout.decode()


@pytest.mark.parametrize("arguments, words", [
    (["--sort=name"], "can't sort by 'name': fields are calls, total, self, p99, max"),
    (["--format=csv"], "it is text or json"),
    (["/nowhere"], "/nowhere"),
    (["--thread=99"], "no thread '99'"),
])
def test_bad_options(ada, session, arguments, words):
    result = ada("top", "--once", *arguments, *([] if arguments[0].startswith("/") else [session("plain")]))
    assert result.status == 125 and not result.stdout
    assert words in result.stderr.decode() and result.stderr.count(b"\n") == 1


@pytest.mark.traces
def test_who_keeps_a_thread_waiting(ada, tmp_path):
    """While the program waits: who is blocked, in what, by whom. It goes on when it is told to, and top ends with it."""
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "held", SOURCE], check=True)
    with subprocess.Popen([ada.path, "trace", "-q", "-o", tmp_path / "out", tmp_path / "held"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as traced:
        assert traced.stdout.readline() == b"waits\n"
        (path,) = (entry for entry in (tmp_path / "out").iterdir() if entry.name.startswith("session_"))
        end = time.monotonic() + PATIENCE
        while True:
            asked = ada("top", "--once", "--format=json", path)
            rows = json.loads(asked.stdout)["threads"] if asked.status == 0 else []
            waiting = [row for row in rows if row["function"] == "pthread_mutex_lock" and row["blocked_by"]]
            if waiting or time.monotonic() > end:
                break
        assert waiting, (asked.stdout.decode(), asked.stderr.decode())
        (keeper,) = (row for row in rows if row["thread"] != waiting[0]["thread"])
        assert waiting[0]["waits_for"] == "lock" and waiting[0]["blocked_by"].split()[0] == str(keeper["thread"])
        assert json.loads(asked.stdout)["recording"] is True
        with subprocess.Popen([ada.path, "top", path], stdout=subprocess.PIPE) as follows:
            assert b"being recorded" in follows.stdout.readline()
            traced.communicate(b"go on\n", timeout=PATIENCE)
            follows.communicate(timeout=PATIENCE)
        assert (traced.returncode, follows.returncode) == (0, 0)
    # Played back, at a moment of the wait.
    asked = ada("query", "--format=json", path, "SELECT start_ns - at('+0s') AS at, duration_ns FROM calls WHERE function = 'pthread_mutex_lock' "
                "ORDER BY duration_ns DESC LIMIT 1")
    (wait,) = json.loads(asked.stdout)["rows"]
    again = json.loads(ada("top", "--once", "--format=json", f"--at=+{(wait['at'] + wait['duration_ns'] / 2) / 1e9:.9f}s", path).stdout)["threads"]
    assert [(row["waits_for"], row["blocked_by"].split()[0]) for row in again if row["function"] == "pthread_mutex_lock"] == \
        [("lock", str(keeper["thread"]))]       # so soon its name may not be in the manifest


@pytest.fixture(scope="module")
def joins(tmp_path_factory):
    program = tmp_path_factory.mktemp("joins") / "joins"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, SOURCE.parent / "joins.c"], check=True)
    return program


def until(what):
    end = time.monotonic() + PATIENCE
    while not (answer := what()):
        assert time.monotonic() < end
    return answer


@pytest.mark.traces
@pytest.mark.parametrize("mode", ["sleep", "reuse"])
def test_whose_end_a_join_waits_for(ada, joins, tmp_path, mode):
    """While it waits, of two threads, and of one that has the memory of another that has ended: in top, SQL and narrate."""
    with contextlib.closing(Live(ada, tmp_path / "out", [joins, mode])) as live:
        def waiting():
            return [row for row in top(ada, live.session)["threads"] if row["function"] == "pthread_join" and row["blocked_by"]]
        (row,) = until(waiting)
        number, name = row["blocked_by"].split()
        assert (row["waits_for"], name) == ("condition", "sleeper")
        asked = ada("query", "--format=json", live.session, "SELECT w.joined_thread, c.culprit_thread, c.culprit_function FROM waits w JOIN "
                    "causes(0, w.index_seq) c WHERE w.function = 'pthread_join' AND w.end_index_seq IS NULL")
        assert json.loads(asked.stdout)["rows"] == [{"joined_thread": int(number), "culprit_thread": int(number), "culprit_function": "await_input"}]
        assert ada("mark", live.session).status == 0
        told = " ".join(ada("narrate", "--all", live.session).stdout.decode().split())
        assert re.search(rf"was waiting in pthread_join[^,]*, called by main, for [\d.]+ m?s so far, until thread {number} \(sleeper\) ends\.", told)
        live.end()
    # Played back, and by its end.
    asked = ada("query", "--format=json", live.session, "SELECT joined_thread, ended_by_thread FROM waits WHERE function = 'pthread_join' "
                "ORDER BY end_ns - start_ns DESC LIMIT 1")
    assert json.loads(asked.stdout)["rows"] == [{"joined_thread": int(number), "ended_by_thread": int(number)}]


@pytest.mark.traces
def test_a_join_of_a_thread_that_is_not_recorded(ada, joins, tmp_path):
    """It has the memory of one that was recorded, and has ended: that one isn't named."""
    with contextlib.closing(Live(ada, tmp_path / "out", [joins, "unseen"], "--exclude=hide")) as live:
        pause = "SELECT joined_thread FROM waits WHERE function = 'pthread_join' AND end_index_seq IS NULL AND end_ns - start_ns > 3000000000"
        rows = until(lambda: json.loads(ada("query", "--format=json", live.session, pause).stdout)["rows"])
        assert rows == [{"joined_thread": None}]

        def first():
            (pid,) = live.session.glob("pid_*")
            return [thread for thread in json.loads((pid / "manifest.json").read_text())["threads"] if thread["name"] == "first"]
        assert until(first)[0]["threadPointer"] and first()[0]["endNs"]        # and yet nobody is named
        (row,) = (row for row in top(ada, live.session)["threads"] if row["function"] == "pthread_join")
        assert (row["waits_for"], row["blocked_by"]) == ("condition", None)


def was_preempted(ada, path, row):
    """A thread that loses its processor between the reading of the clock and the writing of the event is in the call until it has it again."""
    asked = ada("query", "--format=json", path, f"SELECT kind FROM switches WHERE thread = {row['thread']} AND kind <> 'fault' AND timestamp_ns <= "
                f"{row['end_ns']} ORDER BY timestamp_ns DESC LIMIT 1")
    return [last["kind"] for last in json.loads(asked.stdout)["rows"]] == ["preempted"]


@pytest.mark.traces
def test_what_has_not_come_yet_is_no_wait(ada, tmp_path):
    """Threads that work all the time: their youngest events are in no file yet. None is said to be in a call for longer than it ever was,
    or to wait in one that never waits."""
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "naps", SOURCE.parent / "naps.c"], check=True)
    looks = []
    with subprocess.Popen([ada.path, "trace", "-q", "-o", tmp_path / "out", tmp_path / "naps"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as traced:
        assert traced.stdout.readline() == b"works\n"
        (path,) = (entry for entry in (tmp_path / "out").iterdir() if entry.name.startswith("session_"))
        end = time.monotonic() + PATIENCE
        while len(looks) < 20 and time.monotonic() < end:
            asked = ada("top", "--once", "--format=json", path)
            seen = json.loads(asked.stdout) if asked.status == 0 else {"threads": []}
            looks += [{**row, "end_ns": seen["endNs"]} for row in seen["threads"] if row["function"] in ("step", "burst", "usleep")]
        traced.communicate(b"\n", timeout=PATIENCE)
    # From beginning to end, with what ada itself took in it, which a duration leaves out.
    asked = ada("query", "--format=json", path, "SELECT function, max(end_ns - start_ns) AS longest FROM calls WHERE function IN ('step', 'burst', 'usleep') "
                "GROUP BY function")
    longest = {row["function"]: row["longest"] for row in json.loads(asked.stdout)["rows"]}
    assert len(looks) >= 20
    for row in looks:
        assert row["since_ns"] <= longest[row["function"]] or (row["function"] != "usleep" and was_preempted(ada, path, row)), (row, longest)
        assert row["waits_for"] is None or row["since_ns"] >= 1e6, row


def state(row):
    return row["function"], row["since_ns"], row["ago_ns"]


@pytest.mark.traces
@pytest.mark.parametrize("options", [[], ["--pack=always"]])
def test_waits_that_end_before_they_are_old(ada, tmp_path, options):
    """Each look at the live session says of each thread what the finished session says of that moment: in what call, since when. Locks that are
    held for half a second have their holder."""
    subprocess.run(["gcc", "-O1", "-pthread", "-o", tmp_path / "turns", SOURCE.parent / "turns.c"], check=True)
    live = Live(ada, tmp_path / "out", [tmp_path / "turns"], *options)
    looks, held = [], []
    try:
        end = time.monotonic() + PATIENCE
        while len(held) < 12 and time.monotonic() < end:
            asked = ada("top", "--once", "--format=json", live.session)
            if asked.status == 0 and json.loads(asked.stdout)["threads"]:
                looks.append(json.loads(asked.stdout))
                held += [row for row in looks[-1]["threads"] if row["name"] == "wanter" and row["held_in"]]
        live.end()
    finally:
        live.close()
    assert len(held) == 12
    # Half a second, or more where the keeper lacks a processor.
    asked = ada("query", "--format=json", live.session, "SELECT max(end_ns - start_ns) AS longest FROM calls WHERE function = 'pthread_mutex_lock'")
    longest = json.loads(asked.stdout)["rows"][0]["longest"]
    for row in held:
        assert (row["function"], row["waits_for"], row["held_in"]) == ("pthread_mutex_lock", "lock", "hold"), row
        assert row["blocked_by"].endswith(" keeper") and 1e6 <= row["since_ns"] <= longest, row
    at = functools.cache(lambda moment: {row["thread"]: row for row in top(ada, f"--at={moment}", live.session)["threads"]})
    for look in looks:
        for row in look["threads"]:
            after = at(look["endNs"] - (row["ago_ns"] or 0))[row["thread"]]     # a recorder that got no processor says how old it is what it knows
            assert state({**row, "ago_ns": None}) == state(after), (row, look["endNs"])
            if row["name"] in ("joiner", "listener") and row["since_ns"] >= 1e6:
                assert (row["function"], row["waits_for"]) == ({"joiner": "pthread_join", "listener": "pthread_cond_wait"}[row["name"]], "condition")


def test_a_thread_that_runs_in_one_call_is_said_to_run(ada, tmp_path):
    """Or to lack a CPU, beside many others, in place of "unknown", or of what kept it from a CPU once, seconds ago."""
    program = tmp_path / "spins"
    subprocess.run(["gcc", "-O1", "-pthread", "-o", program, SOURCE.parent / "spins.c"], check=True)
    end = time.monotonic() + PATIENCE
    with contextlib.closing(Live(ada, tmp_path / "out", [program])) as live:
        kinds = []
        while not {"cpu", "runqueue"} & {*kinds}:
            assert time.monotonic() < end, kinds
            kinds += [thread["waits_for"] for thread in top(ada, live.session)["threads"] if thread["function"] == "spin"]
        assert "unknown" not in kinds
        while not re.search(r"  (runs|runqueue)  +\S+( \S+)?  +spin ", text := ada("top", "--once", live.session).stdout.decode()):
            assert time.monotonic() < end, text
