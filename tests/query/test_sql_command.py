"""ada query: its formats, errors and ends; and its tables against a reading of the files that shares no code with ada."""
import collections
import csv
import io
import json
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest

from recording import CALL, RETURN, Process

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_NS = 1000000000000
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
EXCEPTION = 3


def rows(ada, session, sql, status=0):
    result = ada("query", "--format=json", session, sql)
    assert result.status == status, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def values(ada, session, sql):
    return [tuple(row.values()) for row in rows(ada, session, sql)]


# --- formats ------------------------------------------------------------------------------------------------------------

KINDS = "SELECT 1 AS number, -2.5 AS real, NULL AS none, x'00ff' AS bytes, 'a,\"b\"' AS text, 'caf\u00e9' AS text, 1e999 AS large"


def test_json(ada, session):
    result = ada("query", "--format=json", session("plain"), KINDS)
    assert json.loads(result.stdout) == {
        "rows": [{"number": 1, "real": -2.5, "none": None, "bytes": "00ff", "text": 'a,"b"', "text:1": "caf\u00e9",
                  "large": float("inf")}],
        "completeness": {"events": 10, "lost": 0, "detailCoverage": 0, "complete": True}}
    assert result.status == 0 and not result.stderr


def test_csv(ada, session):
    result = ada("query", "--format=csv", session("plain"), KINDS)
    assert list(csv.reader(io.StringIO(result.stdout.decode(), newline=""))) == [
        ["number", "real", "none", "bytes", "text", "text:1", "large"], ["1", "-2.5", "", "00ff", 'a,"b"', "caf\u00e9", "Inf"]]
    assert not result.stderr


def test_table(ada, session):
    expected = """\
kind    duration_ns  function
return         1000  main
-               200  leaf

10 events; none was lost.
"""
    for form in ([], ["--format=table"], ["--format=text"]):
        result = ada("query", *form, session("plain"), "SELECT nullif(outcome, 'return') AS kind, duration_ns, function FROM calls"
                     " WHERE duration_ns IN (200) UNION ALL SELECT outcome, duration_ns, function FROM calls WHERE depth = 0 ORDER BY 2"
                     " DESC")
        assert result.stdout.decode() == expected


def test_no_row(ada, session):
    sql = "SELECT thread, kind FROM events WHERE thread = 9"
    assert ada("query", session("plain"), sql).stdout == b"No row.\n10 events; none was lost.\n"
    assert ada("query", "--format=csv", session("plain"), sql).stdout == b"thread,kind\n"
    assert rows(ada, session("plain"), sql) == []


@pytest.mark.parametrize("asked, told", [
    ("callers('leaff')", ["No function of the recording is called 'leaff' (near it: leaf): `ada query"]),
    ("callees('leaff,no_such_*')", ["No function of the recording is called 'leaff' (near it: leaf)", "No function of the recording is called 'no_such_*':"]),
    ("callers('leaf')", []), ("callees('leaf')", []), ("callers(NULL)", []), ("callers(1 << 60)", []),
    ("functions f, callers(f.name)", [])])
def test_a_name_that_no_function_has_is_told(ada, session, asked, told):
    statement = f"SELECT count(*) AS n FROM {asked}"
    shown = ada("query", session("rules"), statement)
    assert shown.status == 0 and not shown.stderr
    lines = [line for line in shown.stdout.decode().splitlines() if line.startswith("No function")]
    assert len(lines) == len(told) and all(line.startswith(text) for line, text in zip(lines, told)), shown.stdout
    for form in "json", "csv":
        machine = ada("query", f"--format={form}", session("rules"), statement)
        assert machine.status == 0 and machine.stderr.decode().splitlines() == ["ada query: " + line for line in lines] and b"No function" not in machine.stdout
    json.loads(ada("query", "--format=json", session("rules"), statement).stdout)


ADD = "ns::add(int, int)"


