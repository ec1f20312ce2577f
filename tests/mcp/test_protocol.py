"""Messages of the protocol: what begins, what ends, what is refused and how."""
import os
import signal
import threading

import jsonschema
import pytest
from client import ENDLESS, VERSIONS, check

NOT_JSON, NO_REQUEST, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_that_it_knows_is_the_one(serve, traces, version):
    server = serve(traces, version=None)
    result = server.initialize(version)
    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {}} and result["serverInfo"]["name"] == "ada"
    assert "list_sessions" in result["instructions"]


@pytest.mark.parametrize("version", ["2099-01-01", "", "x" * 1000])
def test_another_version_gets_the_newest(serve, traces, version):
    assert serve(traces, version=None).initialize(version)["protocolVersion"] == VERSIONS[0]


def test_nothing_but_ping_comes_before_initialize(serve, traces):
    server = serve(traces, version=None)
    assert server.ask("ping")["result"] == {}
    assert server.refused("tools/list")[0] == NO_REQUEST
    assert server.refused("initialize")[0] == BAD_PARAMS
    assert server.refused("initialize", {"protocolVersion": 1})[0] == BAD_PARAMS
    server.initialize()
    assert server.refused("initialize", {"protocolVersion": VERSIONS[0]})[0] == NO_REQUEST
    check(server.ask("ping")["result"], "ping")


@pytest.mark.parametrize("version", VERSIONS)
def test_tools_are_described_as_the_version_has_it(serve, traces, version):
    server = serve(traces, version=version)
    result = server.ask("tools/list")["result"]
    check(result, "tools")
    names = [tool["name"] for tool in result["tools"]]
    assert len(set(names)) == len(names) and {"list_sessions", "report", "dump", "windows"} <= set(names)
    for tool in result["tools"]:
        assert ("title" in tool) == (version >= "2025-06-18")
        assert ("annotations" in tool) == (version >= "2025-03-26")
        if "annotations" in tool:
            assert tool["annotations"]["readOnlyHint"] is (tool["name"] not in ("mark", "stop"))
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])
        assert tool["inputSchema"]["additionalProperties"] is False
        assert all(p["description"] for p in tool["inputSchema"]["properties"].values())
    assert ("structuredContent" in server.call("list_sessions")) == (version >= "2025-06-18")


def test_ids_come_back_as_they_were(server):
    for number in [0, -5, 2**63 - 1, 2**64 - 1, "", "a", "1", "caf\u00e9 \u2028 \"quoted\""]:
        server.send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        answer = server.read()
        assert answer["id"] == number and type(answer["id"]) is type(number)


@pytest.mark.parametrize("line, code, id", [
    (b"{", NOT_JSON, None), (b"nonsense", NOT_JSON, None), (b'{"jsonrpc": "2.0", "id": 1, "method": "ping"} x', NOT_JSON, None),
    (b"{'jsonrpc': '2.0', 'id': 1, 'method': 'ping'}", NOT_JSON, None), (b'"\xff\xfe"', NOT_JSON, None),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "pi\0ng"}', NOT_JSON, None), (b"null", NO_REQUEST, None), (b"[" * 5000, NOT_JSON, None),
    (b'{"a":' * 5000, NOT_JSON, None), (b"1", NO_REQUEST, None), (b'"ping"', NO_REQUEST, None), (b"{}", NO_REQUEST, None),
    (b'{"id": 3, "method": "ping"}', NO_REQUEST, 3), (b'{"jsonrpc": "1.0", "id": 3, "method": "ping"}', NO_REQUEST, 3),
    (b'{"jsonrpc": 2.0, "id": 3, "method": "ping"}', NO_REQUEST, 3), (b'{"jsonrpc": "2.0", "id": 3}', NO_REQUEST, 3),
    (b'{"jsonrpc": "2.0", "id": 3, "method": 5}', NO_REQUEST, 3), (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', NO_REQUEST, None),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', NO_REQUEST, None),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', NO_REQUEST, None),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": [1]}', NO_REQUEST, 3),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "ping", "params": "x"}', NO_REQUEST, 3),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "nothing/here"}', NO_METHOD, 3),
    (b'{"jsonrpc": "2.0", "id": 3, "method": ""}', NO_METHOD, 3),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call"}', BAD_PARAMS, 3),
    (b'{"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": {"cursor": "x"}}', BAD_PARAMS, 3),
    (b"[]", NO_REQUEST, None), (b'[{"jsonrpc": "2.0", "id": 3, "method": "ping"}]', NO_REQUEST, None),
])
def test_what_is_no_request_is_refused_and_the_next_one_is_answered(server, line, code, id):
    server.send(line)
    answer = server.read()
    assert (answer["error"]["code"], answer["id"]) == (code, id)
    assert "\n" not in answer["error"]["message"] and len(answer["error"]["message"]) < 600
    assert server.ask("ping")["result"] == {}


