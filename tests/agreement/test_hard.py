"""The same of sessions with losses, calls without returns and several stacks a thread; and of windows."""
import json
import shutil
import subprocess
from collections import Counter

import answers
import pytest
from mutate import MUTATIONS, add_window
from oracle import Recording, statistics
from test_synthesised import check_folded, check_report, part_of


@pytest.fixture(params=[(name, threads) for name in MUTATIONS for threads in (1, 5)], ids=lambda p: f"{p[0]}-threads{p[1]}")
def recording(request, random_session):
    name, threads = request.param
    return random_session(100 + threads, threads, 12000, name)


@pytest.fixture(params=["whole", "between", "thread"])
def part(request, recording):
    return part_of(recording, request.param)


def test_the_session_is_sound(ada, recording):
    """Else the rest would say nothing."""
    result = ada("verify", recording.path)
    assert result.status == 0, result.stdout.decode()
    outcomes = Counter(c.outcome for c in recording.calls)
    assert len(outcomes) > 1 and len(recording.calls) > 1000


def test_report(ada, recording, part):
    options, selection = part
    rows, completeness = answers.report(ada, recording, *options)
    check_report(rows, statistics(recording.select(**selection)))
    events = recording.select_events(**selection)
    assert completeness["events"] == len(events) and completeness["lost"] == sum(e[5] for e in events if e[6] is None)


def test_csv(ada, recording, part, tmp_path):
    options, selection = part
    fields = ["end_index_seq", "duration_ns", "self_ns", "outcome", "caller"]
    said = {(int(r["tid"]), int(r["index_seq"])): [r[f] for f in fields] for r in answers.csv_rows(ada, recording, tmp_path, *options)}
    truth = {}
    for c in recording.select(**selection):
        known = c.end is not None
        row = {"end_index_seq": str(c.end_index_seq) if c.end_index_seq is not None else "", "duration_ns": str(c.duration) if known else "",
               "self_ns": str(c.own) if known else "", "caller": c.caller[0] if c.caller else "", "outcome": c.outcome}
        truth[c.tid, c.index_seq] = [row[f] for f in fields]
    assert said == truth


def test_chrome(ada, recording, tmp_path):
    """Calls that lie nested: the others are pairs of their own."""
    inside, _ = answers.chrome_calls(ada, recording, tmp_path)
    truth = {(c.tid, c.index_seq): (*c.function, c.start) for c in recording.calls}
    ends = {(c.tid, c.index_seq): c.duration for c in recording.calls if c.end is not None}
    for tid, name, module, start, duration, _, index_seq in inside:
        assert truth[tid, index_seq] == (name, module, start)
        assert ends.get((tid, index_seq), duration) == duration


def test_folded(ada, recording, part, tmp_path):
    check_folded(ada, recording, part, tmp_path)


# --- windows ------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def windowed(random_session, tmp_path_factory):
    """Of a session of two processes: one with two windows."""
    session = random_session(31, 4, 8000)
    path = shutil.copytree(session.path, tmp_path_factory.mktemp("windowed") / "session")
    process = sorted(p.name for p in path.glob("pid_*"))[0]
    times = sorted(c.start for c in session.calls if c.process == process)
    bounds = [(times[len(times) // 5], times[len(times) // 3]), (times[len(times) // 2], times[len(times) * 3 // 4])]
    for start, end in bounds:
        add_window(path, start, end)
    recording = Recording(path)
    recording.bounds = [{"start": start, "end": end + 1, "process": process} for start, end in bounds]   # both inclusive
    yield recording
    shutil.rmtree(path)


@pytest.mark.parametrize("number", [0, 1])
def test_windows(ada, windowed, tmp_path, number):
    option, selection = f"--window={number}", windowed.bounds[number]
    calls = windowed.select(**selection)
    assert calls and len(calls) < len(windowed.calls) // 2
    rows, completeness = answers.report(ada, windowed, option)
    check_report(rows, statistics(calls))
    assert completeness["events"] == len(windowed.select_events(**selection))
    said = sorted((int(r["tid"]), int(r["index_seq"]), int(r["duration_ns"])) for r in answers.csv_rows(ada, windowed, tmp_path, option))
    assert said == sorted((c.tid, c.index_seq, c.duration) for c in calls)
    inside, _ = answers.chrome_calls(ada, windowed, tmp_path, option)
    assert sorted((c[0], c[6], c[4]) for c in inside) == said
    events = Counter(answers.rowbinary_events(ada, windowed, tmp_path, option))
    assert events == Counter((e[4], e[5], e[2], *e[7:]) for e in windowed.select_events(**selection))


def test_a_thread_that_is_counted_in_pieces(ada, build_dir, tmp_path):
    """report shares one thread's events out over all CPUs where they are more than a million. The synthesiser's word is enough."""
    synth = [build_dir / "tests" / "query" / "synth", "random:77:1:2200000", tmp_path / "session", tmp_path / "expected.json"]
    subprocess.run(synth, check=True)
    expected = json.loads((tmp_path / "expected.json").read_text())["functions"]
    result = ada("report", "--format=json", tmp_path / "session")
    fields = ("calls", "total_ns", "self_ns", "min_ns", "max_ns")
    assert {r["function"]: [r[f] for f in fields] for r in json.loads(result.stdout)["rows"]} == {
        name: [e[f] for f in fields] for name, e in expected.items()}
