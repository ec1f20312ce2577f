"""ada recover on sessions whose recorder was killed, made from finished ones whose content is known."""
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess

import dead
import pytest
from harness import EVENT, LOST, OWN_MOUNTS, Session, skip_unless_possible

SCENARIOS = ["plain", "lossy", "processes", "detail", "story", "crowd", "random:7:3:2000"]
WINDOW_FIELDS = ("startNs", "endNs", "eventCount", "markedCount", "triggerKind")


@pytest.fixture
def killed(session, tmp_path):
    """killed(SCENARIO): (as it was finished, as a dead recorder would have left it)."""
    def make(scenario):
        copy = tmp_path / "copy" / "session"
        shutil.copytree(session(scenario), copy)
        dead.unfinish(copy)
        return session(scenario), copy
    return make


@pytest.fixture
def fault(build_dir, ada):
    """fault(WHAT): the environment in which `ada recover` meets it."""
    library = build_dir / "tests" / "recover" / "libfault.so"
    if ada.sanitized:
        pytest.skip("a sanitizer wants to be loaded first")
    return lambda what: {**os.environ, "LD_PRELOAD": str(library), "FAULT": what}


def recover(ada, session, *options, status=0, **more):
    result = ada("recover", *options, session, **more)
    assert result.status == status, result.stderr.decode()
    return result.stdout.decode(), result.stderr.decode()


def wrong(ada, session):
    return [row for row in json.loads(ada("verify", "--format=json", session).stdout)["rows"] if not row["ok"]]


def verified(ada, session, finished=None):
    """Nothing is wrong with it, or only what is wrong with the finished one, too."""
    known = wrong(ada, finished) if finished else []
    assert not [row for row in wrong(ada, session) if row not in known]


def events(session):
    return {str(thread.relative_to(session)): list(Session.events(thread)) for thread in sorted(session.glob("pid_*/thread_*"))}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_everything_that_was_on_the_disk_is_there(ada, killed, scenario):
    finished, copy = killed(scenario)
    out, err = recover(ada, copy)
    assert "recovered by command" in out and not err
    verified(ada, copy, finished)
    assert events(copy) == events(finished)
    document = json.loads((copy / "session.json").read_text())
    assert document["finalized"] and document["control"] is None
    assert document["recovered"]["by"] == "command" and document["recovered"]["reason"] == "its recorder died"
    for before, after in zip(json.loads((finished / "session.json").read_text())["processes"], document["processes"]):
        assert (after["directory"], after["events"]) == (before["directory"], before["events"])
    assert not (copy / ".reserve").exists() and not list(copy.rglob("*.tmp"))


@pytest.mark.parametrize("scenario", ["detail", "story", "random:7:3:2000"])
def test_windows_that_the_manifest_knows_are_the_same(ada, killed, scenario):
    finished, copy = killed(scenario)
    recover(ada, copy)

    def windows(session):
        return [{field: row[field] for field in WINDOW_FIELDS} for row in ada.rows("windows", session)]
    assert windows(copy) == windows(finished)

    def lines(session):
        """The last one says whether the recording is complete; and a process whose recorder died is known to its last event only."""
        return [re.sub(rb"  open [0-9.]+ [a-z]+$", b"  open", line) for line in ada("dump", "--detail", session).stdout.splitlines()[:-1]]
    assert lines(copy) == lines(finished)


def test_windows_that_no_manifest_knows_are_found(ada, killed):
    finished, copy = killed("detail")
    for manifest in copy.glob("pid_*/manifest.json"):
        dead.change(manifest, lambda document: document["detail_lane"].update(windows=[], event_count=0))
    out, _ = recover(ada, copy)
    verified(ada, copy)
    rows = ada.rows("windows", copy)
    assert f"Windows: {len(rows)}, of which {len(rows)} were cut or found" in out
    assert sum(row["eventCount"] for row in rows) == sum(row["eventCount"] for row in ada.rows("windows", finished))
    assert all(row["recovered"] and row["shortReason"] for row in rows)


