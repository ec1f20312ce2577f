"""Each tool's answer is its command's own."""
import json
import pathlib
import subprocess
import time

import jsonschema
import pytest

BAD_PARAMS = -32602
# tool: command, and the arguments that the tool gives by itself
COMMANDS = {
    "session_info": ["info"], "windows": ["windows"], "verify": ["verify"], "narrate": ["narrate"],
    "report": ["report", "--sort=total", "--limit=50"], "dump": ["dump", "--limit=200"],
    "graph": ["graph", "--depth=10", "--sort=total", "--limit=100"],
}
SCENARIOS = ["plain", "lossy", "processes", "names", "empty", "rules", "running", "detail"]


def text_of(result):
    assert result["isError"] is False, result
    return result["content"][0]["text"]


def failure_of(result):
    assert result["isError"] is True and len(result["content"]) == 1 and "structuredContent" not in result
    return result["content"][0]["text"]


def printed(ada, *arguments):
    result = ada(*arguments)
    assert result.stdout, result.stderr
    return result.stdout.decode().rstrip("\n")


def structured(text):
    """What a command prints as JSON: an object, or rows a line each with the rest in the last."""
    try:
        value = json.loads(text)
        if "rows" in value or set(value) != {"completeness"}:
            return value
    except json.JSONDecodeError:
        pass
    lines = [json.loads(line) for line in text.splitlines()]
    return {"rows": lines[:-1], **lines[-1]}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("tool", COMMANDS)
def test_a_tool_says_what_its_command_says(ada, server, traces, session, tool, scenario):
    path = traces / session(scenario)
    for format in ("json", "text"):
        result = server.call(tool, session=session(scenario), format=format)
        text = printed(ada, *COMMANDS[tool], f"--format={format}", path)
        assert text_of(result) == text
        assert result.get("structuredContent") == (structured(text) if format == "json" else None)


NARROWED = [
    ("report", {"sort": "calls", "limit": 1}, ["--sort=calls", "--limit=1"]),
    ("report", {"thread": 100}, ["--thread=100"]),
    ("report", {"thread": "prog", "from": "+150ns", "to": 1000000000400}, ["--thread=prog", "--from=+150ns", "--to=1000000000400"]),
    ("report", {"window": 0}, ["--window=0"]),
    ("report", {"function": "l*", "source": True}, ["--function=l*", "--source"]),
    ("graph", {"function": "leaf", "callers": True, "depth": 3, "fold": True}, ["--function=leaf", "--callers", "--depth=3", "--fold"]),
    ("graph", {"thread": "quiet", "sort": "calls", "limit": 1}, ["--thread=quiet", "--sort=calls", "--limit=1"]),
    ("dump", {"window": 1, "detail": True, "limit": 3}, ["--window=1", "--detail", "--limit=3"]),
    ("dump", {"function": "le*", "detail": False}, ["--function=le*"]),
    ("dump", {"thread": 100, "index_seq": 5, "before": 2, "after": 1}, ["--thread=100", "--seq=3-6"]),
    ("dump", {"thread": "prog", "index_seq": 1, "before": 9}, ["--thread=prog", "--seq=0-21"]),
    ("dump", {"thread": None, "function": None, "from": "+100ns"}, ["--from=+100ns"]),
]


@pytest.mark.parametrize("tool, arguments, options", NARROWED)
def test_arguments_are_the_command_s_options(ada, server, traces, session, tool, arguments, options):
    result = server.call(tool, session=session("detail"), **arguments)
    text = printed(ada, *COMMANDS[tool], "--format=json", *options, traces / session("detail"))
    assert text_of(result) == text


def test_dump_around_an_event_has_it_in_the_middle(server, session):
    rows = server.call("dump", session=session("rules"), thread=100, index_seq=20, before=3, after=4)["structuredContent"]["rows"]
    assert [row["index_seq"] for row in rows] == list(range(17, 25))


@pytest.mark.parametrize("tool", ["report", "graph"])
def test_two_sessions_are_compared(ada, server, traces, session, tool):
    result = server.call(tool, session=session("rules"), diff=session("plain"))
    assert text_of(result) == printed(ada, *COMMANDS[tool], "--format=json", f"--diff={traces / session('plain')}",
                                      traces / session("rules"))
    assert "session" in failure_of(server.call(tool, diff="../../etc"))


@pytest.mark.parametrize("sql", ["SELECT function, calls, total_ns FROM fn_stats()", "SELECT count(*) AS n, max(duration_ns) FROM calls",
                                 "SELECT * FROM around(0, 5, 2)", "SELECT 'a;b' || x'41', 18446744073709551615, -1, null",
                                 "WITH t(x) AS (VALUES (1), (2)) SELECT x FROM t", "SELECT 1 WHERE 0"])
def test_query_answers_as_the_command_does(ada, server, traces, session, sql):
    for format in ("json", "table"):
        result = server.call("query", session=session("detail"), sql=sql, format=format)
        assert text_of(result) == printed(ada, "query", f"--format={format}", "--", traces / session("detail"), sql)
    assert "completeness" in server.call("query", session=session("detail"), sql=sql)["structuredContent"]


