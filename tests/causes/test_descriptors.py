"""What a descriptor led to that a thread waited on, where no recorded call says so: as the recorder found it at the mark."""
import json
import os
import pathlib
import re
import subprocess
import time

import jsonschema
import pytest
from live import Live

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
SCHEMA = HERE.parent.parent / "docs" / "descriptors.schema.json"
RULE = "--trigger=latency=function:serve>200ms@pre=2s,post=10ms"
LIMIT_S = 60
# What is said of a wait on it, with the numbers that the program gives
TOLD = {
    "accepted": "a connection from 127.0.0.1:{number}",
    "polled": "a connection from 127.0.0.1:{number}",
    "inherited": "{fifo}",
    "pipe": "a pipe whose other end is descriptor {number} of pid_{child}",
    "pair": "a socket whose other end is descriptor {number} of pid_{child}",
}
WAITS = {"accepted": "recv", "polled": "poll", "inherited": "read", "pipe": "read", "pair": "recv"}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("descriptors") / "ends"
    subprocess.run(["cc", "-g", "-D_GNU_SOURCE", "-O1", "-o", path, HERE / "ends.c", "-pthread"], check=True)
    return path


def await_(what):
    limit = time.monotonic() + LIMIT_S
    while not (answer := what()):
        assert time.monotonic() < limit
        time.sleep(0.02)
    return answer


def rows(ada, *words, status=(0,)):
    result = ada(words[0], "--format=json", *words[1:])
    assert result.status in status, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def notes_of(session, pid):
    path = session / f"pid_{pid}" / "descriptors.json"
    return json.loads(path.read_text()) if path.exists() else None


class Run:
    """The program under ada, until it has waited, and what its descriptors lead to has been noted."""

    def __init__(self, ada, program, output, mode, how, *options):
        fifo = output / "fifo"
        os.mkfifo(fifo)
        keeper = os.open(fifo, os.O_RDWR)       # so that the shell's open doesn't wait for a writer
        try:
            before = ["bash", "-c", f"exec 5<{fifo}; exec \"$@\"", "bash"] if how == "inherited" else ()
            self.live = Live(ada, output, [program, mode, how, fifo], *([] if mode == "hang" else [RULE]), *options, before=before)
        finally:
            os.close(keeper)
        self.session = self.live.session
        self.live.say("g")
        descriptor, number, child = map(int, self.live.line().split())
        self.pid = min((int(path.name.removeprefix("pid_")) for path in self.session.glob("pid_*")), key=lambda pid: (pid == child, pid))
        self.facts = {"descriptor": descriptor, "number": number, "child": child, "fifo": fifo}


@pytest.fixture
def run(ada, program, tmp_path):
    started = []

    def begin(mode, how, *options):
        output = tmp_path / str(len(started))
        output.mkdir()
        begun = Run(ada, program, output, mode, how, *options)
        started.append(begun)
        return begun
    yield begin
    for begun in started:
        begun.live.close()


def record(ada, run, mode, how, *options):
    for _ in range(4):      # on a full machine it may be true that the call had no processor
        begun = run(mode, how, *options)
        await_(lambda: notes_of(begun.session, begun.pid))
        begun.live.end()
        kinds = {row["kind"] for row in rows(ada, "query", begun.session, "SELECT kind FROM causes")}
        if not kinds & {"runqueue", "preempted"}:
            break
    return begun


def headline_of(ada, session):
    return next(row for row in rows(ada, "narrate", session) if row["window"] == 0)


def lead_of(run):
    """What was noted of the descriptor that was waited on."""
    notes = notes_of(run.session, run.pid)
    jsonschema.validate(notes, json.loads(SCHEMA.read_text()))
    leads = [lead for lead in notes["descriptors"] if lead["fd"] == run.facts["descriptor"]]
    assert len(leads) <= 1
    return leads[0] if leads else None


@pytest.mark.parametrize("mode", ["cause", "crowd"])
@pytest.mark.parametrize("how", TOLD)
def test_what_it_led_to_at_the_mark_is_told(ada, run, how, mode):
    begun = record(ada, run, mode, how)
    told = TOLD[how].format(**begun.facts)
    row, = rows(ada, "query", begun.session, "SELECT kind, function_waited, object, opened, peer, noted, noted_ns FROM causes")
    lead = lead_of(begun)
    assert (row["function_waited"], row["object"], row["noted"]) == (WAITS[how], f"descriptor {begun.facts['descriptor']}", told)
    assert (row["opened"], row["peer"]) == (lead.get("path"), lead.get("peer"))
    assert lead["fromNs"] <= row["noted_ns"] <= lead["toNs"]
    text = headline_of(ada, begun.session)["text"]
    assert f"in {WAITS[how]} on {row['object']}, {told} (as it was at the mark), called in " in text
    assert ada("verify", begun.session).status == 0


