"""ada graph, report --diff and folded stacks: on synthesised sessions whose trees are known, and on a program's."""
import collections
import csv
import io
import json
import pathlib
import re
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
SCENARIOS = ["plain", "names", "lossy", "processes", "rules", "running", "detail", "pair", "empty", "fibers", "lossy_story"]


def answer(ada, *arguments, status=0):
    result = ada(*arguments)
    assert result.status == status, result.stderr.decode()
    return result.stdout.decode()


def as_json(ada, *arguments):
    return json.loads(answer(ada, *arguments, "--format=json"))


def graph(ada, *arguments):
    return as_json(ada, "graph", *arguments)["rows"]


def paths(rows, *fields):
    """{(main, f, g): values of the fields}; says also whether parents and depths are what they should be."""
    known, result = {None: ()}, {}
    for row in rows:
        path = known[row["parent"]] + (row["function"],)
        assert row["depth"] == len(path) - 1
        assert row["id"] not in known
        known[row["id"]] = path
        values = tuple(row[field] for field in fields)
        result[path] = values[0] if len(fields) == 1 else values
    assert len(result) == len(rows)
    return result


def sums(rows, field):
    result = collections.Counter()
    for row in rows:
        result[row["function"], row["module"]] += row[field]
    return dict(result)


# --- synthesised --------------------------------------------------------------------------------------------------------

def test_graph_knows_every_number(ada, session):
    result = as_json(ada, "graph", session("plain"))
    fields = ["id", "parent", "depth", "function", "module", "calls", "total_ns", "self_ns", "percent", "unknown"]
    assert [list(row.values()) for row in result["rows"]] == [
        [0, None, 0, "main", "prog", 1, 1000, 640, 100, 0],
        [1, 0, 1, "leaf", "prog", 2, 300, 300, 30, 0],
        [2, 0, 1, "thrower", "prog", 1, 50, 50, 5, 0],
        [3, 0, 1, "ns::add(int, int)", "prog", 1, 10, 10, 1, 0]]
    assert list(result["rows"][0]) == fields
    assert result["completeness"] == {"events": 10, "lost": 0, "detailCoverage": 0, "complete": True}


def spent_by_path(events, from_ns, to_ns, end_ns):
    """{path: (calls that lie in the range in part, time of theirs within it, of it their own)}, event after event."""
    result, stack = collections.defaultdict(lambda: [0, 0, 0]), []

    def spend(since, until):
        since, until = max(since, from_ns), min(until, to_ns)
        if since < until and stack:
            result[tuple(stack)][2] += until - since
            for depth in range(1, len(stack) + 1):
                result[tuple(stack[:depth])][1] += until - since

    for event, after in zip(events, [*[event["timestamp_ns"] for event in events[1:]], end_ns]):
        if event["kind"] == "call":
            stack.append(event["function"])
            if from_ns <= event["timestamp_ns"] < to_ns:
                result[tuple(stack)][0] += 1
        else:
            stack.pop()
        if event["timestamp_ns"] < from_ns <= after:
            for depth in range(1, len(stack) + 1):
                result[tuple(stack[:depth])][0] += 1
        spend(event["timestamp_ns"], after)
    return {path: tuple(row) for path, row in result.items()}


@pytest.mark.parametrize("moment", range(0, 1000, 37))
def test_calls_are_clipped_to_the_range(ada, session, moment):
    path = session("plain")
    events = [json.loads(line) for line in ada("dump", "--format=json", path).stdout.splitlines()][:-1]
    first, last = events[0]["timestamp_ns"], events[-1]["timestamp_ns"]
    for length in (1, 30, 300, 2000):
        from_ns = first + moment
        rows = as_json(ada, "graph", "--clip", f"--from={from_ns}", f"--to={from_ns + length}", path)["rows"]
        assert paths(rows, "calls", "total_ns", "self_ns") == spent_by_path(events, from_ns, from_ns + length, last)
        picture = ada("export", "--format=svg", f"--from={from_ns}", f"--to={from_ns + length}", path).stdout
        assert [int(ns) for ns in re.findall(rb' data-ns="(\d+)"', picture)[:1]] == [row["total_ns"] for row in rows[:1]], picture
    assert as_json(ada, "graph", "--clip", path)["rows"] == as_json(ada, "graph", path)["rows"]


