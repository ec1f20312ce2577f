"""What every window has to hold, at full rate and to the death. The answers are computed from the index, which is recorded
and written by other code than the detail lane."""
import pathlib
import re
import subprocess

import pytest

from harness import CALL, Session, check_recording
from recording import Process, check_process

HERE = pathlib.Path(__file__).resolve().parent


@pytest.fixture(scope="session")
def program(build_dir):
    def compile_one(name, *flags):
        out = build_dir / "windows" / name
        out.parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-O2", "-g", "-pthread", *flags, HERE / f"{name}.c", "-o", out], check=True)
        return out
    return compile_one


def processes(output):
    """One after the other: all records of so many processes take gigabytes."""
    return map(Process, Session(output).processes())


def expected_marks(process, name):
    return [(thread.id, seq, event[0]) for thread, seq, event in process.find(name)]


def recorded_marks(process):
    return sorted((m["thread"], m["indexSeq"], m["tsNs"]) for w in process.windows for m in w["marks"])


def merged(intervals):
    """Intervals as they coalesce: those that overlap or touch are one."""
    result = []
    for start, end in sorted(intervals):
        if result and start <= result[-1][1] + 1:
            result[-1][1] = max(result[-1][1], end)
        else:
            result.append([start, end])
    return result


def test_a_quiet_crowd_asks_for_no_larger_buffer(ada, program, tmp_path):
    """What many threads hold that did little comes on top of the buffer: 15 MB of history need 32 MB, not 256."""
    size = "4M"
    for reason in r"--detail-buffer=(\d+M) would have sufficed", None:
        output = tmp_path / size
        result = ada.trace(output, [program("crowd")], "--trigger=symbol=mark_me", "--on-full=block", "--pre-roll-events=50000",
                           "--post-roll-events=100", "--no-libcalls", f"--detail-buffer={size}")
        assert result.status == 0, result.stderr.decode()
        process, = processes(output)
        window, = process.windows
        if reason:
            size = re.search(reason, window["shortReason"]).group(1)
            assert int(size[:-1]) <= 64
        else:
            assert window["shortReason"] is None


@pytest.mark.parametrize("seed", range(1))
def test_thousand_random_marks_at_full_rate_leave_no_hole(ada, program, tmp_path, seed):
    result = ada.trace(tmp_path, [program("busy"), "2", "1000", "0", str(seed)], "--trigger=symbol=mark_me", "--on-full=block",
                       "--pre-roll-events=40", "--post-roll-events=40", "--no-libcalls", "--segment-size=16G", timeout=240)
    assert result.status == 0, result.stderr.decode()
    check_recording(ada, tmp_path)
    process, = processes(tmp_path)
    assert process.manifest["index_lane"]["lost"] == 0
    assert check_process(process, numbers=False) > 1000
    marks = expected_marks(process, "mark_me")
    assert len(marks) == 1000
    assert sum(w["markedCount"] for w in process.windows) == 1000
    assert recorded_marks(process) == sorted(marks)


def test_windows_are_where_the_marks_ask_for_them(ada, program, tmp_path):
    """Few marks, so that nothing is short: each window is the union of what its marks ask for, to the ns."""
    result = ada.trace(tmp_path, [program("busy"), "2", "12", "0.3", "7"], "--trigger=symbol=mark_me", "--on-full=block",
                       "--pre-roll-events=100", "--post-roll-events=60", "--no-libcalls", "--detail-buffer=512M")
    assert result.status == 0, result.stderr.decode()
    check_recording(ada, tmp_path)
    process, = processes(tmp_path)
    check_process(process)
    wanted = []
    for thread, seq, _ in process.find("mark_me"):
        wanted.append((thread.events[max(seq - 100, 0)][0], thread.events[min(seq + 60, len(thread.events) - 1)][0]))
    whole = [w for w in process.windows if not w["shortReason"]]
    assert [[w["startNs"], w["endNs"]] for w in process.windows] == merged(wanted) or len(whole) < len(process.windows)
    assert whole, [w["shortReason"] for w in process.windows]


def test_more_threads_than_the_pool_has_chunks(ada, build_dir, tmp_path):
    """The default buffer has 341 chunks of detail; each thread of many begins with a smaller one."""
    program = build_dir / "windows" / "alive"
    program.parent.mkdir(exist_ok=True)
    source = HERE.parent / "programs" / "threads" / "five_thousand_alive.c"
    subprocess.run(["gcc", "-O0", "-pthread", f"-I{HERE.parent}/programs", source, "-o", program], check=True)
    result = ada.trace(tmp_path, [program, "1000"], "--trigger=symbol=end", "--pre-roll-sec=60", "--no-libcalls")
    assert result.status == 0, result.stderr.decode()
    check_recording(ada, tmp_path)
    process, = processes(tmp_path)
    assert process.manifest["index_lane"]["lost"] == 0
    assert len(process.windows) == 1
    assert check_process(process) >= 1000 * 42      # a hole would have cut it


