"""Table waits of a real recording against the oracle's calls and the OBJECT events behind them."""
import os
import pathlib
import subprocess

import answers
import pytest
from harness import Session
from oracle import Pairing
from recording import Process

pytestmark = pytest.mark.traces
OBJECT, MIN_NS = 5, 1000
KINDS = {"nanosleep": "sleep", "pthread_join": "condition", "pthread_mutex_lock": "lock", "waitpid": "child"}
WITH_OBJECT = {"pthread_join", "pthread_mutex_lock"}


@pytest.fixture(scope="module")
def session(ada, tmp_path_factory):
    root = tmp_path_factory.mktemp("waits")
    source = pathlib.Path(__file__).with_name("program.cc")
    subprocess.run(["g++", "-g", "-pthread", "-O1", "-fno-inline", source, "-o", root / "program"], check=True)
    result = ada.trace(root / "out", [root / "program"])
    assert result.status == 0, result.stderr.decode()
    return Session(root / "out")


def waits_of(process):
    """(tid, index_seq, end_index_seq, start, end, kind, object, function)"""
    modules = {m["id"]: os.path.basename(m["path"]) for m in process.manifest["modules"]}
    for thread in process.threads:
        events = [event for segment, _ in thread.segments for event in segment]
        pairing = Pairing(process.path.name, thread.tid, lambda id: (process.names[id].split("@")[0], modules[id >> 32]))
        for index_seq, event in enumerate(events):
            pairing.feed(event, index_seq)
        last = events[-1][0] if events else 0
        for call in pairing.close(max(process.manifest["endNs"], last)):
            name = call.function[0]
            if name in KINDS and call.end is not None and call.end - call.start >= MIN_NS:
                behind = next((e for e in events[call.index_seq + 1:] if e[4] <= call.depth), None)
                of = f"0x{behind[1]:x}" if name in WITH_OBJECT and behind and behind[3] == OBJECT else None
                yield call.tid, call.index_seq, call.end_index_seq, call.start, call.end, KINDS[name], of, name


def test_waits(ada, session):
    truth = [wait for path in session.processes() for wait in waits_of(Process(path))]
    rows = answers.sql(ada, session, "SELECT tid, index_seq, end_index_seq, start_ns, end_ns, kind, object, function FROM waits"
                       " WHERE function IN ('" + "', '".join(KINDS) + "')")
    assert sorted(map(str, truth)) == sorted(str(tuple(row.values())) for row in rows)
    assert sum(wait[-1] == "nanosleep" for wait in truth) == 5 and any(wait[-1] == "waitpid" for wait in truth)


def test_a_join_is_ended_by_a_thread_that_ended_meanwhile(ada, session):
    last = {row["thread"]: row["ns"] for row in answers.sql(
        ada, session, "SELECT thread, max(timestamp_ns) AS ns FROM events WHERE pid = (SELECT min(pid) FROM threads) GROUP BY thread")}
    rows = answers.sql(ada, session, "SELECT start_ns, end_ns, ended_by_thread FROM waits WHERE function = 'pthread_join'")
    assert all(row["start_ns"] <= last[row["ended_by_thread"]] <= row["end_ns"] for row in rows if row["ended_by_thread"] is not None)
