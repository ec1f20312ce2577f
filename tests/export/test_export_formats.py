"""What the formats hold beside the calls, and what is their own."""
import csv
import io
import json
import shutil
import struct
from collections import Counter

import pytest

from calls import START_NS, from_chrome, from_speedscope
from svg import check_against_folded, frames

# As synth_main.c's `names` has them, and what becomes of them: no UTF-8 is replaced, everything else stays.
NAMES = ["a,b", 'say "hi"', "tab\there", "line\nbreak", "back\\slash", "bad\ufffd\ufffdutf8", "caf\u00e9", "\x1b[31mred",
         "pr,og+0x1080", "pr,og#77"]


def test_names_of_any_bytes(session, export, export_perfetto):
    path = session("names")
    _, frames, _ = from_speedscope(export("speedscope", path))
    assert [f["name"] for f in frames] == NAMES
    assert {f["file"] for f in frames} == {"pr,og"}
    calls, = from_chrome(export("chrome", path)).threads.values()
    assert [c.name for c in calls] == NAMES
    slices, = export_perfetto(path).threads().values()
    assert [s.name for s in slices] == NAMES and {s.category for s in slices} == {"pr,og"}
    rows = list(csv.DictReader(io.StringIO(export("csv", path).decode(), newline="")))
    assert [row["function"] for row in rows] == NAMES


# --- perfetto -----------------------------------------------------------------------------------------------------------

def test_perfetto_tracks_and_clocks(session, export_perfetto):
    trace = export_perfetto(session("processes"))
    processes = [t.process for t in trace.tracks.values() if t.HasField("process")]
    assert [(p.pid, list(p.cmdline), p.process_name) for p in processes] == [(n, ["synth"], "synth") for n in (50, 51, 50)]
    threads = [t for t in trace.tracks.values() if t.HasField("thread")]
    assert [(t.thread.pid, t.thread.tid, t.thread.thread_name) for t in threads] == [(50, 50, "prog"), (51, 51, "prog"),
                                                                                    (50, 50, "prog")]
    assert all(trace.tracks[t.parent_uuid].process.pid == t.thread.pid for t in threads)
    assert trace.clocks == {6: START_NS, 1: 1767225600 * 10**9}     # started 2026-01-01T00:00:00Z


def test_perfetto_carries_anchors(session, export_perfetto, tmp_path):
    """A snapshot each, of one number a clock, in the order of the host's time; and a track with the moments."""
    path = tmp_path / "session"
    shutil.copytree(session("plain"), path)
    anchors = [("video", START_NS + 5, 77), ("sound", START_NS - 10, 3), ("video", START_NS + 2, 70), ("sound", START_NS + 2, 15)]
    document = json.loads((path / "session.json").read_text())
    document["anchors"] = [{"clock": clock, "hostTimeNs": host, "mediaTimeNs": media} for clock, host, media in anchors]
    (path / "session.json").write_text(json.dumps(document))
    trace = export_perfetto(path)
    assert trace.snapshots == [{6: START_NS - 10, 128: 3}, trace.clocks, {6: START_NS + 2, 128: 15}, {6: START_NS + 2, 129: 70},
                               {6: START_NS + 5, 129: 77}]
    _, instants = trace.named("clocks")
    assert [(i.name, i.ns, i.category, i.notes) for i in instants] == [
        (clock, host, "anchor", {"media_ns": media, "clock_id": 128 + (clock == "video")}) for clock, host, media in sorted(anchors)]
    assert export_perfetto(session("plain")).snapshots == [trace.clocks]


def test_perfetto_marks_and_windows(ada, session, export_perfetto):
    path = session("detail")
    trace = export_perfetto(path)
    windows, unthreaded = trace.named("windows")
    rows = ada.rows("windows", path)
    assert [(w.name, w.start, w.end) for w in windows] == [(f"window {r['window']}", r["startNs"], r["endNs"]) for r in rows]
    assert [w.notes for w in windows] == [
        {"kind": r["triggerKind"], "marks": r["markedCount"], "events": r["eventCount"]} for r in rows]
    _, threaded = trace.named("prog")
    marks = [m for r in rows for m in r["marks"]]
    assert [m.ns for m in threaded] == [m["tsNs"] for m in marks if m["thread"] is not None]
    assert [m.ns for m in unthreaded] == [m["tsNs"] for m in marks if m["thread"] is None]
    # The second window's mark is in the first segment, too: events 5 and 7.
    assert [(m.name, m.category, m.notes["kind"], m.notes["index_seq"]) for m in threaded] == [
        ("symbol:leaf", "mark", "symbol:leaf", 5), ("symbol:leaf", "mark", "symbol:leaf", 7)]


def test_perfetto_says_which_calls_lie_in_windows(session, export_perfetto):
    trace = export_perfetto(session("detail"))
    (main,), = [roots for key, roots in trace.threads().items() if key[1] == 100]
    assert [call.notes.get("index_seq") for call in main.children] == [None, None, 5, 7, 9, None]


def test_completeness(ada, session, export, export_perfetto):
    for scenario, events, lost, complete in (("plain", 10, 0, True), ("lossy", 7, 12, False), ("running", 10, 0, False),
                                             ("empty", 0, 0, True)):
        path = session(scenario)
        _, (instant,) = export_perfetto(path).named("ada")
        assert (instant.name, instant.notes) == ("completeness", {"events": events, "lost": lost, "detailCoverage": 0,
                                                                  "complete": complete})
        other = from_chrome(export("chrome", path)).other
        assert (other["events"], other["lost"], other["complete"]) == (events, lost, complete)


