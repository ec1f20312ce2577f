"""A buffer is full when all of it is in use, not when nobody has made its memory yet.

The recorder is stopped while the program runs: whatever it had no time for, on any machine, it has no time for now.
"""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from harness import NO_OWN_MEMORY, SMALL_DEV_SHM, Session, check_recording, enter, run, skip_unless_possible
from live import Live

CHUNK = 1022            # events of an index chunk: abi/wire.h
OWN, DEV_SHM = (), NO_OWN_MEMORY
OPTIONS = ("--detail=off", "--no-libcalls")


@pytest.fixture
def live(ada, build_dir, tmp_path):
    """live(THREADS, CALLS, OPTION..., before=WORDS, inside=WORDS): the program, ready; words that ada, or it, is put behind."""
    programs = []

    def start(threads, calls, *options, before=(), inside=()):
        program = build_dir / "tests" / "growth" / "growth_program"
        skip_unless_possible(before)
        programs.append(Live(ada, tmp_path / "out", [*inside, program, threads, calls], *options, before=before))
        return programs[-1]
    yield start
    for program in programs:
        with contextlib.suppress(OSError):
            os.kill(program.process.pid, signal.SIGCONT)
        program.close()


def run_alone(program):
    os.kill(program.process.pid, signal.SIGSTOP)
    program.tell("go\n")
    os.kill(program.process.pid, signal.SIGCONT)


def leaves(ada, recording):
    return sum(row["calls"] for row in ada.rows("report", recording.path) if row["function"] == "leaf")


def index_of(recording):
    manifest, = recording.manifests().values()
    return manifest["index_lane"], manifest["buffering"]["index"], manifest["recording"]


@pytest.mark.parametrize("before", [OWN, DEV_SHM], ids=["own", "dev-shm"])
@pytest.mark.parametrize("options", [(), ("--on-full=block",), ("--index-mode=oneshot",), ("--index-mode=circular",)],
                         ids=["drop", "block", "oneshot", "circular"])
@pytest.mark.parametrize("threads, calls", [(1, 900000), (2, 450000), (500, 1000)])
def test_all_of_the_buffer_is_used(live, ada, threads, calls, options, before):
    """64 MB hold 2,093,056 events, less what is left of each thread's last chunk."""
    program = live(threads, calls, *OPTIONS, *options, before=before)
    run_alone(program)
    program.end()
    recording = check_recording(ada, program.output)
    lane, buffer, _ = index_of(recording)
    assert (recording.lost(), lane["overwritten"], lane["lost_buffer_full"], lane["lost_memory_limit"]) == (0, 0, 0, 0)
    assert (buffer["waits"], buffer["memoryWaits"]) == (0, 0)
    assert leaves(ada, recording) == threads * calls


def test_what_does_not_fit_is_lost_for_that_reason(live, ada):
    program = live(1, 1200000, *OPTIONS)
    run_alone(program)
    _, summary = program.end()
    recording = check_recording(ada, program.output)
    lane, _, _ = index_of(recording)
    held = lane["event_count"] - lane["gaps"]
    assert held >= 2047 * CHUNK and lane["lost_memory_limit"] == 0
    assert lane["lost"] == lane["lost_buffer_full"] > 0
    assert "LOST" not in summary                # --quiet


