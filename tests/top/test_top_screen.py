"""ada top on a terminal: real keys, and what the screen then says beside what the other commands answer."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from live import Live
from terminal import Terminal

SOURCE = pathlib.Path(__file__).parent / "busy.c"


def functions_on(text):
    """The functions' rows: name and calls a second."""
    lines = text.splitlines()
    begin = next((index for index, line in enumerate(lines) if line.startswith("CALLS/S")), len(lines)) + 1
    rows = []
    for line in lines[begin:]:
        if not line.strip():
            break
        rows.append(re.split(r" {2,}", line.strip()))
    return rows


def report(ada, path, *arguments):
    """Names in the order of `ada report`, and each row's words."""
    lines = ada("report", "--no-pager", "--sort=self", *arguments, path).stdout.decode().split("\n\n")[0].splitlines()[1:]
    return [re.split(r" {2,}", line.strip()) for line in lines]


def name_of(row):
    return row[-2]


@pytest.fixture
def at_end(ada, session):
    """A terminal in which `ada top` shows the end of the session `plain`."""
    @contextlib.contextmanager
    def open_terminal(**more):
        with Terminal(ada.path, "top", session("plain"), **more) as terminal:
            terminal.until("sorted by self")
            terminal.type("]")
            terminal.until("at the end")
            yield terminal
    return open_terminal


def test_the_functions_are_those_of_report(ada, session, at_end):
    with at_end() as terminal:
        rows = functions_on(terminal.until("leaf"))
        wanted = report(ada, session("plain"))
        assert [name_of(row) for row in rows] == [name_of(row) for row in wanted]
        for row, same in zip(rows, wanted):
            _, total, self_, _, _, _, _, p99, most = same[:9]
            assert row[-6:-2] == [total, self_, p99, most]


def test_sorting_and_the_cursor(ada, session, at_end):
    with at_end() as terminal:
        first = [name_of(row) for row in functions_on(terminal.until("leaf"))]
        for field in "calls", "total", "p99", "max":
            terminal.type("s")
            rows = functions_on(terminal.until(f"sorted by {field}"))
            wanted = ada("top", "--once", f"--sort={field}", session("plain")).stdout.decode()
            assert [name_of(row) for row in rows] == [name_of(row) for row in functions_on(wanted)]
        terminal.type("S")
        terminal.until("sorted by p99")
        terminal.type("ssG\n")      # self again; the last row
        terminal.until(f"Callers of {first[-1]}")


def test_filter_and_callers(ada, session, at_end):
    with at_end() as terminal:
        terminal.type("/LEA\n")
        terminal.until(lambda text: "only *LEA*" in text and [name_of(row) for row in functions_on(text)] == ["leaf"])
        terminal.type("\n")
        shown = [line.rstrip() for line in terminal.until("Callers of leaf").splitlines()[1:] if line.strip()]
        wanted = ada("graph", "--no-pager", "--callers", "--function=leaf", session("plain")).stdout.decode().split("\n\n")[0].splitlines()
        assert shown[:len(wanted)] == wanted
        terminal.type("q/")
        terminal.press("C-u")
        terminal.type("\n")
        terminal.until(lambda text: len(functions_on(text)) > 1)


def test_quitting_gives_the_terminal_back(ada, session):
    with Terminal() as terminal:
        terminal.type("stty -g >before; echo here\n".replace("before", terminal.place.name + "/before"))
        terminal.until("\nhere")
        terminal.type(f"{ada.path} top {session('plain')}; echo ended $?\n")
        terminal.until("sorted by")
        terminal.type("h")
        terminal.until("Keys of ada top")
        terminal.press("Escape")
        terminal.until("sorted by")
        terminal.type("q")
        assert terminal.ended() == 0
        assert "here" in terminal.text() and "sorted by" not in terminal.text()
        terminal.type(f"stty -g | cmp - {terminal.place.name}/before && echo same\n")
        terminal.until("\nsame")


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_give_it_back_too(ada, session, number, status):
    with Terminal(ada.path, "top", session("plain")) as terminal:
        terminal.until("sorted by")
        if number == signal.SIGINT:
            terminal.press("C-c")
        else:
            os.kill(terminal.pid("ada"), number)
        assert terminal.ended() == status
        terminal.type("stty -a | grep -o ' echo ' && echo ok\n")
        terminal.until("\nok")


def test_it_is_stopped_and_goes_on(at_end):
    with at_end() as terminal:
        terminal.press("C-z")
        terminal.until("Stopped")
        terminal.type("echo in the shell\n")
        terminal.until("\nin the shell")
        terminal.type("fg\n")
        terminal.until("at the end")
        terminal.type("s")
        terminal.until("sorted by calls")
        terminal.type("q")
        terminal.until("shell> ")


