"""ada tui in a terminal: real keys, and what the screen then says beside what graph, report, dump and windows answer."""
import itertools
import json
import pathlib
import re
import subprocess

import pytest

from harness import Session
from terminal import Terminal

SHOP = pathlib.Path(__file__).parents[1] / "view" / "shop.c"

MARKS = re.compile(r"(?<= )([-+] |  )(?=\S)")


@pytest.fixture
def tui(ada, session):
    def open_tui(scenario, *arguments, **more):
        return Terminal(ada.path, "tui", *arguments, session(scenario), **more)
    return open_tui


def body(text, skip=2):
    """The rows: without tabs, titles, lanes and foot."""
    rows = [line.rstrip() for line in text.splitlines()[skip:-1] if line.strip()]
    return list(itertools.takewhile(lambda row: not re.match(r"threads \d+ to ", row), rows))


def said(*words):
    """For `until`: all of them are there. Of a screen that is still being drawn the first may be, and the others not yet."""
    return lambda text: all(word in text for word in words)


def printed(ada, *arguments):
    """Rows of a table that a command prints, without its titles."""
    return [line.rstrip() for line in ada(*arguments).stdout.decode().split("\n\n")[0].splitlines()[1:]]


def calls_of(ada, path, thread):
    """Of a thread, in the order in which they began: function, duration, depth, index_seq."""
    lines = [json.loads(line) for line in ada("dump", "--calls", "--format=json", f"--thread={thread}", path).stdout.splitlines()][:-1]
    return lines


