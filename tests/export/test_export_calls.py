"""All formats hold the same calls, and those are what `ada dump` and `ada report` say of the session."""
import json

import pytest

from calls import (START_NS, clipped, csv_rows, csv_sums, from_chrome, from_csv, from_dump, from_speedscope, reported, shapes,
                   shifted, sums)

WHOLE = ["plain", "rules", "detail", "names", "processes", "pair", "running", "empty", "random:1:1:2000", "random:2:7:6000",
         "random:3:64:12000"]


def one_process(threads):
    """Chrome knows threads by pid and tid: images of one process, exec'd one after the other, are one."""
    return sorted(shape for roots in shapes(threads) for shape in roots)


@pytest.mark.parametrize("scenario", WHOLE)
def test_every_format_has_the_calls_of_dump_and_the_sums_of_report(ada, session, export, export_perfetto, scenario):
    path = session(scenario)
    want, report = from_dump(ada, path), reported(ada, path)
    assert sums(want) == report
    assert shapes(from_csv(export("csv", path))) == shapes(want)
    assert csv_sums(export("csv", path)) == {name: (calls, own) for name, (calls, _, own) in report.items()}
    trace = export_perfetto(path)
    assert shapes(trace.threads()) == shapes(want)
    assert sums(trace.threads()) == report
    profiles, _, _ = from_speedscope(export("speedscope", path))
    assert shapes(shifted(profiles, START_NS)) == shapes(want)
    assert sums(profiles) == report
    chrome = from_chrome(export("chrome", path))
    assert one_process(shifted(chrome.threads, START_NS)) == one_process(want)
    assert sums(chrome.threads) == report
    assert not chrome.around and not chrome.late and not chrome.unknown


@pytest.mark.parametrize("scenario", [s for s in WHOLE if s.startswith("random")])
def test_sums_are_those_that_the_generator_knows(session, export, scenario):
    path = session(scenario)
    expected = json.loads((path.parent / "expected.json").read_text())
    known = {name: (f["calls"], f["total_ns"], f["self_ns"]) for name, f in expected["functions"].items() if f["calls"]}
    assert sums(from_csv(export("csv", path))) == known
    assert sums(from_speedscope(export("speedscope", path))[0]) == known
    assert sums(from_chrome(export("chrome", path)).threads) == known


@pytest.mark.parametrize("scenario", ["plain", "rules", "processes", "random:2:7:6000"])
def test_outcomes(ada, session, export, export_perfetto, scenario):
    def outcomes(threads):
        todo, found = [c for roots in threads.values() for c in roots], []
        while todo:
            call = todo.pop()
            found.append((call.name, call.end - call.start, call.outcome))
            todo += call.children
        return sorted(found)
    path = session(scenario)
    want = outcomes(from_dump(ada, path))
    assert outcomes(from_csv(export("csv", path))) == want
    assert outcomes(export_perfetto(path).threads()) == want
    assert outcomes(from_chrome(export("chrome", path)).threads) == want


# --- cuts ---------------------------------------------------------------------------------------------------------------

