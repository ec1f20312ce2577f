"""The recorder with an agent that writes known events (agent.h): every event is in the files, or counted as lost in its place."""
import collections
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import jsonschema
import pytest
from harness import LOST, NO_OWN_MEMORY, Session, run, skip_unless_possible

PATIENCE_S = 50         # less than fake_program.c has
CHUNK = 1022            # events of a chunk: abi/wire.h
Event = collections.namedtuple("Event", "time function thread kind depth detail")
DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"


@pytest.fixture
def parts(build_dir):
    directory = build_dir / "tests" / "recorder"
    return directory / "recorder_driver", directory / "libada-tests-empty.so", directory / "fake_program"


@pytest.fixture
def record(parts, tmp_path):
    """record(SCENARIO...): runs it under the recorder; (Result, Session)."""
    def call(*scenario, options=(), output=tmp_path / "out", **more):
        driver, agent, program = parts
        result = run([driver, agent, output, *options, "--", program, *scenario], **more)
        return result, Session(output)
    return call


def schemas():
    manifest, session = (json.loads((DOCS / f"{name}.schema.json").read_text()) for name in ("manifest", "session"))
    resolver = jsonschema.RefResolver("", session, store={"manifest.schema.json": manifest})
    return jsonschema.Draft202012Validator(manifest), jsonschema.Draft202012Validator(session, resolver=resolver)


def events_of(directory):
    return [Event(*fields) for fields in Session.events(directory)]


