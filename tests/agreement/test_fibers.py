"""Programs that switch stacks: what is said of any part of their recordings is what is said of the whole, and what the oracle
says, which reads from the beginning: callers and paths, too."""
import pathlib
import random
import subprocess

import answers
import pytest
from harness import Session
from oracle import Recording, edges, statistics, tree
from test_synthesised import check_folded

pytestmark = pytest.mark.traces
JUMPS = pathlib.Path(__file__).parents[1] / "programs" / "jumps"
CUTS = 12


def trace(ada, root, name, compiler, *options):
    subprocess.run([compiler, "-g", "-O1", f"-I{JUMPS.parent}", JUMPS / name, "-o", root / "program", *options], check=True)
    result = ada.trace(root / "out", [root / "program"], "--no-libcalls")
    assert result.status == 0, result.stderr.decode()
    session = Session(root / "out")
    assert session.lost() == 0
    return session.path


@pytest.fixture(scope="module")
def recording(ada, tmp_path_factory):
    return Recording(trace(ada, tmp_path_factory.mktemp("fibers"), "swapcontext.c", "gcc"))


@pytest.fixture(params=range(CUTS))
def part(request, recording):
    """Every other one begins where a call begins that its thread's last event did not make: between two stacks."""
    chance = random.Random(request.param)
    between = [c.start for c in recording.calls if c.caller is None and c.depth]
    start = chance.choice(between if request.param % 2 and between else [c.start for c in recording.calls])
    end = start + chance.choice([1, 10**5, 10**6, 10**12])
    return [f"--from={start}", f"--to={end}"], {"start": start, "end": end}


def test_the_stacks_are_interleaved(recording):
    """Else this file would show nothing."""
    threads = {}
    for call in recording.calls:
        threads.setdefault(call.tid, []).append(call)
    assert any(a.start < b.start < a.end < b.end for calls in threads.values() for a, b in zip(calls, calls[1:]) if a.end and b.end)


def test_report(ada, recording, part):
    options, selection = part
    rows, _ = answers.report(ada, recording, *options)
    assert {name: (r["calls"], r["total_ns"], r["self_ns"]) for name, r in rows.items()} == {
        name: (t.calls, t.total_ns, t.self_ns) for name, t in statistics(recording.select(**selection)).items()}


def test_paths(ada, recording, part):
    options, selection = part
    said = {path: sums[0] for path, sums in answers.tree(ada, recording, *options).items() if sums[0]}
    assert said == {path: sums[0] for path, sums in tree(recording.select(**selection)).items()}


def test_callers(ada, recording, part, tmp_path):
    options, selection = part
    calls = recording.select(**selection)
    truth = {(c.tid, c.index_seq): (c.caller and c.caller[0], c.outcome, c.own if c.end else None) for c in calls}
    rows = answers.sql(ada, recording, "SELECT tid, index_seq, caller, outcome, self_ns FROM calls WHERE"
                       f" start_ns >= {selection['start']} AND start_ns < {selection['end']}")
    assert {(r["tid"], r["index_seq"]): (r["caller"], r["outcome"], r["self_ns"]) for r in rows} == truth
    said = {(int(r["tid"]), int(r["index_seq"])): (r["caller"] or None, r["outcome"], int(r["self_ns"]) if r["self_ns"] else None)
            for r in answers.csv_rows(ada, recording, tmp_path, *options)}
    assert said == truth
    sums = edges(calls)
    for name in {callee for _, callee in sums}:
        rows = answers.sql(ada, recording, f"SELECT function, module, calls, self_ns FROM callers('{name[0]}', {selection['start']},"
                           f" {selection['end']})")
        assert {r["function"] and (r["function"], r["module"]): (r["calls"], r["self_ns"]) for r in rows} == {
            caller: (edge[0], edge[2]) for (caller, callee), edge in sums.items() if callee == name}


def test_folded(ada, recording, part, tmp_path):
    check_folded(ada, recording, part, tmp_path)


def test_fibers_of_boost(ada, tmp_path):
    """A part of 50,000 calls on 5,000 stacks against the same rows of the whole, which SQLite picks."""
    recording = Recording(trace(ada, tmp_path, "many_fibers.cc", "g++", "-lboost_context"))
    chance = random.Random(5)
    fields = "process, thread, index_seq, end_index_seq, start_ns, end_ns, self_ns, function, caller, depth, outcome"
    whole = answers.sql(ada, recording, f"SELECT {fields} FROM calls ORDER BY index_seq")
    assert len(whole) > 20000
    for _ in range(10):
        first = chance.choice(whole)["index_seq"]
        last = first + chance.choice([1, 20, 3000])
        part = answers.sql(ada, recording, f"SELECT {fields} FROM calls WHERE index_seq >= {first} AND index_seq < {last} ORDER BY index_seq")
        assert part == [row for row in whole if first <= row["index_seq"] < last]
