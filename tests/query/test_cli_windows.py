"""ada windows, and dump of one of them, on sessions whose answers are known (tests/query/synth_main.c makes them)."""
import csv
import json
import re

import jsonschema
import pytest

from test_cli import ROOT, START_NS, answer, as_csv, as_json, as_lines


@pytest.mark.parametrize("arguments, events", [
    (["--window=0"], [5, 6]), (["--window=1"], [7, 8, 9, 10]), (["--window=1", "--from=+450ns"], [9, 10]),
    (["--window=1", "--to=+450ns"], [7, 8]), (["--window=0", "--thread=quiet"], [])])
def test_dump_narrows_to_a_window(ada, session, arguments, events):
    rows, completeness = as_lines(ada, *arguments, session("detail"))
    assert [row["index_seq"] for row in rows] == events
    assert completeness["detailCoverage"] == bool(events)


@pytest.mark.parametrize("scenario, arguments, words", [
    ("detail", ["--window=2"], "no window 2 in .*: they are 0 to 1, `ada windows` lists them"),
    ("plain", ["--window=0"], "no window 0 in .*: it has none"),
    ("detail", ["--window=0", "--from=+340ns"], "window 0 lies outside of --from and --to"),
    ("detail", ["--window=x"], "--window: ")])
def test_dump_of_no_window(ada, session, scenario, arguments, words):
    stderr = answer(ada, "dump", *arguments, session(scenario), status=125).stderr.decode()
    assert re.match(f"ada dump: {words}", stderr) and stderr.count("\n") == 1


def test_windows(ada, session):
    result = as_json(ada, "windows", session("detail"))
    manifest = json.loads((session("detail") / "pid_100/manifest.json").read_text())
    expected = manifest["detail_lane"]["windows"]
    assert result["rows"] == [{"window": i, "process": "pid_100", **window} for i, window in enumerate(expected)]
    assert result["completeness"]["detailCoverage"] == 0.375
    rows = as_csv(ada, "windows", session("detail"))
    assert [(row["startNs"], row["endNs"], row["triggerKinds"], row["eventCount"], row["shortReason"], row["preRollSec"],
             row["postRollSec"]) for row in rows] == [
        (str(START_NS + 230), str(START_NS + 330), "symbol:leaf,manual", "2", "startup", "0.5", "2e-9"),
        (str(START_NS + 340), str(START_NS + 550), "symbol:leaf,manual", "4", "", "0.5", "2e-9")]
    lines = answer(ada, "windows", session("detail")).stdout.decode().splitlines()
    assert lines[1].split() == ["0", "pid_100", "+0.000000230s", "100", "ns", "2", "2", "500", "ms", "2", "ns", "symbol:leaf,manual",
                                "startup"]


def test_worst_first(ada, copy):
    """A row tells of the mark with the largest value, and of its function; --sort=value orders by it, those without one last."""
    directory = copy("detail")
    path = directory / "pid_100/manifest.json"
    manifest = json.loads(path.read_text())
    add = next(int(line.split("\t")[0]) for line in (directory / "pid_100/modules/0.tsv").read_text().splitlines() if "_ZN2ns3add" in line)
    marks = [[{"kind": "latency:leaf>1ms", "functionId": 0, "value": 1500000}, {"kind": "latency:leaf>1ms", "functionId": add, "value": 2500000}],
             [{"kind": "arg:f:1>3", "functionId": add, "value": 9000000}, {"kind": "manual", "functionId": None, "value": None}]]
    for window, listed in zip(manifest["detail_lane"]["windows"], marks):
        window["marks"] = listed
    path.write_text(json.dumps(manifest))
    rows = as_csv(ada, "windows", directory)
    assert [(row["window"], row["function"], row["value"]) for row in rows] == [("0", "ns::add(int, int)", "2500000"),
                                                                               ("1", "ns::add(int, int)", "9000000")]
    assert [row["window"] for row in as_csv(ada, "windows", "--sort=value", directory)] == ["1", "0"]
    assert [row["window"] for row in as_json(ada, "windows", "--sort=value", directory)["rows"]] == [1, 0]
    lines = answer(ada, "windows", directory).stdout.decode().splitlines()
    assert "2.50 ms" in lines[1] and "9000000" in lines[2]
    manifest["detail_lane"]["windows"][1]["marks"] = [{"kind": "manual", "functionId": None, "value": None}]
    path.write_text(json.dumps(manifest))
    rows = as_csv(ada, "windows", "--sort=value", directory)
    assert [(row["window"], row["function"]) for row in rows] == [("0", "ns::add(int, int)"), ("1", "")]
    assert answer(ada, "windows", "--sort=size", directory, status=125).stderr.count(b"\n") == 1