def test_a_window_is_cut_where_one_thread_has_no_more(ada, killed):
    finished, copy = killed("story")
    files = sorted(copy.glob("pid_*/thread_*/detail.atf"), key=lambda path: path.stat().st_size)
    data = files[-1].read_bytes()
    files[-1].write_bytes(data[:dead.HEADER + (len(data) - dead.HEADER) // 2])
    out, _ = recover(ada, copy)
    verified(ada, copy, finished)
    cut = [row for row in ada.rows("windows", copy) if row.get("recovered")]
    assert cut and all("its recorder died" in row["shortReason"] for row in cut)
    assert f"of which {len(cut)} were cut" in out
    before = {row["startNs"]: row for row in ada.rows("windows", finished)}
    for row in cut:
        assert row["eventCount"] < max(other["eventCount"] for other in before.values())


def test_torn_events_holes_and_empty_files(ada, killed):
    finished, copy = killed("plain")
    index = next(copy.glob("pid_*/thread_0/index.atf"))
    data = bytearray(index.read_bytes())
    data[dead.HEADER + 3 * 32:dead.HEADER + 4 * 32] = bytes(32)
    index.write_bytes(data + b"torn" * 5)
    (index.parent / "index.1.atf").touch()
    (index.parent.parent / "thread_9").mkdir()
    (index.parent.parent / "thread_9" / "index.atf").touch()
    out, _ = recover(ada, copy, "--format=json")
    row, = json.loads(out)["rows"]
    count = len(next(iter(events(finished).values())))
    assert (row["events"], row["recovered"], row["torn"], row["lost"]) == (count, count, 1, 1)
    verified(ada, copy)
    assert EVENT.unpack_from(index.read_bytes(), dead.HEADER + 3 * 32)[3] == LOST
    assert not (index.parent / "index.1.atf").exists() and not (index.parent.parent / "thread_9").exists()


def test_tables_of_modules_that_were_being_written(ada, killed):
    _, copy = killed("plain")
    tables = next(copy.glob("pid_*/modules"))
    (tables / "7.tsv").touch()
    (tables / "8.tsv").write_text("#\t/lib/eight.so\t-\t0x1000\n0\t0x10\t4\tfirst\n1\t0x20\t4\tsec")
    recover(ada, copy)
    verified(ada, copy)
    assert not (tables / "7.tsv").exists() and (tables / "8.tsv").read_text().endswith("first\n")
    module = json.loads(next(copy.glob("pid_*/manifest.json")).read_text())["modules"][-1]
    assert (module["id"], module["path"], module["base"], module["symbols"]) == (8, "/lib/eight.so", "0x1000", "modules/8.tsv")


def test_times_that_fall_are_no_endless_work(ada, killed):
    """A damaged file: holes, and records whose times fall."""
    _, copy = killed("detail")
    for path in copy.glob("pid_*/thread_*/index.atf"):
        data = bytearray(path.read_bytes())
        for at in range(dead.HEADER, len(data), 64):
            struct.pack_into("<Q", data, at, struct.unpack_from("<Q", data, at)[0] ^ 0xff00)
        path.write_bytes(data)
    for path in copy.glob("pid_*/thread_*/detail.atf"):
        data = bytearray(path.read_bytes())
        struct.pack_into("<Q", data, dead.HEADER + 16, 1)
        path.write_bytes(data)
    assert ada("recover", copy).status in (0, 125)


def test_the_last_call_in_flight(ada, killed):
    _, copy = killed("plain")
    index = next(copy.glob("pid_*/thread_0/index.atf"))
    index.write_bytes(index.read_bytes()[:dead.HEADER + 2 * 32])
    out, _ = recover(ada, copy, "--format=json")
    row, = json.loads(out)["rows"]
    assert (row["call"], row["call_index_seq"]) == ("main > leaf", 1)
    manifest = json.loads(next(copy.glob("pid_*/manifest.json")).read_text())
    note, = manifest["recovered"]["threads"]
    assert note["inFlight"]["indexSeq"] == 1 and note["inFlight"]["depth"] == 1
    assert manifest["recording"]["state"] == "failed" and manifest["exit"]["kind"] != "running"


def test_a_second_run_finds_nothing_to_do(ada, killed):
    _, copy = killed("story")
    recover(ada, copy)
    before = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    out, err = recover(ada, copy)
    assert "nothing to do: recovered already, by command" in out and not err
    assert json.loads(recover(ada, copy, "--format=json")[0])["wasComplete"]
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == before


def test_a_complete_session_stays_as_it_is(ada, session, tmp_path):
    copy = tmp_path / "session"
    shutil.copytree(session("detail"), copy)
    before = dead.picture(copy)
    assert "complete, nothing to do" in recover(ada, copy)[0]
    assert dead.picture(copy) == before


def test_a_process_of_which_nothing_was_written(ada, killed):
    _, copy = killed("plain")
    (copy / "pid_77" / "modules").mkdir(parents=True)
    (copy / "pid_77" / "modules" / "0.tsv").touch()
    entry = {"directory": "pid_77", "pid": 77, "parentPid": 1, "provider": 1, "program": "/bin/child", "startNs": 5, "endNs": None,
             "events": 0, "lost": 0, "exit": {"kind": "running"}}
    dead.change(copy / "session.json", lambda document: (document["processes"].append(entry), document.update(notRecorded=[])))
    recover(ada, copy)
    verified(ada, copy)
    document = json.loads((copy / "session.json").read_text())
    assert len(document["processes"]) == 1 and not (copy / "pid_77").exists()
    assert [(one["pid"], one["program"]) for one in document["notRecorded"]] == [(77, "/bin/child")]


def test_what_can_not_be_saved_is_named_and_the_rest_is(ada, killed):
    _, copy = killed("processes")
    index = sorted(copy.glob("pid_*/thread_*/index.atf"))[0]
    index.write_bytes(b"XXXX" + index.read_bytes()[4:])
    _, err = recover(ada, copy, status=125)
    assert "not saved: " in err and "thread_0/index.atf" in err
    assert json.loads((copy / "session.json").read_text())["finalized"]


def test_a_manifest_that_is_gone(ada, killed):
    _, copy = killed("plain")
    next(copy.glob("pid_*/manifest.json")).unlink()
    _, err = recover(ada, copy, status=125)
    assert "manifest.json: missing or not JSON" in err


def test_links_are_not_followed(ada, killed, tmp_path):
    _, copy = killed("plain")
    thread = next(copy.glob("pid_*/thread_0"))
    other = tmp_path / "other"
    shutil.copytree(thread, other)
    before = (other / "index.atf").read_bytes()
    (thread.parent / "thread_5").symlink_to(other)
    (thread / "index.1.atf").symlink_to(other / "index.atf")
    ada("recover", copy)
    assert (other / "index.atf").read_bytes() == before


def test_it_waits_for_another_and_looks_anew(ada, killed):
    _, copy = killed("plain")
    lock = os.open(copy, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    process = subprocess.Popen([ada.path, "recover", copy], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert b"another process is about to finish it: waiting" in process.stderr.readline()
    assert not json.loads((copy / "session.json").read_text())["finalized"]
    os.close(lock)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and b"recovered by command" in out


def test_two_at_once(ada, killed):
    _, copy = killed("crowd")
    processes = [subprocess.Popen([ada.path, "recover", copy], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    outs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(b": recovered by command" in out for out in outs) == 1
    verified(ada, copy)


def test_a_dead_recorders_socket_goes_and_a_live_one_refuses(ada, killed, tmp_path):
    _, copy = killed("plain")
    place = tmp_path / "ada-abc123"
    place.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(place / "control"))
    listener.listen()
    dead.change(copy / "session.json", lambda document: document.update(control=str(place / "control")))
    _, err = recover(ada, copy, status=125)
    assert f"is still being recorded, by process {os.getpid()}" in err
    listener.close()
    recover(ada, copy)
    assert not place.exists()


def count_changes(fault, ada, copy):
    file = copy.parent / "changes"
    subprocess.run([ada.path, "recover", copy], env=fault(f"count:{file}"), check=True, capture_output=True, timeout=60)
    return int(file.read_text())


@pytest.mark.parametrize("scenario", ["lossy", "detail", "processes"])
def test_killed_at_any_change_the_next_run_completes(ada, killed, fault, tmp_path, scenario, pytestconfig):
    _, copy = killed(scenario)
    whole = tmp_path / "whole" / "session"
    shutil.copytree(copy, whole)
    changes = count_changes(fault, ada, whole)
    assert changes > 10
    expected = dead.picture(whole)
    step = 1 if pytestconfig.getoption("--all-variants") else max(1, changes // 8)      # of each scenario others
    for number in range(1 + len(scenario) % step, changes + 1, step):
        trial = tmp_path / str(number) / "session"
        shutil.copytree(copy, trial)
        result = subprocess.run([ada.path, "recover", trial], env=fault(f"kill:{number}"), capture_output=True, timeout=60)
        assert result.returncode == -signal.SIGKILL, number
        recover(ada, trial)
        assert dead.picture(trial) == expected, f"killed at change {number} of {changes}"
        shutil.rmtree(trial.parent)


def test_a_full_disk_is_named_and_the_next_run_completes(ada, killed, fault, tmp_path):
    _, copy = killed("detail")
    whole = tmp_path / "whole" / "session"
    shutil.copytree(copy, whole)
    changes = count_changes(fault, ada, whole)
    expected = dead.picture(whole)
    for number in range(1, changes, max(1, changes // 6)):
        trial = tmp_path / str(number) / "session"
        shutil.copytree(copy, trial)
        result = ada("recover", trial, env=fault(f"full:{number}"))
        if result.status:
            assert result.status == 125 and b"No space left on device" in result.stderr, result.stderr.decode()
            assert not json.loads((trial / "session.json").read_text())["finalized"] and not list(trial.rglob("*.tmp"))
        recover(ada, trial)
        assert dead.picture(trial) == expected, f"full at change {number} of {changes}"


def test_random_bytes_end_in_one_line_or_a_recovery(ada, killed, tmp_path, pytestconfig):
    """Broken files: whatever the bytes, it ends by itself, with 0 or 125."""
    _, copy = killed("detail")
    for seed in range(200 if pytestconfig.getoption("--all-variants") else 6):
        trial = tmp_path / str(seed) / "session"
        shutil.copytree(copy, trial)
        for number, path in enumerate(sorted(trial.rglob("*.atf"))):
            data = bytearray(path.read_bytes())
            for i in range(8):
                at = (seed * 7919 + number * 104729 + i * 1299709) % len(data)
                struct.pack_into("B", data, at, (seed * 31 + i * 17) % 256)
            path.write_bytes(data)
        result = ada("recover", trial)
        assert result.status in (0, 125), (seed, result.stderr.decode())
        assert ada("recover", trial).status in (0, 125)
        shutil.rmtree(trial.parent)


@pytest.fixture
def leftovers(tmp_path, monkeypatch):
    """Sockets of a recorder that is dead, and of one that lives; memory likewise. All as old as they must be: see old()."""
    home = pathlib.Path(f"/dev/shm/ada-{os.geteuid()}")
    made = home / f"test-{os.getpid()}"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    for name in ("ada-aaaaaa", "ada-bbbbbb"):
        (tmp_path / name).mkdir(mode=0o700)
    listeners = []
    for place in ("ada-aaaaaa/s", "ada-aaaaaa/control", "ada-bbbbbb/s"):
        listeners.append(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET if place.endswith("s") else socket.SOCK_STREAM))
        listeners[-1].bind(str(tmp_path / place))
        listeners[-1].listen()
    listeners.pop(0).close()
    listeners.pop(0).close()
    home.mkdir(mode=0o700, exist_ok=True)
    made.mkdir(mode=0o700)
    (made / "arena").write_bytes(bytes(1 << 16))
    (made / "session").write_text("ada-memory 1\npid 1\nstartNs 1\nsession /tmp/the session")
    yield made
    listeners.pop().close()
    shutil.rmtree(made, ignore_errors=True)
    with contextlib.suppress(OSError):
        home.rmdir()


@pytest.fixture
def later(build_dir, ada):
    """An environment in which it is an hour later."""
    if ada.sanitized:
        pytest.skip("a sanitizer wants to be loaded first")
    return lambda: {**os.environ, "LD_PRELOAD": str(build_dir / "tests" / "recover" / "libfault.so"), "FAULT": "later"}


def listed(ada, *options, status=0, **more):
    result = ada("recover", "--format=json", *options, **more)
    assert result.status == status, result.stderr.decode()
    return {row["path"]: row for row in json.loads(result.stdout)["rows"]}


def test_what_dead_recorders_left_is_listed(ada, leftovers, tmp_path, later):
    rows = listed(ada, "--list", env=later())
    assert rows[str(leftovers)]["what"] == "memory" and rows[str(leftovers)]["bytes"] >= 1 << 16
    assert rows[str(leftovers)]["session"] == "/tmp/the session"
    assert rows[str(tmp_path / "ada-aaaaaa")]["what"] == "sockets" and str(tmp_path / "ada-bbbbbb") not in rows
    assert str(leftovers) not in listed(ada, "--list")      # it may be about to begin
    with (leftovers / "arena").open("rb") as arena:
        fcntl.flock(arena, fcntl.LOCK_SH)
        assert str(leftovers) not in listed(ada, "--list", env=later())
    leftovers.chmod(0o755)
    assert str(leftovers) not in listed(ada, "--list", env=later())


@pytest.mark.parametrize("command", [("info",), ("status",), ("trace", "--output=out", "--", "true")])
def test_who_comes_next_hears_of_it(ada, killed, leftovers, tmp_path, later, command):
    """In one line, with the command for it, also where nobody sits at a terminal."""
    arguments = command if command[0] == "trace" else (*command, killed("plain")[1])
    before = ada(*arguments, cwd=tmp_path).stderr.decode()
    after = ada(*arguments, cwd=tmp_path, env=later()).stderr.decode()
    line = r"ada: a recorder that died left [0-9.]+ k bytes of shared memory: `ada recover '/tmp/the session'` saves what is in it"
    told, = [text for text in after.splitlines() if "shared memory" in text]
    assert "shared memory" not in before and re.fullmatch(line, told)


def test_nothing_but_sockets_is_taken_for_a_recorders_place(ada, leftovers, tmp_path, later):
    (tmp_path / "ada-aaaaaa" / "note").touch()
    (tmp_path / "ada-cccccc").symlink_to(tmp_path / "ada-bbbbbb")
    assert not [path for path in listed(ada, "--list", env=later()) if path.startswith(str(tmp_path))]


def test_options_that_are_of_no_session(ada, tmp_path):
    result = ada("recover", "--list", tmp_path)
    assert result.status == 125 and b"--list and --purge are of no session" in result.stderr


PURGE = r"""set -e
umask 077; mkdir -p /dev/shm/ada-0/dead /dev/shm/ada-0/live /tmp/ada-dead00
for each in dead live; do echo 1 >/dev/shm/ada-0/$each/arena; done
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/tmp/ada-dead00/control")'
exec 9</dev/shm/ada-0/live/arena; flock -s 9
"$ADA" recover --purge >&2
find /tmp /dev/shm -mindepth 1 | sort
"""


def test_what_is_dead_is_purged_and_nothing_else(ada, later):
    """In a mount namespace, where nobody else's is."""
    skip_unless_possible(OWN_MOUNTS)
    with ada.path.open("rb") as command:           # it may be below /tmp, which is hidden there
        result = subprocess.run([*OWN_MOUNTS, "sh", "-c", PURGE], env={**later(), "ADA": f"/proc/self/fd/{command.fileno()}"},
                                pass_fds=[command.fileno()], capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr.decode()
    assert result.stdout.decode().split() == ["/dev/shm/ada-0", "/dev/shm/ada-0/live", "/dev/shm/ada-0/live/arena"]
    assert b"2 removed." in result.stderr
