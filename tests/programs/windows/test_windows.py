"""The edge cases of BH-007, each a test named after it. What must be persisted is computed from the index alone: a roll counted
in events goes from the N-th predecessor of the marked event to its M-th successor; one in time is exact to the ns."""
import json
import pathlib
import re
import sys

import jsonschema
import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

import catalog  # noqa: E402
from harness import CALL, check_recording  # noqa: E402
from recording import Process, check_process  # noqa: E402

MS = 1_000_000


class Recording(Process):
    """A session of one process: the events, and index numbers of what is persisted, of each thread."""

    def __init__(self, ada, output):
        path, = check_recording(ada, output).processes()
        super().__init__(path)
        jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "manifest.schema.json").read_text())).validate(self.manifest)
        check_process(self)
        self.events = {t.id: list(t.events) for t in self.threads if t.segments}
        self.persisted = {t.id: [r.index_seq for r in t.details] for t in self.threads if t.segments}

    def calls(self, name, thread=0):
        ids = self.ids(name)
        return [seq for seq, e in enumerate(self.events[thread]) if e[3] == CALL and e[1] in ids]

    def time(self, seq, thread=0):
        return self.events[thread][seq][0]

    def between(self, start_ns, end_ns, thread=0):
        return [seq for seq, e in enumerate(self.events[thread]) if start_ns <= e[0] <= end_ns]

    def stretch(self, first, last, thread=0):
        """From one event to another. A window is a stretch of time: what happened in the nanosecond of its first or last event is in it."""
        return self.between(self.time(first, thread), self.time(last, thread), thread)

    def check_whole(self):
        """No hole inside a window, on any thread, and nothing outside of them."""
        for thread in self.events:
            wanted = [seq for w in self.windows for seq in self.between(w["startNs"], w["endNs"], thread)]
            assert self.persisted[thread] == wanted, f"thread {thread}"
        lane = self.manifest["detail_lane"]
        persisted = sum(map(len, self.persisted.values()))
        assert lane["event_count"] == persisted == sum(w["event_count"] for w in self.windows)
        assert lane["coverage_ratio"] == pytest.approx(persisted / max(1, self.manifest["index_lane"]["event_count"]))
        assert all(w["closed"] and w["settled"] for w in self.windows)
        assert sum(w["markedCount"] for w in self.windows) == self.manifest["metrics"]["marked_events_detected"]


@pytest.fixture(scope="session")
def program(build_dir):
    return catalog.compile_program(catalog.parse(HERE / "steps.c"), catalog.Variant("gcc", "-O2", True), build_dir)


@pytest.fixture
def record(ada, program, tmp_path):
    """record(steps, ada's options...) -> Recording; only work(), marked() and other() are in the index."""
    count = iter(range(100))

    def run(steps, *options, status=0):
        output = tmp_path / f"session{next(count)}"
        functions = [f"--functions={name}" for name in ("work", "marked", "other")]
        result = ada.trace(output, [program, *steps.split()], "--no-libcalls", "--on-full=block", *functions, *options)
        assert result.status == status, result.stderr.decode()
        return Recording(ada, output)
    return run


def mark_of(window):
    return [(m["thread"], m["indexSeq"]) for m in window["marks"]]


@pytest.mark.parametrize("pre, post", [(0, 0), (1, 1), (5, 3), (1000, 700), (3, 2500), (2500, 0)])
def test_first_and_last_event_of_a_window_in_events(record, pre, post):
    recording = record("work:3000 mark work:3000", f"--trigger=symbol=marked@pre={pre}ev,post={post}ev" if pre or post else
                       "--trigger=symbol=marked@pre=0ev,post=0ev")
    mark, = recording.calls("marked")
    window, = recording.windows
    assert mark_of(window) == [(0, mark)]
    assert recording.persisted[0] == recording.stretch(mark - pre, mark + post)
    assert (window["startNs"], window["endNs"]) == (recording.time(mark - pre), recording.time(mark + post))
    assert window["triggerKind"] == "symbol:marked" and window["shortReason"] is None
    recording.check_whole()


