"""Programs whose story is known (story.c): it is told, and each sentence is true by its own evidence."""
import json
import pathlib
import re
import subprocess

import pytest

from claims import Story, duration
from harness import Session
from live import Live

pytestmark = pytest.mark.traces
LATENCY = "--trigger=latency=function:process_image>200ms@pre=1s,post=10ms"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "story"
    subprocess.run(["cc", "-g", "-O1", "-o", path, pathlib.Path(__file__).with_name("story.c"), "-pthread"], check=True)
    return path


@pytest.fixture
def record(ada, program, tmp_path):
    def run(what, *options, status=0):
        result = ada.trace(tmp_path, [program, what], *options)
        assert result.status == status, result.stderr.decode()
        return Session(tmp_path).path
    return run


def told(rows):
    """Texts without source lines."""
    return [re.sub(r" \([\w.-]+:\d+\)", "", row["text"]) for row in rows]


def test_the_call_that_took_long(ada, record):
    story = Story(ada, record("plain", LATENCY))
    kinds = story.check()
    assert {"session", "losses", "coverage", "process", "thread", "window", "trigger", "path", "other-thread", "slow",
            "followed"} <= kinds
    call = next(c for t in story.threads.values() for c in t.calls if c.function == "process_image" and c.took > 200 * 10**6)
    assert len(story.durations("process_image")) == 100
    slow = story.of("slow")[0]
    assert story.call(slow) is call and f"process_image took {duration(call.took)};" in told([slow])[0]
    trigger, = story.of("trigger")
    assert "returned from process_image" in trigger["text"] and story.events(trigger)[-1]["index_seq"] == call.end_position
    assert told(story.of("path")) == ["The call path on thread 0: main > work > process_image."]
    other, = told(story.of("other-thread"))
    assert other.startswith("Thread 1 was waiting in poll of libc.so.6, called by waiter, for ")


def test_a_crash(ada, record):
    story = Story(ada, record("crash", status=139))
    assert {"crash", "crash-address", "open-frames", "last-calls", "still-open"} <= story.check()
    assert told(story.of("open-frames")) == ["3 calls were open on thread 0: main > outer > inner."]
    assert "with SIGSEGV at address 0x0, where nothing is mapped." in story.one("crash")["text"]
    assert re.search(r"check \([^)]*\), work \([^)]*\)(, strcmp \([^)]*\))?\.$", story.one("last-calls")["text"])
    assert any("crash marked thread 0 (SIGSEGV)" in text for text in told(story.of("trigger")))


def test_a_crash_at_an_address_that_nobody_knows(ada, record):
    """No pointer can have it, so the kernel doesn't tell it: that is no access to 0x0."""
    story = Story(ada, record("wild", status=139))
    text = story.one("crash")["text"]
    assert "with SIGSEGV; the kernel does not say at which address, " in text and "0x0" not in text
    assert {"crash-address", "open-frames", "last-calls"} <= story.check()


def test_a_crash_by_a_call_that_leads_nowhere(ada, record):
    story = Story(ada, record("nowhere", status=139))
    story.check()
    assert story.one("crash-address")["text"] == "The instruction pointer was 0x0, where nothing is mapped: a call or a jump led there."
    assert told(story.of("open-frames")) == ["2 calls were open on thread 0: main > call."]


def test_a_crash_that_left_no_room_for_its_record(ada, record):
    """A stack overflow: only the end tells of it, and by its signal."""
    story = Story(ada, record("overflow", "--trigger=crash", "--trigger=exit", "--trigger=signal=SIGSEGV", status=139))
    story.check()
    assert story.one("crash")["text"].startswith("SIGSEGV ended the process, and no handler could run for it")
    assert not story.of("crash-registers") and not story.of("crash-address")
    texts = [re.sub(r"^At \S+ ", "", text) for text in told(story.of("trigger"))]
    assert sorted(texts) in (["crash marked (SIGSEGV).", "exit marked (exit status 139).", "signal:SIGSEGV marked (SIGSEGV)."],
                             ["crash, exit and signal:SIGSEGV marked (SIGSEGV)."]), texts


def test_a_crash_behind_another_mark(ada, record):
    """In the window of a mark before it: the other threads are told of for both moments."""
    story = Story(ada, record("crash", LATENCY, "--trigger=crash", status=139))
    assert {"crash", "crash-other-thread", "other-thread", "slow"} <= story.check()
    assert {row["window"] for row in story.rows if row["window"] is not None} == {0}
    assert len(story.of("trigger")) == 2


def test_a_crash_that_no_window_holds(ada, record):
    story = Story(ada, record("crash", "--detail=off", status=139))
    story.check()
    crash = story.one("crash")
    assert crash["window"] is None and crash["section"].startswith("Crash of pid_")
    assert story.one("coverage")["text"] == "No event has detail: no window was kept."


def test_an_abort(ada, record):
    story = Story(ada, record("abort", status=134))
    story.check()
    assert "SIGABRT" in story.one("crash")["text"] and "main > abort" in told(story.of("open-frames"))[0]


