"""record, mark and stop: an assistant that makes recordings, and a server that leaves nothing behind."""
import json
import os
import pathlib
import select
import signal

import pytest

from client import SECONDS
from test_tools import failure_of, text_of

pytestmark = pytest.mark.traces
# Says into a FIFO that it runs, and waits for another to be opened.
WAITER = 'echo begun; echo "$$" > begun; read line < go; echo "got $line"; exit 7'
STUBBORN = 'trap "" TERM INT; echo "$$" > begun; while :; do read line < go; done'


class Waiter:
    """A program that waits in `directory`, until it is told to go on."""
    def __init__(self, directory):
        self.directory = directory
        for name in ("begun", "go"):
            os.mkfifo(directory / name)

    def await_begin(self):
        descriptor = os.open(self.directory / "begun", os.O_RDWR)   # so that the open itself doesn't wait
        assert select.select([descriptor], [], [], SECONDS)[0], "the program hasn't begun"
        self.pid = int(os.read(descriptor, 100))
        self.end = os.pidfd_open(self.pid)
        os.close(descriptor)

    def go(self, line):
        (self.directory / "go").write_text(line + "\n")

    def await_end(self):
        assert select.select([self.end], [], [], SECONDS)[0], "the program goes on"
        os.close(self.end)


@pytest.fixture
def waiter(tmp_path):
    return Waiter(tmp_path)


@pytest.fixture
def recording(serve, tmp_path):
    """A server that may record, into tmp_path/traces."""
    (tmp_path / "traces").mkdir()
    return serve("--allow-record", tmp_path / "traces", cwd=tmp_path)


def begin(server, waiter, script=WAITER, **arguments):
    answer = server.call("record", program="/bin/sh", args=["-c", script], **arguments)
    assert answer["isError"] is False, answer
    waiter.await_begin()
    return answer["structuredContent"]


def finished(tmp_path, name):
    return json.loads((tmp_path / "traces" / name / "session.json").read_text())["finalized"]


def test_record_mark_stop_and_report(ada, recording, waiter, tmp_path):
    answer = begin(recording, waiter)
    name = answer["session"]
    assert (answer["state"], answer["timedOut"], "exitStatus" in answer) == ("recording", False, False)
    assert recording.call("list_sessions")["structuredContent"]["rows"][0]["state"] == "recording"
    told = text_of(recording.call("mark", session=name, label="two words")).splitlines()
    assert told[0] == "marked in 1 process" and told[1].startswith("window 0: `ada narrate ") and "--window=0`" in told[1]
    assert text_of(recording.call("stop", session=name)).startswith(str(tmp_path / "traces" / name))
    waiter.await_end()                      # record started it, so it ends with its recording
    assert recording.await_children(0) == []
    assert finished(tmp_path, name)
    assert recording.call("report", session=name)["structuredContent"]["completeness"]["events"] > 0
    windows = json.dumps(recording.call("windows", session=name)["structuredContent"])
    assert "two words" in windows and "manual" in windows
    assert ada("verify", tmp_path / "traces" / name).status == 0
    assert pathlib.Path(answer["stdoutFile"]).read_text() == "begun\n"
    for tool in ("mark", "stop"):
        assert "has ended" in failure_of(recording.call(tool, session=name))


def test_record_waits_for_the_end_and_tells_it(recording, waiter, tmp_path):
    number = recording.begin_call("record", program="/bin/sh", args=["-c", WAITER], wait=600)
    waiter.await_begin()
    assert recording.ask("ping")["result"] == {} and number not in recording.early
    waiter.go("a line")
    answer = recording.await_(number)["result"]["structuredContent"]
    assert (answer["state"], answer["exitStatus"], answer["stdout"], answer["stderr"]) == ("finished", 7, "begun\ngot a line", "")
    assert answer["stdoutBytes"] == len("begun\ngot a line\n")
    assert finished(tmp_path, answer["session"]) and recording.await_children(0) == []


def test_arguments_are_the_program_s_as_they_are(recording, tmp_path):
    words = ["two words", "", "--help", "a'b\"c", "$HOME *", "--", "li\nne", "caf\u00e9"]
    answer = recording.call("record", program="printf", args=["<%s>", *words], wait=600)["structuredContent"]
    assert (answer["exitStatus"], answer["stdout"]) == (0, "".join(f"<{word}>" for word in words))
    assert recording.call("record", program="pwd", wait=600)["structuredContent"]["stdout"] == str(tmp_path)
    assert recording.call("record", program="cat", wait=600)["structuredContent"]["stdout"] == ""   # its input is empty


def test_rules_are_the_recording_s(recording, tmp_path):
    answer = recording.call("record", program="printf", args=["x"], triggers=["symbol=main", "symbol=write"], wait=600)["structuredContent"]
    session = json.loads((tmp_path / "traces" / answer["session"] / "session.json").read_text())
    assert session["options"]["trigger"] == ["symbol=main", "symbol=write"]
    assert "nonsense" in failure_of(recording.call("record", program="printf", triggers=["nonsense"]))