@pytest.mark.parametrize("pre, post", [(0, 20), (20, 0), (7, 13)])
def test_first_and_last_event_of_a_window_in_time(record, pre, post):
    recording = record("spin:80000 mark spin:80000", f"--trigger=symbol=marked@pre={pre}ms,post={post}ms")
    mark, = recording.calls("marked")
    window, = recording.windows
    start, end = recording.time(mark) - pre * MS, recording.time(mark) + post * MS
    assert (window["startNs"], window["endNs"]) == (start, end)
    assert recording.persisted[0] == recording.between(start, end)
    assert (window["preRollSec"], window["postRollSec"]) == (pre / 1000, post / 1000)
    assert (window["requestedPreRollSec"], window["requestedPostRollSec"]) == (pre / 1000, post / 1000)
    assert window["shortReason"] is None
    recording.check_whole()


def test_a_window_that_newer_events_have_overwritten_says_so(record, ada):
    """The circular index holds the last megabyte: of the first mark nothing is left, and no detail buffer would have helped."""
    recording = record("work:10 mark spin:400000 mark spin:10", "--trigger=symbol=marked@pre=4ev,post=4ev", "--index-mode=circular",
                       "--index-buffer=1M")
    old, new = recording.windows
    assert (old["markedCount"], old["eventCount"]) == (1, 0) and (new["markedCount"], new["shortReason"]) == (1, None)
    assert old["shortReason"].startswith("newer events had overwritten some of it in the index buffer of 1M: a larger --index-buffer")
    told = " ".join(ada("narrate", recording.path).stdout.decode().split())
    assert "nothing around it is left: newer events had overwritten" in told
    recording.check_whole()


def test_multiple_triggers_in_quick_succession(record):
    # Rolls a hundred times as long as the pauses: on a busy machine 10 ms may be many.
    recording = record("work:10 sleep:1200 " + "mark work:5 sleep:10 other work:5 sleep:10 " * 5 + "sleep:1200 work:10",
                       "--trigger=symbol=marked", "--trigger=symbol=other", "--pre-roll-sec=1", "--post-roll-sec=1")
    marks = sorted(recording.calls("marked") + recording.calls("other"))
    window, = recording.windows
    start, end = recording.time(marks[0]) - 1000 * MS, recording.time(marks[-1]) + 1000 * MS
    assert (window["startNs"], window["endNs"]) == (start, end)
    assert mark_of(window) == [(0, mark) for mark in marks] and window["markedCount"] == 10
    assert window["triggerKind"] == "symbol:marked" and window["triggerKinds"] == ["symbol:marked", "symbol:other"]
    assert recording.persisted[0] == list(range(marks[0], marks[-1] + 12))     # no event is written twice
    recording.check_whole()


def test_windows_that_do_not_overlap_stay_apart(record):
    recording = record("work:10 mark work:100 sleep:20 mark work:10", "--trigger=symbol=marked@pre=4ev,post=6ev")
    first, second = recording.calls("marked")
    assert [mark_of(w) for w in recording.windows] == [[(0, first)], [(0, second)]]
    assert recording.persisted[0] == [*recording.stretch(first - 4, first + 6), *recording.stretch(second - 4, second + 6)]
    recording.check_whole()


def test_a_longer_pre_roll_reaches_back_into_an_earlier_window(record):
    recording = record("work:10 mark work:100 sleep:50 work:100 other work:20", "--trigger=symbol=marked@pre=2ev,post=3ev",
                       "--trigger=symbol=other@pre=10s,post=4ev")
    first, second = recording.calls("marked") + recording.calls("other")
    window, = recording.windows
    assert window["triggerKinds"] == ["symbol:marked", "symbol:other"]
    assert mark_of(window) == [(0, first), (0, second)]
    assert recording.persisted[0] == recording.stretch(0, second + 4)
    recording.check_whole()


