"""The scheduling lane of a session that may not grow, or become old, without end: its oldest files go with the segments, within the limit, and
what is there is exact, and says from when on it is."""
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest
from harness import Session
from lane import off_between, read_records
from live import Live

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
MIB = 1 << 20
LIMIT = 4 * MIB
SHARE = LIMIT // 16
PART = 32 << 10


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sched")
    for name in ["pingpong", "work"]:
        subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", "-o", directory / name, HERE / f"{name}.c", "-pthread"], check=True)
    return directory


def rows(ada, session, statement):
    result = ada("query", "--format=json", session, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def document(session):
    return json.loads((session / "session.json").read_text())


def files(session, lane="sched"):
    return sorted(session.glob(f"{lane}.*.atf"), key=lambda path: int(path.name.split(".")[1]))


def records(session):
    """(ns, count, tid, pid, other, kind, cpu) of all files, each of which is finished, and whose numbers have no gap."""
    found, numbers = [], [int(path.name.split(".")[1]) for path in files(session)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    for path in files(session):
        found += read_records(path)
    return found


def record(ada, output, *words):
    assert ada.trace(output, words[-2:], *words[:-2]).status == 0
    session = Session(output).path
    if not document(session)["sched"]["recorded"]:
        pytest.skip(f"this kernel tells nothing of switches: {document(session)['sched']['reason']}")
    return session


def test_the_oldest_switches_go(ada, programs, tmp_path):
    session = record(ada, tmp_path, f"--disk-limit={LIMIT}", programs / "pingpong", "40000")
    said, all_records = document(session)["sched"], records(session)
    assert sum(path.stat().st_size for path in files(session)) <= SHARE + 2 * PART + 128
    assert said["aged"] > 0 and said["events"] == len(all_records) > SHARE // 32 // 2
    assert [r[0] for r in all_records] == sorted(r[0] for r in all_records)
    table = rows(ada, session, "SELECT timestamp_ns, tid FROM switches")
    assert [(row["timestamp_ns"], row["tid"] or 0) for row in table] == [(r[0], r[2]) for r in all_records]
    told, = [row["reason"] for row in rows(ada, session, "SELECT reason FROM losses") if "is known from" in row["reason"]]
    assert told in " ".join(ada("info", session).stdout.decode().split())
    known = 0
    for row in rows(ada, session, "SELECT tid, start_ns, end_ns, off_cpu_ns FROM calls WHERE function = 'read' OR function = 'ask'"):
        if said["lost"] or row["off_cpu_ns"] is None:
            continue
        known += 1
        assert row["off_cpu_ns"] == off_between(all_records, row["tid"], row["start_ns"], row["end_ns"])
    assert said["lost"] or known > 100
    assert all(row["off_cpu_ns"] is None for row in rows(ada, session, f"SELECT off_cpu_ns FROM calls WHERE start_ns < {all_records[0][0]}"))
    assert ada("verify", session).status == 0


def test_age(ada, programs, tmp_path):
    """What is older than asked for goes, and nothing that is younger."""
    live = Live(ada, tmp_path, [programs / "work", "live"], "--max-age=1s")
    try:
        if not document(live.session)["sched"]["recorded"]:
            pytest.skip("this kernel tells nothing of switches")
        limit = time.monotonic() + 60
        while not (files(live.session) and int(files(live.session)[0].name.split(".")[1]) > 0):
            assert time.monotonic() < limit
            time.sleep(0.05)
        assert not (live.session / "sched.atf").exists()
    finally:
        live.close(0)
    assert ada("verify", live.session).status == 0


def test_a_file_that_is_missing_or_damaged(ada, programs, tmp_path):
    session = record(ada, tmp_path, f"--disk-limit={LIMIT}", programs / "pingpong", "40000")
    path = files(session)[2]
    data = path.read_bytes()
    path.write_bytes(data[:80] + bytes([data[80] ^ 1]) + data[81:])
    result = ada("verify", session)
    assert result.status == 1 and path.name.encode() in result.stdout
    path.unlink()
    result = ada("verify", session)
    assert result.status == 1 and b"missing" in result.stdout
    for lane in ("sched", "samples"):
        for path in files(session, lane):
            path.unlink()
    result = ada("verify", session)
    assert result.status == 1 and b"sched.atf is missing" in result.stdout and b"samples.atf is missing" in result.stdout


def test_the_recorder_dies(ada, programs, tmp_path):
    process = subprocess.Popen([ada.path, "trace", "--quiet", f"--output={tmp_path}", "--disk-limit=2M", "--", programs / "pingpong", "10000000"],
                               stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        limit = time.monotonic() + 60
        while not list(tmp_path.glob("session_*/sched.[1-9]*.atf")):
            assert time.monotonic() < limit and process.poll() is None
            if list(tmp_path.glob("session_*/session.json")) and list(tmp_path.glob("session_*/samples.[1-9]*.atf")):
                pytest.skip("this kernel tells nothing of switches")
            time.sleep(0.02)
        process.kill()
        process.wait()
        os.killpg(process.pid, signal.SIGKILL)          # the program
        session = Session(tmp_path).path
        assert ada("recover", session, timeout=60).status == 0
        assert len(records(session)) > 10 and not list(session.glob("*.tmp"))
        assert ada("verify", session).status == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
