"""The policy changes while the program runs at full rate."""
import json
import pathlib
import socket
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import files  # noqa: E402
from harness import Session, check_recording  # noqa: E402

SWAPS = 10000


def boottime():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Live:
    """A program under `ada trace`, and its control socket."""

    def __init__(self, ada, output, argv, *options):
        self.output = output
        self.process = subprocess.Popen([ada.path, "trace", "--quiet", f"--output={output}", *options, "--", *argv],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        start_new_session=True)
        assert self.process.stdout.readline() == b"ready\n", self.process.stderr.read()
        self.control = json.loads((Session(output).path / "session.json").read_text())["control"]

    def ask(self, **request):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.control)
            client.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(client.makefile("rb").readline())
        assert answer["ok"], answer
        return answer

    def end(self):
        out, err = self.process.communicate(b"\n", timeout=120)
        assert self.process.returncode == 0, err
        return out.decode()


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


def test_ten_thousand_swaps_under_eight_threads(ada, swap, tmp_path):
    """Every mark is of a rule that was in force at its time, and of a function that it names; no event is lost."""
    # Circular, since minutes at full rate are more than a disk should get: what is overwritten then is no loss.
    live = Live(ada, tmp_path, [swap, "8"], "--index-mode=circular", "--no-libcalls", "--trigger=manual", "--pre-roll-events=2",
                "--post-roll-events=2")
    rules = {}
    for number in range(SWAPS // 2):
        function, begin = ("one", "two")[number % 2], boottime()
        rule = live.ask(request="trigger-add", rule=f"symbol={function}")["id"]
        live.ask(request="trigger-remove", id=rule)
        rules[rule] = (function, begin, boottime())
    assert len(rules) == SWAPS // 2
    live.end()
    check_recording(ada, tmp_path)
    process, = [files.Process(p) for p in Session(tmp_path).processes()]
    lane = process.manifest["index_lane"]
    assert lane["lost"] == lane["overwritten"]
    files.check_process(process, numbers=False)
    marks = [m for w in process.windows for m in w["marks"]]
    assert len(marks) > 100
    for mark in marks:
        function, begin, end = rules[mark["rule"]]
        assert process.names[mark["functionId"]] == function and begin <= mark["tsNs"] <= end


def test_a_rule_on_a_function_that_is_not_hooked_yet(ada, swap, tmp_path):
    """--exclude leaves `two` unhooked; the rule patches it while eight threads run through it."""
    live = Live(ada, tmp_path, [swap, "8"], "--on-full=block", "--no-libcalls", "--exclude=two", "--trigger=manual",
                "--pre-roll-events=5", "--post-roll-events=5")
    time.sleep(0.2)
    begin = boottime()
    live.ask(request="trigger-add", rule="symbol=two@limit=10/min")
    added = boottime()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not live.ask(request="status").get("metrics", {}).get("marked_events_detected"):
        time.sleep(0.05)
    out = live.end()
    check_recording(ada, tmp_path)
    process, = [files.Process(p) for p in Session(tmp_path).processes()]
    files.check_process(process)
    calls = process.find("two")
    assert calls and begin <= calls[0][2][0] and calls[0][2][0] < added + 5 * 10**9
    assert sum(w["markedCount"] for w in process.windows) == 10
    check_calls(ada, tmp_path, "".join(line + "\n" for line in out.splitlines() if " two " not in line))


def test_manual_mark(ada, swap, tmp_path):
    live = Live(ada, tmp_path, [swap, "2"], "--no-libcalls", "--on-full=block", "--pre-roll-sec=0.001", "--post-roll-sec=0.001",
                "--detail-buffer=256M")
    begin = boottime()
    result = ada("mark", Session(tmp_path).path, "the button")
    assert result.status == 0, result.stderr
    end = boottime()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and not live.ask(request="status").get("metrics", {}).get("marked_events_detected"):
        time.sleep(0.05)
    live.end()
    process, = [files.Process(p) for p in Session(tmp_path).processes()]
    files.check_process(process)
    marks = [m for w in process.windows for m in w["marks"]]     # the window may be cut: it is 2 ms at full rate
    assert [(m["kind"], m["label"]) for m in marks] == [("manual", "the button")]
    assert begin <= marks[0]["tsNs"] <= end
