"""Rust programs that panic: who, where and with what message is the headline, of a crash and of a window that a rule marked; else nobody."""
import json
import pathlib
import re
import subprocess

import pytest

from harness import Session

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
SOURCE = (HERE / "panic.rs").read_text().splitlines()
# the message; None: nobody records it
WAYS = {
    "index": "index out of bounds: the len is 3 but the index is 7",
    "formatted": "no room for 7 of 3",
    "text": "no room",
    "unwrap": "called `Result::unwrap()` on an `Err` value: ParseIntError { kind: InvalidDigit }",
    "equal": "assertion `left == right` failed: counted wrong\n  left: 7\n right: 3",
    "long": ("all work and no play " * 20)[:256] + "...",
    "any": None,
    "quiet": None,                                  # a hook of its own, which doesn't ask
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Where they are, and whether this Rust's library has the function that is asked for the text (1.91 has)."""
    directory = tmp_path_factory.mktemp("panics")
    for name, how in (("unwinds", "unwind"), ("aborts", "abort")):
        subprocess.run(["rustc", "-g", "-C", "opt-level=1", "-C", f"panic={how}", "-o", directory / name, HERE / "panic.rs"], check=True)
    return directory, b"payload_as_str" in subprocess.run(["nm", directory / "aborts"], check=True, capture_output=True).stdout


def headline_of(ada, tmp_path, argv, *options):
    ada.trace(tmp_path, argv, *options, env={"RUST_BACKTRACE": "0"})
    rows = json.loads(ada("narrate", "--format=json", Session(tmp_path).path).stdout)["rows"]
    headlines = [r for r in rows if r["kind"] == "headline"]
    assert headlines, rows
    return headlines[0], rows


def line_of(way):
    own = "text" if way == "quiet" else way
    return next(i for i, text in enumerate(SOURCE, 1) if f'"{own}" =>' in text)


def expected(way, thread, known):
    text = WAYS[way] if known else None
    said = f": {re.sub(chr(10) + ' *', '; ', text)}" if text else "; with what message is not recorded"
    return rf"^panic::explode panicked on thread {int(thread)} at panic\.rs:{line_of(way)}:\d+{re.escape(said)}"


@pytest.mark.parametrize("thread", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_crash_by_a_panic_is_told(ada, programs, tmp_path, way, thread):
    directory, known = programs
    headline, _ = headline_of(ada, tmp_path, [directory / "aborts", way, *["thread"] * thread])
    assert re.search(expected(way, thread, known) + r"; SIGABRT ended the process\.$", headline["text"]), headline["text"]
    crash = headline["crash"]
    assert (crash["kind"], crash["function"], crash["signal"], crash["thread"]) == ("panic", "panic::explode", "SIGABRT", int(thread))
    assert pathlib.Path(crash["file"]) == HERE / "panic.rs" and crash["line"] == line_of(way)
    assert crash["text"] == (WAYS[way] if known else None) and crash["culprit_thread"] is None


@pytest.mark.parametrize("thread", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_a_panic_that_a_rule_marked_is_told(ada, programs, tmp_path, way, thread):
    directory, known = programs
    headline, rows = headline_of(ada, tmp_path, [directory / "unwinds", way, *["thread"] * thread], "--trigger=exception")
    assert re.search(expected(way, thread, known) + r"\.$", headline["text"]), headline["text"]
    assert headline["cause"] is None
    assert [e["thread"] for e in headline["evidence"] if "thread" in e] == [int(thread)]


def test_the_time_that_a_backtrace_takes_is_no_cause(ada, programs, tmp_path):
    directory, known = programs
    ada.trace(tmp_path, [directory / "unwinds", "index"], "--trigger=exception", env={"RUST_BACKTRACE": "1"})
    rows = json.loads(ada("narrate", "--format=json", Session(tmp_path).path).stdout)["rows"]
    headline = next(r for r in rows if r["kind"] == "headline")
    assert re.search(expected("index", False, known), headline["text"]), headline["text"]


@pytest.mark.parametrize("option", ["--redact=std::panicking::payload_as_str:1", "--capture=off"])
def test_a_message_that_was_not_to_be_captured_is_not_told(ada, programs, tmp_path, option):
    headline, _ = headline_of(ada, tmp_path, [programs[0] / "aborts", "formatted"], option)
    assert re.search(expected("formatted", False, False), headline["text"]), headline["text"]


@pytest.mark.parametrize("thread", [False, True])
def test_a_panic_that_was_caught_is_not_what_ended_the_process(ada, programs, tmp_path, thread):
    headline, rows = headline_of(ada, tmp_path, [programs[0] / "unwinds", "innocent", *["thread"] * thread])
    assert headline["crash"]["kind"] == "unknown" and headline["crash"]["text"] is None
    assert "panicked" not in headline["text"], headline["text"]


def test_nothing_is_told_without_a_panic(ada, programs, tmp_path):
    ada.trace(tmp_path, [programs[0] / "unwinds", "control"], "--trigger=exception")
    rows = json.loads(ada("narrate", "--format=json", Session(tmp_path).path).stdout)["rows"]
    assert not [r for r in rows if "panicked" in r["text"]]


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    path = tmp_path_factory.mktemp("deep") / "deep"
    subprocess.run(["rustc", "-g", "-A", "unconditional_recursion", "-C", "opt-level=1", "-o", path, HERE / "deep.rs"], check=True)
    return path


@pytest.mark.parametrize("thread", [False, True])
@pytest.mark.parametrize("kind, blamed", [("one", "deep::walk"), ("two", "deep::(descend|climb)")])
def test_a_stack_overflow_is_told(ada, deep, tmp_path, kind, blamed, thread):
    """Rust's handler of SIGSEGV, which has a stack of its own, is what aborts, so that SIGABRT ends it: the recursion is to blame."""
    headline, _ = headline_of(ada, tmp_path, [deep, kind, *["thread"] * thread])
    words = (rf"^{blamed} used up the stack of thread {int(thread)}: it was in itself [\d,]+ times, with [\d.]+ MiB of stack, when SIGABRT"
             r" ended the process\.$")
    assert re.search(words, headline["text"]), headline["text"]
    crash = headline["crash"]
    assert (crash["kind"], crash["thread"], crash["signal"]) == ("overflow", int(thread), "SIGSEGV")
    assert crash["depth"] > 2000 and (8 << 18 if thread else 8 << 20) * 0.8 < crash["stack_bytes"] < 10 << 20


@pytest.mark.parametrize("thread", [False, True])
def test_a_recursion_that_came_back_is_not_blamed_for_an_abort(ada, deep, tmp_path, thread):
    headline, _ = headline_of(ada, tmp_path, [deep, "back", *["thread"] * thread])
    assert headline["crash"]["kind"] == "unknown" and "walk" not in headline["text"], headline["text"]
