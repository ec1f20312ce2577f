"""When threads had a CPU, in Perfetto's and Chrome's formats, against a lane that is read without any code of ada's."""
import pytest

import lane
from calls import START_NS, from_chrome


@pytest.fixture(params=[("plain", 0), ("random:7:3:4000", 0), ("random:8:3:6000", 2)], ids=lambda key: f"{key[0]}-losses{key[1]}")
def scheduled(request, ada, session, tmp_path):
    path = tmp_path / "scheduled"
    return path, lane.scheduled(ada, session(request.param[0]), path, request.param[1])


def part(expected, name):
    """Options, and what there is between two times, of all threads or of one."""
    if name == "whole":
        return [], expected()
    stretches = sorted(stretch for told in expected().values() for stretch in told)
    begin, end = sorted(sum(stretches[at][1:3]) // 2 for at in (len(stretches) // 3, 2 * len(stretches) // 3))
    tid = min(expected()) if name == "thread" else None
    return [f"--from={begin}", f"--to={end + 1}"] + ([f"--thread={tid}"] if tid else []), expected(begin, end + 1, tid)


@pytest.mark.parametrize("name", ["whole", "between", "thread"])
def test_perfetto(scheduled, export_perfetto, name):
    options, expected = part(scheduled[1], name)
    trace = export_perfetto(scheduled[0], *options)
    told = {}
    for uuid, track in trace.tracks.items():
        if track.name == "CPU":
            slices = trace.slices[uuid]
            assert slices and all(each.category == "cpu" and not each.children for each in slices)
            told[trace.tracks[track.parent_uuid].thread.tid] = [(each.name, each.start, each.end, each.notes.get("by_tid", 0))
                                                                for each in slices]
    assert told == expected and (expected or name != "whole")


@pytest.mark.parametrize("name", ["whole", "between", "thread"])
def test_chrome(scheduled, export, name):
    options, expected = part(scheduled[1], name)
    told = from_chrome(export("chrome", scheduled[0], *options)).cpu
    assert {tid: [(state, first + START_NS, last + START_NS, other) for state, first, last, other in stretches]
            for tid, stretches in told.items()} == expected


def test_the_calls_stay_as_they_are(scheduled, session, export, export_perfetto):
    assert any(track.name == "CPU" for track in export_perfetto(scheduled[0]).tracks.values())
    (scheduled[0] / "sched.atf").unlink()
    assert not any(track.name == "CPU" for track in export_perfetto(scheduled[0]).tracks.values())
    assert not from_chrome(export("chrome", scheduled[0])).cpu
