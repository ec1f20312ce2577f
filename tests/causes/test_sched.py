"""The scheduling lane: when threads ran and when not, held against an independent reading of sched.atf; and what becomes of it where the
kernel forbids it, or the recorder dies."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest
from harness import Session
from lane import FAULT, LOST, OFF, ON, PREEMPTED, off_between, read_records, ready_between
from live import Live

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
PAUSED = 12
AWAKE = 75      # looks, 20 ms apart: a second and a half


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("sched")
    for name in ["work", "preempt", "fault", "held_fault", "pingpong", "rested"]:
        subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", "-o", directory / name, HERE / f"{name}.c", "-pthread"], check=True)
    return directory


@pytest.fixture
def work(programs):
    return programs / "work"


def rows(ada, session, statement):
    result = ada("query", "--format=json", session, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def said(session):
    return json.loads((session / "session.json").read_text())["sched"]


def records(session):
    return read_records(session / "sched.atf")


@pytest.fixture
def record(ada, programs, tmp_path):
    def run(name, *words):
        result = ada.trace(tmp_path, [programs / name, *words], "--trigger=latency=function:serve>200ms@pre=2s,post=10ms")
        assert result.status == 0, result.stderr.decode()
        session = Session(tmp_path).path
        if not said(session)["recorded"]:
            pytest.skip(f"this kernel tells nothing of switches: {said(session)['reason']}")
        return session
    return run


@pytest.fixture
def recorded(record):
    return record("work")


def test_time_on_and_off_the_cpu(ada, recorded):
    calls = {row["function"]: row for row in rows(ada, recorded, "SELECT *, tid, on_cpu_ns, off_cpu_ns FROM calls")}
    assert 20e6 < calls["spin"]["on_cpu_ns"] < 45e6         # the kernel accounts some of the switches themselves to it
    assert calls["nap"]["off_cpu_ns"] >= 49e6
    assert calls["serve"]["off_cpu_ns"] >= calls["spin"]["off_cpu_ns"] + calls["nap"]["off_cpu_ns"]
    assert all(row["on_cpu_ns"] + row["off_cpu_ns"] == row["duration_ns"] for row in calls.values())


def test_columns_say_what_the_file_says(ada, recorded):
    all_records = records(recorded)
    assert said(recorded) == {"recorded": True, "reason": None, "events": len(all_records), "lost": 0, "pausedNs": 0}
    assert [r[0] for r in all_records] == sorted(r[0] for r in all_records)
    for row in rows(ada, recorded, "SELECT tid, start_ns, end_ns, off_cpu_ns FROM calls"):
        assert row["off_cpu_ns"] == off_between(all_records, row["tid"], row["start_ns"], row["end_ns"])
    kinds = {OFF: "off", PREEMPTED: "preempted", ON: "on", FAULT: "fault", LOST: "lost"}
    table = rows(ada, recorded, "SELECT *, pid FROM switches")
    assert [(r["timestamp_ns"], r["count"], r["tid"], r["pid"], r["other_tid"] or 0, r["kind"], r["cpu"]) for r in table] == [
        (ns, count, tid, pid, other, kinds[kind], cpu) for ns, count, tid, pid, other, kind, cpu in all_records]
    middle = table[len(table) // 2]["timestamp_ns"]
    part, = rows(ada, recorded, f"SELECT count(*) AS n FROM switches WHERE timestamp_ns >= {middle}")
    assert part["n"] == sum(row["timestamp_ns"] >= middle for row in table)
    assert ada("verify", recorded).status == 0


def links_of(pid):
    """What its descriptors lead to."""
    found = []
    for link in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
        with contextlib.suppress(OSError):
            found.append(os.readlink(link))
    return found


def misses_some(all_records, tid):
    """Off, and off again: what lies between is missing, and the kernel, which was busy, has told of nothing lost."""
    kinds = [kind for _, _, whose, _, _, kind, _ in all_records if whose == tid and kind in (OFF, PREEMPTED, ON)]
    return any(ON not in pair for pair in zip(kinds, kinds[1:]))


def test_the_lane_rests_where_it_costs_more_than_a_budget(ada, programs, tmp_path):
    """Then nobody knows whether threads ran, and every answer says so; what is recorded of it is right."""
    result = ada.trace(tmp_path, [programs / "pingpong", "40000"], "--budget=1%")
    assert result.status == 0, result.stderr.decode()
    session = Session(tmp_path).path
    sched = said(session)
    if not sched["recorded"]:
        pytest.skip(f"this kernel tells nothing of switches: {sched['reason']}")
    all_records = records(session)
    paused = [r for r in all_records if r[5] == PAUSED]
    assert sched["pausedNs"] > 0 and sched["events"] == len(all_records) and paused
    assert [r[0] for r in all_records] == sorted(r[0] for r in all_records)
    at = paused[0][0]
    assert len({(r[0], r[6]) for r in paused}) == len(paused)      # once a CPU, at once for all
    back = min((r[0] for r in all_records if r[0] > at), default=1 << 63)       # on a busy machine it may last until the lane comes back
    calls = rows(ada, session, "SELECT tid, start_ns, end_ns, on_cpu_ns FROM calls WHERE function = 'read' AND duration_ns < 1000000")
    before = [row for row in calls if row["end_ns"] < at]
    unknown = {row["tid"] for row in before[10:] if row["on_cpu_ns"] is None}
    assert len(before) > 10 and (sched["lost"] or all(misses_some(all_records, tid) for tid in unknown)), [
        (index, row, at) for index, row in enumerate(before) if row["on_cpu_ns"] is None][:20]
    assert all(row["on_cpu_ns"] is None for row in calls if at < row["start_ns"] and row["end_ns"] < back)
    assert [row["kind"] for row in rows(ada, session, "SELECT kind FROM switches")].count("paused") == len(paused)
    told, = [row["reason"] for row in rows(ada, session, "SELECT reason FROM losses") if row["reason"].startswith("when threads ran")]
    assert "--budget" in told and told in " ".join(ada("info", session).stdout.decode().split())
    assert ada("verify", session).status == 0


def test_all_threads_are_followed_again_behind_a_rest(ada, programs, tmp_path):
    """Those from before it, of each process, and those that began in it; in the rest the kernel has no event of theirs."""
    rests, back = tmp_path / "rests", tmp_path / "back"
    words = [ada.path, "trace", "--quiet", f"--output={tmp_path / 'out'}", "--budget=1%", "--keep=nap", "--", programs / "rested", rests, back]
    with subprocess.Popen(list(map(str, words))) as recorder:
        events, begun = [], time.monotonic()
        while recorder.poll() is None:
            events.append(sum("perf_event" in link for link in links_of(recorder.pid)))
            enough = time.monotonic() - begun > (120 if max(events) else 10)        # some kernels tell nothing
            if enough or (max(events) and not events[-1]):
                rests.touch()
            if enough or (rests.exists() and len(events) > AWAKE and min(events[-AWAKE:]) >= 4):
                back.touch()
            time.sleep(0.02)
    session = Session(tmp_path / "out").path
    assert recorder.returncode == 0
    if not said(session)["recorded"]:
        pytest.skip(f"this kernel tells nothing of switches: {said(session)['reason']}")
    if said(session)["lost"]:
        pytest.skip("the machine was too busy for the kernel's records")
    all_records = records(session)
    rests = sorted({r[0] for r in all_records if r[5] == PAUSED}) + [1 << 63]      # short sleeps are dear, too, for who does nothing else
    told = [(min(r[0] for r in all_records if r[0] > at), later) for at, later in zip(rests, rests[1:]) if any(r[0] > at for r in all_records)]
    assert said(session)["pausedNs"] > 4e9 and events.count(0) > 20 and max(events) >= 4
    within = " OR ".join(f"(start_ns > {back + 50000000} AND end_ns < {later - 50000000})" for back, later in told)
    calls = rows(ada, session, "SELECT process, thread, on_cpu_ns, off_cpu_ns, duration_ns FROM calls WHERE function = 'nap'"
                 f" AND ({within})")
    whose = {(row["process"], row["thread"]) for row in calls}
    assert len(whose) == 3 and len(calls) > 30
    known = [row for row in calls if row["off_cpu_ns"] is not None]
    assert len(known) == len(calls) and all(row["off_cpu_ns"] > 9e6 for row in known)
    assert ada("verify", session).status == 0


def test_a_cheap_lane_does_not_rest(ada, programs, tmp_path):
    assert ada.trace(tmp_path, [programs / "work"], "--budget=5%").status == 0
    assert said(Session(tmp_path).path).get("pausedNs") == 0


def had_the_processor(all_records, call):
    """How long the program's threads, and how long others, had the CPU that the call's thread was taken from."""
    spells, since, ours = [], None, 0
    for ns, _, tid, _, _, kind, cpu in all_records:
        if tid == call["tid"] and kind in (OFF, PREEMPTED, ON) and call["start_ns"] <= ns < call["end_ns"]:
            if since and kind == ON:
                spells.append((*since, ns))
            since = (cpu, ns) if kind == PREEMPTED else None
    for cpu, begin, end in spells:
        on = None
        for ns, _, tid, _, _, kind, where in all_records:
            if where == cpu and begin <= ns <= end and kind in (OFF, PREEMPTED, ON):
                ours += ns - on if on else 0
                on = ns if kind == ON and tid != call["tid"] else None
        ours += end - on if on else 0
    return ours, sum(end - begin for _, begin, end in spells) - ours


def test_who_had_the_processor_is_named(ada, record):
    """Seven neighbours on one CPU, which may be others' too: then nobody is blamed."""
    session = record("preempt", "cause")
    row, = rows(ada, session, "SELECT *, spells FROM causes")
    call, = rows(ada, session, "SELECT tid, start_ns, end_ns, on_cpu_ns, off_cpu_ns FROM calls WHERE function = 'serve'")
    assert (row["kind"], row["function"]) == ("preempted", "serve") and row["share"] > 0.3
    assert call["off_cpu_ns"] > call["on_cpu_ns"]
    ours, others = had_the_processor(records(session), call)
    text = next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)["text"]
    assert row["culprit_thread"] is not None or ours < 2 * others
    if row["culprit_thread"] is not None:
        assert row["culprit_function"] == "neighbour" and "neighbour_thread > neighbour" in text
    elif others > 2 * ours:
        assert "no thread of this process" in text
    assert others < 2 * ours or row["culprit_thread"] is None