def test_what_is_printed_is_cut_and_the_file_has_all(recording):
    answer = recording.call("record", program="seq", args=["100000"], wait=600)["structuredContent"]
    whole = pathlib.Path(answer["stdoutFile"]).read_text()
    assert whole.startswith("1\n2\n") and answer["stdoutBytes"] == len(whole)
    assert len(answer["stdout"]) < 20000 and whole.endswith(answer["stdout"] + "\n")


@pytest.mark.parametrize("program", ["/nonexistent/program", "no_such_program_anywhere", "", "--help", "."])
def test_a_program_that_is_not_there(recording, tmp_path, program):
    text = failure_of(recording.call("record", program=program))
    assert "ada trace: " in text and "\n" not in text
    assert recording.await_children(0) == []
    assert [path.name for path in (tmp_path / "traces").iterdir()] == []


def test_without_the_option_nothing_runs(server, tmp_path):
    assert "record" not in {tool["name"] for tool in server.ask("tools/list")["result"]["tools"]}
    assert "ada mcp --allow-record" in failure_of(server.call("record", program="touch", args=[str(tmp_path / "made")]))
    assert not (tmp_path / "made").exists() and server.children() == []


def test_the_option_offers_it(recording):
    tools = {tool["name"]: tool for tool in recording.ask("tools/list")["result"]["tools"]}
    assert tools["record"]["annotations"]["destructiveHint"] is True
    assert tools["record"]["inputSchema"]["properties"]["args"] == {
        **tools["record"]["inputSchema"]["properties"]["args"], "type": "array", "items": {"type": "string"}}


@pytest.mark.parametrize("arguments, words", [
    ({}, "needs the argument 'program'"), ({"program": "x", "args": "y"}, "args is an array of strings"),
    ({"program": "x", "args": [1]}, "args is an array of strings"), ({"program": "x", "args": ["a\0b"]}, "NUL"),
    ({"program": "x", "time_limit": 86401}, "at most 86400"), ({"program": "x", "output": "/tmp"}, "no argument 'output'"),
])
def test_arguments_of_the_wrong_form(recording, arguments, words):
    code, message = recording.refused("tools/call", {"name": "record", "arguments": arguments})
    assert code == -32602 and words in message


def test_one_session_is_no_place_for_another(serve, stuck):
    assert "serve the directory that holds it" in failure_of(serve("--allow-record", stuck / "stuck").call("record", program="true"))


@pytest.mark.parametrize("script", [WAITER, STUBBORN])
def test_a_time_limit_ends_program_and_recording(ada, recording, waiter, tmp_path, script):
    number = recording.begin_call("record", program="/bin/sh", args=["-c", script], time_limit=4, wait=600)
    waiter.await_begin()
    answer = recording.await_(number)["result"]["structuredContent"]
    assert (answer["state"], answer["timedOut"]) == ("finished", True)
    waiter.await_end()
    assert recording.await_children(0) == []
    assert finished(tmp_path, answer["session"]) and ada("verify", tmp_path / "traces" / answer["session"]).status == 0


def test_a_cancelled_record_ends_what_it_started(recording, waiter):
    number = recording.begin_call("record", program="/bin/sh", args=["-c", WAITER], wait=600)
    waiter.await_begin()
    recording.tell("notifications/cancelled", {"requestId": number})
    waiter.await_end()
    assert recording.await_children(0) == [] and number not in recording.early


@pytest.mark.parametrize("script", [WAITER, STUBBORN])
@pytest.mark.parametrize("how", ["input", "signal"])
def test_the_server_s_end_is_that_of_its_recordings_in_order(ada, recording, waiter, tmp_path, how, script):
    name = begin(recording, waiter, script)["session"]
    assert (recording.end() if how == "input" else recording.terminate()) == 0
    waiter.await_end()
    assert finished(tmp_path, name) and ada("verify", tmp_path / "traces" / name).status == 0


def test_a_server_that_was_killed_takes_its_recordings_along(recording, waiter, tmp_path):
    begin(recording, waiter)
    recording.terminate(signal.SIGKILL)
    waiter.await_end()


def test_what_the_program_left_running_is_ended(recording, waiter):
    """A child that isn't recorded, in the program's own group."""
    script = "(exec env -i /bin/sh -c 'echo $$ > begun; read line < go') & exit 0"
    number = recording.begin_call("record", program="/bin/sh", args=["-c", script], time_limit=600, wait=600)
    waiter.await_begin()
    text_of(recording.call("stop"))         # the recording had waited for that child
    waiter.await_end()
    assert recording.await_(number)["result"]["structuredContent"]["state"] == "finished"
    assert recording.await_children(0) == []


def test_more_recordings_than_may_be_at_a_time(recording):
    for _ in range(8):
        assert recording.call("record", program="sleep", args=["600"])["structuredContent"]["state"] == "recording"
    assert "8 recordings" in failure_of(recording.call("record", program="sleep", args=["600"]))
