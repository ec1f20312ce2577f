"""Calls of mutexes that have nobody to wait for may be filtered: the program doesn't notice, waits are told with who held the mutex, and every
answer says what was left out. The programs know what is right (locks.cc)."""
import json
import time

import pytest

from harness import check_recording
from live import Live

FLIP_S = 60                 # at most, until more hooks went and came back
ROUNDS = 3_000_000
LONG_NS = 3_000_000         # `want` waits for more, whenever `keep` holds
LOCK, UNLOCK = "pthread_mutex_lock", "pthread_mutex_unlock"


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def ask(ada, session, statement):
    """On a full machine the recording is long: thousands of causes among as many threads."""
    result = ada("query", "--format=json", session, statement, timeout=300)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def returned(session):
    """How often calls of mutexes' functions were filtered, and are not any more."""
    return sum(one["filtered"] and one["toNs"] is not None for manifest in session.glob("pid_*/manifest.json")
               for one in json.loads(manifest.read_text())["muted"])


def counted(ada, session, function):
    """All calls are there: the program's, and a few of its libraries."""
    return 0 <= {row["function"]: row["calls"] for row in ada.rows("report", session)}[function] - ROUNDS // 10 < 10


@pytest.mark.parametrize("options", [("--debug-flip",), ("--debug-flip", "--detail=off"), ("--debug-flip", "--debug-poison")])
def test_eight_threads_in_mutexes_of_every_kind(ada, build_dir, tmp_path, options):
    keep = [f"--keep={name}" for name in ("want", "wanter", "keep", "keeper")]
    live = Live(ada, tmp_path / "ada", [build_dir / "tests/budget/budget_locks"], *options, *keep)
    most, limit = 0, time.monotonic() + FLIP_S
    try:
        while most < 50:
            if (now := returned(live.session)) > most:
                most, limit = now, time.monotonic() + FLIP_S
            assert time.monotonic() < limit, f"calls were filtered {most} times, and then no more"
            time.sleep(0.05)
        said = live.end()[0].split()
        assert said[:2] == ["wrong", "0"] and int(said[3]) > 0, said
    finally:
        live.close()
    check_recording(ada, tmp_path / "ada")
    keeper, = ask(ada, live.session, "SELECT thread FROM calls WHERE function = 'keeper'")
    causes = ask(ada, live.session, "SELECT c.kind, c.culprit_thread, c.culprit_function FROM waits w, causes(w.thread, w.index_seq) c"
                 " WHERE w.kind = 'lock' AND w.thread = (SELECT thread FROM calls WHERE function = 'wanter')"
                 f" AND w.end_ns - w.start_ns > {LONG_NS}")
    named = [cause for cause in causes if cause["culprit_thread"] is not None]
    assert len(named) >= len(causes) * 0.9 > 0
    assert {cause["culprit_thread"] for cause in named} == {keeper["thread"]}, f"who never held it is blamed: {named}"
    assert ask(ada, live.session, "SELECT 1 FROM events WHERE kind = 'holder' LIMIT 1")


def test_a_dear_mutex_is_filtered_and_all_answers_say_so(ada, build_dir, tmp_path):
    result = ada.trace(tmp_path / "ada", [build_dir / "tests/budget/budget_locks", "calls", ROUNDS], "--budget")
    assert result.status == 0 and result.stdout.decode() == f"sum {ROUNDS} wrong 0\n"
    session = check_recording(ada, tmp_path / "ada").path
    assert {row["function"] for row in ask(ada, session, "SELECT function FROM mutes WHERE left_out = 'uncontended'")} == {LOCK, UNLOCK}
    rows = {row["function"]: row for row in json.loads(ada("report", "--format=json", session).stdout)["rows"]}
    for name in LOCK, UNLOCK:
        assert 0 < rows[name]["calls"] < ROUNDS / 2 and "uncontended" in rows[name]["muted"]
    said = json.loads(ada("report", "--format=json", session).stdout)["completeness"]["muted"]
    assert said["functions"] >= said["filtered"] == 2
    assert b"uncontended" in ada("narrate", "--all", session).stdout
    assert b"uncontended" in ada("report", session).stdout


def test_who_names_a_mutex_has_all_its_calls(ada, build_dir, tmp_path):
    result = ada.trace(tmp_path / "ada", [build_dir / "tests/budget/budget_locks", "calls", ROUNDS // 10], "--budget", f"--keep={LOCK}",
                       "--on-full=block")
    assert result.status == 0, result.stderr.decode()
    session = check_recording(ada, tmp_path / "ada").path
    assert LOCK not in {row["function"] for row in ask(ada, session, "SELECT function FROM mutes")}
    assert counted(ada, session, LOCK)


def test_without_a_budget_nothing_is_filtered(ada, build_dir, tmp_path):
    result = ada.trace(tmp_path / "ada", [build_dir / "tests/budget/budget_locks", "calls", ROUNDS // 10], "--on-full=block")
    assert result.status == 0, result.stderr.decode()
    session = check_recording(ada, tmp_path / "ada").path
    assert not ask(ada, session, "SELECT * FROM mutes") and not ask(ada, session, "SELECT 1 FROM events WHERE kind = 'holder'")
    assert counted(ada, session, UNLOCK)