def test_trigger_during_startup(record):
    recording = record("work:4 mark work:100", "--trigger=symbol=marked@pre=5s,post=10ev")
    mark, = recording.calls("marked")
    window, = recording.windows
    assert recording.persisted[0] == recording.stretch(0, mark + 10)
    assert 0 < window["preRollSec"] < 5 == window["requestedPreRollSec"]
    assert "recording began" in window["shortReason"]
    recording.check_whole()


def test_trigger_during_startup_counted_in_events(record):
    recording = record("work:4 mark work:100", "--trigger=symbol=marked@pre=1000ev,post=10ev")
    mark, = recording.calls("marked")
    window, = recording.windows
    assert mark == 8 and recording.persisted[0] == recording.stretch(0, mark + 10)
    assert "fewer than the 1000 events" in window["shortReason"]
    recording.check_whole()


def test_what_is_short_of_rolls_in_time_and_in_events(record):
    """A window of two marks says what it lacks, not that it has less time than it was asked for and has."""
    recording = record("work:4 sleep:20 mark work:4 other work:4 sleep:20", "--trigger=symbol=marked@pre=1ms,post=1ms",
                       "--trigger=symbol=other@pre=1000ev,post=1000ev")
    window, = recording.windows
    assert window["preRollSec"] > 0.02 and window["postRollSec"] > 0.02
    assert window["shortReason"] == "there were fewer than the 1000 events asked before the mark; " \
        "the process ended before the 1000 events asked after the mark"
    recording.check_whole()


def test_trigger_during_startup_at_full_rate(record):
    """The pool holds three times as much: nothing of it is recycled because the recorder didn't allocate it in time."""
    for _ in range(4):
        recording = record("work:25000 mark work:10", "--trigger=symbol=marked@pre=60s,post=10ev")
        mark, = recording.calls("marked")
        window, = recording.windows
        assert mark == 50000 and recording.persisted[0] == recording.stretch(0, mark + 10)
        assert "recording began" in window["shortReason"] and "buffer" not in window["shortReason"]
        recording.check_whole()


@pytest.mark.parametrize("end, status", [("exit:0", 0), ("_exit:7", 7), ("kill:9", 137)])
def test_trigger_near_process_exit(record, end, status):
    recording = record(f"work:100 mark work:20 {end}", "--trigger=symbol=marked@pre=3ev,post=5s", status=status)
    mark, = recording.calls("marked")
    window, = recording.windows
    assert recording.persisted[0] == recording.stretch(mark - 3, mark + 41) and len(recording.events[0]) == mark + 42
    assert 0 < window["postRollSec"] < 5 == window["requestedPostRollSec"]
    assert "the process ended" in window["shortReason"]
    recording.check_whole()


def test_trigger_near_process_exit_counted_in_events(record):
    recording = record("work:100 mark work:20", "--trigger=symbol=marked@pre=3ev,post=1000ev")
    mark, = recording.calls("marked")
    window, = recording.windows
    assert recording.persisted[0] == recording.stretch(mark - 3, mark + 41)
    assert "the process ended before the 1000 events" in window["shortReason"]
    recording.check_whole()


def test_trigger_near_the_end_of_a_thread(record):
    recording = record("work:5 thread:100 sleep:300 work:5 sleep:300", "--trigger=symbol=marked@pre=3ev,post=1000ev")
    mark, = recording.calls("marked", 1)
    window, = recording.windows
    assert recording.persisted[1] == recording.stretch(mark - 3, len(recording.events[1]) - 1, 1)
    assert recording.persisted[0] == [], "the window went on though its thread had ended"
    assert "its thread ended" in window["shortReason"]
    recording.check_whole()


def test_no_marked_events(record):
    recording = record("work:5000", "--trigger=symbol=marked")
    assert recording.windows == [] and recording.manifest["detail_lane"]["event_count"] == 0
    assert recording.manifest["detail_lane"]["coverage_ratio"] == 0
    assert not list(recording.path.rglob("detail*.atf"))
    assert len(recording.events[0]) == 10000
    assert recording.manifest["metrics"]["marked_events_detected"] == 0