@pytest.mark.parametrize("condition, expected", [
    (f"function = '{ADD}'", {ADD}), ("function = 'ns::add'", {ADD}), ("function == 'ns::add'", {ADD}), ("c.\"function\"='_ZN2ns3addEii'", {ADD}),
    ("function IS 'ns::add'", {ADD}), ("function = 'ns::*' AND depth = 1", {ADD}), ("(function='re:^ns')", {ADD}),
    ("function = 'leaf,ns::add'", {"leaf", ADD}), ("function IN ('leaf', 'ns::add')", {"leaf", ADD}),
    ("function NOT IN ('leaf', 'ns::add', 'main')", {"thrower"}), ("function <> 'ns::add' AND function != 'main'", {"leaf", "thrower"}),
    ("function IS NOT 'ns::add' AND depth", {"leaf", "thrower"}), ("depth = 0 OR function /* short */ = 'ns::add'", {"main", ADD}),
    ("caller = 'm??n' AND self_ns = 10", {ADD}), ("CASE WHEN function = 'ns::add' THEN 1 END", {ADD}),
    ("function = 'ns::' || 'add'", set()), ("function = 'NS::ADD' COLLATE NOCASE", set()), ("function LIKE 'ns::add'", set()),
    ("outcome = 'ret*'", set()), ("'function = ''ns::add''' = ''", set()), ("function = 'leaf'", {"leaf"}), ("function = 'it''s'", set())])
def test_functions_are_compared_as_options_take_them(ada, session, condition, expected):
    assert {row[0] for row in values(ada, session("plain"), f"SELECT function FROM calls AS c WHERE {condition}")} == expected


def test_functions_that_are_meant_stay_apart_in_groups_and_joins(ada, session):
    plain = session("plain")
    assert values(ada, plain, "SELECT function, count(*) FROM calls WHERE function = 'leaf,ns::add' GROUP BY function"
                  " ORDER BY function DESC") == [(ADD, 1), ("leaf", 2)]
    assert values(ada, plain, "SELECT count(*) FROM calls a, calls b WHERE a.function = 'leaf,ns::add' AND b.function = a.function") == [(5,)]
    assert values(ada, plain, "SELECT calls FROM fn_stats WHERE function = 'ns::add'") == [(1,)]
    assert values(ada, plain, "SELECT mangled FROM functions WHERE name = 'ns::add'") == [("_ZN2ns3addEii",)]
    assert values(ada, plain, "SELECT sum(function = 'ns::add') FROM calls") == [(1,)]
    assert values(ada, plain, "SELECT count(*) FROM threads WHERE name = 'prog'") == [(1,)]


@pytest.mark.parametrize("statement, count, told", [
    ("calls WHERE function = 'ns::ad'", 0, ["'ns::ad' (near it: ns::add)"]),
    ("calls WHERE function IN ('leaff', 'leaf', 'no*')", 2, ["'leaff' (near it: leaf)", "'no*'"]),
    ("functions WHERE name = 'leaff'", 0, ["'leaff' (near it: leaf)"]),
    ("threads WHERE name = 'leaff'", 0, []), ("calls WHERE function = ''", 0, []), ("calls WHERE function = 're:('", 0, [])])
def test_functions_that_the_recording_has_not_are_told(ada, session, statement, count, told):
    result = ada("query", "--format=json", session("plain"), f"SELECT count(*) AS n FROM {statement}")
    assert result.status == 0 and json.loads(result.stdout)["rows"] == [{"n": count}]
    assert [line.split(": `")[0] for line in result.stderr.decode().splitlines()] == [
        f"ada query: No function of the recording is called {name}" for name in told]


def test_an_error_is_shown_in_what_was_written(ada, session):
    for statement in "SELECT functon FROM calls WHERE function = 'ns::add'", "SELECT 1 FROM calls WHERE function = 'ns::add'; SELECT 2":
        result = ada("query", session("plain"), statement)
        assert result.status == 125 and statement in result.stderr.decode()


def test_a_long_table_streams_with_the_widths_of_its_beginning(ada, session):
    lines = ada("query", session("large"), "SELECT index_seq, function, NULL AS n, x'0a' AS b FROM events LIMIT 3000").stdout.decode()
    lines = lines.splitlines()
    assert len(lines) == 1 + 3000 + 2
    assert lines[0] == "index_seq  function  n  b" and lines[1] == "        0  main      -  0a"
    assert lines[1001] == "     1000  leaf      -  0a" and lines[3000] == "     2999  leaf      -  0a"