def test_a_narrow_screen_has_functions_and_what_threads_are_in(at_end):
    with at_end(columns=80) as terminal:
        text = terminal.until("leaf")
        titles = [line.split("  ") for line in text.splitlines() if line.startswith(("CALLS/S", "PROCESS"))]
        assert [title[-1].strip() for title in titles][0] in ("FUNCTION", "MODULE") and "IS IN" in titles[1]
        assert text.splitlines()[-1].rstrip().endswith(("a add a rule", "m mark"))      # no half of a hint
        terminal.resize(40, 30)
        text = terminal.until(lambda text: "leaf" in text and "MODULE" not in text)
        assert "main" in text and "IS IN" in text


def test_another_size(at_end):
    with at_end(columns=120, lines=40) as terminal:
        for columns, lines in ((50, 12), (20, 5), (3, 2), (100, 30)):
            terminal.resize(columns, lines)
        terminal.until(lambda text: "h help" in text and len(text.splitlines()) == 30 and functions_on(text)[:1] and
                       name_of(functions_on(text)[0]) == "main")


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"TERM": "vt100"}, {"NO_COLOR": "1"}, {"LC_ALL": "C", "TERM": "vt100"}])
def test_poor_terminals(at_end, environment):
    with at_end(**environment) as terminal:
        text = terminal.until("leaf")
        assert text.isascii() == ("LC_ALL" in environment)
        assert ("█" in text) != ("LC_ALL" in environment)
        if "LC_ALL" not in environment:
            colours = terminal.text("-e")
            assert not re.search(r"\x1b\[[0-9;]*3[1-6]", colours)
        terminal.type("/le\n")
        terminal.until(lambda text: [name_of(row) for row in functions_on(text)] == ["leaf"])


@pytest.mark.parametrize("terminal_kind", ["dumb", ""])
def test_no_terminal_to_speak_of(ada, session, terminal_kind):
    """It prints, as into a pipe."""
    with Terminal("env", f"TERM={terminal_kind}", ada.path, "top", session("plain")) as terminal:
        assert terminal.ended() == 0
        assert "sorted by" not in terminal.text() and "events/s" in terminal.text()


def test_a_terminal_that_nobody_knows(ada, session):
    with Terminal("env", "TERM=no-such-terminal", ada.path, "top", session("plain")) as terminal:
        assert terminal.ended() == 125
        assert "--once" in terminal.text()


def test_playing_a_finished_session(ada, session):
    """Pause, step, seek, span: each moment's functions are those of report for the span before it."""
    path = session("plain")
    with Terminal(ada.path, "top", "--at=+0.5s", path) as terminal:
        terminal.until("paused at +0.500000000s")
        for keys, moment, span in (("-", "+0.500000000s", "100 ms"), ("-", "+0.500000000s", "10.0 ms"), ("Right", "+0.510000000s", "10.0 ms"),
                                   ("Left", "+0.500000000s", "10.0 ms"), ("t+0.000002s\n", "+0.000002000s", "2.00 us"),
                                   ("t50%\n", "+0.500000", "10.0 ms")):
            terminal.press(keys) if keys in ("Left", "Right") else terminal.type(keys)
            text = terminal.until(lambda text: f"paused at {moment}" in text and f", {span} before it" in text)
            if "us" not in span:
                continue
            wanted = report(ada, path, f"--to={moment}")
            assert [name_of(row) for row in functions_on(text)] == [name_of(row) for row in wanted] and wanted
        terminal.type("tnonsense\n")
        terminal.until("nonsense")
        terminal.press("Escape")
        terminal.type("[")
        terminal.until("paused at +0.000000000s")
        terminal.type(">>>> ")
        terminal.until("at the end")
        terminal.type("m")
        terminal.until("has ended")


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    path = tmp_path_factory.mktemp("busy") / "busy"
    subprocess.run(["gcc", "-O1", "-o", path, SOURCE], check=True)
    return path