def test_counters_count_events_on_a_grid(session, export, export_perfetto):
    path, row = session("random:1:1:2000"), struct.Struct("<QQIIII")
    times = [t for t, *_ in row.iter_unpack(export("rowbinary", path))]
    buckets = Counter((t - times[0]) // 10**7 for t in times)
    assert len(buckets) > 3
    curve = [(times[0] + b * 10**7, buckets[b]) for b in range(max(buckets) + 1)]
    curve = [point for n, point in enumerate(curve) if not n or point[1] != curve[n - 1][1]] + [(times[-1] + 1, 0)]
    assert export_perfetto(path).counters == {"events per 10 ms": curve}
    assert from_chrome(export("chrome", path)).counters == {"events per 10 ms": [(ns - START_NS, v) for ns, v in curve]}


# --- chrome -------------------------------------------------------------------------------------------------------------

def test_chrome_marks_windows_and_names(ada, session, export):
    path = session("detail")
    chrome = from_chrome(export("chrome", path))
    rows = ada.rows("windows", path)
    assert chrome.windows == [(f"window {r['window']}", r["startNs"] - START_NS, r["endNs"] - START_NS) for r in rows]
    marks = sorted((m["tsNs"] - START_NS, "p" if m["thread"] is None else "t") for r in rows for m in r["marks"])
    assert sorted((ns, scope) for _, scope, ns, _ in chrome.instants) == marks
    assert chrome.names == {("process_name", 100, 100): "synth", ("thread_name", 100, 100): "prog",
                            ("thread_name", 100, 101): "quiet"}


# --- csv and rowbinary --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scenario", ["plain", "lossy", "names", "processes", "detail", "empty", "running", "random:2:7:6000"])
@pytest.mark.parametrize("arguments", [[], ["--from=+100ns", "--to=+400ns"], ["--thread=0"]])
def test_csv_events_are_dumps(ada, session, export, scenario, arguments):
    path = session(scenario)
    if scenario == "empty":         # no thread to choose
        arguments = [a for a in arguments if a != "--thread=0"]
    dumped = ada("dump", "--format=csv", *arguments, path)
    assert dumped.status == 0 and export("csv", path, "--events", *arguments) == dumped.stdout


def index_bytes(path):
    """The events of the index files as they lie there: threads and segments in order."""
    def number(name):
        return [int(part) if part.isdigit() else -1 for part in name.replace(".", "_").split("_")]
    result = b""
    for process in sorted(path.glob("pid_*"), key=lambda p: (p / "manifest.json").stat().st_mtime_ns):
        for thread in sorted(process.glob("thread_*"), key=lambda p: number(p.name)):
            for segment in sorted(thread.glob("index*.atf"), key=lambda p: number(p.name)):
                data = segment.read_bytes()
                end = len(data) - (64 if data[-64:-60] == b"2ITA" else 0)
                result += data[64:end]
    return result


@pytest.mark.parametrize("scenario", ["plain", "lossy", "detail", "empty", "running", "random:1:1:2000", "large"])
def test_rowbinary_is_the_files_events(session, export, scenario):
    assert export("rowbinary", session(scenario)) == index_bytes(session(scenario))


def test_rowbinary_columns_and_cut(ada, session, export):
    """(UInt64 timestamp_ns, UInt64 function_id, UInt32 thread_id, UInt32 kind, UInt32 depth, UInt32 detail_seq)"""
    path, row = session("random:2:7:6000"), struct.Struct("<QQIIII")
    times = sorted(t for t, *_ in row.iter_unpack(export("rowbinary", path)))
    start, end = times[len(times) // 3], times[2 * len(times) // 3]
    cut = list(row.iter_unpack(export("rowbinary", path, f"--from={start}", f"--to={end}")))
    assert cut == [e for e in row.iter_unpack(export("rowbinary", path)) if start <= e[0] < end]
    dumped = [line.split(",") for line in ada("dump", "--format=csv", path).stdout.decode().splitlines()[1:]]
    kinds = {"call": 1, "return": 2, "exception": 3}
    assert sorted((t, kind, depth) for t, _, _, kind, depth, _ in row.iter_unpack(export("rowbinary", path))) == sorted(
        (int(d[0]), kinds[d[4]], int(d[-7])) for d in dumped)


# --- svg ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scenario, exact", [("plain", True), ("lossy", False), ("random:1:1:2000", False), ("running", False)])
def test_a_flame_graph_is_as_wide_as_the_folded_stacks(export, session, scenario, exact):
    check_against_folded(export("svg", session(scenario)), export("folded", session(scenario)), exact)


def test_a_flame_graph_says_what_it_leaves_out(export, session):
    assert b"0 frames are too narrow or too deep to be drawn; 0 events were lost</text>" in export("svg", session("plain"))
    assert b"12 events were lost" in export("svg", session("lossy"))
    assert b"the recording is not complete" in export("svg", session("running"))


def test_a_flame_graph_of_nothing_is_a_picture_that_says_so(export, session):
    picture = export("svg", session("empty"))
    assert frames(picture) == {} and b"no time of a call here" in picture
