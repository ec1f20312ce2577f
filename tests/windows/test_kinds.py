"""Each kind of trigger marks at the event that the program makes it mark at: first and last persisted index_seq are known."""
import pathlib
import re
import struct
import subprocess

import pytest

from harness import CALL, RETURN, Session, check_recording
from recording import NONE, Process, check_process, durations

HERE = pathlib.Path(__file__).resolve().parent
ROLL = 20
HELD_NS = 20_000_000         # a third of what two threads at full rate fill the buffer in


@pytest.fixture(scope="session")
def kinds(build_dir):
    out = build_dir / "windows" / "kinds"
    out.parent.mkdir(exist_ok=True)
    subprocess.run(["g++", "-O2", "-g", "-pthread", HERE / "kinds.cc", "-o", out], check=True)
    return out


def record(ada, kinds, output, mode, rule, *options, fillers=2, status=0):
    result = ada.trace(output, [kinds, mode, str(fillers)], f"--trigger={rule}", f"--pre-roll-events={ROLL}",
                       f"--post-roll-events={ROLL}", "--on-full=block", "--detail-buffer=256M", *options)
    assert result.status == status, result.stderr.decode()
    check_recording(ada, output)
    process, = [Process(p) for p in Session(output).processes()]
    check_process(process)
    return process


def reach_ns(process, function, kind, number):
    """From ROLL events before the event to as many behind it, by the index."""
    thread, seq, _ = process.find(function, kind)[number]
    return thread.events[min(seq + ROLL, len(thread.events) - 1)][0] - thread.events[max(seq - ROLL, 0)][0]


def check_one_mark(process, kind_text, function, kind, number):
    """One window, marked once: at the number-th event of that kind of the function, with ROLL events on each side."""
    thread, seq, event = process.find(function, kind)[number]
    assert [len(w["marks"]) for w in process.windows] == [1], process.windows
    window, = process.windows
    mark = window["marks"][0]
    assert (mark["thread"], mark["indexSeq"], mark["tsNs"]) == (thread.id, seq, event[0])
    assert window["triggerKind"] == kind_text and window["triggerKinds"] == [kind_text]
    first, last = max(seq - ROLL, 0), min(seq + ROLL, len(thread.events) - 1)
    assert (window["startNs"], window["endNs"]) == (thread.events[first][0], thread.events[last][0]), window["shortReason"]
    # A window is a stretch of time: what happened in the nanosecond of its first or last event belongs to it.
    while first and thread.events[first - 1][0] == window["startNs"]:
        first -= 1
    while last + 1 < len(thread.events) and thread.events[last + 1][0] == window["endNs"]:
        last += 1
    have = [r.index_seq for r in thread.details]
    assert (have[0], have[-1]) == (first, last)


