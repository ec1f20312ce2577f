"""What answers say of functions that `ada trace --budget` left out for some of the time: on a known session with stretches put into its
manifest."""
import csv
import io
import json
import shutil

import pytest

MAIN, LEAF, THROWER = 0, 2, 3
START_NS, END_NS = 1000000000000, 1001000000000


@pytest.fixture
def muted(session, tmp_path):
    """muted((function, from_ns, to_ns), ...): the directory of a copy of the plain session in which these were out."""
    def make(*stretches, name="muted"):
        path = tmp_path / name
        shutil.copytree(session("plain"), path)
        manifest = path / "pid_100" / "manifest.json"
        document = json.loads(manifest.read_text())
        document["muted"] = [{"functionId": function, "fromNs": from_ns, "toNs": to_ns, "callsPerSecond": 1e6}
                             for function, from_ns, to_ns in stretches]
        manifest.write_text(json.dumps(document))
        return path
    return make


def findings(ada, path, status=0):
    result = ada("verify", "--format=json", path)
    assert result.status == status, result.stdout.decode()
    return {row["check"]: (row["ok"], row["message"]) for row in json.loads(result.stdout)["rows"] if row["check"].startswith("muted")}


def as_json(ada, *arguments):
    result = ada(*arguments, "--format=json")
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)


def marks(ada, *arguments):
    return {row["function"]: row["muted"] for row in as_json(ada, "report", *arguments)["rows"]}


def test_report_marks_the_function_and_its_callers(ada, muted):
    path = muted((LEAF, START_NS + 500, None))
    assert marks(ada, path) == {"main": "self", "leaf": "calls", "thrower": None, "ns::add(int, int)": None}
    rows = csv.DictReader(io.StringIO(ada("report", "--format=csv", path).stdout.decode()))
    assert {row["function"]: row["muted"] for row in rows} == {"main": "self", "leaf": "calls", "thrower": "", "ns::add(int, int)": ""}
    text = ada("report", "--source", path).stdout.decode()
    assert "MUTED" in text.splitlines()[0] and "self: SELF may hold the time of those that it called" in text


def test_what_called_both_ways_says_both(ada, muted):
    assert marks(ada, muted((MAIN, START_NS, None), (LEAF, START_NS, START_NS + 500)))["main"] == "calls, self"


def test_a_function_of_which_no_call_is_left_has_a_row(ada, muted):
    path = muted((1, START_NS, None))
    row, = [row for row in as_json(ada, "report", path)["rows"] if row["function"] == "fib"]
    assert (row["calls"], row["self_ns"], row["p50_ns"], row["muted"]) == (0, 0, None, "calls")


def test_what_was_not_muted_meanwhile_is_not_marked(ada, muted, session):
    path = muted((LEAF, START_NS + 500, None))
    assert all("muted" not in row for row in as_json(ada, "report", f"--to={START_NS + 500}", path)["rows"])
    assert "MUTED" not in ada("report", session("plain")).stdout.decode()


@pytest.mark.parametrize("now, before", [(True, False), (False, True), (True, True)])
def test_diff_compares_what_both_recorded(ada, muted, session, now, before):
    one, other = (muted((LEAF, START_NS + 500, None), (1, START_NS, None), name=str(side)) if is_muted else session(name)
                  for side, (is_muted, name) in enumerate([(now, "rules"), (before, "rules")]))
    rows = as_json(ada, "report", f"--diff={other}", one)["rows"]
    apart = [row for row in rows if row["status"] == "not compared"]
    assert sorted(row["function"] for row in apart) == ["fib", "leaf"] and rows[-2:] == apart
    for row in apart:
        assert {row[key] for key in row if "_change" in key or "_ratio" in key} == {None} and row["muted"] == "calls"
    main, = [row for row in rows if row["function"] == "main"]
    assert main["self_change_ns"] is None and main["total_change_ns"] == main["total_ns"] - main["total_before_ns"]
    assert main["muted"] == "self"
    # A limit counts those that are compared, and the others, each for themselves
    few = as_json(ada, "report", "--limit=1", f"--diff={other}", one)["rows"]
    assert [row["status"] == "not compared" for row in few] == [False, True]
    text = ada("report", f"--diff={other}", one).stdout.decode()
    assert "not compared" in text and "--budget" in text