MIXES = [["--pre-roll-events=0", "--post-roll-events=0", "--detail-buffer=4M", "--stack-bytes=256", "--on-full=block"],
         ["--pre-roll-events=0", "--post-roll-sec=0.0001", "--detail-buffer=4M", "--stack-bytes=0", "--segment-size=64K"],
         ["--pre-roll-events=0", "--post-roll-sec=0.0001", "--pack=always", "--segment-size=256K"],
         ["--pre-roll-sec=0.0001", "--post-roll-events=40", "--index-buffer=1M"],
         ["--pre-roll-events=40", "--post-roll-events=1", "--index-mode=circular"]]


@pytest.mark.parametrize("options", MIXES)
def test_marks_from_everywhere_leave_no_hole(ada, program, tmp_path, options):
    """Threads that end, handlers of signals, children of fork, all marking; buffers too small for some of it."""
    result = ada.trace(tmp_path, [program("mix"), "31", "2", "4", "300"], "--trigger=symbol=mark_me", "--no-libcalls", *options)
    assert result.status == 0, result.stderr.decode()
    check_recording(ada, tmp_path)
    recorded = list(processes(tmp_path))
    assert len(recorded) == 2
    for process in recorded:
        check_process(process, numbers=False)
        assert process.windows


def test_what_a_circular_index_has_overwritten_stands_where_it_was_marked(ada, program, tmp_path):
    result = ada.trace(tmp_path, [program("gone")], "--trigger=symbol=mark_me", "--no-libcalls", "--index-mode=circular", "--index-buffer=1M",
                       "--pre-roll-events=10", "--post-roll-events=10")
    assert result.status == 0, result.stderr.decode()
    check_recording(ada, tmp_path)
    process, = processes(tmp_path)
    check_process(process)
    first, last = process.windows
    assert first["eventCount"] == 0 and first["markedCount"] == last["markedCount"] == 1
    assert first["startNs"] == first["endNs"] == first["markedNs"] == first["marks"][0]["tsNs"]
    assert re.search("newer events had overwritten .* a larger --index-buffer keeps more, --index-mode=streaming all", first["shortReason"])
    assert last["startNs"] <= last["markedNs"] <= last["endNs"] and last["eventCount"]
    assert process.manifest["startNs"] <= first["endNs"] < min(event[0] for thread in process.threads for events, _ in thread.segments for event in events)
    shown = ada.rows("windows", Session(tmp_path).path)
    assert [row["eventCount"] for row in shown] == [0, last["eventCount"]]
    verified = ada("verify", Session(tmp_path).path)
    assert verified.status == 0, verified.stdout.decode()


def test_killed_at_random_moments(ada, program, tmp_path, rounds):
    children = rounds(200, 60)
    result = ada.trace(tmp_path, [program("killed"), str(children), "11", "2"], "--trigger=symbol=begin", "--pre-roll-events=10",
                       "--post-roll-sec=60", "--no-libcalls", "--on-full=block", "--index-buffer=8M", "--detail-buffer=128M",
                       timeout=280)
    assert result.status == 0, result.stderr.decode()
    check_recording(ada, tmp_path)
    returned = {int(line.split()[0]): [int(n) for n in line.split()[1:]] for line in result.stdout.decode().splitlines()}
    assert len(returned) == children
    seen = 0
    for process in processes(tmp_path):
        pid = process.manifest["pid"]
        if pid not in returned:
            continue
        seen += 1
        assert process.manifest["exit"]["signal"] == 9
        check_process(process)
        assert process.windows and process.windows[0]["triggerKind"] == "symbol:begin"
        counts = sorted(sum(e[3] == CALL and process.names[e[1]] == "step" for e in t.events) for t in process.threads)
        for have, at_least in zip(reversed(counts), sorted(returned[pid], reverse=True)):
            assert have >= at_least, f"{pid}: {have} calls in the index, {at_least} had returned"
        if len(process.windows) == 1:       # not cut by a pool that was full: then the window holds all to the end
            last = max(t.events[-1][0] for t in process.threads if t.events)
            assert process.windows[0]["endNs"] >= last
    assert seen == children