def test_paths_that_are_merged_are_told(ada, session, tmp_path):
    """1,071,817 of them, of which 1,048,576 are told apart."""
    path = session("paths")
    result = as_json(ada, "graph", path, "--limit=3")
    assert result["paths_merged"] is True
    assert as_json(ada, "graph", session("plain"))["paths_merged"] is False
    comma = ada("graph", path, "--format=csv", "--limit=2")
    assert comma.status == 0 and comma.stderr.decode() == "ada graph: There are too many paths: the rest of them are merged.\n"
    whole = ada("export", "--format=folded", f"--output={tmp_path}/folded", path)
    assert whole.status == 0 and "too many paths" in whole.stderr.decode()
    lines = (tmp_path / "folded").read_text().splitlines()
    assert sum("[other paths]" in line for line in lines) > 0 and sum(int(line.split()[-1]) for line in lines) == 102**3


def test_text(ada, session):
    assert answer(ada, "graph", session("plain"), "--min=2").splitlines() == [
        "CALLS    TOTAL    SELF      %  FUNCTION",
        "    1  1.00 us  640 ns  100.0  main  [prog]",
        "    2   300 ns  300 ns   30.0    leaf",
        "    1    50 ns   50 ns    5.0    thrower",
        "",
        "1 path below 2 % of the run not shown (--min=0 shows all).",
        "10 events; none was lost."]


@pytest.mark.parametrize("turned", [[], ["--callers"]])
def test_a_light_function_that_is_asked_for_is_shown(ada, session, turned):
    rows = graph(ada, "--min=2", "--function=ns::add*", *turned, session("plain"))
    assert [row["function"] for row in rows] == ["ns::add(int, int)"] + ["main"] * len(turned)
    assert rows[0]["percent"] == 1


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("narrowed", [[], ["--from=+20ns", "--to=+400ns"], ["--fold"]])
def test_sums_are_those_of_report(ada, session, scenario, narrowed):
    times = [word for word in narrowed if word != "--fold"]
    tree, report = as_json(ada, "graph", *narrowed, session(scenario)), as_json(ada, "report", *times, session(scenario))
    for field in "calls", "self_ns":
        assert {key: value for key, value in sums(tree["rows"], field).items() if value} == \
            {key: value for key, value in sums(report["rows"], field).items() if value}
    assert tree["completeness"] == report["completeness"]
    paths(tree["rows"], "calls")


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("options", [[], ["--diff"], ["--source"]])
@pytest.mark.parametrize("command", ["graph", "report"])
def test_csv_says_what_json_says(ada, session, command, options, scenario):
    options = [f"--diff={session('rules')}" if option == "--diff" else option for option in options]
    rows = json.loads(ada(command, *options, session(scenario), "--format=json").stdout)["rows"]
    text = ada(command, *options, session(scenario), "--format=csv").stdout.decode()
    listed = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(listed) == len(rows)
    for row, line in zip(rows, listed):
        assert list(row) == list(line)
        for key, value in row.items():
            if isinstance(value, (int, float)):
                assert float(line[key]) == value
            else:
                assert line[key] == (value or "")


def test_what_began_before(ada, session):
    rows = graph(ada, "--from=+100ns", "--to=+350ns", session("plain"))
    assert paths(rows, "calls", "total_ns") == {("main",): (0, 0), ("main", "leaf"): (1, 200), ("main", "thrower"): (1, 50)}
    text = answer(ada, "graph", "--from=+100ns", "--to=+350ns", session("plain"))
    assert text.splitlines()[1].split() == ["-", "-", "-", "100.0", "main", "[prog]"]


def test_losses_and_open_calls(ada, session):
    result = as_json(ada, "graph", session("lossy"))
    # main is open at the end, until the process ends; the 10 ns of the loss are no one's own.
    assert paths(result["rows"], "calls", "total_ns", "self_ns", "unknown") == {
        ("main",): (1, 10**9, 10**9 - 100, 0), ("main", "leaf"): (3, 90, 90, 1)}
    assert result["completeness"]["lost"] == 12 and not result["completeness"]["complete"]
    assert as_json(ada, "graph", session("running"))["completeness"]["complete"] is False


def test_processes_share_paths(ada, session):
    rows = graph(ada, session("processes"))
    assert rows[0]["calls"] == 3
    assert sum(row["calls"] for row in graph(ada, session("processes") / "pid_51")) < sum(row["calls"] for row in rows)


