"""Random sessions: report, SQL and every export say what the oracle says, exactly (percentiles within 1 %), of the whole session
and of parts of it."""
import shutil
from collections import Counter

import answers
import pytest
from oracle import brackets, folded, statistics, tree

SESSIONS = [(1, 1, 3000), (2, 1, 1), (3, 2, 4000), (5, 7, 20000), (6, 16, 20000), (8, 64, 30000)]


def part_of(recording, name):
    """Options and the oracle's selection. Times are those of events, where an error of one shows."""
    times = sorted(c.start for c in recording.calls)
    low, high = times[len(times) // 3], times[len(times) * 2 // 3]
    late = max(e[4] for e in recording.events) + 1
    tid = recording.calls[len(recording.calls) // 2].tid
    return {
        "whole": ([], {}),
        "from": ([f"--from={low}"], {"start": low}),
        "to": ([f"--to={high}"], {"end": high}),
        "between": ([f"--from={low}", f"--to={high}"], {"start": low, "end": high}),
        "thread": ([f"--thread={tid}"], {"tid": tid}),
        "thread-between": ([f"--thread={tid}", f"--from={low}", f"--to={high}"], {"tid": tid, "start": low, "end": high}),
        "nothing": ([f"--from={late}"], {"start": late}),
    }[name]


PARTS = ["whole", "from", "to", "between", "thread", "thread-between", "nothing"]


@pytest.fixture(params=SESSIONS, ids=lambda key: f"threads{key[1]}-seed{key[0]}")
def recording(request, random_session):
    return random_session(*request.param)


@pytest.fixture(params=PARTS)
def part(request, recording):
    return part_of(recording, request.param)


def near(value, truth):
    return abs(value - truth) <= truth / 100


def check_report(rows, functions):
    assert set(rows) == set(functions)
    for name, truth in functions.items():
        row = rows[name]
        assert (row["calls"], row["total_ns"], row["self_ns"]) == (truth.calls, truth.total_ns, truth.self_ns), name
        if not truth.durations:
            assert row["min_ns"] is None and row["max_ns"] is None and row["mean_ns"] is None and row["p50_ns"] is None, name
            continue
        assert (row["min_ns"], row["max_ns"]) == (min(truth.durations), max(truth.durations)), name
        assert row["mean_ns"] == sum(truth.durations) // len(truth.durations), name
        for permille in (500, 900, 990):
            assert near(row[f"p{permille // 10}_ns"], truth.percentile(permille)), (name, permille)


def check_folded(ada, recording, part, tmp_path):
    options, selection = part
    said, truth = Counter(), Counter()
    for path, own in answers.folded_paths(ada, recording, tmp_path, *options).items():
        said[tuple(path.split(";")[1:])] += own         # the first frame is the thread's name
    for path, own in folded(recording.select(**selection)).items():
        truth[tuple(name for name, _ in path)] += own
    assert dict(said) == {path: own for path, own in truth.items() if own}


def test_the_oracle_agrees_with_the_synthesiser(recording):
    """Both know the answer, each in its own way."""
    expected, functions = recording.expected, statistics(recording.calls)
    assert len(recording.events) == expected["events"]
    assert {name for name, _ in functions} == set(expected["functions"])
    for (name, _), truth in functions.items():
        known = expected["functions"][name]
        assert (truth.calls, truth.total_ns, truth.self_ns, sum(truth.durations)) == tuple(
            known[f] for f in ("calls", "total_ns", "self_ns", "sum_ns"))
        assert [truth.percentile(p) for p in (500, 900, 990)] == [known[f] for f in ("p50_ns", "p90_ns", "p99_ns")]
    edges = Counter((c.caller and c.caller[0], c.function[0]) for c in recording.calls)
    assert edges == {(e["caller"], e["callee"]): e["calls"] for e in expected["edges"]}


def test_report(ada, recording, part):
    options, selection = part
    rows, completeness = answers.report(ada, recording, *options)
    check_report(rows, statistics(recording.select(**selection)))
    assert completeness["events"] == len(recording.select_events(**selection)) and completeness["lost"] == 0


def test_csv(ada, recording, part, tmp_path):
    options, selection = part
    rows = answers.csv_rows(ada, recording, tmp_path, *options)
    truth = {}
    for c in recording.select(**selection):
        truth[c.tid, c.index_seq] = [c.end_index_seq, c.start, c.end, c.duration, c.own, c.function_id, c.function[0],
                                     c.caller[0] if c.caller else "", c.depth, c.outcome]
    fields = ["end_index_seq", "start_ns", "end_ns", "duration_ns", "self_ns", "function_id", "function", "caller", "depth", "outcome"]
    said = {(int(r["tid"]), int(r["index_seq"])): [r[f] for f in fields] for r in rows}
    assert len(said) == len(rows)
    assert said == {key: ["" if v is None else str(v) for v in values] for key, values in truth.items()}


def test_csv_of_events(ada, recording, part, tmp_path):
    options, selection = part
    rows = answers.csv_rows(ada, recording, tmp_path, "--events", *options)
    said = sorted((int(r["tid"]), int(r["index_seq"]), int(r["timestamp_ns"]), r["kind"], r["function"], int(r["depth"])) for r in rows)
    kinds = {1: "call", 2: "return", 3: "exception"}
    assert said == sorted((e[2], e[3], e[4], kinds[e[7]], e[6][0], e[8]) for e in recording.select_events(**selection))


def test_rowbinary(ada, recording, part, tmp_path):
    options, selection = part
    said = Counter(answers.rowbinary_events(ada, recording, tmp_path, *options))
    events = recording.select_events(**selection)
    # (time, function, thread's OS id, kind, depth, detail_seq)
    assert said == Counter((e[4], e[5], e[2], *e[7:]) for e in events)


def test_chrome(ada, recording, part, tmp_path):
    options, selection = part
    inside, around = answers.chrome_calls(ada, recording, tmp_path, *options)
    assert sorted(inside) == sorted((c.tid, *c.function, c.start, c.duration, c.depth, c.index_seq)
                                    for c in recording.select(**selection))
    first = selection.get("start", 0)
    assert sorted(around) == sorted((c.tid, *c.function, start, end - start, c.depth, c.index_seq)
                                    for c, start, end in brackets(recording, **selection) if c.start < first)


def test_speedscope(ada, recording, part, tmp_path):
    options, selection = part
    said = answers.speedscope_calls(ada, recording, tmp_path, *options)
    truth = Counter((c.function[0], start, end - start) for c, start, end in brackets(recording, **selection))
    assert Counter((function, start, duration) for _, function, start, duration, _, _ in said) == truth
    if not selection:
        assert Counter((c[1], c[4], c[5]) for c in said) == Counter((c.function[0], c.own, len(c.path) - 1) for c in recording.calls)


def test_folded(ada, recording, part, tmp_path):
    check_folded(ada, recording, part, tmp_path)


def test_tree(ada, recording, part):
    options, selection = part
    said = answers.tree(ada, recording, *options)
    truth = {path: tuple(sums) for path, sums in tree(recording.select(**selection)).items()}
    assert {path: sums for path, sums in said.items() if sums[0]} == truth
    assert all(sums == (0, 0, 0) for sums in said.values() if not sums[0])      # around them, begun before


def test_perfetto(ada, recording, part, tmp_path):
    options, selection = part
    said = Counter(answers.perfetto_calls(ada, recording, tmp_path, *options))
    assert said == Counter((c.tid, c.function[0], start, end) for c, start, end in brackets(recording, **selection))


def test_ctf(ada, recording, part, tmp_path, need):
    need(shutil.which("babeltrace2"), "babeltrace2")
    options, selection = part
    said = answers.ctf_events(ada, recording, tmp_path, *options)
    kinds = {1: "call", 2: "return", 3: "exception"}
    assert [e[2] for e in said] == sorted(e[2] for e in said)
    assert sorted(said) == sorted((e[2], e[3], e[4], kinds[e[7]], e[8], e[6][0]) for e in recording.select_events(**selection))
