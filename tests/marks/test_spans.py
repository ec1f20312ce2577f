"""Rules from one call to another with an equal argument, on another thread: marks, windows, headline, SQL, replay, and live."""
import contextlib
import json
import pathlib
import re
import subprocess

import pytest
from harness import check_recording
from live import Live

RULE = "latency=submit:1..complete:2>50ms"
SLOW, SLOW_NS = 17, 80_000_000


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("spans") / "spans"
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", path, pathlib.Path(__file__).parent / "spans.c"], check=True)
    return path


@pytest.fixture(scope="module")
def session(ada, program, tmp_path_factory):
    out = tmp_path_factory.mktemp("spans")
    result = ada.trace(out, [program], f"--trigger={RULE}", "--trigger=latency=submit:1..complete:2>1h")
    assert result.status == 0, result.stderr.decode()
    return check_recording(ada, out)


def ask(ada, *command_and_session):
    *command, session, question = command_and_session
    return json.loads(ada(*command, "--format=json", session.path, question).stdout)["rows"]


def marks(session):
    (manifest,) = session.manifests().values()
    return [mark for window in manifest["detail_lane"]["windows"] for mark in window["marks"]]


def test_mark(session):
    """An int of the one function equals a long of the other."""
    mark, = marks(session)
    assert (mark["kind"], mark["key"], mark["rule"]) == ("latency:submit:1..complete:2>50ms", SLOW, 1)
    assert mark["thread"] == 1 and mark["begin"]["thread"] == 0
    assert SLOW_NS <= mark["value"] < 60 * SLOW_NS
    assert abs(mark["tsNs"] - mark["begin"]["tsNs"] - mark["value"]) <= 1
    (manifest,) = session.manifests().values()
    assert [(rule["matches"], rule["marks"]) for rule in manifest["marking_policy"]["rules"][:2]] == [(1, 1), (0, 0)]


def test_table_names_both_calls(ada, session):
    row, = ask(ada, "query", session, """
        SELECT m.key, m.value, b.function AS begins, e.function AS ends, e.timestamp_ns - b.timestamp_ns AS ns, b.timestamp_ns = m.begin_ns AS same
        FROM marks m JOIN events b ON b.thread = m.begin_thread AND b.index_seq = m.begin_index_seq
        JOIN events e ON e.thread = m.thread AND e.index_seq = m.index_seq""")
    assert (row["key"], row["begins"], row["ends"], row["same"]) == (SLOW, "submit", "complete", 1)
    assert abs(row["ns"] - row["value"]) <= 1


def test_headline_is_of_the_time_between(ada, session):
    row = next(row for row in ada.rows("narrate", session.path) if row["kind"] == "headline")
    assert row["text"].startswith("Key 17 took ") and " from submit on thread 0 to complete on thread 1: thread 1 slept " in row["text"]
    assert "look_up(number=17) > usleep(useconds=80000)" in row["text"]
    cause = row["cause"]
    assert (cause["kind"], cause["function"], cause["key"], cause["begin_thread"]) == ("sleep", "complete", "17", 0)
    assert cause["duration_ns"] >= SLOW_NS
    assert [cited for cited in row["evidence"] if cited.get("thread") == 0], row


def test_windows(ada, session):
    text = ada("windows", session.path).stdout.decode()
    head, line = text.splitlines()[:2]
    assert line[:head.index("KEY") + len("KEY")].split()[-1] == "17", text
    assert "complete" in line


def test_replay(ada, session):
    """Of the calls whose arguments were kept; with the rule's own bound, and with one that all of them fit."""
    def tested(rule):
        return ask(ada, "trigger", "test", session, rule)
    row, = tested(RULE)
    assert abs(row["value"] - marks(session)[0]["value"]) <= 1, row
    assert len(tested("latency=submit:1..complete:2>=1ns")) > 1
    assert not tested("latency=submit:1..complete:2>1h")


def test_live(ada, program, tmp_path):
    """Added and removed while it runs: only what it does meanwhile marks."""
    with contextlib.closing(Live(ada, tmp_path, [program, "again"])) as live:
        live.tell("once\n")
        assert ada("trigger", "add", live.session, RULE).status == 0
        live.tell("with the rule\n")
        listed = ada("trigger", "list", live.session).stdout.decode()
        assert RULE in listed
        number = next(line.split()[0] for line in listed.splitlines() if RULE in line)
        assert ada("trigger", "remove", live.session, number).status == 0
        live.tell("without\n")
    session = check_recording(ada, tmp_path)
    # On a machine that is busy enough others took long, too.
    assert [mark["key"] for mark in marks(session)].count(SLOW) == 1


@pytest.mark.parametrize("rule, begins", [("latency=submit:1..complete:1>1ms", "24 keys took up to "), ("latency=serve>1ms", "24 calls of serve took up to ")])
def test_the_worst_of_many_marks_leads(ada, tmp_path, rule, begins):
    """The last of 24 marks is the worst, and the headline counts all of them."""
    subprocess.run(["cc", "-g", "-O1", "-pthread", "-o", tmp_path / "backlog", pathlib.Path(__file__).parent / "backlog.c"], check=True)
    out = tmp_path / "out"
    result = ada.trace(out, [tmp_path / "backlog"], f"--trigger={rule}@pre=1s,post=1s")
    assert result.status == 0, result.stderr.decode()
    recorded = check_recording(ada, out)
    found = sorted(marks(recorded), key=lambda mark: mark["value"])
    assert len(found) == 24
    row = next(row for row in ada.rows("narrate", recorded.path) if row["kind"] == "headline")
    assert row["text"].startswith(begins), row["text"]
    assert row["cause"]["duration_ns"] > found[-2]["value"]
    if "key" in found[-1]:
        assert row["cause"]["key"] == str(found[-1]["key"]) and f", {found[-1]['key']} longest" in row["text"]
    else:
        assert re.search(r": 16 of the 16 longest slept ", row["text"]), row["text"]