def test_a_function_and_its_callers(ada, session):
    assert paths(graph(ada, "--function=fib", session("rules")), "calls")[("fib",) * 5 + ("leaf",)] == 1
    rows = graph(ada, "--function=le*", "--callers", session("rules"))
    assert [(row["function"], row["calls"]) for row in rows[:2]] == [("leaf", 22), ("main", 20)]
    assert paths(rows, "calls")["leaf", *["fib"] * 5, "main"] == 1
    leaf = next(row for row in as_json(ada, "report", session("rules"))["rows"] if row["function"] == "leaf")
    assert (rows[0]["total_ns"], rows[0]["self_ns"]) == (leaf["total_ns"], leaf["self_ns"])
    folded = graph(ada, "--function=le*", "--callers", "--fold", session("rules"))
    assert paths(folded, "calls") == {("leaf",): 22, ("leaf", "main"): 20, ("leaf", "fib"): 2, ("leaf", "fib", "main"): 2}
    assert graph(ada, "--function=nobody", session("rules")) == []


def test_less_of_it(ada, session):
    rows = graph(ada, session("rules"))
    assert graph(ada, "--depth=1", session("rules")) == [row for row in rows if row["depth"] == 0]
    assert [row["function"] for row in graph(ada, "--limit=2", session("rules"))] == ["main", "leaf"]
    assert {row["function"] for row in graph(ada, "--min=1", session("rules"))} == {"main", "leaf", "thrower"}
    text = answer(ada, "graph", "--min=0", "--depth=2", "--limit=3", session("rules"))
    assert "deeper than 2 calls not shown" in text and "1 lighter path not shown" in text
    assert [row["function"] for row in graph(ada, "--sort=self", "--depth=2", session("rules"))][1] == "leaf"
    assert [row["function"] for row in graph(ada, "--sort=calls", "--depth=2", session("rules"))] == ["main", "leaf", "fib", "thrower"]


def test_a_window(ada, session):
    rows = graph(ada, "--window=0", session("detail"))
    assert paths(rows, "calls") == {("main",): 0, ("main", "leaf"): 1}


def test_names(ada, session):
    assert "\x1b" not in answer(ada, "graph", session("names"))
    assert {row["function"] for row in graph(ada, session("names"))} == {
        row["function"] for row in as_json(ada, "report", session("names"))["rows"]}


# --- two recordings -----------------------------------------------------------------------------------------------------

def test_report_diff_knows_every_number(ada, session):
    result = as_json(ada, "report", f"--diff={session('plain')}", session("rules"))
    rows = {row["function"]: row for row in result["rows"]}
    assert [row["function"] for row in result["rows"]] == ["main", "leaf", "fib", "ns::add(int, int)", "thrower"]
    leaf = rows["leaf"]
    assert {key: leaf[key] for key in leaf if key.startswith(("calls", "total", "mean"))} == {
        "calls": 22, "calls_before": 2, "calls_change": 20, "total_ns": 2110, "total_before_ns": 300, "total_change_ns": 1810,
        "mean_ns": 95, "mean_before_ns": 150, "mean_change_ns": -55, "total_ratio": 7.033, "mean_ratio": 0.6333}
    assert {name: row["status"] for name, row in rows.items()} == {
        "main": None, "leaf": None, "fib": "new", "ns::add(int, int)": "gone", "thrower": None}
    gone = rows["ns::add(int, int)"]
    assert (gone["calls"], gone["total_ns"], gone["mean_ns"], gone["p99_before_ns"], gone["mean_ratio"]) == (0, 0, None, 10, None)
    assert (result["length_ns"], result["otherLength_ns"]) == (4160, 1000)
    assert result["completeness"]["events"] == 58 and result["otherCompleteness"]["events"] == 10


@pytest.mark.parametrize("field, first", [("calls", "leaf"), ("mean", "main"), ("p99_ns", "main"), ("function", "fib"), ("self", "leaf")])
def test_report_diff_sorts(ada, session, field, first):
    assert as_json(ada, "report", f"--diff={session('plain')}", f"--sort={field}", session("rules"))["rows"][0]["function"] == first


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_diff_with_itself_is_nothing(ada, session, scenario):
    result = as_json(ada, "report", f"--diff={session(scenario)}", session(scenario))
    assert result["completeness"] == result["otherCompleteness"]
    rows = result["rows"] + graph(ada, f"--diff={session(scenario)}", session(scenario))
    for row in rows:
        assert row["status"] is None
        assert {row[key] for key in row if "_change" in key} <= {0, None}