@pytest.mark.parametrize("how", ["reused", "replaced", "closed"])
def test_nothing_is_told_of_a_number_that_became_anothers(ada, run, how):
    """Behind the wait, and before the mark: what was noted is another's, or nothing."""
    begun = record(ada, run, "cause", how)
    lead = lead_of(begun)
    if how == "closed":
        assert lead is None
    else:
        assert lead["kind"] == "socket" and lead.get("peer") != f"127.0.0.1:{begun.facts['number']}"
        assert bool(lead.get("peer")) == (how == "reused") == (not lead.get("listens"))
    row, = rows(ada, "query", begun.session, "SELECT function_waited, object, opened, peer, noted, noted_ns FROM causes")
    assert row == {"function_waited": "recv", "object": f"descriptor {begun.facts['descriptor']}", "opened": None, "peer": None, "noted": None,
                   "noted_ns": None}
    assert "127.0.0.1" not in headline_of(ada, begun.session)["text"]


def test_nothing_is_noted_where_nothing_is_captured(ada, run):
    begun = run("cause", "accepted", "--capture=off")
    await_(lambda: any(window["settled"] for window in rows(ada, "windows", begun.session, status=(0, 125))))
    begun.live.end()
    assert notes_of(begun.session, begun.pid) is None
    row, = rows(ada, "query", begun.session, "SELECT peer, noted FROM causes")
    assert row == {"peer": None, "noted": None}


@pytest.mark.parametrize("how", ["accepted", "inherited", "pair"])
def test_no_path_and_no_address_is_noted_where_anything_is_redacted(ada, run, how):
    """Nobody knows which of them is meant."""
    begun = record(ada, run, "cause", how, "--redact=nobody:1")
    notes = json.dumps(notes_of(begun.session, begun.pid))
    assert "/" not in notes and "127.0.0.1" not in notes and '"peer"' not in notes and '"local"' not in notes
    row, = rows(ada, "query", begun.session, "SELECT opened, peer, noted FROM causes")
    assert row == {"opened": None, "peer": None, "noted": TOLD[how].format(**begun.facts) if how == "pair" else None}


@pytest.mark.parametrize("how", ["accepted", "polled"])
def test_whom_a_hang_waits_for_is_told_while_it_lasts(ada, run, how):
    begun = run("hang", how)
    descriptor, waits = f"descriptor {begun.facts['descriptor']}", WAITS[how]
    told = TOLD[how].format(**begun.facts)
    await_(lambda: rows(ada, "query", begun.session, f"SELECT 1 FROM calls WHERE function = '{waits}' AND outcome = 'open' AND"
                        " duration_ns > 1000000000", status=(0, 125)))
    assert ada("mark", begun.session).status == 0
    await_(lambda: notes_of(begun.session, begun.pid))
    text = headline_of(ada, begun.session)["text"]
    assert re.search(rf"{waits} .*on {descriptor}, {re.escape(told)} \(as it was at the mark\)", text), text
    row, = rows(ada, "query", begun.session, "SELECT kind, function_waited, object, noted FROM causes")
    assert row == {"kind": "message", "function_waited": waits, "object": descriptor, "noted": told}
    assert any(f" {waits} " in row["text"] and f" so far, on {descriptor}, {told} (as it was at the mark)" in row["text"]
               for row in rows(ada, "narrate", "--all", begun.session) if row["kind"] == "other-thread")


def test_what_stays_the_same_is_noted_once(ada, run):
    """From the first look to the last; what begins later from there on."""
    begun = run("hang", "accepted")
    looks = []
    while len(looks) < 3:
        assert ada("mark", "--no-wait", begun.session).status == 0
        before = len(looks)
        await_(lambda: len((notes_of(begun.session, begun.pid) or {"looks": []})["looks"]) > before)
        looks = notes_of(begun.session, begun.pid)["looks"]
    lead = lead_of(begun)
    assert (lead["fromNs"], lead["toNs"]) == (looks[0]["startNs"], looks[-1]["endNs"])
    assert all(now["endNs"] <= then["startNs"] for now, then in zip(looks, looks[1:]))


def test_notes_that_were_damaged_are_found_and_say_nothing(ada, run):
    begun = record(ada, run, "cause", "accepted")
    path = begun.session / f"pid_{begun.pid}" / "descriptors.json"
    sound = path.read_text()
    at = sound.index(str(begun.facts["number"]))
    path.write_text(sound[:at] + str(int(sound[at]) % 9 + 1) + sound[at + 1:])
    result = ada("verify", begun.session)
    assert result.status != 0 and b"descriptors.json" in result.stdout + result.stderr
    for broken in ["", "{", "[]", "null", '{"format": "ada-descriptors", "looks": 5, "descriptors": [7, {"fd": "x"}]}', sound[:len(sound) // 2],
                   re.sub(r'"(from|start)Ns": \d+', r'"\1Ns": 18446744073709551615', sound), re.sub(r'"fd": \d+', '"fd": -1', sound)]:
        path.write_text(broken)
        row, = rows(ada, "query", begun.session, "SELECT function_waited, noted FROM causes")
        assert row == {"function_waited": "recv", "noted": None}
        assert ada("verify", begun.session).status != 0
    path.unlink()
    assert ada("verify", begun.session).status == 0
