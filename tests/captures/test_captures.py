"""--capture: what arguments point at, in dump and SQL; of each program the answer is known beforehand."""
import json
import os
import pathlib
import subprocess

import pytest

from harness import Session

pytestmark = pytest.mark.traces
PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"
WINDOW = "--trigger=symbol={}@pre=100000ev,post=100000ev"


@pytest.fixture
def record(ada, tmp_path):
    """A program, recorded: its session and, of each call with captures in order, its function and these."""
    def run(name, *options, marks="main", status=0):
        program = tmp_path / "program"
        subprocess.run(["cc", "-g", "-O1", "-I", PROGRAMS, "-o", program, PROGRAMS / f"{name}.c", "-pthread"], check=True)
        (tmp_path / "traces").mkdir()
        result = ada.trace(tmp_path / "traces", [program], WINDOW.format(marks), "--on-full=block", *options)
        assert result.status == status, result.stderr.decode()
        session = Session(tmp_path / "traces").path
        assert ada("verify", session).status == 0
        return session
    return run


def captured(ada, session, function):
    rows = json.loads(ada("query", "--format=json", session, f"SELECT captured FROM detail WHERE function = '{function}' AND kind = 'call'"
                          " ORDER BY process, timestamp_ns").stdout)["rows"]
    return [json.loads(r["captured"]) if r["captured"] else None for r in rows]


def short(entries):
    """Of each entry: argument, bytes, whether they are cut or end where memory does."""
    return [(e["argument"], bytes.fromhex(e["bytes"]), "cut" if e["cut"] else "bad" if e["unreadable"] else "") for e in entries]


def test_bad_pointers(ada, record):
    session = record("memory/capture_bad", "--capture=take:1=str,take:2=buf[3],take:4=*256", marks="main")
    calls = [short(c) for c in captured(ada, session, "take")]
    assert len(calls) == 9
    for call in calls[:6]:
        assert call == [(1, b"", "bad"), (2, b"", "bad"), (4, b"", "bad")]
    edge = (b"edgeless", "bad")
    assert calls[6] == [(1, *edge), (2, *edge), (4, *edge)]
    zeros = bytes(2)                                        # up to the page's end; the next page begins with zeros
    assert calls[7] == [(1, b"at_edge", ""), (2, b"edgeless", ""), (4, b"at_edge" + zeros + bytes(247), "")]
    assert calls[8] == [(1, *edge), (2, b"at_edge" + zeros + bytes(247), "cut"), (4, *edge)]
    assert [short(c) for c in captured(ada, session, "open")] == [[(1, b"", "bad")]] * 6 + [[(1, *edge)]]


def test_memory_that_comes_and_goes(ada, record):
    """Each capture is what was there at some moment: zeros, x, or nothing."""
    session = record("memory/capture_unmapped", "--capture=take:1=str,take:2=*256")
    calls = captured(ada, session, "take")
    assert len(calls) == 20000 and all(len(c) == 2 for c in calls)
    assert all(not set(bytes.fromhex(e["bytes"])) - set(b"\0x") for c in calls for e in c)


def test_confined(ada, record):
    """The thread's own stack and the program's constants are read; nothing else is."""
    session = record("processes/capture_confined", "--capture=take:1=str")
    calls = [short(c) for c in captured(ada, session, "take")]
    assert calls == [[(1, b"warm", "")], [(1, b"on_stack", "")], [(1, b"a_constant", "")], [(1, b"", "bad")]]
    assert [short(c) for c in captured(ada, session, "open")] == [[(1, b"/no/file", "")]] + [[(1, b"/no/such/file", "")]] * 3


def test_signals(ada, record):
    """A handler whose own calls are captured comes in between all the time: each text is its own call's."""
    session = record("signals/capture_storm", "--capture=outer:1=str,inner:1=str", marks="done")
    for function in ("outer", "inner"):
        rows = json.loads(ada("query", "--format=json", session, f"SELECT x1, captured FROM detail WHERE function = '{function}' AND"
                              " kind = 'call'").stdout)["rows"]
        texts = [(f"{function} {r['x1']}", json.loads(r["captured"])[0]["text"]) for r in rows if r["captured"]]
        assert all(wanted == text for wanted, text in texts)
        assert len(rows) > 100 and len(texts) > 0.95 * len(rows)


def test_fork(ada, record):
    session = record("processes/capture_forked", "--capture=take:1=str", marks="take,main")
    texts = [c[0]["text"] for c in captured(ada, session, "take")]
    assert sorted(texts) == ["childs", "parents", "parents"]
    assert "/bin/true" in [c[0]["text"] for c in captured(ada, session, "execl") if c]