def graph_rows(text):
    """Calls, times, percent; depth and name."""
    rows = []
    for line in body(text):
        cells = re.match(r" *(\S+) +(\S+ \S+|-) +(\S+ \S+|-) +(\S+)  ( *)([-+] |  )(\S.*)$", line)
        rows.append((*cells.groups()[:4], len(cells[5]) // 2, cells[6].strip(), cells[7]))
    return rows


def test_the_graph_is_that_of_graph(ada, session, tui):
    path = session("plain")
    wanted = []
    for line in printed(ada, "graph", "--no-pager", "--min=0", path):
        cells = re.match(r" *(\S+) +(\S+ \S+|-) +(\S+ \S+|-) +(\S+)  ( *)(\S.*)$", line)
        wanted.append((*cells.groups()[:4], len(cells[5]) // 2, cells[6]))
    with tui("plain", lines=60) as terminal:
        terminal.until("FUNCTION")
        for _ in range(20):     # unfolds what is folded at first
            rows = graph_rows(terminal.text())
            folded = next((index for index, row in enumerate(rows) if row[5] == "+"), None)
            if folded is None:
                break
            terminal.type("g" + "j" * folded + "\n")
            terminal.until(lambda text: graph_rows(text)[folded][5] == "-")
        assert [(*row[:5], row[6]) for row in graph_rows(terminal.text())] == wanted
        terminal.type("g\n")
        terminal.until(lambda text: len(graph_rows(text)) == 1)
        terminal.type("/leaf\n")        # what is found is unfolded
        text = terminal.until(lambda text: len(graph_rows(text)) > 1)
        terminal.type("p\n")            # its caller is folded
        terminal.until("+ ")
        terminal.type("/nowhere\n")
        terminal.until("not found: leafnowhere")


def test_callers(ada, session, tui):
    with tui("plain") as terminal:
        terminal.until("FUNCTION")
        terminal.type("/leaf\nc")
        shown = [line.rstrip() for line in terminal.until("Callers of leaf").splitlines()[2:-1] if line.strip()]
        wanted = printed(ada, "graph", "--no-pager", "--callers", "--function=leaf", session("plain"))
        assert shown[:len(wanted)] == wanted


def test_keys_that_lead_nowhere_say_why(ada, session, tui):
    with tui("plain", lines=60) as terminal:
        terminal.until("FUNCTION")
        terminal.type("gp")
        terminal.until("a root of the tree: no recorded function calls it here")
        terminal.type("j")
        terminal.until("h help  q quit")
        terminal.type("3")
        calls = calls_of(ada, session("plain"), 0)
        terminal.until(lambda text: len(body(text)) == len(calls))
        outermost = next(index for index, call in enumerate(calls) if call["depth"] == 0)
        terminal.type("g" + "j" * outermost + "p")
        terminal.until("the thread's outermost call: its caller isn't recorded")


def test_the_report_is_that_of_report(ada, session, tui):
    with tui("plain", columns=120) as terminal:
        terminal.type("2")
        for field in "total", "self", "calls", "mean", "p99", "max", "function":
            wanted = printed(ada, "report", "--no-pager", f"--sort={field}", session("plain"))
            terminal.until(lambda text: body(text) == wanted)
            terminal.type("s")
        terminal.type("/add\n\n")       # to the graph
        terminal.until(lambda text: "FUNCTION" in text and "P99" not in text and "ns::add" in text)


@pytest.mark.parametrize("columns", [80, 40])
def test_a_narrow_report_has_its_functions(ada, session, tui, columns):
    wanted = [re.split(r" {2,}", row)[-2] for row in printed(ada, "report", "--no-pager", "--sort=p99", session("plain"))]
    with tui("plain", columns=columns) as terminal:
        terminal.type("2")
        terminal.until(lambda text: "SELF" in text and "%" not in text and len(body(text)) == len(wanted))  # the graph has a % column
        terminal.type("s" * 4)
        text = terminal.until(lambda text: "P99" in text and len(body(text)) == len(wanted) and
                              all(f"  {name[:6]}" in row for name, row in zip(wanted, body(text))))
        assert "MIN" not in text


def test_help_fits_a_narrow_terminal(tui):
    """Whole words, none lost."""
    with tui("plain", columns=200) as wide, tui("plain", columns=44, lines=80) as narrow:
        words = []
        for terminal in wide, narrow:
            terminal.until("h help")
            terminal.type("h")
            words.append(terminal.until("Keys of ada tui").split("q back")[0].split())
    assert words[0] == words[1]


def timeline_rows(text):
    """Time, duration, depth, mark, name."""
    rows = []
    for line in body(text):
        cells = re.match(r" *(\+\S+) +((?:open )?\S+ \S+|-)  ( *?)(\+ |  )(\S.*)$", line)
        rows.append((cells[1], cells[2], len(cells[3]) // 2, cells[4].strip(), cells[5]))
    return rows


def test_the_timeline_is_that_of_dump(ada, session, tui):
    calls = calls_of(ada, session("plain"), 0)
    with tui("plain", lines=60) as terminal:
        terminal.type("3")
        rows = timeline_rows(terminal.until(lambda text: "thread 0" in text and len(body(text)) == len(calls)))
        assert [(row[4], row[2]) for row in rows] == [(call["function"], call["depth"]) for call in calls]
        text = ada("dump", "--calls", "--no-pager", "--thread=0", session("plain")).stdout.decode().splitlines()
        durations = [re.match(r" *\S+  \S+ +(\S+ \S+|-) \|", line)[1] for line in text[:len(rows)]]
        assert [row[1] for row in rows] == durations
        # Folding hides what a call calls, unfolding shows it.
        first = next(index for index, call in enumerate(calls) if index + 1 < len(calls) and calls[index + 1]["depth"] > call["depth"])
        below = next((index for index in range(first + 1, len(calls)) if calls[index]["depth"] <= calls[first]["depth"]), len(calls))
        terminal.type("g" + "j" * first + "\n")
        left = [call["function"] for call in calls[:first + 1] + calls[below:]]
        terminal.until(lambda text: [row[4] for row in timeline_rows(text)] == left and timeline_rows(text)[first][3] == "+")
        terminal.type("/leaf\n")        # hidden: it is unfolded
        terminal.until(lambda text: len(body(text)) == len(calls))
        number = next(index for index, call in enumerate(calls) if index > first and call["function"] == "leaf")
        terminal.until(f", {calls[number]['index_seq']} of ")
        terminal.type("p")
        caller = max(index for index in range(number) if calls[index]["depth"] < calls[number]["depth"])
        terminal.until(f", {calls[caller]['index_seq']} of ")
        terminal.type("G")
        terminal.until(f", {calls[-1]['index_seq']} of ")
        terminal.type("N")
        last = max(index for index, call in enumerate(calls[:-1]) if call["function"] == "leaf")
        terminal.until(f", {calls[last]['index_seq']} of ")


def test_pages_of_a_large_thread(ada, session, tui):
    """Pages, the end and times: only what is on the screen is read, and it is what dump says there."""
    calls = calls_of(ada, session("large"), 0)
    with tui("large", lines=22) as terminal:        # 20 rows less the titles: 19
        terminal.type("3")
        # Drawn to its end: the foot is the same in all tabs, and the last lane is drawn behind the rows.
        height = len(body(terminal.until(lambda text: "thread 0" in text and re.search("^3 worker .*leaf", text, re.MULTILINE))))
        for keys, number in (("PageDown", height), ("C-d", height + (height + 1) // 2), ("PageUp", (height + 1) // 2), ("Home", 0),
                             ("End", len(calls) - 1), ("Space", len(calls) - 1), ("Up", len(calls) - 2)):
            terminal.press(keys)
            terminal.until(f", {calls[number]['index_seq']} of ")
        shown = [row[4] for row in timeline_rows(terminal.text())]
        assert shown == [call["function"] for call in calls[-height:]]


def test_threads_and_windows_and_details(ada, session, tui):
    path = session("story")
    windows = printed(ada, "windows", "--no-pager", path)
    marks = json.loads(ada("windows", "--format=json", path).stdout)["rows"][0]["marks"]
    mark = next(mark for mark in marks if "indexSeq" in mark)
    with tui("story", columns=200) as terminal:
        terminal.type("2")
        terminal.until(lambda text: "P99" in text and body(text))        # all is counted
        terminal.type("4")
        terminal.until(lambda text: body(text)[:1] == windows[:1] and windows)
        terminal.type("\n")
        terminal.until(f"thread {mark['thread']}")
        terminal.type("g")
        first = terminal.until(", 0 of ")
        name = timeline_rows(first)[0][4]
        terminal.type("d")
        terminal.until(said("A call", f"> {name}", "index_seq 0", "took "))
        terminal.type("q")
        terminal.until(lambda text: "A call" not in text)
        ended = next(call for call in calls_of(ada, path, 0) if call["duration_ns"] is not None)
        row = next(row for row in ada.rows("report", path) if row["function"] == ended["function"])
        terminal.type(f"g/{ended['function']}\nd")
        terminal.until(said("A call", f"of {row['calls']} calls; longer than", "usual        p50 ", ", p90 ", ", p99 ", ", longest "))
        terminal.type("q)")
        terminal.until(lambda text: "A call" not in text)
        for _ in range(10):
            terminal.type(")")
        terminal.type("t+99s\n")
        terminal.type("q")
        assert terminal.ended() == 0


def lane_wanted(events, from_ns, to_ns, columns):
    """Of a thread's events: in the middle of each column the innermost call that is open; neighbours in the same one are a slice."""
    cells, stack, at = [], [], 0
    for column in range(columns):
        middle = from_ns + (to_ns - from_ns) * (2 * column + 1) // (2 * columns)
        while at < len(events) and events[at]["timestamp_ns"] < middle:
            event = events[at]
            if event["kind"] in ("call", "return", "exception"):
                del stack[event["depth"]:]
            if event["kind"] == "call":
                stack.append((event["index_seq"], event["function"]))
            at += 1
        cells.append(stack[-1] if stack else None)
    text = ""
    for _, slice_ in itertools.groupby(cells):
        slice_ = list(slice_)
        text += "." * len(slice_) if slice_[0] is None else ("|" + slice_[0][1])[:len(slice_)].ljust(len(slice_))
    return text.rstrip()


@pytest.mark.parametrize("scenario, columns, lines, shown", [("story", 100, 30, 2), ("random:11:9:3000", 130, 30, 7), ("random:11:9:3000", 90, 14, 2)])
def test_each_thread_has_a_lane(ada, session, tui, scenario, columns, lines, shown):
    path = session(scenario)
    events = [json.loads(line) for line in ada("dump", "--format=json", path).stdout.splitlines()[:-1]]
    threads = [(row["process"], row["thread"]) for row in
               json.loads(ada("query", "--format=json", path, "SELECT process, thread FROM threads").stdout)["rows"]]
    several = len({process for process, _ in threads}) > 1
    begin = min(event["timestamp_ns"] for event in events)
    with tui(scenario, columns=columns, lines=lines) as terminal:
        terminal.type("3")
        for chosen, keys in ((0, ""), (0, "\x06\x06"), (1, ")"), (1, "jjj"), (len(threads) - 1, "((")):
            terminal.type(keys)
            first = min(max(0, chosen - shown // 2), len(threads) - shown)

            def wrong(text, first=first):
                """What differs of the lanes from what is wanted between the first and the last row's time."""
                try:
                    rows = timeline_rows(text)
                except TypeError:
                    return "rows that nobody can read"
                from_ns, to_ns = (begin + int(row[0].replace(".", "").strip("+s")) for row in (rows[0], rows[-1]))
                for (process, thread), lane in zip(threads[first:], text.splitlines()[-1 - shown:-1]):
                    own = [event for event in events if event["thread"] == thread and event.get("process", process) == process]
                    wanted = f"{process} {thread} " if several else f"{thread} ", lane_wanted(own, from_ns, to_ns, columns - 24)
                    if not lane.startswith(wanted[0]) or lane[24:].rstrip() != wanted[1]:
                        return wanted, lane
                return None

            def drawn(text, chosen=chosen, first=first):
                return "{} thread {} ".format(*threads[chosen]) in text and f"threads {first + 1} to {first + shown} of {len(threads)}" in text
            terminal.until(lambda text: drawn(text) and not wrong(text))      # a screen that is still being drawn has rows of two


@pytest.mark.traces
def test_a_window_leads_to_the_call_that_was_marked(ada, tmp_path):
    """Though what a rule of latency marks is its return."""
    subprocess.run(["cc", "-g", "-O1", "-o", tmp_path / "shop", SHOP, "-pthread"], check=True)
    assert ada.trace(tmp_path / "output", [tmp_path / "shop"], "--trigger=latency=function:sell>500us").status == 0
    path = Session(tmp_path / "output").path
    mark = json.loads(ada("windows", "--format=json", path).stdout)["rows"][0]["marks"][0]
    call = [call for call in calls_of(ada, path, mark["thread"]) if call["function"] == "sell" and call["index_seq"] < mark["indexSeq"]][-1]
    assert call["duration_ns"] > 500_000
    with Terminal(ada.path, "tui", path, columns=200) as terminal:
        terminal.until("1 graph")
        terminal.type("4")
        terminal.until("TRIGGERS")
        terminal.type("\n")
        terminal.until(f"thread {mark['thread']} shop, {call['index_seq']} of ")


def test_all_scenarios_can_be_walked(ada, session, tui):
    """Odd names, losses, fibers, sessions that are being recorded, empty ones: every tab is drawn."""
    for scenario in "names", "lossy", "running", "empty", "fibers", "processes", "rules":
        with tui(scenario, columns=70, lines=12) as terminal:
            terminal.until("1 graph")           # keys that come before are echoed by the terminal itself
            for key in "1234":
                terminal.type(key)
                for keys in ("j", "G", "/a\n", "n", "\n", "p", "d"):
                    terminal.type(keys)
                terminal.press("Escape")        # from a call's details
                terminal.type("k ")
                terminal.resize(30 + int(key), 3 + int(key))
                terminal.resize(70, 12)
            terminal.press("C-c")
            assert terminal.ended() == 130
            assert "can't draw" not in terminal.text()


def test_a_terminal_is_needed(ada, session):
    result = ada("tui", session("plain"))
    assert result.status == 125 and b"needs a terminal" in result.stderr
    with Terminal(ada.path, "tui", "/nowhere") as terminal:
        assert terminal.ended() == 125 and "no such session" in terminal.text()


def test_a_terminal_that_nobody_knows(ada, session):
    with Terminal("env", "TERM=no-such-terminal", ada.path, "tui", session("plain")) as terminal:
        assert terminal.ended() == 125
        said = " ".join(terminal.text().split())
        assert "set TERM" in said and "ada graph" in said and "--once" not in said
