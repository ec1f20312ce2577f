"""Recorders, programs and both killed at random, with four threads at full rate that count their own calls: what was committed before
the kill is in the recording, all of it and once, as the keeper finishes it."""
import contextlib
import json
import mmap
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import time

import jsonschema
import pytest
from harness import NO_OWN_MEMORY, Session, keeper_of, skip_unless_possible, wait_for_end

SOURCE = pathlib.Path(__file__).resolve().parent
ROOT = SOURCE.parent.parent
THREADS = 4
COUNTS_BYTES = 64 * 64              # of kept.h: lines of 64 bytes
WAIT_S = 120
CALLS = 100000                      # some of which are in files by then, and some not
DROP = ("--functions=re:^(tick_.|mark_me)$",)
BLOCK = ("--on-full=block", *DROP)  # nothing is dropped while the recorder lives
WINDOWS = ("--trigger=symbol=mark_me@pre=1ms,post=1ms",)


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """(the program, the check of its recording)."""
    place = tmp_path_factory.mktemp("kept")
    for name, more in (("kept", ["-pthread"]), ("kept_check", [f"-I{ROOT / 'src'}"])):
        subprocess.run(["gcc", "-std=gnu11", "-O1", "-D_GNU_SOURCE", "-include", "stdbool.h", *more, "-o", place / name,
                        SOURCE / f"{name}.c"], check=True)
    return place / "kept", place / "kept_check"