@pytest.mark.parametrize("sql", ["SELECT nope FROM calls", "DROP TABLE calls", "ATTACH 'x' AS y", "", "-", "--help", "--format=csv",
                                 "SELECT 1; SELECT 2", "PRAGMA journal_mode = WAL", "SELECT load_extension('x')", "VACUUM INTO 'x'"])
def test_what_query_refuses_is_an_error_of_the_tool(server, session, sql, tmp_path):
    assert "ada query: " in failure_of(server.call("query", session=session("plain"), sql=sql))


def test_query_ends_in_time_and_says_so(server, session):
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
    assert "1s" in failure_of(server.call("query", session=session("plain"), sql=endless, timeout=1))


def test_schema_is_the_command_s(ada, server):
    assert text_of(server.call("schema")) == printed(ada, "query", "--schema")
    assert text_of(server.call("schema", table="calls")) == printed(ada, "query", "--schema", "calls")
    assert "ada query: " in failure_of(server.call("schema", table="nonsense"))
    assert "ada query: " in failure_of(server.call("schema", table="--help"))


def test_sessions_are_listed_with_what_they_hold(serve, server, traces, session):
    answer = server.call("list_sessions")["structuredContent"]
    assert answer["sessions"] == 9 and [row["session"] for row in answer["rows"]] == sorted(
        (p.name for p in traces.iterdir()), reverse=True)
    rows = {row["session"].split("_")[-1]: row for row in answer["rows"]}
    fields = ["program", "started", "processes", "threads", "events", "lost", "windows", "state"]
    assert [rows["lossy"][f] for f in fields[2:]] == [1, 1, 7, 12, 0, "finished"]
    assert [rows["processes"][f] for f in fields[2:]] == [3, 3, 6, 0, 0, "finished"]
    assert [rows["detail"][f] for f in fields[2:]] == [1, 2, 16, 0, 2, "finished"]
    assert rows["running"]["state"] == "interrupted"
    assert rows["plain"]["path"] == str(traces / session("plain"))
    assert server.call("list_sessions", limit=2)["structuredContent"] == {"rows": answer["rows"][:2], "sessions": 9}
    text = text_of(server.call("list_sessions", format="text"))
    assert text.endswith("9 sessions.") and "session_20260101_000001_lossy" in text
    # One session can be served as well.
    one = serve(traces / session("plain")).call("list_sessions")["structuredContent"]
    assert [row["session"] for row in one["rows"]] == ["."] and one["rows"][0]["events"] == 10


def test_no_session_at_all(serve, tmp_path):
    server = serve(cwd=tmp_path)
    assert server.call("list_sessions")["structuredContent"] == {"rows": [], "sessions": 0}
    assert "there is no session" in failure_of(server.call("report"))


def test_without_a_name_it_is_the_latest(serve, make, tmp_path):
    make("plain", tmp_path / "session_20260101_000001")
    make("rules", tmp_path / "session_20260101_000002")
    server = serve(tmp_path)
    assert server.call("report")["structuredContent"]["completeness"]["events"] > 10
    (tmp_path / "latest").symlink_to("session_20260101_000001")
    for name in ({}, {"session": ""}, {"session": "latest"}):
        assert server.call("report", **name)["structuredContent"]["completeness"]["events"] == 10
    assert [row["session"][-1] for row in server.call("list_sessions")["structuredContent"]["rows"]] == ["2", "1"]


def test_a_recording_under_way_is_said_to_be_one(ada, serve, tmp_path):
    """Its program ends with its input."""
    with subprocess.Popen([ada.path, "trace", "--quiet", f"--output={tmp_path}", "--", "/bin/cat"], stdin=subprocess.PIPE) as traced:
        server, end = serve(tmp_path), time.monotonic() + 30
        while [row["state"] for row in server.call("list_sessions")["structuredContent"]["rows"]] != ["recording"]:
            assert time.monotonic() < end
        traced.stdin.close()
        assert traced.wait(30) == 0
    row, = server.call("list_sessions")["structuredContent"]["rows"]
    assert row["state"] == "finished" and row["command"] == "/bin/cat"


def test_a_process_of_a_session(ada, server, traces, session):
    name = session("processes") + "/pid_51"
    assert text_of(server.call("report", session=name)) == printed(ada, *COMMANDS["report"], "--format=json", traces / name)
    assert text_of(server.call("report", session=str(traces / name))) == text_of(server.call("report", session=name))


def test_a_damaged_session_is_answered_with_what_is_wrong(ada, serve, make, tmp_path):
    make("processes", tmp_path / "session_1")
    (tmp_path / "session_1/pid_51/manifest.json").write_bytes(b"{")
    server = serve(tmp_path)
    result = server.call("report")
    command = ada("report", "--format=json", tmp_path / "session_1")
    assert result["isError"] is False and "manifest.json" in result["content"][1]["text"]
    assert result["content"][1]["text"] == command.stderr.decode().strip()
    assert result["structuredContent"] == json.loads(command.stdout)
    failed = [row for row in server.call("verify")["structuredContent"]["rows"] if not row["ok"]]
    assert any("manifest.json" in row["file"] for row in failed)