def test_ring_buffer_overflow_before_dump(record):
    """4M hold 21 chunks of 1022 events. The size that is said to have sufficed suffices, unless the program then makes more events in that time:
    on a busy machine it may do so several times, so that the advice is taken until it does."""
    size, counts = "4M", []
    while size:
        recording = record("spin:800000 mark spin:10", "--trigger=symbol=marked@pre=200ms,post=0ev", f"--detail-buffer={size}")
        mark, = recording.calls("marked")
        window, = recording.windows
        asked = recording.between(recording.time(mark) - 200 * MS, recording.time(mark))
        assert recording.persisted[0] == recording.between(window["startNs"], recording.time(mark))
        assert window["requestedPreRollSec"] == 0.2
        recording.check_whole()
        reason = re.fullmatch(r"the detail buffer of \S+ held only (\S+) s of the 0.2 s asked: --detail-buffer=(\d+[MG]) would have "
                              "sufficed", window["shortReason"] or "")
        assert reason or window["shortReason"] is None, window["shortReason"]
        if reason:
            assert 0 < window["preRollSec"] < 0.2 and window["preRollSec"] == pytest.approx(float(reason[1]), rel=1e-4)
            assert all(len(asked) > count for count in counts), f"{size} didn't suffice for {len(asked)} events, after {counts}"
        else:
            assert window["preRollSec"] == 0.2 and recording.persisted[0] == asked
        size = reason and reason[2]
        counts.append(len(asked))
    assert len(counts) > 1 or counts[0] < 21 * 1022, "4M held 200 ms"


def test_a_window_holds_every_thread(record):
    recording = record("work:1 threads:4 await:1 sleep:100 mark sleep:6 other sleep:100 join", "--trigger=symbol=marked@pre=4ms,post=4ms",
                       "--trigger=symbol=other@pre=3ms,post=4ms", "--detail-buffer=1G")     # all threads at full rate
    first, second = recording.calls("marked") + recording.calls("other")
    start, end = recording.time(first) - 4 * MS, recording.time(second) + 4 * MS
    assert [(w["startNs"], w["endNs"]) for w in recording.windows] in (
        [(start, end)], [(start, recording.time(first) + 4 * MS), (recording.time(second) - 3 * MS, end)])
    assert len(recording.events) == 5               # who of them got the CPU then, nobody can say
    recording.check_whole()


def test_a_window_holds_every_thread_until_the_end(record):
    recording = record("work:1 threads:4 await:10 mark await:10 join", "--trigger=symbol=marked@pre=0ev,post=600s", "--detail-buffer=1G")
    window, = recording.windows
    assert window["startNs"] == recording.time(recording.calls("marked")[0]) and "the process ended" in window["shortReason"]
    assert len(recording.events) == 5 and min(len(recording.persisted[thread]) for thread in range(1, 5)) >= 2 * 10 - 2
    recording.check_whole()


@pytest.mark.parametrize("mode", ["oneshot", "streaming"])
def test_modes_that_persist_all(record, mode):
    recording = record("work:3000 mark work:3000", "--trigger=symbol=marked@pre=1ev,post=1ev", f"--detail-mode={mode}")
    window, = recording.windows
    assert recording.persisted[0] == list(range(len(recording.events[0])))
    assert recording.manifest["detail_lane"]["persistence"] == "all"
    assert mark_of(window) == [(0, recording.calls("marked")[0])] and window["shortReason"] is None
    recording.check_whole()


def test_detail_off(record):
    recording = record("work:10 mark work:10", "--detail=off")
    assert recording.manifest["detail_lane"]["capture"] == recording.manifest["detail_lane"]["persistence"] == "off"
    assert recording.windows == [] and recording.manifest["buffering"]["detail"] is None
    assert not list(recording.path.rglob("detail*.atf"))