class Trial:
    """A program that is recorded, and its counts."""

    def __init__(self, ada, programs, place, *options, before=(), seconds=WAIT_S, threads=THREADS):
        self.ada, self.check_program, self.place, self.output = ada, programs[1], place, place / "ada"
        self.mode = "block" if "--on-full=block" in options else "drop"
        place.mkdir(exist_ok=True)
        self.file = place / "counts"
        self.file.write_bytes(bytes(COUNTS_BYTES))
        with self.file.open("r+b") as file:
            self.counts = mmap.mmap(file.fileno(), COUNTS_BYTES)
        self.process = subprocess.Popen([*before, ada.path, "trace", "--quiet", f"--output={self.output}", *options, "--", programs[0],
                                         self.file, str(threads), str(seconds)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.until(lambda: (self.output / "latest" / "session.json").exists())
        self.until(lambda: keeper_of(self.process.pid))
        self.keeper = keeper_of(self.process.pid)
        self.session = Session(self.output).path

    def until(self, condition):
        end = time.monotonic() + WAIT_S
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end
            time.sleep(0.001)

    def calls(self):
        return sum(int.from_bytes(self.counts[64 * i:64 * i + 8], "little") for i in range(COUNTS_BYTES // 64))

    def pids(self):
        """Of the program, the child that isn't the keeper."""
        try:
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return []
        return [int(pid) for pid in children if int(pid) != self.keeper]

    def note(self):
        """Keeps the counts, for what comes next is a kill."""
        (self.place / "before").write_bytes(self.counts[:])

    def kill(self, who):
        """'recorder', 'program', or both in that order: 'recorder program'. What was done before the first one dies must be there."""
        pids = {"program": self.pids(), "recorder": [self.process.pid]}
        self.note()
        for each in who.split():
            for pid in pids[each]:
                os.kill(pid, signal.SIGKILL)
        return pids["program"]

    def end(self):
        """The recorder is gone, the keeper has done its work, and the program is dead."""
        self.process.wait(timeout=WAIT_S)
        if self.keeper:
            wait_for_end(self.keeper, WAIT_S)

    def kill_keeper(self):
        os.kill(self.keeper, signal.SIGKILL)
        wait_for_end(self.keeper, WAIT_S)
        self.keeper = None

    def stop_program(self, pids):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            wait_for_end(pid, WAIT_S)

    def check(self, told, by=None):
        """How many events there are."""
        document = json.loads((self.session / "session.json").read_text())
        assert document["finalized"], told
        if by:
            assert document.get("recovered", {}).get("by") == by, told
            assert "notSaved" not in document["recovered"], told + str(document["recovered"])
        (self.place / "after").write_bytes(self.counts[:])
        verify = self.ada("verify", self.session)
        assert verify.status == 0, told + verify.stdout.decode()
        unpack = self.ada("unpack", self.session)
        assert unpack.status == 0, told + unpack.stderr.decode()
        threads = sorted(self.session.glob("pid_*/thread_*"))
        result = subprocess.run([self.check_program, self.mode, self.place / "before", self.place / "after", *threads], capture_output=True)
        assert result.returncode == 0, f"{told}: {result.stdout.decode()}"
        verify = self.ada("verify", self.session)
        assert verify.status == 0, told + verify.stdout.decode()
        manifests, sessions = validators()
        for manifest in Session(self.output).manifests().values():
            manifests.validate(manifest)
        sessions.validate(document)
        return int(result.stdout)


def validators():
    manifest, session = (json.loads((ROOT / "docs" / f"{name}.schema.json").read_text()) for name in ("manifest", "session"))
    resolver = jsonschema.RefResolver("", session, store={"manifest.schema.json": manifest})
    return jsonschema.Draft202012Validator(manifest), jsonschema.Draft202012Validator(session, resolver=resolver)


def one_trial(ada, programs, place, number, seed):
    chance = random.Random(f"{seed}-{number}")
    who = ("recorder", "recorder program", "program recorder", "program", "recorder")[number % 5]
    options = (*(DROP if number % 8 == 5 else BLOCK), *(WINDOWS if number % 3 == 1 else ("--detail=off",) if chance.random() < 0.5 else ()),
               *chance.choice([(), ("--index-buffer=8M",), ("--segment-size=1M",), ("--index-buffer=4M", "--segment-size=256K")]),
               *chance.choice([(), ("--pack=always",), ("--pack=never",)]))
    after_s = chance.random() * (0.1 if number % 3 == 0 else 0.6)
    told = f"trial {number} of seed {seed}: {who} killed {after_s:.4f} s after the beginning, {' '.join(options)}: "
    trial = Trial(ada, programs, place, *options)
    if number % 3 == 1:         # while windows are being written: as soon as there is a file of detail, or a moment later
        trial.until(lambda: next(trial.session.glob("pid_*/thread_*/detail*.atf"), None))
        after_s /= 10
        told += "with windows: "
    time.sleep(after_s)         # the moment is at random, nothing is waited for
    pids = trial.kill(who)
    trial.end()
    trial.stop_program(pids)
    trial.check(told, "keeper" if "recorder" in who else None)
    shutil.rmtree(place)


@pytest.mark.traces
def test_what_was_committed_before_the_kill_is_there(ada, programs, tmp_path, pytestconfig):
    seed = os.urandom(4).hex()
    for number in range(1000 if pytestconfig.getoption("--all-variants") else 15):
        one_trial(ada, programs, tmp_path / str(number), number, seed)


@pytest.fixture
def memory(tmp_path):
    """What this test's recordings have in /dev/shm, where those of other tests lie, too. Nothing of it outlives the test: it
    would be told of in others."""
    home = pathlib.Path(f"/dev/shm/ada-{os.geteuid()}")

    def is_ours(path):
        with contextlib.suppress(OSError):
            return str(tmp_path) in (path / "session").read_text()
        return False

    def names():
        return {path for path in home.glob("*") if is_ours(path)}
    yield names
    for path in names():
        shutil.rmtree(path, ignore_errors=True)


def without_keeper(ada, programs, place, *options):
    """A trial whose memory has names, recorder and keeper killed; and the pids of the program."""
    trial = Trial(ada, programs, place, *BLOCK, *options, before=NO_OWN_MEMORY)
    trial.kill_keeper()
    trial.until(lambda: trial.calls() > CALLS)
    pids = trial.kill("recorder")
    trial.end()
    return trial, pids


@pytest.mark.traces
@pytest.mark.parametrize("mode", ["streaming", "oneshot", "circular"])
def test_where_the_keeper_died_too_the_command_finds_the_memory(ada, programs, tmp_path, memory, mode):
    skip_unless_possible(NO_OWN_MEMORY)
    trial, pids = without_keeper(ada, programs, tmp_path / "trial", f"--index-mode={mode}", "--index-buffer=8M")
    trial.stop_program(pids)
    assert memory()
    for near in (("info", trial.session), ("status", trial.session), ("trace", f"--output={trial.output}", "--", "true")):
        assert f"shared memory: `ada recover {trial.session}` saves what is in it\n" in ada(*near).stderr.decode()
    shutil.rmtree(next(path for path in trial.output.glob("session_*") if path != trial.session))
    assert str(trial.session) in ada("recover", "--list").stdout.decode()
    result = ada("recover", trial.session)
    assert result.status == 0, result.stderr.decode()
    assert not memory()
    if mode == "streaming":
        trial.check("by hand: ", "command")
    else:
        assert ada("verify", trial.session).status == 0
        assert sum(row["events"] for row in json.loads(ada("recover", "--format=json", trial.session).stdout)["rows"]) > 0
    assert b"nothing to do" in ada("recover", trial.session).stdout


@pytest.mark.traces
def test_the_command_while_the_program_goes_on(ada, programs, tmp_path, memory):
    skip_unless_possible(NO_OWN_MEMORY)
    trial, pids = without_keeper(ada, programs, tmp_path / "trial")
    result = ada("recover", trial.session)
    assert result.status == 0 and not memory(), result.stderr.decode()
    trial.stop_program(pids)
    trial.check("by hand: ", "command")


@pytest.mark.traces
def test_the_command_that_is_killed_is_done_again(ada, programs, tmp_path, memory, pytestconfig):
    skip_unless_possible(NO_OWN_MEMORY)
    chance = random.Random(os.urandom(4).hex())
    for number in range(20 if pytestconfig.getoption("--all-variants") else 2):
        trial, pids = without_keeper(ada, programs, tmp_path / str(number), "--detail=off")
        trial.stop_program(pids)
        for kill in range(5):
            process = subprocess.Popen([ada.path, "recover", trial.session], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.random() * 0.1)       # the moment is at random
            process.kill()
            process.wait()
        result = ada("recover", trial.session)
        assert result.status == 0 and not memory(), result.stderr.decode()
        trial.check(f"by hand, number {number}: ", "command")
        shutil.rmtree(tmp_path / str(number))


MANY_THREADS = "41d2679b-5"         # 262,144, says the arena that is damaged by this seed


def damage(arena, chance):
    """A few words of what the header, and the first entries of each table, say."""
    with arena.open("r+b") as file:
        tables = struct.unpack_from("<5Q", file.read(64), 24)
        places = [(0, 320), *((table, 2048) for table in tables[:4])]
        for _ in range(chance.randrange(1, 6)):
            start, length = chance.choice(places)
            file.seek(start + 4 * chance.randrange(length // 4))
            file.write(struct.pack("<I", chance.choice([0, 1, 2, 3, 255, 4096, 1 << 18, 1 << 31, (1 << 32) - 1, chance.getrandbits(32)])))


@pytest.mark.traces
def test_a_damaged_arena_ends_in_one_line_or_a_recovery(ada, programs, tmp_path, memory, pytestconfig):
    skip_unless_possible(NO_OWN_MEMORY)
    trial, pids = without_keeper(ada, programs, tmp_path / "trial", "--detail=off", "--index-buffer=1M")
    trial.stop_program(pids)
    whole, = memory()
    seed = os.urandom(4).hex()
    seeds = [f"{seed}-{number}" for number in range(100 if pytestconfig.getoption("--all-variants") else 8)]
    for number, seed in enumerate([MANY_THREADS, *seeds]):
        session, copy = tmp_path / str(number), whole.parent / f"{whole.name}-{number}"
        os.utime(whole)         # so it stays young: `ada trace` in other tests, at the same time, would tell of it
        shutil.copytree(trial.session, session)
        subprocess.run(["cp", "-r", "--sparse=always", whole, copy], check=True)
        (copy / "session").write_text(f"pid 1\nsession {session}")
        damage(copy / "arena", random.Random(seed))
        result = ada("recover", session)
        assert result.status in (0, 125), (seed, result.stderr.decode())
        assert ada("recover", session).status in (0, 125), seed
        shutil.rmtree(session)
        shutil.rmtree(copy, ignore_errors=True)
    assert ada("recover", trial.session).status == 0
    trial.check("undamaged: ", "command")


@pytest.mark.traces
def test_nothing_is_left_of_what_ends_in_order(ada, programs, tmp_path, memory):
    for name, before in (("own", ()), ("named", NO_OWN_MEMORY)):
        if before:
            skip_unless_possible(before)
        trial = Trial(ada, programs, tmp_path / name, *BLOCK, before=before, seconds=1)
        trial.note()
        assert trial.process.wait(timeout=WAIT_S) == 0
        assert not pathlib.Path(f"/proc/{trial.keeper}").exists()
        trial.check("ended: ")
        assert "recovered" not in json.loads((trial.session / "session.json").read_text())
        assert not (trial.session / "recover.log").exists() and not memory()


@pytest.mark.traces
def test_the_keeper_says_what_it_did(ada, programs, tmp_path):
    trial = Trial(ada, programs, tmp_path / "trial", *BLOCK)
    trial.until(lambda: trial.calls() > CALLS)
    pids = trial.kill("recorder program")
    trial.end()
    trial.stop_program(pids)
    trial.check("by the keeper: ", "keeper")
    assert "recovered by the keeper: its recorder was killed\n" in (trial.session / "recover.log").read_text()
    assert b"recovered already, by keeper" in ada("recover", trial.session).stdout


@pytest.mark.traces
def test_the_recorder_goes_on_without_its_keeper(ada, programs, tmp_path):
    trial = Trial(ada, programs, tmp_path / "trial", *BLOCK, seconds=1)
    os.kill(trial.keeper, signal.SIGKILL)
    trial.note()
    assert trial.process.wait(timeout=WAIT_S) == 0
    trial.check("without keeper: ")
