"""Time on and off the CPU: what SQL and the report say of it, against tests/lane.py and the oracle."""
import json
import shutil

import answers
import lane
import pytest
from oracle import is_outermost
from test_sql import where
from test_synthesised import part_of

SESSIONS = [(2, 1, 1), (3, 2, 4000), (6, 16, 20000), (105, 5, 12000, "lossy"), (105, 5, 12000, "all")]


@pytest.fixture(scope="module", params=[0, 1, 4], ids=lambda losses: f"losses{losses}")
def losses(request):
    return request.param


@pytest.fixture(scope="module", params=SESSIONS, ids=lambda key: f"threads{key[1]}-seed{key[0]}" + "".join(f"-{m}" for m in key[3:]))
def recording(request, losses, random_session, tmp_path_factory):
    """Of another test's session a copy that has a lane."""
    made = random_session(*request.param)
    copy = tmp_path_factory.mktemp("lane") / "session"
    shutil.copytree(made.path, copy)
    manifest = json.loads(next(copy.glob("pid_*/manifest.json")).read_text())
    events = lane.make(made, manifest["pid"], request.param[0], losses)
    lane.write(copy / "sched.atf", events)
    made = type(made).__new__(type(made))
    made.__dict__.update(random_session(*request.param).__dict__, path=copy, events_of_cpus=events, lane=lane.Lane(events))
    yield made
    shutil.rmtree(copy)


@pytest.fixture(params=["whole", "between", "thread", "thread-between", "nothing"])
def part(request, recording):
    return part_of(recording, request.param)


def by_function(recording, calls):
    """[on, off] per function, of its outermost calls; None where it isn't known of each."""
    chosen, sums = set(map(id, calls)), {}
    for call in calls:
        known = sums.setdefault(call.function, [0, 0])
        if call.end is None or call.end == call.start or not is_outermost(call, chosen):
            continue
        times = recording.lane.call(call)
        sums[call.function] = [None, None] if None in times + known else [a + b for a, b in zip(known, times, strict=True)]
    return sums


def test_calls(ada, recording):
    rows = answers.sql(ada, recording, "SELECT tid, index_seq, on_cpu_ns, off_cpu_ns FROM calls")
    said = {(r["tid"], r["index_seq"]): [r["on_cpu_ns"], r["off_cpu_ns"]] for r in rows}
    truth = {(c.tid, c.index_seq): recording.lane.call(c) for c in recording.calls}
    assert said == truth
    assert len(recording.calls) < 100 or any(off for _, off in truth.values())


def test_functions(ada, recording, part):
    options, selection = part
    truth = by_function(recording, recording.select(**selection))
    rows = answers.sql(ada, recording, "SELECT function, module, on_cpu_ns, off_cpu_ns FROM"
                       f" fn_stats({where(selection, '')[1]})")
    assert {(r["function"], r["module"]): [r["on_cpu_ns"], r["off_cpu_ns"]] for r in rows} == truth
    report, _ = answers.report(ada, recording, "--cpu", *options)
    assert {name: [r["on_cpu_ns"], r["off_cpu_ns"]] for name, r in report.items()} == truth


def test_the_report_is_as_without_it(ada, recording):
    with_it, without = answers.report(ada, recording, "--cpu")[0], answers.report(ada, recording)[0]
    assert {name: {k: v for k, v in r.items() if "_cpu_" not in k} for name, r in with_it.items()} == without


def test_switches(ada, recording):
    def rows(condition):
        return [tuple(r.values()) for r in answers.sql(ada, recording, "SELECT timestamp_ns, count, tid, pid, other_tid, kind, cpu"
                                                       f" FROM switches WHERE {condition}")]
    truth = [(time, count, None if kind == lane.LOST else tid, None if kind == lane.LOST else pid, other or None, lane.KINDS[kind], cpu)
             for time, count, tid, pid, other, kind, cpu in recording.events_of_cpus]
    assert rows("1") == truth
    middle = truth[len(truth) // 2][0]
    assert rows(f"timestamp_ns >= {middle}") == [event for event in truth if event[0] >= middle]
    assert rows(f"timestamp_ns < {middle}") == [event for event in truth if event[0] < middle]


def test_a_session_without_a_lane_says_nothing(ada, random_session):
    recording = random_session(3, 2, 4000)
    assert all(r["on_cpu_ns"] is r["off_cpu_ns"] is None for r in answers.report(ada, recording, "--cpu")[0].values())
    result = ada("report", "--cpu", f"--diff={recording.path}", recording.path)
    assert result.status != 0 and b"--cpu" in result.stderr