def middle(ada, path, part):
    """Two times between which one of so many parts of the session's events lies."""
    times = sorted(json.loads(line)["timestamp_ns"] for line in ada("dump", "--format=json", path).stdout.splitlines()[:-1])
    return times[len(times) // 2], times[len(times) // 2 + len(times) // part]


@pytest.mark.parametrize("scenario", ["random:1:1:2000", "random:2:7:6000", "rules"])
@pytest.mark.parametrize("part", [3, 20])
def test_cut(ada, session, export, export_perfetto, scenario, part):
    path = session(scenario)
    start, end = middle(ada, path, part)
    cut = [f"--from={start}", f"--to={end}"]
    whole, report = from_dump(ada, path), reported(ada, path, *cut)
    assert start < end and report and report != reported(ada, path)
    # Begins and ends: what is open in that time, cut.
    want = shapes(clipped(whole, start, end))
    assert shapes(export_perfetto(path, *cut).threads()) == want
    assert shapes(shifted(from_speedscope(export("speedscope", path, *cut))[0], START_NS)) == want
    # Calls: what begins in it, whole; as report counts them.
    rows = csv_rows(export("csv", path, *cut))
    assert rows and all(start <= int(row["start_ns"]) < end for row in rows)
    assert csv_sums(export("csv", path, *cut)) == {name: (calls, own) for name, (calls, _, own) in report.items()}
    chrome = from_chrome(export("chrome", path, *cut))
    assert {name: row[:2] for name, row in sums(chrome.threads).items()} == {name: row[:2] for name, row in report.items()}
    # And around them those that were open before, from the cut's start to its end at most.
    around = sorted((c.name, max(c.start, start) - START_NS, min(c.end, end) - START_NS)
                    for c in every(whole) if c.start < start <= c.end)
    assert sorted(chrome.around) == around


def every(threads):
    todo = [c for roots in threads.values() for c in roots]
    while todo:
        call = todo.pop()
        yield call
        todo += call.children


def test_cut_marks_what_it_cuts(session, export_perfetto):
    """main (0 to 1000) and the second leaf (100 to 300), of which 150 to 250 is asked for."""
    trace = export_perfetto(session("plain"), "--from=+150ns", "--to=+250ns")
    (main,), = trace.threads().values()
    leaf, = main.children
    assert (main.start, main.end, main.outcome) == (START_NS + 150, START_NS + 250, "cut")
    assert (leaf.name, leaf.start, leaf.end, leaf.outcome) == ("leaf", START_NS + 150, START_NS + 250, "cut")
    assert main.notes["began_ns"] == START_NS and leaf.notes["began_ns"] == START_NS + 100


def test_a_call_followed_beyond_the_cut_is_whole(session, export):
    row, = csv_rows(export("csv", session("plain"), "--from=+100ns", "--to=+101ns"))
    assert [row[f] for f in ("function", "caller", "duration_ns", "outcome", "index_seq", "end_index_seq")] == [
        "leaf", "main", "200", "return", "3", "4"]


@pytest.mark.parametrize("arguments", [["--from=+2000ns"], ["--to=+0ns"]])
def test_nothing_in_the_cut(ada, session, export, export_perfetto, arguments):
    path = session("plain")
    if arguments == ["--to=+0ns"]:
        arguments = [f"--to={START_NS - 5}"]
    assert not any(export_perfetto(path, *arguments).threads().values())
    assert from_speedscope(export("speedscope", path, *arguments))[0] == {}
    assert csv_rows(export("csv", path, *arguments)) == []
    assert not from_chrome(export("chrome", path, *arguments)).threads
    assert export("rowbinary", path, *arguments) == b""


def test_window(session, export, export_perfetto):
    """Window 0 of `detail`: 230 to 330, the third leaf."""
    path = session("detail")
    (main,), = [roots for roots in export_perfetto(path, "--window=0").threads().values() if roots]
    leaf, = main.children
    assert (main.start, main.end, main.outcome) == (START_NS + 230, START_NS + 331, "cut")
    assert (leaf.start, leaf.end, leaf.outcome) == (START_NS + 230, START_NS + 330, "return")
    rows = csv_rows(export("csv", path, "--window=0"))
    assert [(row["function"], row["index_seq"]) for row in rows] == [("leaf", "5")]
    profiles, _, _ = from_speedscope(export("speedscope", path, "--window=0"))
    assert shapes(profiles) == [(("main", 230, 331, (("leaf", 230, 330, ()),)),)]


def test_thread(session, export, export_perfetto):
    path = session("detail")
    (tid, ), = [(key[1],) for key in export_perfetto(path, "--thread=quiet").threads()]
    assert tid == 101
    assert {row["tid"] for row in csv_rows(export("csv", path, "--thread=101"))} == {"101"}
    assert list(from_chrome(export("chrome", path, "--thread=1")).threads) == [(100, 101)]


@pytest.mark.parametrize("scenario", ["plain", "names", "lossy", "fibers", "processes", "detail", "running", "empty",
                                      "random:1:1:2000", "random:2:7:6000"])
@pytest.mark.parametrize("cut", [None, (30, 97), (20000000, 60000000)])
def test_csv_is_the_table_of_sql(ada, session, export, scenario, cut):
    """Byte for byte, also where only what begins in some time is asked for."""
    path = session(scenario)
    rows = export("csv", path, *([f"--from=+{cut[0]}ns", f"--to=+{cut[1]}ns"] if cut else []))
    columns = rows.partition(b"\n")[0].decode()
    where = f"where start_ns >= {START_NS + cut[0]} and start_ns < {START_NS + cut[1]}" if cut else ""
    result = ada("query", "--format=csv", path, f"select {columns} from calls {where}")
    assert result.status == 0 and rows == result.stdout


# --- calls without a plain end --------------------------------------------------------------------------------------------

def test_calls_on_other_stacks(ada, session, export, export_perfetto):
    """`fibers`: start and work end after main has gone on without them; add leaves without a word."""
    path = session("fibers")
    report = reported(ada, path)
    assert report == {"main": (1, 100, 70), "start": (1, 80, 80), "work": (1, 60, 60), "leaf": (1, 30, 30), "add": (1, 0, 0)}
    assert csv_sums(export("csv", path)) == {name: (calls, own) for name, (calls, _, own) in report.items()}
    chrome = from_chrome(export("chrome", path))
    assert shapes(chrome.threads) == [(("main", 0, 100, (("leaf", 20, 50, ()),)),)]
    assert chrome.late == [("work", 10, 70), ("start", 0, 80)] and chrome.unknown == [("add", 90, 90)]
    trace = export_perfetto(path)
    (main,), = trace.threads().values()
    assert [(c.name, c.outcome) for c in main.children] == [("start", "left"), ("leaf", "return"), ("add", "left")]
    _, instants = trace.named("prog")
    assert [(i.name, i.ns - START_NS, i.notes["outcome"], i.notes["duration_ns"]) for i in instants] == [
        ("work", 70, "return", 60), ("start", 80, "exception", 80)]
    from_speedscope(export("speedscope", path))     # balanced and in order, whatever the stacks do


def test_losses(session, export, export_perfetto):
    """`lossy`: main is open at the end; of three leaves the second has no end; 12 events lost at 35."""
    path = session("lossy")
    rows = csv_rows(export("csv", path))
    assert [(r["function"], r["outcome"], r["duration_ns"], r["self_ns"], r["end_index_seq"]) for r in rows] == [
        ("leaf", "return", "30", "30", "2"), ("leaf", "unknown", "", "", ""), ("leaf", "return", "60", "60", "6"),
        ("main", "open", str(10**9), str(10**9 - 100), "")]
    trace = export_perfetto(path)
    (main,), = trace.threads().values()
    assert (main.outcome, [(c.start - START_NS, c.end - START_NS, c.outcome) for c in main.children]) == (
        "open", [(0, 30, "return"), (30, 30, "left"), (40, 100, "return")])
    _, (lost,) = trace.named("prog")
    assert (lost.name, lost.category, lost.ns, lost.notes) == ("events lost", "lost", START_NS + 35, {"lost": 12, "index_seq": 4})
    assert [v for _, v in trace.counters["lost events per 10 ms"]] == [12, 0]
    chrome = from_chrome(export("chrome", path))
    assert chrome.unknown == [("leaf", 30, 30)]
    assert [i for i in chrome.instants if i[0] == "events lost"] == [("events lost", "t", 35, {"lost": 12, "index_seq": 4})]
    _, _, name = from_speedscope(export("speedscope", path))
    assert name.endswith("(12 events lost)")
