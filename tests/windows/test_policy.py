"""The policy changes while the program runs at full rate."""
import json
import pathlib
import subprocess
import time

import pytest

from harness import Session, check_recording
from live import Live
from recording import Process, check_process

HERE = pathlib.Path(__file__).resolve().parent


def boottime():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def ended(live):
    """What the program counted."""
    live.say("\n")
    return live.end()[0]


def marks_of(live):
    return live.request("status").get("metrics", {}).get("marked_events_detected") or 0


def wait_for_marks(live, count=1, seconds=60, every=0.05):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and marks_of(live) < count:
        time.sleep(every)


@pytest.fixture
def traced(ada, swap, tmp_path):
    """traced(THREADS, OPTION...)"""
    started = []

    def start(threads, *options):
        started.append(Live(ada, tmp_path, [swap, threads], "--no-libcalls", *options))
        return started[-1]
    yield start
    for live in started:
        live.close()


@pytest.fixture(scope="session")
def swap(build_dir):
    out = build_dir / "windows" / "swap"
    out.parent.mkdir(exist_ok=True)
    subprocess.run(["gcc", "-O2", "-g", "-pthread", HERE / "swap.c", "-o", out], check=True)
    return out


def check_calls(ada, output, out):
    counted = {words[1]: int(words[2]) for words in map(str.split, out.splitlines()) if words[:1] == ["calls"]}
    seen = {row["function"]: row["calls"] for row in ada.rows("report", Session(output).path)}
    assert {name: seen[name] for name in counted} == counted


def beside_counted(ada, output, out):
    """Events, lost ones included, that the program's own count doesn't know of: of main, of its threads' first functions. How often it
    waited for the recorder is the machine's."""
    session = Session(output)
    lanes = [manifest["index_lane"] for manifest in session.manifests().values()]
    query = ada("query", "--format=json", session.path, "SELECT count(*) AS n FROM events WHERE kind = 'recorder'")
    waits = json.loads(query.stdout)["rows"][0]["n"]
    counted = sum(int(words[2]) for words in map(str.split, out.splitlines()) if words[:1] == ["calls"])
    return sum(lane["event_count"] - lane["gaps"] + lane["lost"] for lane in lanes) - waits - 2 * counted      # a gap is a LOST event


def test_swaps_under_eight_threads(ada, swap, traced, tmp_path, rounds):
    """Every mark is of a rule that was in force at its time, and of a function that it names; no event is lost."""
    # Circular, since minutes at full rate are more than a disk should get: what is overwritten then is no loss. Rolls are times, since
    # a circular index counts no events before its end: until then all detail behind a mark would go to the disk.
    live = traced(8, "--index-mode=circular", "--trigger=manual", "--pre-roll-sec=0.00001", "--post-roll-sec=0.00001")
    rules, pairs = {}, rounds(5000, 1500)
    for number in range(pairs):
        function, begin = ("one", "two")[number % 2], boottime()
        rule = live.request("trigger-add", rule=f"symbol={function}")["id"]
        # Most rules go again at once; where the machine is full, hardly a call falls on them. So some stay until a call was marked.
        if number % 5 == 0 and (marks := marks_of(live)) < 200:
            wait_for_marks(live, marks + 1, every=0.001)
        live.request("trigger-remove", id=rule)
        rules[rule] = (function, begin, boottime())
    assert len(rules) == pairs
    out = ended(live)
    check_recording(ada, tmp_path)
    process, = [Process(p) for p in Session(tmp_path).processes()]
    lane = process.manifest["index_lane"]
    assert lane["lost"] == lane["overwritten"]
    still = Live(ada, tmp_path / "still", [swap, 8], "--no-libcalls", "--on-full=block", "--detail=off")
    assert beside_counted(ada, tmp_path, out) == beside_counted(ada, still.output, ended(still))
    check_process(process, numbers=False)
    marks = [m for w in process.windows for m in w["marks"]]
    assert len(marks) > 100
    for mark in marks:
        function, begin, end = rules[mark["rule"]]
        assert process.names[mark["functionId"]] == function and begin <= mark["tsNs"] <= end


def test_a_rule_on_a_function_that_is_not_hooked_yet(ada, traced, tmp_path):
    """--exclude leaves `two` unhooked; the rule patches it while eight threads run through it."""
    live = traced(8, "--on-full=block", "--exclude=two", "--trigger=manual", "--pre-roll-events=5", "--post-roll-events=5")
    time.sleep(0.2)
    begin = boottime()
    live.request("trigger-add", rule="symbol=two@limit=10/min")
    added = boottime()
    wait_for_marks(live, 10)
    out = ended(live)
    check_recording(ada, tmp_path)
    process, = [Process(p) for p in Session(tmp_path).processes()]
    check_process(process)
    calls = process.find("two")
    assert calls and begin <= calls[0][2][0] and calls[0][2][0] < added + 5 * 10**9
    assert sum(w["markedCount"] for w in process.windows) == 10
    check_calls(ada, tmp_path, "".join(line + "\n" for line in out.splitlines() if " two " not in line))


def test_manual_mark(ada, traced, tmp_path):
    live = traced(2, "--on-full=block", "--pre-roll-sec=0.001", "--post-roll-sec=0.001", "--detail-buffer=256M")
    begin = boottime()
    result = ada("mark", Session(tmp_path).path, "the button")
    assert result.status == 0, result.stderr
    end = boottime()
    wait_for_marks(live)
    ended(live)
    process, = [Process(p) for p in Session(tmp_path).processes()]
    check_process(process)
    marks = [m for w in process.windows for m in w["marks"]]     # the window may be cut: it is 2 ms at full rate
    assert [(m["kind"], m["label"]) for m in marks] == [("manual", "the button")]
    assert begin <= marks[0]["tsNs"] <= end
