"""A program whose calls are known by construction (program.cc): what report, the tree, SQL and the exports say of its recording."""
import pathlib
import subprocess
import time
from collections import Counter

import answers
import pytest
from harness import Session
from oracle import Recording, brackets, folded, statistics, tree

pytestmark = pytest.mark.traces
FIB = 465       # calls that fib(12) makes: 2 F(13) - 1
CALLS = {"main": 1, "outer": 3, "inner": 12, "leaf": 12, "fib": FIB, "catcher": 10, "middle": 10, "thrower": 10, "nap": 5, "run": 4,
         "work": 4000, "child_work": 7, "ns::Thing::update(int)": 6}
PATHS = {("main",): 1, ("main", "outer"): 3, ("main", "outer", "inner"): 12, ("main", "outer", "inner", "leaf"): 12, ("main", "fib"): 1,
         ("main", "fib", "fib"): 2, ("main", "catcher", "middle", "thrower"): 10, ("run", "work"): 4000}
NAP_NS = 2000000


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def recording(request, ada, tmp_path_factory):
    root = tmp_path_factory.mktemp("program")
    program = root / "program"
    source = pathlib.Path(__file__).with_name("program.cc")
    subprocess.run(["g++", "-g", "-pthread", request.param, "-fno-inline", "-fno-optimize-sibling-calls", source, "-o", program], check=True)
    begun = time.monotonic_ns()
    result = ada.trace(root / "out", [program], "--no-libcalls")
    took = time.monotonic_ns() - begun
    assert result.status == 0, result.stderr.decode()
    session = Session(root / "out")
    assert session.lost() == 0
    made = Recording(session.path)
    made.took = took
    return made


def of_program(rows):
    """Without what the compiler adds: _start, constructors of the library and such."""
    return {name: row for (name, module), row in rows.items() if module == "program" and name in CALLS}


def test_every_call_is_counted(ada, recording):
    rows, completeness = answers.report(ada, recording)
    assert {name: row["calls"] for name, row in of_program(rows).items()} == CALLS
    assert completeness["lost"] == 0 and completeness["complete"] is True


def test_the_tree_is_the_program_s(ada, recording):
    nodes = {tuple(name for name, _ in path): sums for path, sums in answers.tree(ada, recording).items()}

    def calls_at(path):
        """However the thread came to main or run: what is above depends on the library."""
        return sum(sums[0] for whole, sums in nodes.items() if path == whole[-len(path):] and path[0] not in whole[:-len(path)])
    assert {path: calls_at(path) for path in PATHS} == PATHS
    # The child of the fork goes on inside main, which its own recording did not see begin.
    assert sum(sums[0] for path, sums in nodes.items() if path[-1] == "child_work") == 7


def test_ends_are_the_program_s(ada, recording):
    rows = answers.sql(ada, recording, "SELECT function, outcome, count(*) AS n FROM calls WHERE module = 'program' GROUP BY 1, 2")
    ends = Counter({(r["function"], r["outcome"]): r["n"] for r in rows})
    assert [ends["thrower", "exception"], ends["middle", "exception"], ends["thrower", "return"], ends["middle", "return"]] == [5] * 4
    assert ends["catcher", "return"] == 10 and ends["catcher", "exception"] == 0
    assert all(ends[name, "return"] == CALLS[name] for name in ("outer", "inner", "leaf", "fib", "nap", "work", "child_work"))


def test_durations_are_the_program_s(ada, recording):
    rows = of_program(answers.report(ada, recording)[0])
    assert rows["nap"]["min_ns"] >= NAP_NS and rows["nap"]["total_ns"] >= 5 * NAP_NS
    assert 5 * NAP_NS <= rows["main"]["total_ns"] <= recording.took
    assert rows["main"]["self_ns"] <= rows["main"]["total_ns"] - 5 * NAP_NS
    # Of recursion only the outermost call counts in total, and all of it is fib's own.
    assert rows["fib"]["total_ns"] == rows["fib"]["self_ns"] == rows["fib"]["max_ns"]


def test_threads_are_the_program_s(ada, recording):
    rows = answers.sql(ada, recording, "SELECT tid, count(*) AS n, min(start_ns) AS first, max(end_ns) AS last FROM calls"
                       " WHERE function = 'work' GROUP BY tid")
    assert len(rows) == 4 and all(r["n"] == 1000 for r in rows)
    for row in rows:
        report, _ = answers.report(ada, recording, f"--thread={row['tid']}")
        assert report["work", "program"]["calls"] == 1000 and report["run", "program"]["calls"] == 1
        half = (row["first"] + row["last"]) // 2
        parts = [answers.report(ada, recording, f"--thread={row['tid']}", option)[0].get(("work", "program"), {"calls": 0})["calls"]
                 for option in (f"--to={half}", f"--from={half}")]
        assert sum(parts) == 1000


def test_processes_are_the_program_s(ada, recording):
    rows = answers.sql(ada, recording, "SELECT process, function, count(*) AS n FROM calls"
                       " WHERE function IN ('child_work', 'work') GROUP BY 1, 2")
    assert sorted((r["function"], r["n"]) for r in rows) == [("child_work", 7), ("work", 4000)]
    assert len({r["process"] for r in rows}) == 2


def test_all_agree_with_the_oracle(ada, recording, tmp_path):
    demangled = {"_ZN2ns5Thing6updateEi": "ns::Thing::update(int)", "_ZN5GuardD1Ev": "Guard::~Guard()", "_ZN5GuardD2Ev": "Guard::~Guard()"}

    def named(function):
        return demangled.get(function[0], function[0])
    truth = {(demangled.get(name, name), module): sums for (name, module), sums in statistics(recording.calls).items()}
    rows, _ = answers.report(ada, recording)
    assert {name: (r["calls"], r["total_ns"], r["self_ns"]) for name, r in rows.items()} == {
        name: (t.calls, t.total_ns, t.self_ns) for name, t in truth.items()}
    said = Counter((int(r["tid"]), int(r["index_seq"]), r["function"], r["duration_ns"], r["self_ns"], r["outcome"])
                   for r in answers.csv_rows(ada, recording, tmp_path))
    assert said == Counter((c.tid, c.index_seq, named(c.function), str(c.duration) if c.end else "", str(c.own) if c.end else "",
                            c.outcome) for c in recording.calls)
    inside, around = answers.chrome_calls(ada, recording, tmp_path)
    assert not around and sorted((c[0], c[6], c[1], c[4]) for c in inside) == sorted(
        (c.tid, c.index_seq, named(c.function), c.duration) for c in recording.calls)
    assert Counter(answers.perfetto_calls(ada, recording, tmp_path)) == Counter(
        (c.tid, named(c.function), c.start, c.end) for c in recording.calls)
    assert {path: sums for path, sums in answers.tree(ada, recording).items()} == {
        tuple((demangled.get(n, n), m) for n, m in path): tuple(sums) for path, sums in tree(recording.calls).items()}
    own = Counter()
    for path, ns in answers.folded_paths(ada, recording, tmp_path).items():
        own[tuple(path.split(";")[1:])] += ns
    assert own == Counter({tuple(map(named, path)): ns for path, ns in folded(recording.calls).items() if ns})
    assert len(brackets(recording)) == len(recording.calls) == len(answers.speedscope_calls(ada, recording, tmp_path))