def check_session(session):
    """Holds all that was written against the schemas and against the files; gives the manifests, in the order of starting."""
    manifest_schema, session_schema = schemas()
    whole = json.loads((session.path / "session.json").read_text())
    session_schema.validate(whole)
    assert whole["finalized"]
    manifests = [json.loads((session.path / p["directory"] / "manifest.json").read_text()) for p in whole["processes"]]
    for process, manifest in zip(whole["processes"], manifests):
        manifest_schema.validate(manifest)
        directory = session.path / process["directory"]
        assert manifest["finalized"]
        assert manifest["provider"] == process["provider"] == manifests.index(manifest)
        assert manifest["hooks"]["functions"] == manifest["hooks"]["hooked"] + sum(manifest["hooks"]["skipped"].values())
        lane = manifest["index_lane"]
        for ours, theirs in (("event_count", "events"), ("lost", "lost"), ("gaps", "gaps"), ("overwritten", "overwritten")):
            assert lane[ours] == sum(t[theirs] for t in manifest["threads"])
        for thread in manifest["threads"]:
            check_thread(directory, thread)
        for module in manifest["modules"]:
            if module["symbols"]:
                head = (directory / module["symbols"]).read_text().splitlines()[0].split("\t")
                assert head == ["#", module["path"], module["buildId"] or "-", module["base"]]
    for path in [session.path, *session.path.rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    return manifests


def check_thread(directory, thread):
    path = directory / thread["directory"]
    assert sorted(p.name for p in path.glob("*")) == sorted([s["file"] for s in thread["segments"]] + thread["detail"]["files"])
    if not thread["segments"]:
        return
    events = events_of(path)
    assert len(events) == thread["events"] == sum(s["events"] for s in thread["segments"])
    assert sum(e.kind == LOST for e in events) == thread["gaps"]
    assert sum(e.function for e in events if e.kind == LOST) <= thread["lost"]
    assert all(a.time <= b.time for a, b in zip(events, events[1:]))
    assert {e.thread for e in events} == {thread["tid"]}


def numbers(session, manifest, thread=0):
    """The numbers of a thread's events, checked against its LOST records: no event missing without its being said so."""
    directory = next(p for p in session.processes() if json.loads((p / "manifest.json").read_text()) == manifest)
    expected, seen = 0, []
    for event in events_of(directory / f"thread_{thread}"):
        if event.kind == LOST:
            expected += event.function
            continue
        assert event.function == expected
        assert event.kind == 1 + expected % 2
        seen.append(expected)
        expected += 1
    return seen, expected


def test_events_of_many_threads(record):
    # Memory for chunks is allocated ahead, which a recorder without a CPU can't do in time.
    result, session = record("events", 8, 20000, options=["block=1"])
    assert (result.status, result.stdout) == (0, b""), result.stderr
    manifest, = check_session(session)
    assert [len(numbers(session, manifest, t)[0]) for t in range(8)] == [20000] * 8
    assert manifest["index_lane"]["lost"] == 0
    assert manifest["recording"] == {"state": "complete", "reason": None, "threadsRefused": 0, "modulesRefused": 0, "internalErrors": 0}
    assert manifest["exit"] == {"kind": "exited", "status": 0}
    assert b"160000 events, 8 threads, 1 process, nothing lost" in result.stderr


@pytest.mark.parametrize("count", [1, CHUNK - 1, CHUNK, CHUNK + 1, 50000])
def test_nothing_committed_is_lost_by_sigkill(record, count):
    result, session = record("killed", count)
    assert result.status == 128 + signal.SIGKILL
    manifest, = check_session(session)
    assert numbers(session, manifest) == (list(range(count)), count)
    assert manifest["exit"]["kind"] == "signal" and manifest["exit"]["signal"] == signal.SIGKILL


def test_losses_are_marked_in_place_and_counted(record):
    result, session = record("lost")
    manifest, = check_session(session)
    seen, end = numbers(session, manifest)
    assert (len(seen), end) == (5101, 5124)
    assert manifest["index_lane"] == {"always_persisted": True, "event_count": 5104, "lost": 23, "lost_buffer_full": 0, "lost_memory_limit": 0,
                                       "overwritten": 0, "gaps": 3}
    assert b"23 events LOST" in result.stderr


def test_a_hole_in_the_numbers_is_marked(record):
    _, session = record("hole")
    manifest, = check_session(session)
    seen, end = numbers(session, manifest)
    assert (len(seen), end) == (200, 209)
    assert manifest["index_lane"]["lost"] == 9


def test_chunks_sealed_out_of_order_between_threads(record):
    _, session = record("order", options=["block=1"])
    manifest, = check_session(session)
    assert [len(numbers(session, manifest, t)[0]) for t in (0, 1)] == [2000, 4000]


def test_blocking_loses_nothing_in_a_small_buffer(record):
    result, session = record("fill", 500000, options=["buffer=1048576", "block=1"])
    assert result.status == 0, result.stderr
    manifest, = check_session(session)
    assert numbers(session, manifest) == (list(range(500000)), 500000)


def test_dropping_says_how_many_and_where(record):
    _, session = record("fill", 500000, options=["buffer=1048576"])
    manifest, = check_session(session)
    seen, end = numbers(session, manifest)
    assert end == 500000
    assert manifest["index_lane"]["lost"] == 500000 - len(seen)


def test_oneshot_keeps_the_first(record):
    _, session = record("fill", 100000, options=["buffer=1048576", "mode=1"])
    manifest, = check_session(session)
    seen, end = numbers(session, manifest)
    assert seen == list(range(32 * CHUNK))
    assert end == 100000
    assert not manifest["index_lane"]["always_persisted"]


def test_circular_keeps_the_newest(record):
    _, session = record("fill", 100000, options=["buffer=1048576", "mode=2"])
    manifest, = check_session(session)
    seen, end = numbers(session, manifest)
    kept = 31 * CHUNK + 100000 % CHUNK
    assert seen == list(range(100000 - kept, 100000))
    assert manifest["index_lane"]["overwritten"] == manifest["index_lane"]["lost"] == 100000 - kept


def test_segments(record):
    _, session = record("fill", 10000, options=["segment=65536"])
    manifest, = check_session(session)
    per_segment = (65536 - 128) // 32
    assert [s["events"] for s in manifest["threads"][0]["segments"]] == [per_segment] * 4 + [10000 - 4 * per_segment]
    assert [s["file"] for s in manifest["threads"][0]["segments"]][:2] == ["index.atf", "index.1.atp"]
    assert numbers(session, manifest)[1] == 10000


def test_a_dead_thread_gives_its_chunk_back(record):
    result, session = record("dead-thread")
    assert result.status == 0, result.stderr
    manifest, = check_session(session)
    assert len(numbers(session, manifest)[0]) == 50


def test_quiet_threads_reach_the_disk(parts, tmp_path):
    driver, agent, program = parts
    go = tmp_path / "go"
    process = subprocess.Popen([driver, agent, tmp_path / "out", "--", program, "quiet", go], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE_S
    while not (sizes := [p.stat().st_size for p in tmp_path.glob("out/session_*/pid_*/thread_0/index.atf")]) or sizes[0] < 64 + 320:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    go.touch()
    assert process.wait(PATIENCE_S) == 0
    session = Session(tmp_path / "out")
    manifest, = check_session(session)
    assert len(numbers(session, manifest)[0]) == 20


def test_a_program_that_the_agent_is_gone_from(parts, tmp_path):
    driver, agent, program = parts
    go = tmp_path / "go"
    process = subprocess.Popen([driver, agent, tmp_path / "out", "--", program, "escape", go], stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE_S
    while not any(json.loads(p.read_text())["finalized"] for p in tmp_path.glob("out/session_*/pid_*/manifest.json")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    go.touch()
    assert b"takes no agent in" in process.communicate()[1]
    manifest, = check_session(Session(tmp_path / "out"))
    assert (manifest["exit"], manifest["index_lane"]["event_count"]) == ({"kind": "exec"}, 12)


def test_plans_are_made_before_they_are_asked_for(record, parts, tmp_path):
    driver, _, program = parts
    result, session = record("ahead", driver, tmp_path / "cache/ada/plans", env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert result.status == 0, result.stderr
    manifest, = check_session(session)
    assert [module["path"] for module in manifest["modules"]] == [str(program), str(driver)]


def test_a_hanging_conversation_stalls_no_other(record):
    result, session = record("hang", timeout=20)
    assert result.status == 0, result.stderr
    assert len(numbers(session, check_session(session)[1])[0]) == 10


def test_nonsense_harms_no_one(record):
    result, session = record("nonsense")
    assert result.status == 0, result.stderr
    manifest, = check_session(session)
    assert len(numbers(session, manifest)[0]) == 20
    assert manifest["recording"]["internalErrors"] == 3


def test_exec_makes_a_second_image(record, parts):
    result, session = record("exec", parts[2], "fill", 33)
    first, second = check_session(session)
    assert (first["pid"], first["exit"]) == (second["pid"], {"kind": "exec"})
    assert [p.name for p in session.processes()] == [f"pid_{first['pid']}", f"pid_{first['pid']}_2"]
    assert (len(numbers(session, first)[0]), len(numbers(session, second)[0])) == (30, 33)
    assert second["exit"] == {"kind": "exited", "status": 0}


@pytest.mark.parametrize("late_ms", [0, 300])
def test_a_child_that_outlives_its_parent_is_waited_for(record, late_ms):
    result, session = record("fork", late_ms)
    assert result.status == 7
    parent, child = check_session(session)
    assert child["parentPid"] == parent["pid"]
    assert [m["path"] for m in child["modules"]] == [m["path"] for m in parent["modules"]]
    assert (len(numbers(session, parent)[0]), len(numbers(session, child)[0])) == (40, 60)


def test_a_child_has_the_names_that_its_parent_still_told_of(record):
    result, session = record("fork-early")
    assert result.status == 0, result.stderr
    for manifest in check_session(session):
        directory = session.path / f"pid_{manifest['pid']}"
        assert [module["symbols"] for module in manifest["modules"]] == ["modules/0.tsv", "modules/1.tsv"]
        assert all((directory / module["symbols"]).exists() for module in manifest["modules"])


def test_a_child_is_heard_of_behind_its_parent(record):
    result, session = record("fork-fork")
    assert result.status == 0, result.stderr
    first, second, third = check_session(session)
    assert (second["parentPid"], third["parentPid"]) == (first["pid"], second["pid"])
    assert [[bool(module["symbols"]) for module in manifest["modules"]] for manifest in (first, second, third)] == [[True]] * 3


def test_no_follow_records_the_program_alone(record):
    result, session = record("fork", 0, options=["follow=0"])
    assert result.status == 7
    assert len(check_session(session)) == 1


def test_crash_record(record):
    _, session = record("crash")
    crash = check_session(session)[0]["crash"]
    assert (crash["signal"], crash["faultAddress"], crash["registers"]["rip"], crash["stack"]) == (11, "0xdead", "0x1234", "ab00")


@pytest.mark.parametrize("end, reason", [("gives-up", "it had no memory left for the agent"), ("vanishes", "before its agent was ready"),
                                         ("hurries", "did not answer its agent in time")])
def test_an_agent_that_does_not_get_ready_is_told_of(record, end, reason):
    result, session = record(end)
    recording = check_session(session)[0]["recording"]
    assert recording["state"] == "failed" and reason in recording["reason"]
    assert recording["reason"].encode() in result.stderr
    assert b"1 CUT SHORT" in result.stderr and b"nothing lost" not in result.stderr


def test_an_agent_that_leaves_an_answer_unread_is_heard_to_its_end(parts, tmp_path):
    """The kernel tells of that (ECONNRESET) before it gives out what the agent said last; a recorder that is slow finds both."""
    driver, agent, program = parts
    go = tmp_path / "go"
    process = subprocess.Popen([driver, agent, tmp_path / "out", "--", program, "unread", go], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)           # all its threads have stopped
    go.touch()
    assert process.stdout.readline() == b"closed\n"
    process.send_signal(signal.SIGCONT)
    assert process.wait(PATIENCE_S) == 0
    session = Session(tmp_path / "out")
    manifest, = check_session(session)
    assert manifest["recording"]["state"] == "complete", manifest["recording"]
    assert len(numbers(session, manifest)[0]) == 10


@pytest.mark.parametrize("reason, state", [(1, "stopped"), (3, "failed"), (9, "failed"), (77, "failed")])
def test_why_a_provider_gave_up(record, reason, state):
    result, session = record("disabled", reason)
    recording = check_session(session)[0]["recording"]
    assert recording["state"] == state
    assert recording["reason"].encode() in result.stderr


def test_many_problems_are_no_screenful(parts, tmp_path):
    driver, agent, program = parts
    result = run([driver, agent, tmp_path / "out", "--", "/bin/sh", "-c", f"for i in 1 2 3 4 5 6 7; do {program} disabled 1; done"])
    assert result.stderr.count(b" was not recorded to its end: ") == 5
    # And the shell, whose agent does nothing. A full oneshot buffer is as asked.
    assert b"1 program NOT RECORDED" in result.stderr and b"CUT SHORT" not in result.stderr
    assert b"ada: and 3 more like these: `ada info` lists them\n" in result.stderr


def test_without_an_agent_it_says_so(parts, tmp_path):
    result = run([parts[0], parts[1], tmp_path / "out", "--", "/bin/sh", "-c", "echo hello; exit 5"])
    assert (result.status, result.stdout) == (5, b"hello\n")
    assert b"nothing was recorded" in result.stderr
    assert not check_session(Session(tmp_path / "out"))


def test_second_interrupt_ends_the_recording_not_the_program(parts, tmp_path):
    driver, agent, program = parts
    process = subprocess.Popen([driver, agent, tmp_path / "out", "--", program, "stay"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == b"interrupted\n"       # two that are pending at once are one
    pid = int(next(tmp_path.glob("out/session_*/pid_*")).name[4:])
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 128 + signal.SIGINT
    session = Session(tmp_path / "out")
    manifest, = check_session(session)
    assert len(numbers(session, manifest)[0]) == 25
    assert manifest["recording"]["state"] == "stopped"
    os.kill(pid, signal.SIGTERM)        # it is still there


def test_sigterm_is_the_programs(parts, tmp_path):
    driver, agent, program = parts
    process = subprocess.Popen([driver, agent, tmp_path / "out", "--", program, "stay"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    process.terminate()
    assert process.wait(PATIENCE_S) == 17
    check_session(Session(tmp_path / "out"))


def test_taken_names_and_latest(parts, tmp_path):
    driver, agent, program = parts
    both = [subprocess.Popen([driver, agent, tmp_path / "a" / "b", "--", program, "fill", "1"], stderr=subprocess.DEVNULL)
            for _ in range(4)]
    assert [p.wait(PATIENCE_S) for p in both] == [0] * 4
    sessions = [p.name for p in (tmp_path / "a" / "b").glob("session_*")]
    assert len(sessions) == 4
    assert os.readlink(tmp_path / "a" / "b" / "latest") in sessions
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("segment", ["0", "2200000"])
def test_a_full_disk_ends_the_recording_not_the_program(segment, parts, tmp_path):
    """Also where the first segment would end just behind what the disk holds."""
    driver, agent, program = parts
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2M", "none", small], capture_output=True).returncode:
        pytest.skip("needs the right to mount")
    try:
        result = run([driver, agent, small / "out", f"segment={segment}", "--", program, "flood"])
        assert result.status == 0
        assert result.stderr.count(b"No space left") >= 1
        session = Session(small / "out")
        manifest, = check_session(session)
        assert manifest["recording"]["state"] == "failed"
        assert manifest["index_lane"]["event_count"] > 1000
        assert result.stderr.count(b"recording ends") == 1
    finally:
        subprocess.run(["umount", small], check=True)


def test_nothing_is_left_behind(parts, tmp_path):
    driver, agent, program = parts
    process = subprocess.Popen([driver, agent, tmp_path / "out", "--", program, "stay"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    process.stdout.readline()
    child, = tmp_path.glob("out/session_*/pid_*")
    environment = dict(v.split("=", 1) for v in pathlib.Path(f"/proc/{child.name[4:]}/environ").read_text().split("\0") if v)
    socket = pathlib.Path(environment["ADA_SOCKET"].partition("#")[0])
    assert socket.is_socket() and socket.parent.stat().st_mode & 0o777 == 0o700
    process.terminate()
    process.wait(PATIENCE_S)
    assert not socket.parent.exists()


def memory_files(pid):
    """What the process maps of its recorder's: (device, inode), paths."""
    lines = [line.split(maxsplit=5) for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()]
    shared = [line for line in lines if line[1] == "rw-s"]
    return {(line[3], line[4]) for line in shared}, {line[5] for line in shared}


def of_process(pid):
    """What lies in /dev/shm of that recorder."""
    return list(pathlib.Path("/dev/shm").glob(f"ada-*/{pid}.*"))


@pytest.mark.parametrize("place", ["own", "/dev/shm"])
def test_where_shared_memory_lies(place, parts, tmp_path):
    """In the recorder's own tmpfs nobody sees it, and a SIGKILL leaves nothing; else it is in a directory that is the user's alone. The program
    is where it would be."""
    driver, agent, program = parts
    forbid = NO_OWN_MEMORY if place == "/dev/shm" else ()
    skip_unless_possible(forbid)
    process = subprocess.Popen([*forbid, driver, agent, tmp_path / "out", "--", program, "stay"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        process.stdout.readline()
        child = int(next(tmp_path.glob("out/session_*/pid_*")).name[4:])
        files, paths = memory_files(child)
        assert len(files) == len(paths) == 1 and files <= memory_files(process.pid)[0]
        left = of_process(process.pid)
        if place == "/dev/shm":
            home = pathlib.Path(*paths).parent
            assert left == [home] and home.stat().st_mode & 0o777 == home.parent.stat().st_mode & 0o777 == 0o700
            assert sorted(os.listdir(home)) == ["arena", "segment.0", "session"]
            assert (home / "session").read_text().endswith(f"\nsession {next(tmp_path.glob('out/session_*'))}")
        else:
            assert not left
        if place == "own":
            for space in ("mnt", "user"):
                assert os.readlink(f"/proc/{child}/ns/{space}") == os.readlink(f"/proc/self/ns/{space}")
        socket = next(word[11:] for word in pathlib.Path(f"/proc/{child}/environ").read_text().split("\0")
                      if word.startswith("ADA_SOCKET="))
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        remains = of_process(process.pid)
        for home in remains:
            shutil.rmtree(home)
            with contextlib.suppress(OSError):      # another recorder's lies in it
                home.parent.rmdir()
    os.kill(child, signal.SIGKILL)
    shutil.rmtree(pathlib.Path(socket).parent)
    assert remains == left