def test_control_characters_stay_away_from_the_terminal(ada, session):
    assert b"\x1b" not in ada("query", session("names"), "SELECT * FROM functions").stdout
    names = [row["name"] for row in rows(ada, session("names"), "SELECT name FROM functions")]
    assert names == ["a,b", 'say "hi"', "tab\there", "line\nbreak", "back\\slash", "bad\ufffd\ufffdutf8", "caf\u00e9", "\x1b[31mred",
                     "pr,og+0x1080"]


@pytest.mark.parametrize("call", ["around('main', 1)", "around(0, 'x', 2)", "stack_at('worker', 1)"])
def test_a_name_is_no_thread_s_number(ada, session, call):
    """It would be 0, and the answer of another thread."""
    result = ada("query", session("plain"), f"SELECT * FROM {call}")
    assert (result.status, result.stdout) == (125, b"") and b"is no number" in result.stderr and result.stderr.count(b"\n") == 1


# --- where the SQL and the session come from ----------------------------------------------------------------------------

def test_the_first_argument_is_a_session_where_it_is_a_directory(ada, session, tmp_path):
    (tmp_path / "ada_traces").mkdir()
    (tmp_path / "ada_traces" / "latest").symlink_to(session("plain"))
    assert ada("query", "--format=csv", "SELECT count(*) AS n FROM events", cwd=tmp_path).stdout == b"n\n10\n"
    assert ada("query", "--format=csv", session("lossy"), "SELECT count(*) AS n FROM events", cwd=tmp_path).stdout == b"n\n7\n"
    only = session("processes") / "pid_51"
    assert values(ada, only, "SELECT count(*), min(process) FROM events") == [(2, "pid_51")]


def test_sql_from_standard_input(ada, session):
    result = ada("query", "--format=csv", session("plain"), "-", input=b"SELECT count(*) AS n\nFROM events; -- all\n")
    assert (result.status, result.stdout) == (0, b"n\n10\n")
    result = ada("query", session("plain"), "-", input=b"SELECT 1\n,\n  nowhere FROM events")
    assert result.stderr.decode().splitlines() == [
        "ada query: line 3: no such column: nowhere: `ada query --schema` lists them", "    nowhere FROM events", "    ^"]
    assert ada("query", session("plain"), "-", input=b"SELECT 1\0").status == 125


@pytest.mark.parametrize("arguments, message", [
    ([], "no SQL given"),
    (["nowhere", "SELECT 1"], "'nowhere' is no session directory"),
    (["SELECT 1", "SELECT 2", "SELECT 3"], "'SELECT 1' is no session directory"),
    (["--format=xml", "SELECT 1"], "unknown format 'xml': it is table, json or csv"),
    (["--timeout=5", "SELECT 1"], "--timeout: "),
    (["--schema", "evnts"], "no such table: evnts: did you mean events?"),
    ([".dump"], "unknown command '.dump'"),
])
def test_bad_arguments(ada, tmp_path, arguments, message):
    result = ada("query", *arguments, cwd=tmp_path)
    assert result.status == 125 and not result.stdout
    assert result.stderr.decode().startswith("ada query: ") and message in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1


def test_schema_names_what_the_tables_have(ada, session):
    text = ada("query", "--schema").stdout.decode()
    tables = re.findall(r"^  ([a-z_]+)  ", text, re.MULTILINE)
    assert len(tables) == 19
    assert ada("query", ".tables").stdout.decode() == ada("query", ".help").stdout.decode() == text
    page = (ROOT / "docs" / "man" / "ada-query.1").read_text().replace(r"\-", "-")
    for table in tables:
        columns = values(ada, session("plain"), f"SELECT name, hidden FROM pragma_table_xinfo('{table}')")
        listed = ada("query", f".schema {table}").stdout.decode()
        assert re.findall(r"^ +(\w+) +(?:[A-Z]+)? +\S", listed.replace("what SELECT", ""), re.MULTILINE)
        described = page.partition(f".SS {table}\n")[2].partition(".SS ")[0]
        for name, hidden in columns:
            assert re.search(rf"^{'    ' if hidden else '  '}{name} ", listed, re.MULTILINE), f"{table}.{name}"
            assert re.search(rf"^{name}{re.escape(' *') if hidden else ''} ", described, re.MULTILINE), f"{table}.{name}"