def test_kinds_with_commas_stay_apart(ada, copy):
    """Also where they are many and long: all are shown, in the table, in CSV and in SQL."""
    directory = copy("detail")
    path = directory / "pid_100/manifest.json"
    manifest = json.loads(path.read_text())
    kinds = ["arg:ns::add(int, int):1>3", "manual", 'symbol:re:/a"b,c/', *(f"symbol:f{i},g{i}" for i in range(64))]
    manifest["detail_lane"]["windows"][0]["triggerKinds"] = kinds
    path.write_text(json.dumps(manifest))
    table = next(line for line in answer(ada, "windows", directory).stdout.decode().splitlines() if line.split()[0] == "0")
    rows = as_csv(ada, "query", directory, "SELECT trigger_kinds FROM windows WHERE window = 0")
    texts = [re.search(r'"arg.*(?=  startup)', table)[0], as_csv(ada, "windows", directory)[0]["triggerKinds"], rows[0]["trigger_kinds"]]
    assert [next(csv.reader([text])) for text in texts] == [kinds] * 3
    assert as_csv(ada, "windows", directory)[1]["triggerKinds"] == "symbol:leaf,manual"


def test_windows_of_processes(ada, session):
    """Numbered on over all processes; a window is of one of them alone."""
    rows = as_json(ada, "windows", session("pair"))["rows"]
    assert [(row["window"], row["process"], row["id"]) for row in rows] == [(0, "pid_60", 0), (1, "pid_61", 0)]
    for number, process in enumerate(["pid_60", "pid_61"]):
        events = as_lines(ada, f"--window={number}", session("pair"))[0]
        assert [(event["process"], event["kind"]) for event in events] == [(process, "call"), (process, "return")]
    alone = session("pair") / "pid_61"
    assert [row["window"] for row in as_json(ada, "windows", alone)["rows"]] == [0]
    assert as_json(ada, "verify", session("pair"))["rows"]


def test_windows_are_what_the_recorder_writes(session):
    """Else the tests above would prove nothing."""
    schema = json.loads((ROOT / "docs" / "manifest.schema.json").read_text())
    manifest = json.loads((session("detail") / "pid_100/manifest.json").read_text())
    definition = {**schema["$defs"]["window"], "$defs": schema["$defs"]}
    for window in manifest["detail_lane"]["windows"]:
        jsonschema.validate(window, definition)


def test_no_windows(ada, session):
    assert as_json(ada, "windows", session("plain"))["rows"] == []
    assert answer(ada, "windows", session("plain")).stdout.decode().splitlines() == [
        "No window: nothing marked, or detail was off.", "10 events; none was lost."]
    assert as_csv(ada, "windows", session("plain")) == []


def test_a_window_that_goes_on_says_so(ada, copy):
    path = copy("detail") / "pid_100/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["detail_lane"]["windows"][0]["settled"] = False
    path.write_text(json.dumps(manifest))
    lines = answer(ada, "windows", path.parents[1]).stdout.decode().splitlines()
    assert ["not settled yet" in line for line in lines[1:3]] == [True, False]


@pytest.mark.parametrize("content", [None, "{"])
def test_windows_of_a_lost_manifest_are_not_none(ada, copy, content):
    path = copy("detail")
    (path / "pid_100/manifest.json").unlink()
    if content:
        (path / "pid_100/manifest.json").write_text(content)
    result = answer(ada, "windows", path, status=125)
    assert b"pid_100" in result.stderr and b"manifest.json" in result.stderr
    assert result.stdout.decode().splitlines()[0] == "No window is known: they are in the manifest, which can't be read."
    told, = [row["text"] for row in as_json(ada, "narrate", path, status=125)["rows"] if row["kind"] == "coverage"]
    assert re.fullmatch(r"\d\S* % of the events have detail; which windows were kept can't be read\.", told)


def test_windows_that_are_none(ada, copy):
    """A manifest that someone else wrote."""
    path = copy("detail")
    manifest = json.loads((path / "pid_100/manifest.json").read_text())
    manifest["detail_lane"]["windows"][:] = [{}, 7]
    (path / "pid_100/manifest.json").write_text(json.dumps(manifest))
    for command in ["windows", "info", "dump"]:
        assert b"window 1 is not an object" in answer(ada, command, path, status=125).stderr
    assert as_json(ada, "windows", path, status=125)["rows"] == [{"window": 0, "process": "pid_100"}]
    assert answer(ada, "verify", path, status=1)