def test_nobody_is_named_without_neighbours(ada, record):
    assert all(row["culprit_thread"] is None for row in rows(ada, record("preempt", "control"), "SELECT * FROM causes"))


@pytest.mark.parametrize("mode", ["cause", "crowd"])
def test_page_faults_are_named(ada, record, mode):
    session = record("fault", mode)
    row, = rows(ada, session, "SELECT * FROM causes")
    call, = rows(ada, session, "SELECT tid, start_ns, end_ns, on_cpu_ns, off_cpu_ns FROM calls WHERE function = 'serve'")
    filled, = rows(ada, session, "SELECT sum(on_cpu_ns) AS ns, sum(off_cpu_ns) AS off_ns FROM calls WHERE function = 'memset' AND start_ns >"
                   f" {call['start_ns']}")         # main fills memory before, too
    if call["on_cpu_ns"] is None:       # the machine was so busy that records of the kernel's were lost within it
        # Where they are missing between the calls that took the time, and not in them, what these did is known.
        known = row["kind"] in ("cpu", "fault") and (row["function_waited"], row["culprit_function"]) == ("memset", "touch")
        # Samples prove that it had no CPU, also where switches are missing.
        ready_ns = ready_between(session, call["tid"], call["start_ns"], call["end_ns"])
        proven = row["kind"] == "runqueue" and ready_ns > (row["share"] - 0.01) * (call["end_ns"] - call["start_ns"])
        assert known or (row["culprit_thread"] is None and (proven or row["kind"] in ("unknown", "steal"))), row
        assert said(session)["lost"] or misses_some(records(session), call["tid"]), said(session)
        return
    if row["kind"] in ("preempted", "runqueue", "steal"):   # the machine was busier than the program: most of the time went there
        assert (row["kind"] == "steal" or call["off_cpu_ns"] > filled["ns"]) and row["culprit_thread"] is None, (row, call, filled)
        return
    if row["kind"] == "unknown":        # it waited within faults for a crowd that was in the kernel's way: by whom is not known
        assert filled["off_ns"] > filled["ns"] and row["culprit_thread"] is None, (row, call, filled)
        return
    faults, = rows(ada, session, "SELECT sum(count) AS n FROM switches WHERE kind = 'fault'")
    text = next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)["text"]
    assert " page faults" in text or call["on_cpu_ns"] > 10000 * faults["n"], text
    # A host that takes memory back: its faults take long. The longest call decides, and what it had of them; a sample's are spread over its time.
    longest, = rows(ada, session, f"SELECT on_cpu_ns, start_ns, end_ns FROM calls WHERE function = 'memset' AND start_ns > {call['start_ns']}"
                    " ORDER BY end_ns - start_ns DESC LIMIT 1")
    within, = rows(ada, session, f"SELECT sum(count) AS n FROM switches WHERE kind = 'fault' AND tid = {call['tid']} AND timestamp_ns BETWEEN"
                   f" {longest['start_ns']} AND {longest['end_ns']}")
    if row["kind"] == "cpu" and longest["on_cpu_ns"] > 3500 * (within["n"] or 0):
        return
    assert (row["kind"], row["function_waited"], row["culprit_function"]) == ("fault", "memset", "touch")


