"""A disk that fails, is full or read-only while events are written: the program never notices, recording goes on in memory as long as the
buffer holds, and what was written is sound."""
import contextlib
import errno
import json
import os
import subprocess
import time

import pytest

from harness import Session, check_recording

CALLS = 3000


class Steps:
    """A recording of disk_program, step by step."""

    def __init__(self, ada, build_dir, place, options, environment, output):
        program = build_dir / "tests" / "disk" / "disk_program"
        self.errors, self.calls, self.marks, self.output = place / "stderr", 0, 0, output
        command = [ada.path, "trace", f"--output={output}", "--functions=counted_*", "--no-libcalls", *options, "--", program]
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.errors.open("w"), text=True, env={**os.environ, **environment})

    def step(self, calls=CALLS, marks=0):
        self.process.stdin.write(f"{calls} {marks}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"
        self.calls, self.marks = self.calls + calls, self.marks + marks

    def wait_for(self, text):
        deadline = time.monotonic() + 30
        while text not in self.errors.read_text():
            assert time.monotonic() < deadline, f"no {text!r} in: {self.errors.read_text()}"
            assert self.process.poll() is None, self.errors.read_text()
            time.sleep(0.01)

    def use_up_memory(self):
        """Records until it is said that recording ends: a program that doesn't wait is soon ahead of a recorder that gets no CPU."""
        deadline = time.monotonic() + 60
        while "recording ends" not in self.errors.read_text():
            assert time.monotonic() < deadline and self.process.poll() is None, self.errors.read_text()
            self.step(100000)

    def is_written(self, name, size, begins):
        return any(file.read_bytes().startswith(begins) and file.stat().st_size > size for file in self.output.glob(f"session_*/pid_*/thread_*/{name}"))

    def until_written(self, size=0):
        """A recorder that gets no CPU may still hold the first block: then trouble finds files that were never begun."""
        deadline = time.monotonic() + 30
        while not self.is_written("index.at[fp]", size, (b"ATI2", b"ATP2")):
            assert time.monotonic() < deadline and self.process.poll() is None, self.errors.read_text()
            time.sleep(0.01)

    def until_detail_is_written(self):
        """What is kept of the detail lane is written once its buffer is about to be full: a recorder that gets no CPU while the buffer is
        filled finds that it isn't filled any more."""
        deadline, again = time.monotonic() + 60, 0
        while not self.is_written("detail.atf", 1 << 20, b""):
            assert time.monotonic() < deadline and self.process.poll() is None, self.errors.read_text()
            if time.monotonic() > again:
                self.step(10000)
                again = time.monotonic() + 1
            time.sleep(0.01)

    def end(self):
        """The program ends as it would without ada, and soon. The session and its manifest."""
        self.process.stdin.close()
        assert self.process.wait(60) == 7
        session = Session(self.output)
        manifest, = session.manifests().values()
        return session, manifest


@pytest.fixture
def steps(ada, build_dir, tmp_path):
    started = []

    def start(*options, output=tmp_path / "out", **environment):
        started.append(Steps(ada, build_dir, tmp_path, options, environment, output))
        return started[-1]
    yield start
    for one in started:
        one.process.kill()
        one.process.wait()


@pytest.fixture
def fault(build_dir, tmp_path):
    """fault(NAME, RING): what makes the recorder's writes fail with that errno, and the file that switches the fault on."""
    library, file = build_dir / "tests" / "disk" / "libdisk_fault.so", tmp_path / "fault"

    def make(name, ring="yes"):
        return {"LD_PRELOAD": str(library), "DISK_FAULT": str(getattr(errno, name)), "DISK_FAULT_WHILE": str(file),
                "DISK_FAULT_RING": ring}, file
    return make


@pytest.fixture
def small_disk(tmp_path, need):
    """small_disk(SIZE): a tmpfs of its own."""
    place = tmp_path / "disk"

    def mount(size):
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs", place]
        need(os.geteuid() == 0 and not subprocess.run(command, capture_output=True).returncode, "root and mount(2)")
        return place
    yield mount
    if place.exists():
        subprocess.run(["umount", "-l", place], check=False)


def check_all_is_there(ada, steps, manifest):
    lane, disk = manifest["index_lane"], manifest["recording"]["disk"]
    assert lane["lost"] == 0 and lane["event_count"] == 2 * (steps.calls + steps.marks)
    assert manifest["recording"]["state"] == "complete"
    assert disk["firstNs"] <= disk["sinceNs"] < disk["untilNs"] <= manifest["endNs"] + 3 * 10**9 and disk["stoppedNs"] is None
    check_recording(ada, steps.output)


@pytest.mark.parametrize("name,ring,pack", [("ENOSPC", "yes", "never"), ("EIO", "yes", "never"), ("EIO", "no", "never"),
                                            ("EDQUOT", "no", "auto"), ("EROFS", "no", "auto"), ("ENOSPC", "yes", "always"),
                                            ("EIO", "no", "always")])
def test_trouble_that_passes(ada, steps, fault, name, ring, pack):
    """From the first block that fails until the disk takes data again all is in memory, and then in the files."""
    environment, file = fault(name, ring)
    run = steps(f"--pack={pack}", **environment)
    run.step(100000)
    file.touch()
    run.step(200000)
    run.wait_for("goes on in memory")
    run.step()
    run.step()
    file.unlink()
    run.wait_for("written again")
    run.step()
    _, manifest = run.end()
    check_all_is_there(ada, run, manifest)
    assert os.strerror(getattr(errno, name)) == manifest["recording"]["disk"]["reason"]


def test_it_begins_with_trouble(ada, steps, fault):
    """Not even the files could be made."""
    environment, file = fault("EROFS", "no")
    file.touch()
    run = steps(**environment)
    run.step()
    run.wait_for("goes on in memory")
    file.unlink()
    run.step()
    check_all_is_there(ada, run, run.end()[1])


@pytest.mark.parametrize("pack", ["always", "never"])
def test_segments_roll_in_trouble(ada, steps, fault, pack):
    """Also where a file should end, and the next one begin."""
    environment, file = fault("ENOSPC")
    run = steps("--segment-size=1M", f"--pack={pack}", **environment)
    run.step(10000)
    file.touch()
    run.step(100000)
    run.wait_for("goes on in memory")
    file.unlink()
    run.step(100000)
    check_all_is_there(ada, run, run.end()[1])


def test_windows_wait_for_the_disk(ada, steps, fault):
    environment, file = fault("EIO", "no")
    run = steps("--trigger=symbol=counted_mark@pre=1000ev,post=1000ev", **environment)
    run.step()
    file.touch()
    run.step(CALLS, 1)
    run.wait_for("goes on in memory")
    run.step()
    file.unlink()
    run.wait_for("written again")
    session, manifest = run.end()
    check_all_is_there(ada, run, manifest)
    window, = manifest["detail_lane"]["windows"]
    assert window["shortReason"] is None and window["eventCount"] >= 1000


def check_stopped(ada, session, manifest, name):
    recording = manifest["recording"]
    assert recording["state"] == "failed" and os.strerror(getattr(errno, name)) in recording["reason"], recording
    assert recording["disk"]["untilNs"] is None and manifest["finalized"]
    result = ada("verify", "--format=json", session.path)
    answer = json.loads(result.stdout)
    # A disk that takes nothing at all takes no footer either: such a file is as a crash leaves it.
    wrong = [row for row in answer["rows"] if not row["ok"] and "no footer" not in row["message"]]
    assert not wrong, wrong
    assert sum(book["event_count"] for book in answer["books"]) == manifest["index_lane"]["event_count"]
    return sum(book["captured"] for book in answer["books"])


@pytest.mark.parametrize("name,ring", [("EIO", "no"), ("ENOSPC", "yes")])
@pytest.mark.parametrize("full,pack", [("drop", "never"), ("block", "never"), ("drop", "always")])
def test_trouble_that_lasts(ada, steps, fault, name, ring, full, pack):
    """The buffer is used up, then recording stops, and the program doesn't wait for the disk."""
    environment, file = fault(name, ring)
    run = steps("--index-buffer=1M", f"--on-full={full}", f"--pack={pack}", **environment)
    run.step()
    run.until_written()
    file.touch()
    run.use_up_memory()
    run.step()
    session, manifest = run.end()
    captured = check_stopped(ada, session, manifest, name)
    assert 2 * CALLS <= captured <= 2 * run.calls
    assert manifest["startNs"] < manifest["recording"]["disk"]["stoppedNs"] <= manifest["endNs"]


@pytest.mark.parametrize("name,ring", [("EIO", "no"), ("ENOSPC", "yes")])
def test_the_first_block_is_what_fails(ada, steps, fault, name, ring):
    """The file has its header all the same, and no event. A quiet thread's block is written half a second behind its event."""
    environment, file = fault(name, ring)
    run = steps("--index-buffer=1M", "--pack=never", **environment)
    run.step(1)
    run.until_written()
    file.touch()
    run.use_up_memory()
    session, manifest = run.end()
    check_stopped(ada, session, manifest, name)


def test_the_disk_recovers_behind_the_stop(ada, steps, fault):
    """What was in memory when recording stopped is written all the same."""
    environment, file = fault("EIO", "no")
    run = steps("--index-buffer=1M", **environment)
    file.touch()
    run.use_up_memory()
    file.unlink()
    run.wait_for("written again")
    session, manifest = run.end()
    recording, lane = manifest["recording"], manifest["index_lane"]
    assert recording["state"] == "failed" and recording["disk"]["untilNs"] > recording["disk"]["stoppedNs"]
    assert lane["event_count"] * 32 > 700 << 10, "the buffer as it was"
    assert ada("verify", session.path).status == 0


@pytest.mark.parametrize("pack", ["always", "never"])
def test_the_program_ends_in_trouble(ada, steps, fault, pack):
    """The end waits a moment for the disk, not for long, and counts what is in no file."""
    environment, file = fault("EIO", "no")
    run = steps(f"--pack={pack}", **environment)
    run.step(100000)
    file.touch()
    run.step()
    run.wait_for("goes on in memory")
    session, manifest = run.end()
    assert check_stopped(ada, session, manifest, "EIO") == 2 * run.calls
    assert manifest["index_lane"]["lost"] > 0


@pytest.mark.parametrize("pack", ["always", "never"])
def test_a_mark_outlives_its_event(ada, steps, fault, pack):
    """What a disk in trouble didn't take any more is no place for a mark to name; the mark itself stays, with its time."""
    environment, file = fault("EIO", "no")
    run = steps(f"--pack={pack}", "--trigger=symbol=counted_mark@pre=10ev,post=10ev", DISK_FAULT_OF="/index.", **environment)
    run.step(CALLS, 1)
    run.step(100000)
    run.until_written(size=16 << 10 if pack == "always" else 64 + 32 * (2 * CALLS + 2))     # the mark's event is among it
    file.touch()
    run.step(CALLS)
    run.wait_for("goes on in memory")
    run.step(CALLS, 1)
    session, manifest = run.end()
    assert check_stopped(ada, session, manifest, "EIO") == 2 * run.calls + 2 * run.marks
    segment, = manifest["threads"][0]["segments"]
    kept, lost = (mark for window in manifest["detail_lane"]["windows"] for mark in window["marks"])
    assert kept["indexSeq"] == 2 * CALLS < segment["events"] and lost["indexSeq"] is None and lost["functionId"] == kept["functionId"], (kept, lost)
    assert ada("narrate", session.path).status == 0


@pytest.mark.parametrize("pack", ["always", "never"])
def test_a_segment_is_full_in_trouble_that_lasts(ada, steps, fault, pack):
    """Its end waits for the disk, too, and what it couldn't write is lost. With 200 KiB it ends within a block."""
    environment, file = fault("EIO", "no")
    run = steps("--segment-size=200K", f"--pack={pack}", **environment)
    run.step(1000)
    run.until_written()
    file.touch()
    run.step(1000)
    run.wait_for("goes on in memory")
    run.step(10000)
    session, manifest = run.end()
    assert check_stopped(ada, session, manifest, "EIO") == 2 * run.calls
    assert manifest["index_lane"]["lost"] > 0


def check_lost_detail(run, session, manifest):
    """What is lost of windows is told: in the manifest, and in the summary."""
    lane, told = manifest["detail_lane"], run.errors.read_text()
    assert sum(window["eventCount"] for window in lane["windows"]) == lane["event_count"]
    assert sum(window.get("lostCount", 0) for window in lane["windows"]) == lane["lost"] > 0
    assert all("of its records could not be written" in window["shortReason"] for window in lane["windows"] if window.get("lostCount"))
    assert f", {lane['lost']} detail records LOST (disk)" in told and "nothing lost" not in told, told


def test_no_detail_can_be_written(ada, steps, fault):
    """Its file can't even be made; the index is whole."""
    environment, file = fault("EIO", "no")
    run = steps("--trigger=symbol=counted_mark@pre=1000ev,post=1000ev", DISK_FAULT_OF="/detail.", **environment)
    file.touch()
    run.step(CALLS, 1)
    run.step(CALLS)
    session, manifest = run.end()
    check_lost_detail(run, session, manifest)
    check_recording(ada, run.output)
    assert manifest["index_lane"]["lost"] == manifest["detail_lane"]["event_count"] == 0
    assert manifest["detail_lane"]["lost"] >= 2001
    completeness = json.loads(ada("report", "--format=json", session.path).stdout)["completeness"]
    assert completeness["lost"] == 0 and completeness["complete"] is False


def test_a_detail_file_fails_for_good(ada, steps, fault):
    """Behind what the disk took it takes nothing, and no tables either."""
    environment, file = fault("EIO", "no")
    run = steps("--detail-mode=streaming", DISK_FAULT_OF="/detail.", **environment)
    run.step(100000)
    run.until_detail_is_written()
    file.touch()
    run.step(10000)
    session, manifest = run.end()
    check_lost_detail(run, session, manifest)
    assert manifest["detail_lane"]["event_count"] > 1000
    answer = json.loads(ada("verify", "--format=json", session.path).stdout)
    wrong = [row for row in answer["rows"] if not row["ok"] and "no footer" not in row["message"]]
    assert not wrong, wrong


def test_a_window_fills_the_disk(ada, steps, small_disk):
    """120,040 records of more than 100 bytes are in it: its tables take the place of some that the disk took, and what is there is sound."""
    run = steps("--pack=always", "--trigger=symbol=counted_mark@pre=10000ev,post=10000ev", output=small_disk("6M") / "out")
    for _ in range(20):
        run.step(CALLS, 1)
    session, manifest = run.end()
    check_lost_detail(run, session, manifest)
    assert manifest["detail_lane"]["event_count"] > 10000
    check_recording(ada, run.output, states=("complete", "failed"))


@pytest.mark.parametrize("pack", ["always", "never"])
def test_a_full_disk_that_gets_room(ada, steps, small_disk, pack):
    """A real one."""
    disk = small_disk("4M")
    run = steps(f"--pack={pack}", output=disk / "out")
    run.step()
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    run.step(20000)
    run.wait_for("goes on in memory")
    run.step()
    filler.unlink()
    run.wait_for("written again")
    run.step()
    check_all_is_there(ada, run, run.end()[1])


def test_many_files_that_cannot_be_written_are_told_in_a_few_lines(ada, small_disk):
    """Of dozens of processes on a disk that is full; the program's end is its own, and the losses are counted."""
    place = small_disk("1M")
    result = subprocess.run([ada.path, "trace", f"--output={place}", "sh", "-c", "for i in $(seq 60); do /bin/true; done; exit 7"], stderr=subprocess.PIPE,
                            text=True, timeout=120, check=False)
    lines = [line for line in result.stderr.splitlines() if "/manifest.json: No space left on device" in line]
    assert result.returncode == 7 and len(lines) == 3, result.stderr
    assert result.stderr.count("ada: nor can other files: make room there, or record elsewhere (--output=DIR)\n") == 1
    assert " CUT SHORT" in result.stderr and len(result.stderr.splitlines()) < 20