# --- errors and ends ----------------------------------------------------------------------------------------------------

def test_an_error_shows_its_place(ada, session):
    result = ada("query", "--format=json", session("plain"), "SELECT function, durations_ns FROM calls")
    assert (result.status, result.stdout) == (125, b"")
    assert result.stderr.decode().splitlines() == [
        "ada query: no such column: durations_ns: did you mean duration_ns?",
        "  SELECT function, durations_ns FROM calls",
        "                   ^"]


def test_an_error_behind_the_first_rows_leaves_a_whole_answer(ada, session):
    sql = "SELECT abs(CASE index_seq WHEN 5 THEN -9223372036854775808 ELSE index_seq END) AS n FROM events"
    result = ada("query", "--format=json", session("plain"), sql)
    answer = json.loads(result.stdout)
    assert result.status == 125 and [row["n"] for row in answer["rows"]] == [0, 1, 2, 3, 4]
    assert not answer["completeness"]["complete"]
    assert result.stderr == b"ada query: integer overflow; what is printed is not all\n"


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_a_time_limit(ada, session, form):
    for limit in "1s", "5s", "25s":
        result = ada("query", f"--timeout={limit}", f"--format={form}", session("plain"), ENDLESS)
        assert result.status == 125
        if result.stdout.count(b"\n") > 200:
            break           # else the machine may have let it print little, or nothing, before it was over
    assert result.stderr == f"ada query: ended after {limit} (--timeout); what is printed is not all\n".encode()
    check_whole(result.stdout, form)


def check_whole(printed, form):
    """An endless answer that was ended: 1, 2, 3, ... and a proper end."""
    if form == "json":
        answer = json.loads(printed)
        numbers = [row["x"] for row in answer["rows"]]
        assert not answer["completeness"]["complete"]
    else:
        lines = printed.decode().splitlines()
        if form == "table":
            assert lines[-2:] == ["", "Ended early: rows are missing. 10 events; none was lost."]
            lines = lines[:-2]
        assert lines[0].strip() == "x" and printed.endswith(b"\n")
        numbers = [int(line) for line in lines[1:]]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 100


