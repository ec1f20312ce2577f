"""ada dump --calls: a line a call, and the options that narrow it, on sessions whose answers are known."""
import json

import pytest

CALLS = [("main", 0, 0, 1000, "return"), ("leaf", 0, 1, 100, "return"), ("leaf", 100, 1, 200, "return"),
         ("thrower", 300, 1, 50, "exception"), ("ns::add(int, int)", 350, 1, 10, "return")]
START_NS = 1000000000000


def calls(ada, *arguments):
    told = ada("dump", "--calls", "--format=json", *arguments)
    assert told.status == 0, told.stderr.decode()
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    return [(row["function"], row["timestamp_ns"] - START_NS, row["depth"], row["duration_ns"], row["outcome"]) for row in rows[:-1]]


@pytest.mark.parametrize("arguments, numbers", [
    ([], [0, 1, 2, 3, 4]), (["--min-duration=100ns"], [0, 1, 2]), (["--min-duration=101ns"], [0, 2]), (["--max-depth=1"], [0]),
    (["--function=leaf,ns::add"], [1, 2, 4]), (["--function=re:^[lm]"], [0, 1, 2]), (["--exclude=l*,main"], [3, 4]),
    (["--function=l*", "--exclude=leaf"], []), (["--module=prog"], [0, 1, 2, 3, 4]), (["--module=lib*"], []), (["--limit=2"], [0, 1]),
    (["--from=+100ns"], [2, 3, 4]), (["--thread=0,prog"], [0, 1, 2, 3, 4])])
def test_narrowed(ada, session, arguments, numbers):
    assert calls(ada, *arguments, session("plain")) == [CALLS[number] for number in numbers]


def test_text(ada, session):
    lines = ada("dump", "--min-duration=50ns", session("plain")).stdout.decode().splitlines()
    assert lines == ["    0.000000000  0:prog        1.00 us | main",
                     "    0.000000000  0:prog         100 ns |   leaf",
                     "    0.000000100  0:prog         200 ns |   leaf",
                     "    0.000000300  0:prog          50 ns |   thrower  left by an exception or jump",
                     "10 events; none was lost."]


def test_text_of_calls_that_never_returned(ada, session):
    """How long they have been open, in a line a call and in a line an event."""
    lines = ada("dump", "--calls", session("hung")).stdout.decode().splitlines()
    assert lines == ["    0.000000000  0:prog      open 3.20 s | main",
                     "    0.000000000  0:prog           100 ns |   leaf",
                     "    0.000000100  0:prog      open 3.20 s |   fib",
                     "    3.200000100  1:other           50 ns | leaf",
                     "6 events; none was lost."]
    events = ada("dump", session("hung")).stdout.decode().splitlines()
    assert [line[31:] for line in events[:-1]] == ["> main  open 3.20 s", "  > leaf", "  < leaf  100 ns", "  > fib  open 3.20 s",
                                                   "> leaf", "< leaf  50 ns"]
    assert calls(ada, session("hung"))[2] == ("fib", 100, 1, 3_200_000_050, "open")


def test_text_of_several_processes(ada, session):
    """Their threads have the same numbers: the system's differ."""
    lines = ada("dump", "--calls", session("processes")).stdout.decode().splitlines()
    assert [line[15:] for line in lines[:2]] == ["  50:prog            100 ns | main", "  51:prog            100 ns | main"]
    events = ada("dump", session("processes")).stdout.decode().splitlines()
    assert {line[15:35] for line in events[:-1]} == {"  50:prog           ", "  51:prog           "}


def test_csv_has_the_same(ada, session):
    lines = ada("dump", "--calls", "--format=csv", session("plain")).stdout.decode().splitlines()
    assert lines[0] == "timestamp_ns,thread,tid,index_seq,function,module,depth,duration_ns,self_ns,outcome"
    assert lines[1] == f"{START_NS},0,100,0,main,prog,0,1000,640,return"
    assert lines[5] == f'{START_NS + 350},0,100,7,"ns::add(int, int)",prog,1,10,10,return'


def test_all_calls_of_a_random_session(ada, session):
    """As SQL has them, whatever was lost and left open."""
    path = session("random:7:3:4000")
    table = json.loads(ada("query", "--format=json", path, "SELECT function, start_ns, depth, duration_ns, outcome FROM calls "
                           "ORDER BY start_ns, process, thread, index_seq").stdout)["rows"]
    assert sorted(calls(ada, path), key=str) == sorted(((row["function"], row["start_ns"] - START_NS, row["depth"], row["duration_ns"],
                                                         row["outcome"]) for row in table), key=str)
    assert len(table) > 100


@pytest.mark.parametrize("arguments", [["--calls", "--seq=1-2"], ["--min-duration=1us", "--source"], ["--min-duration=many"]])
def test_what_does_not_go_together(ada, session, arguments):
    refused = ada("dump", *arguments, session("plain"))
    assert (refused.status, refused.stdout, refused.stderr.count(b"\n")) == (125, b"", 1)


def test_events_are_narrowed_too(ada, session):
    rows = [json.loads(line) for line in ada("dump", "--format=json", "--max-depth=1", session("plain")).stdout.splitlines()[:-1]]
    assert [(row["kind"], row["function"]) for row in rows] == [("call", "main"), ("return", "main")]
    rows = [json.loads(line) for line in ada("dump", "--format=json", "--exclude=main,leaf", session("plain")).stdout.splitlines()[:-1]]
    assert [row["function"] for row in rows] == ["thrower"] * 2 + ["ns::add(int, int)"] * 2