def test_the_summary_says_what_helps(ada, build_dir, tmp_path):
    """Behind a loss for want of room: the recorder stands still while the program makes more than the buffer holds."""
    words = [ada.path, "trace", f"--output={tmp_path / 'out'}", "--index-buffer=1M", "--detail=off", "--no-libcalls", "--",
             build_dir / "tests/growth/growth_program", "1", "100000"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        os.kill(process.pid, signal.SIGSTOP)
        process.stdin.write(b"go\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"done\n"
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.close()
        summary = process.stderr.read().decode()
    assert "events LOST (buffer full)" in summary
    assert "ada: events came faster than their files took them: `ada tune` says which functions to leave out" in summary


def test_how_much_lay_in_huge_pages_is_told(live, ada):
    """Where the kernel says it (from Linux 6.7 on); never more than the buffer has got."""
    program = live(1, 300000, "--no-libcalls")
    run_alone(program)
    program.end()
    recording = check_recording(ada, program.output)
    manifest, = recording.manifests().values()
    told = []
    for lane in ("index", "detail"):
        buffer = manifest["buffering"][lane]
        assert 0 < buffer["memoryBytes"] <= buffer["bufferBytes"]
        assert buffer["hugeBytes"] is None or 0 <= buffer["hugeBytes"] <= buffer["memoryBytes"] + (2 << 20)
        told.append(buffer["hugeBytes"] is not None)
    assert told[0] == told[1] == any(line.startswith("memory ") and line.endswith(" in huge pages")
                                     for line in ada("info", recording.path).stdout.decode().splitlines())


def woken(program):
    """How often threads of the recorder have gone to sleep so far."""
    status = [path.read_text() for path in pathlib.Path(f"/proc/{program.process.pid}/task").glob("*/status")]
    return sum(int(line.split()[1]) for text in status for line in text.splitlines() if line.startswith("voluntary_ctxt_switches"))


def test_a_recorder_of_an_idle_program_sleeps(live):
    """The main thread wakes 200 times a second at most, lane and samples 20 times each, and nobody else often: it may run for days."""
    program = live(1, 1000)
    time.sleep(1)           # nothing has grown for a while
    begun, before = time.monotonic(), woken(program)
    time.sleep(2)
    rate = (woken(program) - before) / (time.monotonic() - begun)
    assert 0 < rate < 320, rate
    run_alone(program)      # and is there at once when it is needed
    program.end()
    assert Session(program.output).lost() == 0


def test_oneshot_ends_when_the_buffer_is_full(live, ada):
    program = live(1, 1200000, *OPTIONS, "--index-mode=oneshot")
    run_alone(program)
    program.end()
    recording = check_recording(ada, program.output, states=("stopped",))
    lane, _, state = index_of(recording)
    assert lane["lost"] == 0 and lane["event_count"] >= 2047 * CHUNK
    assert state["reason"] == "the oneshot buffer is full"


def wait_until(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it doesn't come so far"
        time.sleep(0.05)


def heap_kib(pid):
    lines = pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines()
    heap = next(number for number, line in enumerate(lines) if line.endswith("[heap]"))
    return next(int(line.split()[1]) for line in lines[heap:] if line.startswith("Rss:"))


def test_what_a_manifest_took_comes_back(live, ada):
    """Of a thousand threads it takes 5 MiB beside the 3 that the recorder keeps; the program rests once they have ended."""
    if ada.sanitized:
        pytest.skip("a sanitizer has a heap of its own")
    program = live(1000, 10, *OPTIONS)
    program.tell("go\n")
    manifest, = program.session.glob("pid_*/manifest.json")
    wait_until(lambda: len(json.loads(manifest.read_text())["threads"]) > 1000)
    wait_until(lambda: heap_kib(program.process.pid) < 6 << 10)


def test_circular_keeps_a_whole_buffer(live, ada):
    program = live(1, 3000000, *OPTIONS, "--index-mode=circular")
    run_alone(program)
    program.end()
    lane, _, _ = index_of(check_recording(ada, program.output))
    assert lane["lost"] == lane["overwritten"] and lane["event_count"] >= 2040 * CHUNK


# --- limits ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ["streaming", "oneshot"])
def test_no_memory_left(live, ada, need, mode):
    """/dev/shm has no more: no SIGBUS, and what is lost is lost for that reason."""
    need(os.geteuid() == 0, "root, for a /dev/shm of its own")
    program = live(1, 2000000, *OPTIONS, f"--index-mode={mode}", "--index-buffer=128M", before=SMALL_DEV_SHM)
    run_alone(program)
    program.end()
    recording = check_recording(ada, program.output, states=("complete", "failed"))
    lane, _, state = index_of(recording)
    assert lane["event_count"] > 15000 * 32 and lane["lost_buffer_full"] == 0
    if state["reason"]:
        assert mode == "oneshot" and state["reason"].startswith("memory limit")
    else:
        assert lane["lost"] == lane["lost_memory_limit"] > 0


def kills_in(group):
    names = {"memory.events": "oom_kill", "memory.oom_control": "oom_kill"}
    text = next((group / name).read_text() for name in names if (group / name).exists())
    return dict(line.split() for line in text.splitlines())["oom_kill"]


@pytest.mark.parametrize("mode", ["streaming", "oneshot"])
def test_a_control_group_has_its_limit(live, ada, group, mode):
    """Recorder and program in 128 MB, and a buffer of 1 GB: at most a quarter of what they leave is used."""
    program = live(2, 3000000, *OPTIONS, f"--index-mode={mode}", "--index-buffer=1G", before=enter(group))
    run_alone(program)
    program.end()
    recording = check_recording(ada, program.output, states=("complete", "failed"))
    lane, _, state = index_of(recording)
    assert kills_in(group) == "0"
    assert lane["lost_buffer_full"] == 0 and CHUNK * 64 < lane["event_count"] < (64 << 20) / 32
    if state["reason"]:
        assert mode == "oneshot" and state["reason"].startswith("memory limit")
    else:
        assert lane["lost"] == lane["lost_memory_limit"] > 0


def test_a_limit_of_the_program_alone(live, ada, group):
    """What the program makes is charged to it, what the recorder makes is not."""
    program = live(2, 3000000, *OPTIONS, "--index-buffer=1G", inside=enter(group))
    run_alone(program)
    program.end()
    assert kills_in(group) == "0"
    manifest = [m for m in check_recording(ada, program.output).manifests().values() if m["program"].endswith("growth_program")][-1]
    lane = manifest["index_lane"]
    assert lane["lost"] == lane["lost_memory_limit"] > 0


def test_a_crowd_in_a_control_group(ada, group, tmp_path):
    """Eighty that live at the same time in 128 MB: each is recorded, with less than it would like, or named; none is killed."""
    if ada.sanitized:           # what a sanitized recorder takes for itself differs by tens of MB from machine to machine
        limit = next(group / name for name in ("memory.max", "memory.limit_in_bytes") if (group / name).exists())
        limit.write_text(str(256 << 20))
    for name in ("go", "ready"):
        os.mkfifo(tmp_path / name)
    script = (f"exec 3<>{tmp_path}/go 4<>{tmp_path}/ready; for i in {{1..80}}; do {{ echo >&4; read -rn1 -u3; }} & done; "
              "for i in {1..80}; do read -r -u4; done; printf %80s >&3; wait")
    result = run([*enter(group), ada.path, "trace", f"--output={tmp_path / 'out'}", "--", "/bin/bash", "-c", script])
    assert (result.status, kills_in(group)) == (0, "0"), result.stderr.decode()
    document = json.loads((Session(tmp_path / "out").path / "session.json").read_text())
    reasons = [entry["reason"] for entry in document["notRecorded"]]
    assert len(document["processes"]) + len(reasons) == 81 and len(document["processes"]) > 12
    assert all(reason.startswith("memory limit") for reason in reasons)