@pytest.mark.traces
def test_a_live_session(ada, tmp_path, busy):
    """What is called now is on the screen; a mark and a rule reach the recorder; top shows that the session has ended."""
    live = Live(ada, tmp_path / "out", [busy])
    try:
        with Terminal(ada.path, "top", live.session) as terminal:
            terminal.until("live at")

            def works(text):
                live.tell("work 50\n")
                return any(name_of(row) == "worker" for row in functions_on(text))
            terminal.until(works)
            terminal.until(re.compile(r" lost, pool \d+ %, disk [0-9.]+ \w+ free").search)
            terminal.type("m")
            terminal.until("marked in 1 process")
            assert live.request("status")["metrics"]["marked_events_detected"] >= 1
            terminal.type("alatency=worker>x\n")
            text = terminal.until("at character ")
            lines = text.splitlines()
            caret = next(line for line in lines if line.strip() == "^").index("^")
            asked = next(line for line in lines if line.startswith("add a rule: "))
            character = int(text.split("at character ")[1].split(":")[0])
            assert caret == len("add a rule: ") + character - 1 and asked[caret] == "x"
            terminal.press("BSpace")
            terminal.type("5ms\n")
            terminal.until(re.compile(r"rule \d+ is in force").search)
            assert "latency=worker>5ms" in [rule["rule"] for rule in live.request("trigger-list")["policy"]["rules"]]
            terminal.type(" ")
            terminal.until("paused")
            terminal.type("]")
            live.end()
            terminal.until("at the end")
            assert "recorder is gone" not in terminal.text()
            terminal.type("a")
            terminal.until("has ended")
            terminal.type("q")
            assert terminal.ended() == 0
    finally:
        live.close()


@pytest.mark.traces
def test_a_recorder_that_does_not_answer_holds_no_key(ada, tmp_path, busy):
    """It is stopped: keys are heard, what it was asked is told once it answers, and nobody says that it is gone."""
    live = Live(ada, tmp_path / "out", [busy])
    try:
        live.tell("work 50\n")
        with Terminal(ada.path, "top", live.session, columns=150) as terminal:
            terminal.until("live at")
            os.kill(live.process.pid, signal.SIGSTOP)
            terminal.until("its recorder doesn't answer")
            terminal.type("m")
            terminal.until("the mark may come later")
            terminal.type("s")
            assert "recorder is gone" not in terminal.until("sorted by calls")
            terminal.type("alatency=worker>5ms\n")
            terminal.until("hasn't answered what it was asked before")
            terminal.press("Escape")
            terminal.until(lambda text: "add a rule: " not in text)
            os.kill(live.process.pid, signal.SIGCONT)
            terminal.until("marked in 1 process")
            terminal.until(lambda text: "doesn't answer" not in text)
            assert live.request("status")["metrics"]["marked_events_detected"] >= 1
            os.kill(live.process.pid, signal.SIGSTOP)
            terminal.type("m")
            terminal.until("the mark may come later")
            terminal.type("q")
            assert terminal.ended() == 0
    finally:
        os.kill(live.process.pid, signal.SIGCONT)
        live.close()


@pytest.mark.traces
def test_it_is_told_what_share_was_counted(ada, tmp_path, busy):
    """Of more events than a look counts. How many the program makes a second is the machine's to say: what is asked for is all that it ever
    made, which grows until it is too much."""
    live = Live(ada, tmp_path / "out", [busy], "--pack=always")
    try:
        with Terminal(ada.path, "top", live.session, columns=150) as terminal:
            terminal.until("live at")
            terminal.type("+++")

            def shares(text):
                live.tell("touch 300000\n")
                return re.search(r"before it \(\d+ % of [^)]+\)", text)
            terminal.until(shares)
    finally:
        live.close()


@pytest.mark.traces
def test_a_recorder_that_dies_and_a_session_that_is_recovered(ada, tmp_path, busy):
    """Recorder, keeper and program are killed together; `ada recover` finishes the session while it is looked at."""
    live = Live(ada, tmp_path / "out", [busy])
    try:
        live.tell("work 50\n")
        with Terminal(ada.path, "top", live.session, columns=150) as terminal:
            terminal.until("live at")
            os.killpg(live.process.pid, signal.SIGKILL)
            live.process.wait()
            terminal.until(lambda text: "at the end" in text)
            ada("recover", live.session)
            terminal.until(lambda text: "recorder is gone" not in text and any(name_of(row) == "worker" for row in functions_on(text)))
            terminal.type("q")
            assert terminal.ended() == 0
    finally:
        live.close()


def test_a_session_that_begins_and_goes(ada, copy):
    """Files that can't be read meanwhile are told at the foot; what was there stays."""
    path = copy("plain")
    for manifest in path.glob("pid_*/manifest.json"):      # so that it is looked at again
        manifest.write_text(manifest.read_text().replace('"finalized": true', '"finalized": false'))
    with Terminal(ada.path, "top", path) as terminal:
        terminal.until("leaf")
        shutil.move(path, path.with_name("elsewhere"))
        terminal.until("no such session")
        assert "leaf" in terminal.text()
        shutil.move(path.with_name("elsewhere"), path)
        terminal.type("s")
        terminal.until(lambda text: "no such session" not in text and "leaf" in text)