def test_page_faults_are_held_against_what_ran(ada, record):
    """For how long the longest of the calls was kept from running has no say in whether they were a part of what it ran."""
    session = record("held_fault", "cause")
    row, = rows(ada, session, "SELECT * FROM causes")
    call, = rows(ada, session, "SELECT on_cpu_ns, off_cpu_ns FROM calls WHERE function = 'serve'")
    if call["on_cpu_ns"] is None or call["off_cpu_ns"] > call["on_cpu_ns"]:
        pytest.skip("the machine was busier than the program")
    text = next(r for r in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if r["window"] == 0)["text"]
    assert row["kind"] in ("cpu", "fault") and row["function_waited"] == "fill", row
    assert " with 60" in text and " page faults in the longest call" in text, text


def test_no_faults_are_named_of_memory_that_was_used(ada, record):
    assert rows(ada, record("fault", "control"), "SELECT * FROM causes WHERE kind = 'fault'") == []


def test_damage_is_found(ada, recorded):
    path = recorded / "sched.atf"
    data = bytearray(path.read_bytes())
    data[64 + 16] ^= 1
    path.write_bytes(data)
    result = ada("verify", recorded)
    assert result.status == 1 and b"sched.atf" in result.stdout
    path.unlink()
    assert ada("verify", recorded).status == 1


