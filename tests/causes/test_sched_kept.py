"""A window that is kept for long keeps what is known of when its threads ran: the answers are those that it had when it was fresh."""
import json
import pathlib
import struct
import subprocess
import time
import zlib

import pytest
from harness import Session
from lane import LOST, OFF, ON, PREEMPTED, off_between, read_records
from live import Live

pytestmark = pytest.mark.traces
HERE = pathlib.Path(__file__).parent
OPTIONS = ("--disk-limit=8M", "--trigger=latency=function:serve>100ms@pre=10s,post=10ms")
SECOND = 10**9
WAIT_S = 90


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("kept")
    for name in ["early", "pingpong", "preempt"]:
        subprocess.run(["cc", "-g", "-O1", "-D_GNU_SOURCE", "-o", directory / name, HERE / f"{name}.c", "-pthread"], check=True)
    return directory


@pytest.fixture
def live(ada, programs, tmp_path):
    one = Live(ada, tmp_path, [programs / "early"], *OPTIONS)
    if not list(one.session.glob("sched.*.atf")):       # which is there before the program is
        one.close(0)
        pytest.skip("this kernel tells nothing of switches")
    yield one
    one.close(0)


def rows(ada, session, statement):
    result = ada("query", "--format=json", session, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def until(condition):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def windows(ada, session):
    return json.loads(ada("windows", "--format=json", session).stdout)["rows"]


def answers(ada, session):
    """All that is said of the window's cause, and what it was found from."""
    window = windows(ada, session)[0]
    text = next(row for row in json.loads(ada("narrate", "--format=json", session).stdout)["rows"] if row["window"] == 0)["text"]
    within = f"timestamp_ns BETWEEN {window['startNs']} AND {window['endNs']}"
    return {"text": text, "causes": rows(ada, session, "SELECT *, spells FROM causes"),
            "call": rows(ada, session, "SELECT tid, start_ns, end_ns, on_cpu_ns, off_cpu_ns FROM calls WHERE function = 'serve'"),
            "switches": rows(ada, session, f"SELECT * FROM switches WHERE {within}")}


def list_begins(session):
    """When the first file does that is not one of those that are kept."""
    files = {int(path.name.split(".")[1]): path for path in session.glob("sched.[0-9]*.atf")}
    with files[min(files)].open("rb") as file:
        file.seek(64)
        return int.from_bytes(file.read(8), "little")


def has_aged(live, ns):
    """All around that time has gone, but what is kept for a window: switches and events."""
    threads = json.loads(next(live.session.glob("pid_*/manifest.json")).read_text())["threads"]
    try:
        return list_begins(live.session) > ns and threads[0].get("kept")
    except FileNotFoundError:       # it went just now
        return False


def is_given_up(live):
    thread = json.loads(next(live.session.glob("pid_*/manifest.json")).read_text())["threads"][0]
    return thread.get("firstSegment") and not thread.get("kept")


def skip_if_given_up(live):
    if is_given_up(live):
        pytest.skip("the recorder is so late on this machine that it gave the window up to stay within the limit")


def check_same(ada, live, fresh):
    now = answers(ada, live.session)
    if now != fresh:            # it may be given up at any time, also from one question to the next
        skip_if_given_up(live)
    assert now == fresh


def has_told(ada, live, ns):
    """The lane is behind that time: the program does something for it to tell."""
    live.tell("again\n")
    return rows(ada, live.session, f"SELECT tid FROM switches WHERE timestamp_ns > {ns} LIMIT 1")


def age(ada, live):
    """Has the window's cause told while it is fresh, and then all that is around it go."""
    live.tell("serve\n")
    until(lambda: windows(ada, live.session) and windows(ada, live.session)[0]["settled"])
    until(lambda: has_told(ada, live, windows(ada, live.session)[0]["endNs"]))
    fresh = answers(ada, live.session)
    live.tell("go\n")
    until(lambda: is_given_up(live) or has_aged(live, windows(ada, live.session)[0]["endNs"] + 2 * SECOND))
    skip_if_given_up(live)
    return fresh


def check_files(session):
    """Numbers of those that are kept are below the list's."""
    kept, there = (sorted(int(path.name.split(".")[-2]) for path in session.glob(f"sched.{what}.atf")) for what in ("kept.*", "[0-9]*"))
    assert kept and kept[-1] < there[0] and there == list(range(there[0], there[-1] + 1))
    return sum(len(read_records(path)) for path in session.glob("sched.*.atf"))


def test_a_cause_outlives_the_lane(ada, live):
    fresh = age(ada, live)
    assert fresh["causes"] and fresh["switches"]
    check_same(ada, live, fresh)
    live.end()
    check_same(ada, live, fresh)
    said = json.loads((live.session / "session.json").read_text())["sched"]
    assert said["aged"] > 0 and said["events"] == check_files(live.session)
    # Of the time between nothing is said: what is known begins with the list's first record.
    begins = list_begins(live.session)
    assert begins > windows(ada, live.session)[0]["endNs"] + 2 * SECOND
    told, = [row["reason"] for row in rows(ada, live.session, "SELECT reason FROM losses") if "is known from" in row["reason"]]
    assert "and around windows that are older" in told and told in " ".join(ada("info", live.session).stdout.decode().split())
    assert ada("verify", live.session).status == 0


def test_the_recorder_dies(ada, live):
    """What it kept is there, as it was."""
    fresh = age(ada, live)
    live.process.kill()
    live.process.communicate(timeout=60)        # ends the program's input, too, and so the program
    until(lambda: json.loads((live.session / "session.json").read_text())["finalized"])
    assert ada("recover", live.session).status == 0
    check_same(ada, live, fresh)
    check_files(live.session)
    assert ada("verify", live.session).status == 0


def test_damage_is_found(ada, live):
    age(ada, live)
    live.end()
    path = next(live.session.glob("sched.kept.*.atf"))
    data = path.read_bytes()
    path.write_bytes(data[:80] + bytes([data[80] ^ 1]) + data[81:])
    result = ada("verify", live.session)
    assert result.status == 1 and path.name.encode() in result.stdout
    path.write_bytes(data)
    path.rename(live.session / f"sched.kept.{10**6}.atf")
    result = ada("verify", live.session)
    assert result.status == 1 and b"its number is of the list" in result.stdout


def record(ada, output, *words):
    """The session, and its lane's header and records."""
    assert ada.trace(output, words[-2:], *words[:-2]).status == 0
    session = Session(output).path
    if not (session / "sched.atf").exists():
        pytest.skip("this kernel tells nothing of switches")
    return session, (session / "sched.atf").read_bytes()[:64], read_records(session / "sched.atf")


def write_records(path, header, records):
    events = b"".join(struct.pack("<QQIIIHH", *record) for record in records)
    bounds = struct.pack("<QQQ", len(records), records[0][0], records[-1][0])
    footer = b"2STA" + struct.pack("<I", zlib.crc32(events)) + bounds + struct.pack("<Q", len(events)) + bytes(24)
    path.write_bytes(header[:40] + bounds + events + footer)


def test_nothing_is_known_of_the_time_between(ada, programs, tmp_path):
    """A lane that is cut into what is kept, what has gone, and the list: of each call is told what these records alone say."""
    session, header, records = record(ada, tmp_path, programs / "pingpong", "3000")
    records = [r for r in records if r[5] != LOST]      # a loss would take more
    kept, there = records[:len(records) // 3], records[len(records) * 2 // 3:]
    (session / "sched.atf").unlink()
    write_records(session / "sched.kept.1.atf", header, kept)
    write_records(session / "sched.3.atf", header, there)
    assert [row["timestamp_ns"] for row in rows(ada, session, "SELECT timestamp_ns FROM switches")] == [r[0] for r in kept + there]
    known = {"kept": 0, "there": 0}
    for row in rows(ada, session, "SELECT tid, start_ns, end_ns, off_cpu_ns FROM calls WHERE function IN ('read', 'write', 'ask')"):
        tid, start, end, off = row.values()
        if end > kept[-1][0] and start < there[0][0]:
            assert off is None, row
        for name, part in (("kept", kept), ("there", there)):
            if part[0][0] <= start and end <= part[-1][0] and any(r[2] == tid and r[5] in (OFF, PREEMPTED, ON) for r in part):
                assert off == off_between(part, tid, start, end), (name, row)
                known[name] += off is not None
    assert known["kept"] > 100 and known["there"] > 100


def test_what_is_lost_later_takes_nothing_from_a_cause(ada, programs, tmp_path):
    trigger = "--trigger=latency=function:serve>100ms@pre=2s,post=10ms"
    session, header, records = record(ada, tmp_path, trigger, programs / "preempt", "cause")
    if any(r[5] == LOST for r in records):
        pytest.skip("the machine is so busy that records were lost already")
    before = rows(ada, session, "SELECT * FROM causes")
    loss = (records[-1][0], 3, 0, 0, 0, LOST, records[-1][6])
    write_records(session / "sched.atf", header, [*records, loss])
    assert before and rows(ada, session, "SELECT * FROM causes") == before