# --- arguments that don't fit -------------------------------------------------------------------------------------------

WRONG = [
    ({"name": "nothing"}, "no tool 'nothing'"), ({"name": 5}, "name"), ({}, "name"), ({"name": ""}, "no tool"),
    ({"name": "report", "arguments": []}, "arguments is an object"), ({"name": "report", "arguments": "x"}, "arguments"),
    ({"name": "report", "arguments": {"output": "/tmp/x"}}, "no argument 'output': it has session, sort"),
    ({"name": "report", "arguments": {"--help": ""}}, "no argument"),
    ({"name": "report", "arguments": {"session": 5}}, "session is a string"),
    ({"name": "report", "arguments": {"limit": "5"}}, "limit is a whole number"),
    ({"name": "report", "arguments": {"limit": -1}}, "limit is a whole number"),
    ({"name": "report", "arguments": {"limit": 1.5}}, "limit is a whole number"),
    ({"name": "report", "arguments": {"limit": 2**64}}, "limit is"),
    ({"name": "report", "arguments": {"limit": 100001}}, "at most 100000"),
    ({"name": "report", "arguments": {"sort": "nonsense"}}, "sort can't be 'nonsense'"),
    ({"name": "report", "arguments": {"thread": True}}, "thread is a string"),
    ({"name": "report", "arguments": {"thread": ["x"]}}, "thread is a string"),
    ({"name": "report", "arguments": {"thread": "a\0b"}}, "NUL"),
    ({"name": "report", "arguments": {"thread": "x" * 70000}}, "64 KiB"),
    ({"name": "query"}, "query needs the argument 'sql'"), ({"name": "query", "arguments": {}}, "query needs the argument 'sql'"),
    ({"name": "query", "arguments": {"sql": None}}, "query needs the argument 'sql'"),
    ({"name": "query", "arguments": {"sql": 1}}, "sql is a string"), ({"name": "query", "arguments": {"sql": ["SELECT 1"]}}, "sql is"),
    ({"name": "dump", "arguments": {"detail": "yes"}}, "detail is true or false"),
    ({"name": "dump", "arguments": {"function": 7}}, "function is a string"),
]


@pytest.mark.parametrize("params, words", WRONG)
def test_arguments_of_the_wrong_form_are_refused(server, params, words):
    code, message = server.refused("tools/call", params)
    assert code == BAD_PARAMS and words in message and "\n" not in message
    assert server.ask("ping")["result"] == {}


def test_the_schemas_refuse_the_same(server):
    schemas = {tool["name"]: jsonschema.Draft202012Validator(tool["inputSchema"]) for tool in server.ask("tools/list")["result"]["tools"]}
    for params, _ in WRONG:
        arguments = params.get("arguments")
        arguments = {} if arguments is None else arguments
        # Lengths and NUL characters are no business of a schema.
        if params.get("name") in schemas and "\\x00" not in repr(arguments) and len(str(arguments)) < 1000:
            assert not schemas[params["name"]].is_valid(arguments), params
    for tool, arguments, _ in NARROWED:
        arguments = {k: v for k, v in arguments.items() if v is not None}
        assert schemas[tool].is_valid(arguments), arguments


@pytest.mark.parametrize("tool, arguments, words", [
    ("report", {"from": "yesterday"}, "ada report: "), ("report", {"thread": "--help"}, "ada report: "),
    ("report", {"window": 99}, "ada report: "), ("dump", {"function": "nothing_of_that_name", "thread": 9999}, "ada dump: "),
    ("dump", {"index_seq": 5}, "say which, by thread"),
])
def test_what_a_command_refuses_is_its_own_line(server, session, tool, arguments, words):
    text = failure_of(server.call(tool, session=session("plain"), **arguments))
    assert words in text and "\n" not in text


@pytest.mark.parametrize("name", ["..", "../..", "/", "/etc", "../traces_of_others", "session_20260101_000000_plain/../../..", "escape",
                                  "escape/sub", "no_such_session", "x" * 5000, "--help", "", "session_20260101_000000_plain/../.."])
def test_only_what_lies_below_the_directory_is_a_session(serve, make, tmp_path, name):
    root = tmp_path / "traces"
    root.mkdir()
    make("plain", tmp_path / "traces_of_others")    # beside it, with a name that begins alike
    (root / "escape").symlink_to(tmp_path)
    server = serve(root)
    assert "session" in failure_of(server.call("report", session=name))
    assert server.call("list_sessions")["structuredContent"]["rows"] == []


def test_the_manual_lists_the_tools(serve, traces):
    server = serve("--allow-record", traces)
    page = (pathlib.Path(__file__).parents[2] / "docs/man/ada-mcp.1").read_text()
    for tool in server.ask("tools/list")["result"]["tools"]:
        assert tool["name"] in page, tool["name"]