def test_what_wants_no_answer_gets_none(server):
    server.tell("notifications/initialized")
    server.tell("notifications/unheard/of", {"a": 1})
    server.tell("tools/call", {"name": "list_sessions"})
    server.tell("notifications/cancelled", {"requestId": 77})
    server.tell("notifications/cancelled")
    server.send({"jsonrpc": "2.0", "id": 9, "result": {}})
    server.send({"jsonrpc": "2.0", "id": 9, "error": {"code": 1, "message": "x"}})
    server.send(b"")
    server.send(b" \t\r")
    number = server.begin("ping")
    assert server.read()["id"] == number


def test_a_message_may_end_with_a_carriage_return_and_come_in_pieces(server):
    for byte in b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}\r\n{"jsonrpc": "2.0", "id": 8, "method": "ping"}\r\n':
        server.process.stdin.write(bytes([byte]))
    assert [server.read()["id"] for _ in range(2)] == [7, 8]


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_batches_are_answered_whole_where_the_version_has_them(serve, traces, session, version):
    server = serve(traces, version=version)
    server.send([{"jsonrpc": "2.0", "id": 50, "method": "ping"},
                 {"jsonrpc": "2.0", "method": "notifications/initialized"},
                 {"jsonrpc": "2.0", "id": 51, "method": "tools/call",
                  "params": {"name": "report", "arguments": {"session": session("plain")}}},
                 7,
                 {"jsonrpc": "2.0", "id": 52, "method": "initialize", "params": {"protocolVersion": version}},
                 {"jsonrpc": "2.0", "id": 53, "method": "tools/call", "params": {"name": "list_sessions"}}])
    answers = server.read()
    assert isinstance(answers, list) and len(answers) == 5
    by_id = {a["id"]: a for a in answers}
    assert by_id[50]["result"] == {} and by_id[None]["error"]["code"] == NO_REQUEST and "error" in by_id[52]
    check(by_id[51]["result"], "call")
    assert "thrower" in by_id[51]["result"]["content"][0]["text"]
    check(by_id[53]["result"], "call")
    server.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
    server.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 65)
    answer = server.read()
    assert answer["error"]["code"] == NO_REQUEST and "64" in answer["error"]["message"]
    server.send(b"[]")
    assert server.read()["error"]["code"] == NO_REQUEST


# --- the end ------------------------------------------------------------------------------------------------------------

def test_it_ends_with_its_input(server):
    assert server.end() == 0
    assert server.read() is None


def test_a_last_line_without_newline_counts(server):
    server.process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    assert server.end() == 0
    assert server.read()["id"] == 1


def test_the_input_may_end_while_a_quick_call_runs(server, session):
    number = server.begin_call("report", session=session("plain"))
    assert server.end() == 0
    assert server.read()["id"] == number and server.read() is None


def test_the_input_may_end_while_a_call_hangs(serve, stuck):
    server = serve(stuck)
    server.begin_call("query", **ENDLESS)
    child, = server.await_children(1)
    assert server.end() == 0
    assert server.read() is None
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_order(serve, stuck, number):
    server = serve(stuck)
    server.begin_call("query", **ENDLESS)
    server.await_children(1)
    assert server.terminate(number) == 0
    assert server.read() is None


def test_it_ends_where_nobody_reads_any_more(server):
    server.process.stdout.close()
    assert server.process.wait(30) == 0


def test_a_client_that_does_not_read_holds_only_itself_up(server):
    """Far more than pipes hold; what is read afterwards is whole and in order."""
    count = 3000
    writer = threading.Thread(target=lambda: [server.begin("tools/list") for _ in range(count)])
    writer.start()
    first = server.read()["id"]
    assert [server.read()["id"] for _ in range(count - 1)] == list(range(first + 1, first + count))
    writer.join()


def test_options_and_directories(ada, tmp_path):
    for arguments in (["--nonsense"], ["--time-limit=abc", tmp_path], [tmp_path, "two"], [tmp_path / "missing"], [ada.path]):
        result = ada("mcp", *arguments)
        assert result.status == 125 and result.stderr.startswith(b"ada mcp: ") and result.stderr.count(b"\n") == 1, arguments
    # An assistant may start it before the first recording is made.
    result = ada("mcp", cwd=tmp_path, input=b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n')
    assert (result.status, result.stdout) == (0, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