def slow_marks(process, rule):
    """index_seq of the returns of slow() that a rule on its durations marks, from what each took."""
    percent, bound, over = re.match(r"(?:latency|p(\d+))=function:slow>(\d+)ms(?:@over=(\d+))?", rule).groups()
    calls = durations(process.threads[0].events, process.ids("slow"))
    slow = [ns > int(bound) * 1000000 for ns, _ in calls]
    if not percent:
        return [seq for (_, seq), exceeds in zip(calls, slow) if exceeds]
    share, over, above, marks = int(percent), int(over), False, []
    for i, (_, seq) in enumerate(calls):
        n = min(i + 1, over)
        if n < min(over, 100 / (100 - share)):
            continue
        was, above = above, sum(slow[i + 1 - n:i + 1]) > n - -(-share * n // 100)       # nearest rank
        if above and not was:
            marks.append(seq)
    return marks


@pytest.mark.parametrize("fillers", (0, 2))
@pytest.mark.parametrize("rule, mode, function, kind, number", [
    ("symbol=chosen@after=4,limit=1/min", "chosen", "chosen", CALL, 4),
    ("symbol=ch?sen@every=12", "chosen", "chosen", CALL, 0),
    ("symbol=re:^CHOSEN$@nocase,after=11", "chosen", "chosen", CALL, 11),
    ("arg=chosen:1>7@limit=1/min", "chosen", "chosen", CALL, 8),
    ("arg=chosen:2==-3", "chosen", "chosen", CALL, 3),
    ("return=chosen==6", "chosen", "chosen", RETURN, 3),
    ("return=half<-1.5@limit=1/min", "chosen", "half", RETURN, 4),
    ("latency=function:slow>20ms", "slow", "slow", RETURN, 30),
    ("p99=function:slow>20ms@over=100", "slow-twice", "slow", RETURN, 125),
    ("p50=function:slow>5ms@over=4", "half-slow", "slow", RETURN, 4),
    ("rate=function:chosen>10/min", "chosen", "chosen", CALL, 10),
    ("depth>30", "deep", "deep", CALL, 30),
    ("depth=function:deep>20", "deep", "deep", CALL, 20),
    ("new-caller=target@after=3", "callers", "target", CALL, 5),
    ("cpu=function:burn>40ms", "burn", "burn", RETURN, 1),
])
def test_marks_at_the_known_event(ada, kinds, tmp_path, rule, mode, function, kind, number, fillers):
    if rule.startswith("depth"):
        rule += "@limit=1/min"
    if "slow" in mode:
        fillers = 0         # what they do in the 60 ms before the mark is more than any buffer holds
    for again in range(5):
        process = record(ada, kinds, tmp_path / str(again), mode, rule, fillers=fillers)
        if not fillers or reach_ns(process, function, kind, number) < HELD_NS:
            break           # else the machine stopped the thread within its rolls, and the others filled more than any buffer holds
    if "=function:slow>" in rule:
        expected = slow_marks(process, rule)
        assert [m["indexSeq"] for w in process.windows for m in w["marks"]] == expected and expected
        if expected != [process.find(function, kind)[number][1]]:
            return          # a call that does nothing took that long on this machine
    check_one_mark(process, rule.partition("@")[0].replace("=", ":", 1), function, kind, number)


def test_exception_of_a_type(ada, kinds, tmp_path):
    process = record(ada, kinds, tmp_path, "throw", "exception=std::runtime_error")
    mark, = [m for w in process.windows for m in w["marks"]]
    thread, seq, _ = process.find("__cxa_throw")[2]
    assert (mark["thread"], mark["indexSeq"]) == (thread.id, seq)


def test_every_exception(ada, kinds, tmp_path):
    process = record(ada, kinds, tmp_path, "throw", "exception")
    assert sum(w["markedCount"] for w in process.windows) == 5


def last_window(process, kind_text):
    """The window that ends with the process: ROLL events before the last one on the thread that ended it, all to the end."""
    window = process.windows[-1]
    assert kind_text in window["triggerKinds"]
    thread = process.threads[0]
    have = [r.index_seq for r in thread.details]
    assert have and have[-1] == max(seq for seq, e in enumerate(thread.events) if e[5] != NONE)
    assert len(have) >= ROLL
    return window


@pytest.mark.parametrize("mode, rule, status, kind_text", [
    ("crash", "crash", 139, "crash"),
    ("abort", "crash", 134, "crash"),
    ("crash", "signal=SIGSEGV", 139, "signal:SIGSEGV"),
    ("abort", "signal=SIGABRT", 134, "signal:SIGABRT"),
    ("_exit", "exit", 0, "exit"),
    ("abort", "exit", 134, "exit"),
    ("three", "exit", 3, "exit"),
])
def test_end_is_a_window(ada, kinds, tmp_path, mode, rule, status, kind_text):
    process = record(ada, kinds, tmp_path, mode, rule, status=status, fillers=0)
    last_window(process, kind_text)
    if status > 128:
        assert process.manifest["crash"]["signal"] == status - 128


def test_crash_is_kept_without_being_asked_for(ada, kinds, tmp_path):
    result = ada.trace(tmp_path, [kinds, "crash"])
    assert result.status == 139
    process, = [Process(p) for p in Session(tmp_path).processes()]
    check_process(process)
    last_window(process, "crash")


def test_delivered_signal(ada, kinds, tmp_path):
    process = record(ada, kinds, tmp_path, "signal", "signal=SIGUSR1", fillers=0)
    mark, = [m for w in process.windows for m in w["marks"]]
    thread, seq, event = process.find("handler")[0]
    assert mark["thread"] == thread.id and abs(mark["indexSeq"] - seq) <= 1
    assert process.windows[0]["triggerKind"] == "signal:SIGUSR1"


def test_detail_holds_arguments_results_and_stack(ada, kinds, tmp_path):
    process = record(ada, kinds, tmp_path, "chosen", "symbol=chosen@limit=100/s", fillers=0)
    events, detail = process.threads[0].segments[0]
    records = {r.index_seq: r for r in detail.records}
    calls = process.find("chosen")
    assert len(calls) == 12
    for i, (_, seq, _) in enumerate(calls):
        call, back = records[seq], records[seq + 1]
        assert call.x[0] == i and call.x[1] & 0xffffffff == -i & 0xffffffff
        assert back.x[0] & 0xffffffff == 2 * i
        assert call.lr == back.lr and call.sp == back.sp and call.lr
        assert len(call.stack) == 128 and len(call.vectors) == 8
    for i, (_, seq, _) in enumerate(process.find("half")):
        if seq + 1 in records:
            assert struct.unpack("<d", struct.pack("<Q", records[seq + 1].x[2]))[0] == -i / 2


@pytest.mark.parametrize("bytes_", (0, 40, 256))
def test_stack_bytes(ada, kinds, tmp_path, bytes_):
    process = record(ada, kinds, tmp_path, "chosen", "symbol=chosen", f"--stack-bytes={bytes_}", fillers=0)
    assert {(r.type, len(r.stack)) for r in process.threads[0].details} == {(3, bytes_), (4, 0)}
    assert process.manifest["buffering"]["detail"]["stackBytes"] == bytes_


@pytest.mark.parametrize("moment, at_return", (("call", 0), ("both", 48)))
def test_stack_at(ada, kinds, tmp_path, moment, at_return):
    process = record(ada, kinds, tmp_path, "chosen", "symbol=chosen", "--stack-bytes=48", f"--stack-at={moment}", fillers=0)
    kept = {(r.type, len(r.stack)) for r in process.threads[0].details}
    assert kept == {(3, 48), (4, at_return)}
    assert process.manifest["buffering"]["detail"]["stackAt"] == moment


def test_detail_off_keeps_the_index_alone(ada, kinds, tmp_path):
    result = ada.trace(tmp_path, [kinds, "crash"], "--detail=off")
    assert result.status == 139
    process, = [Process(p) for p in Session(tmp_path).processes()]
    assert check_process(process) == 0 and process.manifest["detail_lane"]["capture"] == "off"
    assert {e[5] for e in process.threads[0].events} == {NONE}
