"""Rules of every kind that functions and signals have, over marker.cc: how often each fits and marks, and at which events."""
import json
import pathlib
import subprocess

import pytest
from harness import CALL, EXCEPTION, RETURN, check_recording
from recording import Process, durations

SOURCE = pathlib.Path(__file__).resolve().parent / "marker.cc"
# Rule: events that fit, marks, kind of the event; None: a signal, which is no event.
RULES = {
    "symbol=answer": (100, 100, CALL),
    "symbol=answer@after=10,every=9": (100, 10, CALL),
    "symbol=answer@limit=5/min": (100, 5, CALL),
    "symbol=a?swer,nothing": (100, 100, CALL),
    "symbol=re:^(ans|sha)": (102, 102, CALL),
    "symbol=strdup": (7, 7, CALL),                      # in a library that isn't traced
    "return=answer<0": (50, 50, RETURN),
    "return=answer==0": (1, 1, RETURN),
    "return=answer!=0": (99, 99, RETURN),
    "return=share>1.0": (1, 1, RETURN),
    "return=strdup!=0": (7, 7, RETURN),
    "arg=given:2>=40": (3, 3, CALL),
    "arg=given:3==-1": (6, 6, CALL),
    "arg=answer:1>48": (1, 1, CALL),
    "latency=paced>20ms": (8, 8, RETURN),
    "p50=paced>10ms@over=4": (2, 2, RETURN),            # twice from fast to slow
    "rate=burst>40/s": (1, 1, CALL),
    "rate=burst>50/s": (0, 0, CALL),
    "depth=deep>10": (1, 1, CALL),                      # at depths 1 to 31, once a descent
    "depth>25": (1, 1, CALL),
    "new-caller=asked": (3, 3, CALL),
    "new-caller=asked@after=3": (1, 1, CALL),           # the first three calls come from two of the three places
    "cpu=work>20ms": (1, 1, RETURN),                    # the other one sleeps
    "exception": (6, 6, CALL),
    "exception=std::runtime_error": (2, 2, CALL),
    "exception=own::*": (3, 3, CALL),
    "exception=int": (1, 1, CALL),
    "exception=std::bad_alloc": (0, 0, CALL),
    "signal=SIGUSR1": (2, 2, None),
    "crash": (0, 0, None),
}


@pytest.fixture(scope="module")
def manifest(ada, tmp_path_factory):
    """Of one recording under all rules at once."""
    place = tmp_path_factory.mktemp("marks")
    subprocess.run(["g++", "-O1", "-g", "-o", place / "marker", SOURCE], check=True)
    result = ada.trace(place / "out", [place / "marker"], *(f"--trigger={rule}" for rule in RULES))
    assert result.status == 0, result.stderr.decode()
    session = check_recording(ada, place / "out")
    (manifest,) = session.manifests().values()
    manifest["events"] = {n: list(session.events(t)) for n, t in enumerate(session.threads())}
    process = Process(session.processes()[0])
    manifest["detail_lane"]["windows"] = process.windows        # whose marks are numbered through: where a disk was slow a thread has two segments
    paced = process.ids("paced")
    manifest["slow"] = sum(ns > 20000000 for events in manifest["events"].values() for ns, _ in durations(events, paced))
    return manifest


def counts(manifest, text):
    """Matches and marks. Eight calls of paced() sleep; that a busy machine makes others slow the index tells."""
    if not text.startswith("latency="):
        return RULES[text][:2]
    assert manifest["slow"] >= RULES[text][0]
    return manifest["slow"], manifest["slow"]


@pytest.mark.parametrize("text", RULES)
def test_a_rule_fits_and_marks_as_often_as_it_should(manifest, text):
    rule = next(r for r in manifest["marking_policy"]["rules"] if r["text"] == text)
    assert (rule["matches"], rule["marks"]) == counts(manifest, text)


def marks(manifest):
    return [mark for window in manifest["detail_lane"]["windows"] for mark in window["marks"]]


def test_marks_name_the_events_that_they_are_of(manifest):
    ids = {r["id"]: r["text"] for r in manifest["marking_policy"]["rules"]}
    seen = dict.fromkeys(RULES, 0)
    assert marks(manifest)
    for mark in marks(manifest):
        rules = [ids[n] for n in mark["rules"]]
        for text in rules:
            seen[text] += 1
        kinds = {RULES[text][2] for text in rules}
        if kinds == {None}:
            continue
        time, function, _, kind, _, _ = manifest["events"][mark["thread"]][mark["indexSeq"]]
        assert (time, function) == (mark["tsNs"], mark["functionId"]), json.dumps(mark)
        assert {kind} == kinds or kind == EXCEPTION, json.dumps(mark)
    dropped = sum(window["markedCount"] for window in manifest["detail_lane"]["windows"]) - len(marks(manifest))
    assert dropped or seen == {text: counts(manifest, text)[1] for text in RULES}


def test_each_marked_event_counts_once(manifest):
    events = {(m["thread"], m["indexSeq"]) for m in marks(manifest) if m["functionId"] is not None}
    of_events = [m for m in marks(manifest) if m["functionId"] is not None]
    assert len(events) == len(of_events)
    assert manifest["metrics"]["marked_events_detected"] == sum(w["markedCount"] for w in manifest["detail_lane"]["windows"])


def test_every_process_marks_for_itself(ada, tmp_path):
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "family", SOURCE.with_name("family.c")], check=True)
    result = ada.trace(tmp_path / "out", [tmp_path / "family"], "--trigger=symbol=answer", "--trigger=signal=SIGUSR1,SIGTERM")
    assert (result.status, result.stdout) == (0, b"1 128\n"), result.stderr.decode()
    session = check_recording(ada, tmp_path / "out")
    kinds = [[mark["kind"] for mark in marks(manifest)] for manifest in session.manifests().values()]
    counts = sorted((k.count("symbol:answer"), len(k)) for k in kinds)
    assert counts == [(2, 2), (3, 4), (5, 6)]