@pytest.mark.parametrize("one, other", [("plain", "rules"), ("rules", "plain"), ("lossy", "names"), ("empty", "plain"), ("plain", "empty")])
def test_a_diff_has_both_sides(ada, session, one, other):
    """Each side is what the recording alone gives; functions of one name in a module are summed."""
    for side, path in (("", session(one)), ("_before", session(other))):
        rows = as_json(ada, "report", f"--diff={session(other)}", session(one))["rows"]
        alone = as_json(ada, "report", path)["rows"]
        for field in f"calls{side}", f"total{side}_ns", f"self{side}_ns":
            plain = field.replace(side, "") if side else field
            assert {k: v for k, v in sums(rows, field).items() if v} == {k: v for k, v in sums(alone, plain).items() if v}
        tree = graph(ada, f"--diff={session(other)}", session(one))
        assert {k: v for k, v in paths(tree, f"calls{side}", f"total{side}_ns").items() if any(v)} == \
            {k: v for k, v in paths(graph(ada, path), "calls", "total_ns").items() if any(v)}


def test_window_narrows_one_side(ada, session):
    result = as_json(ada, "report", "--window=0", f"--diff={session('detail')}", session("detail"))
    row = next(row for row in result["rows"] if row["function"] == "leaf")
    assert (row["calls"], row["calls_before"]) == (1, 7)


def test_diff_text(ada, session):
    for command in "report", "graph":
        lines = answer(ada, command, "--sort=calls", f"--diff={session('plain')}", session("rules")).splitlines()
        assert lines[-2] == f"now     {session('rules')}: 4.16 us, 58 events; none was lost."
        assert lines[-1] == f"before  {session('plain')}: 1.00 us, 10 events; none was lost."
        assert any(line.startswith("gone") or " gone " in line for line in lines)


def test_report_of_a_function(ada, session):
    assert [row["function"] for row in as_json(ada, "report", "--function=ns::add", session("plain"))["rows"]] == ["ns::add(int, int)"]
    assert len(as_json(ada, "report", "--function=*", session("plain"))["rows"]) == 4
    rows = as_json(ada, "report", "--function=l*", f"--diff={session('rules')}", session("plain"))["rows"]
    assert [row["function"] for row in rows] == ["leaf"]


# --- bad input ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("command, arguments, words", [
    ("graph", ["--callers"], "--callers needs --function=NAME"),
    ("graph", ["--min=-1"], "--min: '-1' is no percentage from 0 to 100"),
    ("graph", ["--min=x"], "--min: 'x' is no percentage"),
    ("graph", ["--min=nan"], "--min: 'nan' is no percentage"),
    ("graph", ["--depth=0"], "--depth: "),
    ("graph", ["--sort=name"], "can't sort by 'name': fields are total, self and calls"),
    ("graph", ["--format=xml"], "unknown format 'xml'"),
    ("graph", ["--limit=0"], "--limit: "),
    ("graph", ["--thread=9"], "no thread '9'"),
    ("graph", ["--from=+2s", "--to=+1s"], "--from=+2s is not before"),
    ("graph", ["--window=0"], "no window 0"),
    ("graph", ["--diff=/absent"], "/absent: "),
    ("report", ["--diff=/absent"], "/absent: "),
    ("report", ["--diff=/", "--sort=min"], "can't sort a comparison by 'min'"),
    ("report", ["--sort=x"], "can't sort by 'x'")])
def test_bad_options(ada, session, command, arguments, words):
    result = ada(command, *arguments, session("plain"))
    assert (result.status, result.stdout) == (125, b"")
    assert result.stderr.decode().startswith(f"ada {command}: {words}") and result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("command", ["graph", "report"])
@pytest.mark.parametrize("diff", [False, True])
def test_damaged(ada, session, tmp_path, command, diff):
    """Answers on what is sound, and names the rest."""
    broken = tmp_path / "broken"
    subprocess.run(["cp", "-r", session("plain"), broken], check=True)
    (broken / "pid_100" / "thread_0" / "index.atf").write_bytes(b"nothing")
    result = ada(command, "--format=json", *([f"--diff={broken}", session("plain")] if diff else [broken]))
    assert result.status == 125 and b"index.atf" in result.stderr
    body = json.loads(result.stdout)
    assert body["otherCompleteness" if diff else "completeness"]["complete"] is False