def test_off_is_off(ada, work, tmp_path):
    assert ada.trace(tmp_path, [work], "--sched=off").status == 0
    session = Session(tmp_path).path
    assert not (session / "sched.atf").exists()
    assert said(session) == {"recorded": False, "reason": None, "events": 0, "lost": 0, "pausedNs": 0}
    assert all(row["on_cpu_ns"] is None and row["off_cpu_ns"] is None for row in rows(ada, session, "SELECT on_cpu_ns, off_cpu_ns FROM calls"))
    assert rows(ada, session, "SELECT * FROM switches") == [] and ada("verify", session).status == 0


def record_forbidden(ada, tmp_path, argv, *options):
    library = tmp_path / "forbid.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "forbid.c"], check=True)
    command = [ada.path, "trace", f"--output={tmp_path / 'out'}", *options, "--", *argv]
    result = subprocess.run(list(map(str, command)), env=os.environ | {"LD_PRELOAD": str(library)}, capture_output=True, text=True)
    assert result.returncode == 0
    return result


def test_samples_prove_what_switches_would_tell(ada, programs, tmp_path):
    """Without perf: the neighbours' victim was ready to run, and who had the CPU nobody knows. What a sample says of the time before and behind
    the call proves nothing, and on a full machine a look comes a fifth of a second late: so the call is a long one."""
    record_forbidden(ada, tmp_path, [programs / "preempt", "cause", "150"], "--trigger=latency=function:serve>100ms@pre=20s,post=10ms")
    session = Session(tmp_path / "out").path
    row, = rows(ada, session, "SELECT kind, function, culprit_thread, culprit_function, share FROM causes")
    assert (row["kind"], row["function"], row["culprit_thread"], row["culprit_function"]) == ("runqueue", "serve", None, None)
    assert row["share"] > 0.5 and ada("verify", session).status == 0
    headline, evidence, *_ = json.loads(ada("narrate", "--format=json", session).stdout)["rows"]
    assert headline["kind"] == "headline" and "ready to run" in headline["text"] and "neighbour" not in headline["text"]
    assert re.search(r"; it had no processor for [0-9.]+ m?s of its [0-9.]+ m?s in \w+, in main > serve", evidence["text"])


def test_a_kernel_that_forbids_it(ada, work, tmp_path):
    """Said once; all else is recorded."""
    result = record_forbidden(ada, tmp_path, [work])
    assert result.stderr.count("no facts of the scheduler") == 1 and "perf_event_open is forbidden" in result.stderr
    session = Session(tmp_path / "out").path
    assert not (session / "sched.atf").exists() and "forbidden" in said(session)["reason"]
    assert json.loads((session / "session.json").read_text())["samples"]["recorded"]
    assert rows(ada, session, "SELECT function FROM calls WHERE function = 'serve'")


def test_the_recorder_dies(ada, work, tmp_path):
    live = Live(ada, tmp_path, [work, "live"])
    path = live.session / "sched.atf"
    try:
        limit = time.monotonic() + 20
        while said(live.session)["recorded"] and not (path.exists() and path.stat().st_size > 64 + 32 * 10):
            assert time.monotonic() < limit
            time.sleep(0.05)
        if not path.exists():
            pytest.skip("this kernel tells nothing of switches")
        live.process.send_signal(signal.SIGKILL)
        live.process.stdin.close()
        live.process.wait()
        assert ada("recover", live.session, timeout=60).status == 0
        assert len(records(live.session)) > 10
        assert ada("verify", live.session).status == 0
    finally:
        live.close(0)
