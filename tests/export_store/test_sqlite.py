"""ada export --format=sqlite: a file that the sqlite3 shell reads, with what ada query answers."""
import json
import os
import pathlib
import signal
import sqlite3
import stat
import subprocess

import pytest

TABLES = ["events", "calls", "functions", "detail", "windows", "marks", "threads", "modules", "anchors", "losses", "waits", "causes",
          "switches", "mutes"]
SCENARIOS = ["plain", "lossy", "processes", "detail", "names", "rules", "running", "empty", "random:5:3:20000"]


@pytest.fixture
def export(ada, tmp_path):
    def run(session, *options):
        path = tmp_path / "out.db"
        path.unlink(missing_ok=True)
        result = ada("export", "--format=sqlite", "-o", path, *options, session)
        assert result.status == 0, result.stderr.decode()
        return path
    return run


def query(ada, session, statement):
    result = ada("query", "--format=json", session, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)


def rows_of(path, statement):
    """As the shell prints them, so that they were read by SQLite's own program."""
    result = subprocess.run(["sqlite3", "-readonly", "-json", path, statement], capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout) if result.stdout.strip() else []


def columns_of(path, table):
    with sqlite3.connect(path) as database:
        return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def same(ada, session, path):
    for table in TABLES + ["report"]:
        columns = ", ".join(f"hex({name}) AS {name}" if name == "stack" else name for name in columns_of(path, table))
        source = "fn_stats" if table == "report" else table
        assert rows_of(path, f"SELECT {columns} FROM {table} ORDER BY rowid") == query(
            ada, session, f"SELECT {columns} FROM {source}")["rows"], table


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_has_what_query_answers(ada, export, session, scenario):
    same(ada, session(scenario), export(session(scenario)))


@pytest.mark.parametrize("options, where, events", [
    (["--from=+100ns", "--to=+351ns"], "{} >= 1000000000100 AND {} < 1000000000351", 6), (["--thread=quiet"], "tid = 101", 2),
    (["--window=0"], "{} >= 1000000000230 AND {} <= 1000000000330 AND tid = tid", 2)])
def test_cut(ada, export, session, options, where, events):
    path = export(session("detail"), *options)
    for table, time in (("events", "timestamp_ns"), ("calls", "start_ns"), ("detail", "timestamp_ns")):
        columns = ", ".join(name for name in columns_of(path, table) if name != "stack")
        assert rows_of(path, f"SELECT {columns} FROM {table} ORDER BY rowid") == query(
            ada, session("detail"), f"SELECT {columns} FROM {table} WHERE {where.format(time, time)}")["rows"], table
    row = rows_of(path, "SELECT from_ns, to_ns, events FROM session")[0]
    assert row["events"] == events
    if len(options) == 2:
        assert (row["from_ns"], row["to_ns"]) == (1000000000100, 1000000000351)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_says_how_complete_it_is(ada, export, session, scenario):
    row = rows_of(export(session(scenario)), "SELECT * FROM session")[0]
    completeness = json.loads(ada("report", "--format=json", session(scenario)).stdout)["completeness"]
    assert {"events": row["events"], "lost": row["lost"], "detailCoverage": row["detail_coverage"],
            "complete": bool(row["complete"])} == completeness
    assert row["host"] == "host" and row["start_ns"] == 1000000000000


def test_report_is_the_report(ada, export, session):
    path = export(session("rules"))
    report = json.loads(ada("report", "--format=json", session("rules")).stdout)["rows"]
    assert rows_of(path, f"SELECT {', '.join(report[0])} FROM report ORDER BY total_ns DESC") == report


def test_file(export, session):
    path = export(session("plain"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        plan = " ".join(row[3] for row in database.execute("EXPLAIN QUERY PLAN SELECT * FROM events WHERE function_id = 2"))
        assert "events_by_function" in plan
        assert sorted(row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")) == sorted(
            TABLES + ["report", "session"])
    assert os.listdir(path.parent) == [path.name]


def test_nothing_is_left_of_an_interrupted_one(ada, session, tmp_path):
    process = subprocess.Popen([ada.path, "export", "--format=sqlite", "-o", tmp_path / "new.db", session("large")],
                               stderr=subprocess.DEVNULL)
    while process.poll() is None and not any(path.stat().st_size > 1 << 20 for path in pathlib.Path(tmp_path).rglob("*")
                                             if path.is_file()):
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert not list(tmp_path.iterdir())


def test_full_disk(ada, session, tmp_path):
    """The file can't grow."""
    result = subprocess.run(["bash", "-c", 'ulimit -f 1000; exec "$@"', "bash", ada.path, "export", "--format=sqlite",
                             "-o", tmp_path / "new.db", session("large")], capture_output=True, timeout=60)
    assert result.returncode == 125 and len(result.stderr.splitlines()) == 1 and b"can't write" in result.stderr
    assert not list(tmp_path.iterdir())