def test_verify_knows_what_was_muted(ada, muted, session):
    assert findings(ada, muted((THROWER, START_NS, START_NS + 1), (1, START_NS, None))) == {"muted": (True, ""), "muted calls": (True, "")}
    assert findings(ada, session("plain")) == {}


@pytest.mark.parametrize("stretch, fault", [((77, START_NS, None), "in no module's table"), ((LEAF, START_NS + 9, START_NS + 8), "ends before"),
                                            ((LEAF, START_NS - 1, None), "begins before"), ((LEAF, END_NS + 10**9, None), "behind the process's end")])
def test_verify_finds_what_cannot_be(ada, muted, stretch, fault):
    ok, message = findings(ada, muted((1, START_NS, None), stretch), status=1)["muted"]
    assert not ok and message.startswith("entry 1: ") and fault in message


def test_verify_tells_calls_of_what_was_out(ada, muted):
    """One call a thread is a stop's: the thread was in the hook. leaf was called twice."""
    ok, message = findings(ada, muted((LEAF, START_NS, None)))["muted calls"]
    assert ok and message.startswith("1 calls are recorded of functions that were out, the first of leaf")


def test_an_export_says_what_was_muted(ada, muted, tmp_path):
    path, trace = muted((LEAF, START_NS + 500, None)), tmp_path / "trace.json"
    said = ada("export", "--format=chrome", f"--output={trace}", path).stderr.decode()
    assert "; none was lost; 1 function was muted (about " in said and said.endswith(" % of the calls)\n")
    assert json.loads(trace.read_text())["otherData"]["mutedFunctions"] == 1


def test_tune_leaves_out_what_a_budget_has_left_out(ada, muted):
    """Each once, however often it was out; what cost too much beside goes first, and isn't said again."""
    path = muted((LEAF, START_NS, START_NS + 100), (THROWER, START_NS, None), (LEAF, START_NS + 500, None))
    manifest = path / "pid_100" / "manifest.json"
    document = json.loads(manifest.read_text())
    for cpu_ns, going in (1_000_000, 0), (1_100, 4):
        document["ledger"] = {"events": 100, "eventNs": 10, "costNs": 1000, "cpuNs": cpu_ns}
        manifest.write_text(json.dumps(document))
        text = ada("tune", path).stdout.decode()
        names = [line for line in text.splitlines() if not line.startswith("#")]
        assert "# But this is a recording under a budget, of which 2 functions were muted, about " in text
        assert len(names) == len({*names}) == max(going, 2) and {"leaf", "thrower"} <= {*names}, text
        assert ("no others need be left out" in text) == (not going)
    document["muted"] = []
    manifest.write_text(json.dumps(document))
    whole = ada("tune", path)
    assert whole.status == 0 and b"Without these 4 functions" in whole.stdout and b"muted" not in whole.stdout


@pytest.mark.parametrize("sides", [(True, False), (False, True), (True, True)])
def test_graphs_compare_what_both_recorded(ada, muted, session, sides):
    now, before = (muted((LEAF, START_NS, None), name=str(i)) if side else session("plain") for i, side in enumerate(sides))
    rows = as_json(ada, "graph", f"--diff={before}", now)["rows"]
    for row in rows:
        known = row["function"] != "leaf"
        assert [row[f"{of}_change{unit}"] is not None for of, unit in (("calls", ""), ("total", "_ns"), ("self", "_ns"))] == [known] * 3
        assert (row["status"] == "muted") != known
    assert {"leaf", "main"} <= {row["function"] for row in rows}
    assert "muted" in ada("graph", f"--diff={before}", now).stdout.decode()