def test_dump(ada, record):
    session = record("processes/capture_confined", "--capture=take:1=str")
    lines = [json.loads(line) for line in ada("dump", "--format=json", "--detail", "--function=open", session).stdout.splitlines()]
    call = next(line for line in lines if line.get("kind") == "call")
    assert call["detail"]["captured"] == [{"argument": 1, "address": call["detail"]["rdi"], "bytes": b"/no/file".hex(),
                                           "text": "/no/file", "cut": False, "unreadable": False}]
    text = ada("dump", "--detail", "--function=open", session).stdout.decode()
    assert 'argument 1 at 0x' in text and '"/no/file"' in text


def test_addresses(ada, record):
    """Of sockets, as people write them, whatever type the pointer comes in; what follows a transparent union is where it was passed."""
    session = record("memory/capture_addresses", "--capture=auto,dial:2=buf[3],reach:2=buf[3]", marks="dial")
    lines = [json.loads(line) for line in ada("dump", "--format=json", "--detail", session).stdout.splitlines()]
    for function, more in (("dial", ["41"]), ("reach", []), ("connect", [])):
        calls = [[a["text"] for a in line["detail"]["args"]] for line in lines
                 if line.get("kind") == "call" and line["function"] == function]
        wanted = [["127.0.0.1:9", "16"], ["[::1]:80", "28"], ["/no/such/socket", "110"], ["@no such socket", "17"]]
        assert [[*call[1:3], *call[3:]] for call in calls[:4]] == [[*w, *more] for w in wanted], function
        assert calls[4][1].startswith("0x") and calls[4][2:] == ["16", *more]   # of no family that is known


def test_off(ada, record):
    session = record("memory/capture_bad", "--capture=off", marks="main")
    assert set(map(str, captured(ada, session, "open"))) == {"None"}


@pytest.mark.parametrize("text, place, says", [
    ("open", 5, ":N=HOW, is missing"), ("open:1", 7, "=str, =buf[M]"), ("open:7=str", 6, "N 1 to 6"), ("open:1=str,write", 17, ":N=HOW, is missing"),
    ("open:1=str,write:2=bif[3]", 19, "=str, =buf[M]"), ("open:1=str,write:9=buf[3]", 18, "N 1 to 6"), ("a:1=*0", 4, "1 to 256"),
    ("a:1=*257", 4, "1 to 256"), ("a:1=buf[0]", 4, "M 1 to 6"), (":1=str", 1, "a function is missing"), ("a:1=strx", 4, "=str"),
    ("", 1, "all of it is missing")])
def test_mistakes(ada, tmp_path, text, place, says):
    result = ada("trace", f"--output={tmp_path}", f"--capture={text}", "/bin/true")
    assert result.status == 125 and not list(tmp_path.iterdir())
    assert result.stderr.decode().startswith(f"ada trace: --capture '{text}': at character {place}: ")
    assert says in result.stderr.decode()


@pytest.mark.parametrize("text", ["ns::f<a, b>(int):2=str", "re:/a,b:1=x/:1=buf[2],c:1=*256", "auto", "off"])
def test_grammar(ada, tmp_path, text):
    assert ada("trace", "-q", f"--output={tmp_path}", f"--capture={text}", "/bin/true").status == 0


def test_patterns_that_fit_nothing_are_told(ada, tmp_path):
    told = ada("trace", "-q", f"--output={tmp_path}", "--capture=opem:1=str,open:1=str,re:/^frob/:1=str", "--budget", "--keep=mallok,malloc",
               "/bin/true")
    assert told.status == 0
    assert told.stderr.decode().splitlines() == ["ada: --keep: no function is called mallok; near it: malloc",
                                                 "ada: --capture: no function is called opem; near it: open",
                                                 "ada: --capture: no function is called ^frob"]


SHORT = r"""
void tiny(const char *text);
__asm__(".text\n.balign 16\n.globl before\n.type before,@function\nbefore: nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; nop; ret\n"
        ".size before,.-before\n.globl tiny\n.type tiny,@function\ntiny: ret\n.size tiny,.-tiny\n"
        ".globl behind\n.type behind,@function\nbehind: nop; nop; nop; nop; nop; nop; ret\n.size behind,.-behind\n");
__attribute__((noinline)) void large(const char *text) { __asm__ volatile("nop; nop; nop; nop; nop; nop; nop" : : "r"(text) : "memory"); }
int main(void) { tiny("a"); large("b"); return 0; }
"""


def test_a_function_that_takes_no_hook_is_told_once(ada, tmp_path):
    program = tmp_path / "short"
    subprocess.run(["cc", "-O1", "-x", "c", "-", "-o", program], input=SHORT.encode(), check=True)
    for option, says in (("tiny:1=str,tiny:2=str,large:1=str", True), ("t*:1=str,large:1=str", False), ("large:1=str", False)):
        told = ada("trace", "-q", f"--output={tmp_path}", f"--capture={option}", program)
        assert told.status == 0
        lines = told.stderr.decode().splitlines()
        assert [f"ada: --capture: tiny in {program} can't be hooked at its entry (" in line for line in lines] == [True] * says, lines