# --- a program ----------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def recordings(ada, build_dir, tmp_path_factory):
    """(older, later): 3 rounds of the program, and 6 of its later version."""
    made = []
    for rounds, flags in ((3, []), (6, ["-DLATER", "-O1", "-fno-inline", "-fno-optimize-sibling-calls", "-fno-ipa-cp", "-fno-ipa-sra"])):
        directory = tmp_path_factory.mktemp("known")
        program = directory / "known_tree"
        subprocess.run(["gcc", "-g", "-O0", "-pthread", *flags, HERE / "known_tree.c", "-o", program], check=True)
        result = ada.trace(directory / "session", [program, str(rounds)], "--no-libcalls")
        assert result.status == 0, result.stderr.decode()
        made.append(next((directory / "session").glob("session_*")))
    return made


def known_paths(rounds, last):
    """By construction. `last`: the function that only one version has."""
    result = {("main",): 1, ("worker",): 2}
    for top, count in ((("main", "work"), 1), (("worker", "work"), 2)):
        result[top] = count
        count *= rounds
        result |= {top + ("left",): count, top + ("left", "leaf"): 3 * count, top + ("right",): count,
                   top + ("right", "left"): count, top + ("right", "left", "leaf"): 3 * count, top + ("right", "leaf"): count,
                   top + (last,): count, top + (last, "leaf"): count, top + ("down",) * 5 + ("leaf",): count}
        result |= {top + ("down",) * depth: count for depth in range(1, 6)}
    return result


def of_program(rows):
    """Without what start-up code calls: paths of the program's own functions."""
    return {path: value for path, value in rows.items() if not any(name.startswith(("_", "frame_dummy", "register_tm", "deregister"))
                                                                    for name in path)}


def test_the_tree_of_a_program(ada, recordings):
    for recording, rounds, last in zip(recordings, (3, 6), ("removed", "added")):
        rows = graph(ada, recording)
        assert of_program(paths(rows, "calls")) == known_paths(rounds, last)
        below = collections.Counter()
        for row in rows:
            below[row["parent"]] += row["total_ns"]
        assert all(row["self_ns"] == row["total_ns"] - below[row["id"]] for row in rows)


def test_callers_in_a_program(ada, recordings):
    rows = graph(ada, "--function=leaf", "--callers", "--depth=2", recordings[0])
    assert paths(rows, "calls") == {("leaf",): 81, ("leaf", "left"): 54, ("leaf", "right"): 9, ("leaf", "down"): 9,
                                    ("leaf", "removed"): 9}


def test_a_later_version(ada, recordings):
    older, later = recordings
    rows = {row["function"]: row for row in as_json(ada, "report", f"--diff={older}", later)["rows"]}
    assert {name: row["status"] for name, row in rows.items() if row["status"] and not name.startswith("_")} == {
        "added": "new", "removed": "gone"}
    assert (rows["left"]["calls"], rows["left"]["calls_before"], rows["left"]["calls_change"]) == (36, 18, 18)
    tree = paths(graph(ada, f"--diff={older}", later), "calls", "calls_before")
    assert of_program(tree)["main", "work", "down", "down"] == (6, 3)
    assert of_program(tree)["worker", "work", "removed", "leaf"] == (0, 6)


def test_sources(ada, recordings):
    lines = (HERE / "known_tree.c").read_text().splitlines()
    for row in [*graph(ada, "--source", recordings[0]), *as_json(ada, "report", "--source", recordings[0])["rows"]]:
        if row["function"] in ("main", "left", "work"):
            assert pathlib.Path(row["file"]).name == "known_tree.c"
            assert re.search(rf"\b{row['function']}\(", lines[row["line"] - 1])
    assert re.search(r"  left .*known_tree\.c:\d+$", answer(ada, "graph", "--min=0", "--source", recordings[0]), re.MULTILINE)


def test_folded_stacks_of_a_program(ada, recordings):
    weights = collections.Counter()
    for line in answer(ada, "export", "--format=folded", recordings[0]).splitlines():
        stack, weight = re.fullmatch(r"([^;]+(?:;[^;]+)+) (\d+)", line).groups()
        assert stack.startswith("known_tree;")
        weights[stack.split(";")[-1]] += int(weight)
    report = as_json(ada, "report", recordings[0])["rows"]
    assert dict(weights) == {row["function"]: row["self_ns"] for row in report if row["self_ns"]}