@pytest.mark.parametrize("form", ["json", "csv"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c(build_dir, session, tmp_path, form, number):
    printed = tmp_path / "printed"
    with open(printed, "wb") as out:
        process = subprocess.Popen([build_dir / "ada", "query", f"--format={form}", session("plain"), ENDLESS], stdout=out,
                                   stderr=subprocess.PIPE)
        deadline = time.monotonic() + 30
        while printed.stat().st_size < 100000 and time.monotonic() < deadline:
            assert process.poll() is None
        process.send_signal(number)
        _, complaint = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert complaint == b"ada query: interrupted; what is printed is not all\n"
    check_whole(printed.read_bytes(), form)


def test_ctrl_c_before_the_first_row_prints_nothing(build_dir, session):
    process = subprocess.Popen([build_dir / "ada", "query", "--format=json", "--timeout=20s", session("large"),
                                "SELECT count(*) FROM events a, events b"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    status = pathlib.Path(f"/proc/{process.pid}/status")
    caught = 1 << (signal.SIGINT - 1)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not int(re.search(r"SigCgt:\s*(\w+)", status.read_text())[1], 16) & caught:
        pass
    process.send_signal(signal.SIGINT)
    printed, complaint = process.communicate(timeout=30)
    assert (process.returncode, printed, complaint) == (130, b"", b"ada query: interrupted\n")


def test_sorting_needs_no_more_than_the_heap_may_be(ada, session):
    """240 MB of random texts: only what has gone to files lets this end."""
    result = ada("query", "--format=csv", session("large"), "SELECT function, count(*) AS n FROM (SELECT hex(randomblob(200)) AS r,"
                 " function FROM events WHERE index_seq < 150000 ORDER BY 1) GROUP BY 1", timeout=150)
    assert (result.status, result.stderr) == (0, b"")
    assert result.stdout == b"function,n\nleaf,599996\nmain,4\n"


# --- sessions in all conditions -----------------------------------------------------------------------------------------

TABLES = ["events", "calls", "functions", "detail", "windows", "marks", "threads", "modules", "losses", "fn_stats", "callers('leaf')",
          "callees('main')", "around(0, 1)", "stack_at(0, 1)"]


@pytest.mark.parametrize("scenario", ["plain", "running", "lossy", "processes", "empty", "names", "detail", "pair"])
@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_every_session(ada, session, scenario, table):
    result = ada("query", "--format=json", session(scenario), f"SELECT * FROM {table}")
    assert result.status == 0, result.stderr.decode()
    answer = json.loads(result.stdout)
    assert answer["completeness"]["complete"] == (scenario not in ("running", "lossy"))
    if scenario == "empty":
        assert answer["rows"] == []


def test_losses_add_up(ada, session):
    result = ada("query", "--format=csv", session("lossy"), "SELECT sum(events) AS lost FROM losses")
    assert (result.stdout, result.stderr) == (b"lost\n12\n", b"ada query: 12 events were lost\n")
    reasons = values(ada, session("running"), "SELECT process, events, reason FROM losses")
    assert reasons == [("pid_100", None, "still being recorded, or left by a crash")]


def test_damage_is_named_and_the_rest_answered(ada, session, tmp_path):
    damaged = shutil.copytree(session("processes"), tmp_path / "damaged")
    index = damaged / "pid_51" / "thread_0" / "index.atf"
    index.write_bytes(b"nothing" + index.read_bytes()[7:])
    (damaged / "pid_50" / "modules" / "0.tsv").write_bytes(b"#\t/usr/bin/prog\n\xff\xff")
    result = ada("query", "--format=json", damaged, "SELECT process, count(*) AS n FROM events GROUP BY 1")
    assert result.status == 125 and b"answered without what can't be read: pid_51/thread_0" in result.stderr
    answer = json.loads(result.stdout)
    assert answer["rows"] == [{"process": "pid_50", "n": 2}, {"process": "pid_50_1", "n": 2}]
    assert not answer["completeness"]["complete"]
    for table in TABLES:
        json.loads(ada("query", "--format=json", damaged, f"SELECT * FROM {table}").stdout)


# --- a real recording ---------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def recorded(build_dir, ada, tmp_path_factory):
    """docs/demo/words.c: three threads, recursion, library calls, windows with detail."""
    directory = tmp_path_factory.mktemp("words")
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", directory / "words", ROOT / "docs/demo/words.c"], check=True)
    with open(ROOT / "docs/demo/words.c", "rb") as text:
        result = ada.trace(directory, [directory / "words"], "--stack-bytes=32", "--trigger", "arg=insert:3>12@pre=3ev,post=2ev",
                           stdin=text)
    assert result.status == 0, result.stderr.decode()
    session, = directory.glob("session_*")
    return session, Process(next(session.glob("pid_*")))


def stacks(events):
    """(call position, end position, depth, self time, caller position) of each call of a thread, simply by a stack."""
    found, open_calls = [], []
    for position, event in enumerate(events):
        if event[3] == CALL:
            open_calls.append([position, 0])
        elif event[3] in (RETURN, EXCEPTION):
            begin, children = open_calls.pop()
            duration = event[0] - events[begin][0]
            if open_calls:
                open_calls[-1][1] += duration
            found.append((begin, position, len(open_calls), duration, duration - children, open_calls[-1][0] if open_calls else None))
    assert not open_calls
    return found


def test_events_are_those_of_the_files(ada, recorded):
    session, process = recorded
    kinds = {CALL: "call", RETURN: "return", EXCEPTION: "exception"}
    expected = [(e[0], thread.id, thread.tid, seq, kinds[e[3]], process.names[e[1]].partition("@")[0], e[4])
                for thread in process.threads for seq, e in enumerate(thread.events) if e[3] in kinds]
    sql = "SELECT timestamp_ns, thread, tid, index_seq, kind, mangled, depth FROM events JOIN functions USING (function_id)"
    found = values(ada, session, sql + " ORDER BY thread, index_seq")
    assert [(*f[:5], f[5].partition("@")[0], f[6]) for f in found] == expected
    merged = values(ada, session, "SELECT timestamp_ns, thread, index_seq FROM events ORDER BY timestamp_ns")
    assert merged == sorted((e[0], thread.id, seq) for thread in process.threads for seq, e in enumerate(thread.events))


def test_calls_are_those_of_the_files(ada, recorded):
    session, process = recorded
    expected = []
    for thread in process.threads:
        events = list(thread.events)
        for begin, end, depth, duration, own, caller in stacks(events):
            name = process.names[events[caller][1]].partition("@")[0] if caller is not None else None
            expected.append((thread.id, begin, end, events[begin][0], events[end][0], duration, own, depth, name))
    sql = ("SELECT thread, index_seq, end_index_seq, start_ns, end_ns, duration_ns, self_ns, depth, caller FROM calls"
           " ORDER BY thread, index_seq")
    assert values(ada, session, sql) == sorted(expected)


def test_detail_and_windows_are_those_of_the_files(ada, recorded):
    session, process = recorded
    records = [(t.id, r.index_seq, r.time, *[x - (x >> 63 << 64) for x in (*r.x, r.lr, r.fp, r.sp)], r.stack.hex())
               for t in process.threads for r in t.details]
    assert records
    registers = ", ".join(f"x{i}" for i in range(8))
    assert values(ada, session, f"SELECT thread, index_seq, timestamp_ns, {registers}, lr, fp, sp, stack FROM detail"
                  " ORDER BY 1, 2") == records
    native = {"call": "rdi rsi rdx rcx r8 r9 rax r10".split(), "return": "rax rdx xmm0 xmm1".split()}
    for kind, names in native.items():
        same = " AND ".join([f"{name} IS x{i}" for i, name in enumerate(names)] +
                            ["return_address IS lr", "rbp IS fp", "rsp IS sp", f"xmm7 IS {'fp7' if kind == 'call' else 'NULL'}"])
        (counts,) = values(ada, session, f"SELECT COUNT(*), SUM({same}), SUM(rdi IS NULL) FROM detail WHERE kind = '{kind}'")
        assert counts[0] == counts[1] > 0 and counts[2] == (0 if kind == "call" else counts[0])
    assert values(ada, session, "SELECT window, start_ns, end_ns, marks, events FROM windows") == [
        (i, w["startNs"], w["endNs"], w["markedCount"], w["eventCount"]) for i, w in enumerate(process.windows)]
    assert values(ada, session, "SELECT window, timestamp_ns, thread, index_seq FROM marks") == [
        (i, m["tsNs"], m["thread"], m["indexSeq"]) for i, w in enumerate(process.windows) for m in w["marks"]]
    assert values(ada, session, "SELECT d.kind, d.function FROM marks m JOIN detail d USING (thread, index_seq)") == [
        ("call", "insert")] * sum(len(w["marks"]) for w in process.windows)
    # What is in a window has its detail.
    inside, = values(ada, session, "SELECT count(*) FROM windows w JOIN events e ON e.timestamp_ns BETWEEN w.start_ns AND w.end_ns")
    assert inside == (len(records),)


def test_fn_stats_is_the_report(ada, recorded):
    session, process = recorded
    report = json.loads(ada("report", "--format=json", session).stdout)
    answer = json.loads(ada("query", "--format=json", session, "SELECT * FROM fn_stats ORDER BY total_ns DESC, function").stdout)
    assert answer == report
    calls = collections.Counter(process.names[e[1]].partition("@")[0] for t in process.threads for e in t.events if e[3] == CALL)
    assert {row["function"]: row["calls"] for row in answer["rows"]} == calls
    half = process.threads[1].events[len(process.threads[1].events) // 2][0]
    report = json.loads(ada("report", "--format=json", "--thread=1", f"--from={half}", session).stdout)
    assert rows(ada, session, f"SELECT * FROM fn_stats({half}, NULL, 1) ORDER BY total_ns DESC, function") == report["rows"]


def test_functions_know_where_they_are_written(ada, recorded):
    session, _ = recorded
    text = (ROOT / "docs/demo/words.c").read_text().splitlines()
    found = values(ada, session, "SELECT name, file, line FROM functions WHERE module = 'words' AND name IN ('insert', 'merge', 'main')")
    assert len(found) == 3
    for name, file, line in found:
        assert file.endswith("words.c") and name in "".join(text[line - 2:line + 1])