def test_a_caller_that_was_never_seen_before(ada, record):
    story = Story(ada, record("caller", "--trigger=symbol=odd_caller@pre=5s,post=10ms"))
    assert "new-caller" in story.check()
    assert any(text.startswith("On thread 0 process_image was called by odd_caller for the first time in this recording; before that"
                               " work had called it (100 calls") for text in told(story.of("new-caller")))
    assert told(story.of("path")) == ["The call path on thread 0: main > odd_caller."]
    assert not [text for text in told(story.of("new-caller")) if "check" in text]


def test_errors_that_were_returned(ada, record):
    story = Story(ada, record("errors", "--trigger=symbol=try_open@pre=5s,post=10ms"))
    assert "error-return" in story.check()
    texts = told(story.of("error-return"))
    assert "On thread 0 check returned -7; 1 of its 100 returns with detail in this window is negative." in texts
    assert "On thread 0 open returned -1 (ENOENT); no other return of it in this window has detail." in texts
    trigger, = story.of("trigger")
    if "(" in trigger["text"]:      # the argument, where debug information says that it is a string
        assert 'path=' in trigger["text"] or "story.c" in trigger["text"]


def test_calls_that_were_left_by_a_jump(ada, record):
    story = Story(ada, record("throw", "--trigger=symbol=thrower@pre=1s,post=10ms"))
    story.check()
    left = [text for text in told(story.of("followed")) if "ended by an exception or jump" in text]
    assert len(left) == 1 and left[0].startswith(("2 calls on", "3 calls on"))
    assert any("marked call of thrower was left by an exception or jump" in text for text in told(story.of("followed")))


def test_each_rule_of_a_window_is_told(ada, record):
    """Marks of four rules on two threads in one window, far more of them than are told: none of the rules is passed over."""
    rules = ["symbol=waiter", "symbol=check", "arg=check:1>=1", "return=check<0"]
    story = Story(ada, record("plain", *[f"--trigger={rule}@pre=1s,post=5s" for rule in rules]))
    story.check()
    window, = ada.rows("windows", story.session)
    assert window["markedCount"] > 100 and len(window["triggerKinds"]) == 4
    triggers = told(story.of("trigger"))
    # Of the first four marks, wherever among them the other thread's lies: a busy machine may start it late.
    firsts = [mark["kind"] for mark in window["marks"][:4]]
    assert sum("which symbol:check and arg:check:1>=1 marked" in text for text in triggers) == firsts.count("symbol:check") >= 3
    assert sum("thread 0 returned from check = -7 after" in text and "which return:check<0 marked" in text for text in triggers) == 1
    assert sorted(told(story.of("path"))) == ["The call path on thread 0: main > work > check.",
                                              "The call path on thread 0: main > work > check.", "The call path on thread 1: waiter."]
    followed = told(story.of("followed"))
    assert any(re.match(r"After its mark at \S+ thread 0 called process_image \(", text) for text in followed)
    assert len([text for text in followed if "follow on thread" in text]) == 2
    # At the first mark of thread 1 thread 0 was still in pthread_create or behind it; at the others' thread 1 was waiting.
    assert any(text.startswith("Thread 1 was waiting in poll of libc.so.6, called by waiter, for ") for text in told(story.of("other-thread")))


def test_a_window_with_a_rule_of_its_own_is_told(ada, record):
    session = record("many", "--trigger=symbol=tick@pre=10us,post=10us", "--trigger=arg=tick:1==40@pre=10us,post=10us")
    story = Story(ada, session)
    assert "windows" in story.check()
    own = [w["window"] for w in ada.rows("windows", session) if len(w["triggerKinds"]) == 2]
    assert len(own) == 1 and {row["window"] for row in story.rows if row["window"] is not None} == {0, 1, 2, *own}


def test_many_windows_are_summed_up(ada, record):
    session = record("many", "--trigger=symbol=tick@pre=10us,post=10us")
    story = Story(ada, session)
    assert "windows" in story.check()
    windows = ada.rows("windows", session)
    assert len(windows) > 50
    assert len({row["window"] for row in story.rows if row["window"] is not None}) == 3
    assert re.match(rf"{len(windows) - 3} more windows were triggered by symbol:tick, ", story.one("windows")["text"])
    one = Story(ada, session, "--window=20")
    one.check()
    assert {row["window"] for row in one.rows} == {20}


def test_windows_alike_are_told_once(ada, record):
    session = record("alike", "--trigger=latency=nap>10ms@pre=100us,post=100us")
    windows = ada.rows("windows", session)
    assert len(windows) == 12
    story = Story(ada, session)
    assert "windows" not in story.check()
    first, *others = story.of("headline")
    worst = max(windows, key=lambda window: window["marks"][0]["value"])["window"]
    alike = sorted(window["window"] for window in windows if window["window"] != worst)
    assert first["window"] == worst
    assert first["text"].endswith(f" 11 more windows are like it, the first of them window {alike[0]}, the last window {alike[-1]}.")
    assert not any(" like it" in row["text"] for row in others)
    text = ada("narrate", session).stdout.decode()
    assert text.count("Window ") == 1 and "More windows" not in text, text


