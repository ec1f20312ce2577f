"""Calls under way: several at a time, cancelled, too long, too large, dying; and input that means harm."""
import json
import os
import random
import select
import signal

import pytest

from client import ENDLESS
from test_tools import failure_of

NO_REQUEST = -32600


def test_a_ping_is_answered_while_a_call_runs(serve, stuck):
    server = serve(stuck)
    server.begin_call("query", **ENDLESS)
    server.await_children(1)
    assert server.ask("ping")["result"] == {}
    assert server.ask("tools/list")["result"]["tools"]


def test_a_cancelled_call_has_no_answer_and_no_process(serve, stuck):
    server = serve(stuck)
    number = server.begin_call("query", **ENDLESS)
    child, = server.await_children(1)
    server.tell("notifications/cancelled", {"requestId": number, "reason": "enough"})
    assert server.ask("ping")["result"] == {}
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert number not in server.early


def test_a_call_that_waits_can_be_cancelled(serve, stuck):
    server = serve(stuck)
    numbers = [server.begin_call("query", **ENDLESS) for _ in range(6)]
    server.await_children(4)
    server.tell("notifications/cancelled", {"requestId": numbers[5]})
    for number in numbers[:2]:
        server.tell("notifications/cancelled", {"requestId": number})
    server.ask("ping")
    server.await_children(3)
    assert not server.early


def test_four_run_at_a_time_and_all_are_answered(serve, stuck, make, traces, session):
    (stuck / "plain").symlink_to(stuck / "real")
    make("plain", stuck / "real")
    server = serve(stuck)
    blocked = [server.begin_call("query", **ENDLESS) for _ in range(4)]
    server.await_children(4)
    waiting = [server.begin_call("report", session="plain") for _ in range(20)]
    server.ask("ping")
    assert not server.early and len(server.children()) == 4
    server.tell("notifications/cancelled", {"requestId": blocked[0]})
    assert all(server.await_(n)["result"]["structuredContent"]["completeness"]["events"] == 10 for n in waiting)


def test_more_calls_than_wait_are_refused(serve, stuck):
    server = serve(stuck)
    for _ in range(64):
        server.begin_call("query", **ENDLESS)
    assert "too many calls" in failure_of(server.call("query", **ENDLESS))


def test_an_id_under_way_is_not_taken_again(serve, stuck):
    server = serve(stuck)
    request = {"jsonrpc": "2.0", "id": "one", "method": "tools/call", "params": {"name": "query", "arguments": ENDLESS}}
    server.send(request)
    server.send(request)
    assert server.read()["error"]["code"] == NO_REQUEST


def test_a_call_that_takes_too_long_is_stopped(serve, stuck):
    server = serve("--time-limit=300ms", stuck)
    text = failure_of(server.call("query", **ENDLESS))
    assert "query took too long and was stopped" in text and "limit" in text.lower()
    assert server.await_children(0) == []


def test_a_command_that_dies_fails_alone(serve, stuck):
    server = serve(stuck)
    number = server.begin_call("query", **ENDLESS)
    child, = server.await_children(1)
    os.kill(child, signal.SIGKILL)          # a SIGSEGV is an exit where ada is sanitized
    text = failure_of(server.await_(number)["result"])
    assert "died of signal 9" in text and "ada verify" in text
    assert server.ask("ping")["result"] == {}


def test_no_process_outlives_a_server_that_was_killed(serve, stuck):
    server = serve(stuck)
    server.begin_call("query", **ENDLESS)
    child, = server.await_children(1)
    descriptor = os.pidfd_open(child)
    server.process.kill()

    assert select.select([descriptor], [], [], 30)[0], "still there"
    os.close(descriptor)


@pytest.mark.parametrize("format", ["json", "text"])
def test_an_answer_that_is_too_long_is_cut_behind_a_whole_row(ada, server, traces, session, format):
    result = server.call("dump", session=session("large"), limit=100000, format=format)
    text, note = (part["text"] for part in result["content"])
    assert result["isError"] is False and "longer than 256 KiB" in note and "limit" in note
    whole = ada("dump", "--limit=9000", f"--format={format}", traces / session("large")).stdout.decode()
    assert len(text) <= 256 << 10 and whole.startswith(text + "\n")
    if format == "json":
        rows = result["structuredContent"]["rows"]
        assert result["structuredContent"]["cut"] is True and len(rows) > 1000
        assert rows == [json.loads(line) for line in whole.splitlines()[:len(rows)]]
    else:
        assert "structuredContent" not in result


# --- harm ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 5 << 20, 50 << 20])
def test_a_line_has_a_limit_and_so_has_the_memory(server, size):
    line = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"x": ""}}).encode()
    server.send(line[:-3] + b"x" * (size - len(line)) + line[-3:])
    answer = server.read()
    if size <= 1 << 20:
        assert answer == {"jsonrpc": "2.0", "id": 5, "result": {}}
    else:
        assert answer["error"]["code"] == NO_REQUEST and "1 MiB" in answer["error"]["message"]
    assert server.ask("ping")["result"] == {}
    peak = next(line for line in open(f"/proc/{server.process.pid}/status") if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 64 << 10


def test_garbage_is_answered_line_by_line(server):
    chance = random.Random(4)
    for _ in range(300):
        line = bytes(chance.choice(b'{}[]",:0123456789.eE+-truefalsnl \\u\x01\x7f\x80\xff') for _ in range(chance.randrange(1, 60)))
        server.send(line + b"|")        # never JSON
        assert server.read()["error"]["code"] == -32700
    assert server.ask("ping")["result"] == {}


def test_a_message_cut_anywhere_is_an_error(server):
    line = json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "report", "arguments": {"session": "caf\u00e9", "limit": 5}}}, ensure_ascii=False).encode()
    for length in range(1, len(line)):
        server.send(line[:length])
        assert server.read()["error"]["code"] == -32700, line[:length]


def test_names_of_any_bytes_come_as_utf_8(server, session):
    rows = server.call("report", session=session("names"))["structuredContent"]["rows"]
    assert {"a,b", 'say "hi"', "line\nbreak", "\x1b[31mred", "bad\ufffd\ufffdutf8"} <= {row["function"] for row in rows}


def test_a_name_in_an_error_comes_as_utf_8(server):
    server.send(b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "report", "arguments": {"session": "'
                + "\u00e9".encode() * 400 + b'"}}}')
    assert "no session" in failure_of(server.read()["result"])
    code, message = server.refused("tools/call", {"name": "\u00e9" * 99})
    assert code == -32602 and message.startswith("no tool")
