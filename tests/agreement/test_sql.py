"""SQL's tables say what report and the oracle say."""
import contextlib
import sqlite3
from collections import Counter

import answers
import pytest
from oracle import edges, statistics
from test_synthesised import part_of

SESSIONS = [(2, 1, 1), (3, 2, 4000), (6, 16, 20000), (8, 64, 30000), (105, 5, 12000, "lossy"), (105, 5, 12000, "endless"),
            (105, 5, 12000, "fibers"), (105, 5, 12000, "all")]
REPORTED = ("calls", "total_ns", "self_ns", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns")


@pytest.fixture(params=SESSIONS, ids=lambda key: f"threads{key[1]}-seed{key[0]}" + "".join(f"-{m}" for m in key[3:]))
def recording(request, random_session):
    return random_session(*request.param)


@pytest.fixture(params=["whole", "between", "thread", "thread-between", "nothing"])
def part(request, recording):
    return part_of(recording, request.param)


def where(selection, time):
    """The part as a condition, and as a function's arguments."""
    conditions = [f"{time} >= {selection['start']}"] if "start" in selection else []
    conditions += [f"{time} < {selection['end']}"] if "end" in selection else []
    conditions += [f"tid = {selection['tid']}"] if "tid" in selection else []
    arguments = [str(selection.get(name, "NULL")) for name in ("start", "end", "tid")]
    return " AND ".join(conditions) or "1", ", ".join(arguments)


def test_fn_stats_is_report(ada, recording, part):
    options, selection = part
    rows = answers.sql(ada, recording, f"SELECT * FROM fn_stats({where(selection, '')[1]})")
    said = {(r["function"], r["module"]): [r[f] for f in REPORTED] for r in rows}
    report, _ = answers.report(ada, recording, *options)
    assert len(said) == len(rows) and said == {name: [r[f] for f in REPORTED] for name, r in report.items()}


def test_calls(ada, recording, part):
    _, selection = part
    fields = ["start_ns", "end_ns", "duration_ns", "self_ns", "function", "module", "depth", "outcome", "end_index_seq", "caller"]
    rows = answers.sql(ada, recording, f"SELECT tid, index_seq, {', '.join(fields)} FROM calls WHERE {where(selection, 'start_ns')[0]}")
    said = {(r["tid"], r["index_seq"]): [r[f] for f in fields] for r in rows}
    truth = {}
    for c in recording.select(**selection):
        known = c.end is not None
        truth[c.tid, c.index_seq] = [c.start, c.end, c.duration if known else None, c.own if known else None, *c.function, c.depth,
                                     c.outcome, c.end_index_seq, c.caller and c.caller[0]]
    assert len(said) == len(rows) and said == truth


def test_sums_over_calls(ada, recording, part):
    """SQLite's own grouping against report's."""
    options, selection = part
    rows = answers.sql(ada, recording, "SELECT function, module, count(*) AS calls, sum(self_ns) AS self_ns,"
                       " min(duration_ns) FILTER (WHERE NOT across_loss) AS min_ns, max(duration_ns) FILTER (WHERE NOT across_loss) AS max_ns"
                       f" FROM calls WHERE {where(selection, 'start_ns')[0]} GROUP BY function, module")
    report, _ = answers.report(ada, recording, *options)
    fields = ("calls", "self_ns", "min_ns", "max_ns")
    assert {(r["function"], r["module"]): [r[f] or 0 if f == "self_ns" else r[f] for f in fields] for r in rows} == {
        name: [r[f] for f in fields] for name, r in report.items()}


def test_events(ada, recording, part):
    _, selection = part
    rows = answers.sql(ada, recording, "SELECT tid, index_seq, timestamp_ns, kind, function, module, depth, lost FROM events"
                       f" WHERE {where(selection, 'timestamp_ns')[0]}")
    kinds = {1: "call", 2: "return", 3: "exception", 4: "lost"}
    assert Counter(tuple(r.values()) for r in rows) == Counter(
        (e[2], e[3], e[4], kinds[e[7]], *(e[6] or (None, None)), e[8], None if e[6] else e[5])
        for e in recording.select_events(**selection))


def test_edges(ada, recording, part):
    _, selection = part
    truth = edges(recording.select(**selection))
    for name in sorted({callee for _, callee in truth})[:4]:
        rows = answers.sql(ada, recording, "SELECT function, module, calls, total_ns, self_ns FROM"
                           f" callers('{name[0]}', {where(selection, '')[1]})")
        assert {r["function"] and (r["function"], r["module"]): [r["calls"], r["total_ns"], r["self_ns"]] for r in rows} == {
            caller: sums for (caller, callee), sums in truth.items() if callee == name}
    rows = answers.sql(ada, recording, "SELECT function, module, calls, total_ns, self_ns FROM"
                       f" callees('run', {where(selection, '')[1]})")
    assert {(r["function"], r["module"]): [r["calls"], r["total_ns"], r["self_ns"]] for r in rows} == {
        callee: sums for (caller, callee), sums in truth.items() if caller and caller[0] == "run"}


def test_the_report_says_what_is_unknown(ada, recording):
    rows = answers.sql(ada, recording, "SELECT function, module, unknown FROM fn_stats()")
    assert {(r["function"], r["module"]): r["unknown"] for r in rows} == {
        name: sum(c.end is None for c in recording.calls if c.function == name) for name in statistics(recording.calls)}


def test_the_sqlite_file(ada, recording, part, tmp_path):
    """What the export wrote, read by Python's own SQLite."""
    options, selection = part
    with contextlib.closing(sqlite3.connect(answers.export(ada, recording, tmp_path, "sqlite", *options))) as file:
        report, _ = answers.report(ada, recording, *options)
        rows = file.execute(f"SELECT function, module, {', '.join(REPORTED)} FROM report").fetchall()
        assert {row[:2]: list(row[2:]) for row in rows} == {name: [r[f] for f in REPORTED] for name, r in report.items()}
        calls = file.execute("SELECT tid, index_seq, end_index_seq, start_ns, end_ns, self_ns, function, module, depth, outcome FROM calls")
        assert Counter(calls) == Counter(
            (c.tid, c.index_seq, c.end_index_seq, c.start, c.end, c.own if c.end is not None else None, *c.function, c.depth, c.outcome)
            for c in recording.select(**selection))
        events = file.execute("SELECT tid, index_seq, timestamp_ns, depth FROM events")
        assert Counter(events) == Counter((e[2], e[3], e[4], e[8]) for e in recording.select_events(**selection))