def test_each_process_has_its_section(ada, record):
    story = Story(ada, record("fork"))
    story.check()
    parent, child = story.of("process")
    assert parent["process"] != child["process"] and "ended with exit status 3" in child["text"]
    assert {row["process"] for row in story.of("thread")} == {parent["process"], child["process"]}


def test_exit_status(ada, record):
    story = Story(ada, record("exit", "--trigger=exit@pre=1s,post=1s", status=3))
    story.check()
    assert "ended with exit status 3" in story.one("process")["text"]
    assert any("exit marked (exit status 3)" in text for text in told(story.of("trigger")))


def test_one_thread_and_some_time(ada, record):
    session = record("plain", LATENCY)
    rows = ada.rows("narrate", session, "--thread=1")
    assert {e["thread"] for row in rows for e in row["evidence"] if "thread" in e and row["kind"] not in ("session", "trigger")} <= {0, 1}
    assert [row for row in rows if row["kind"] == "thread" and row["text"].startswith("Thread 1 ")]
    assert not [row for row in rows if row["kind"] == "thread" and row["text"].startswith("Thread 0 ")]
    assert [row for row in rows if row["kind"] == "selected"]
    later = ada.rows("narrate", session, "--from=+3600s")
    assert [row["kind"] for row in later if row["kind"] in ("thread", "window")] == []


@pytest.mark.parametrize("rule, what, words", [
    ("return=check<0", "plain", "thread 0 returned from check = -7 after "),
    ("arg=process_image:1>99", "plain", 'thread 0 called process_image(number=100, name="picture"), which arg:process_image:1>99 marked'),
    ("new-caller=process_image@after=50", "caller", "thread 0 called process_image("),
    ("cpu=function:work>1us", "plain", "thread 0 returned from work"), ("rate=check>50/min", "plain", "thread 0 called check("),
    ("exception", "throw", None), ("signal=SIGSEGV", "crash", "signal:SIGSEGV marked thread 0 (SIGSEGV)."),
    ("p90=function:check>1ns@over=50", "plain", "thread 0 returned from check")])
def test_every_kind_of_rule(ada, record, rule, what, words):
    story = Story(ada, record(what, f"--trigger={rule}@limit=1/min,pre=1s,post=1ms" if "@" not in rule else
                              f"--trigger={rule},limit=1/min,pre=1s,post=1ms", status=139 if what == "crash" else 0))
    story.check()
    assert not words or any(words in text for text in told(story.of("trigger"))), told(story.of("trigger"))


def test_the_same_bytes_every_time(ada, record):
    session = record("crash", LATENCY, "--trigger=crash", status=139)
    for form in ("text", "markdown", "json"):
        first = ada("narrate", f"--format={form}", session)
        assert first.status == 0 and len(first.stdout) > 1000
        for _ in range(2):
            assert ada("narrate", f"--format={form}", session).stdout == first.stdout
        alone = subprocess.run(["taskset", "-c", "0", ada.path, "narrate", f"--format={form}", session], capture_output=True,
                               timeout=60)
        assert alone.stdout == first.stdout


def test_a_citation_is_a_dump_command(ada, record):
    """What stands in brackets, pasted into dump, gives as many events as it says."""
    session = record("crash", status=139)
    text, _, _ = ada("narrate", "--all", session).stdout.decode().partition("\nOf a citation like ")
    found = re.findall(r"thread (\d+) ((?:#\d+(?:-\d+)?(?:, )?)+)", text)
    assert len(found) > 10
    for thread, ranges in found:
        for first, last in re.findall(r"#(\d+)(?:-(\d+))?", ranges):
            rows = ada("dump", "--format=json", f"--thread={thread}", f"--seq={first}-{last or first}", session).stdout.splitlines()
            assert len(rows) - 1 == int(last or first) - int(first) + 1


def test_a_recording_under_way(ada, program, tmp_path):
    """Told of what is there; and once it is over, of a mark by hand."""
    live = Live(ada, tmp_path, [program, "live"])
    try:
        live.tell("x")
        rows = ada.rows("narrate", live.session)
        process, = [row for row in rows if row["kind"] == "process"]
        assert process["text"].endswith("had not ended when this was last written.")
        assert [row for row in rows if row["kind"] == "unfinished"]
        (pid,) = [manifest["pid"] for manifest in Session(tmp_path).manifests().values()]
        task = pathlib.Path(f"/proc/{pid}/task")
        names = {int(entry.name): (entry / "comm").read_text().rstrip("\n") for entry in task.iterdir()}
        threads = json.loads(ada("info", "--format=json", live.session).stdout)["threads"]
        assert len(threads) > 1 and {each["tid"]: each["name"] for each in threads} == names
        assert ada("mark", "--no-wait", live.session, "look here").status == 0
        live.tell("x")
    finally:
        live.close()
    story = Story(ada, live.session)
    story.check()
    assert any('marked by hand, labelled "look here".' in row["text"] for row in story.of("trigger"))
    assert len(story.of("other-thread")) >= 2
