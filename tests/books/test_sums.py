"""What a long packed thread adds up to, beside its events: reports read it, and say the same with it and without."""
import json
import os

import pytest

from books import own_calls
from harness import Session

LEAST = 1 << 24                         # events: fewer have no sums


@pytest.fixture
def ended(record):
    """As `ada trace` leaves it: with sums of what could be counted in 0.2 s, on a busy machine of none."""
    output, book = record(1, 1500000, 1, "--pack=always", "--detail=off", "--on-full=block")
    assert 2 * own_calls(book) >= LEAST
    session = Session(output)
    session.calls = own_calls(book)
    return session


def sums_of(session):
    return [path for path in session.path.glob("pid_*/thread_*/sums")]


@pytest.fixture
def session(ada, ended):
    """With sums of all events."""
    for sums in sums_of(ended):
        sums.unlink()
    assert ada("pack", ended.path).status == 0
    return ended


def report_of(ada, session):
    result = ada("report", "--format=json", session.path)
    assert result.status == 0, result.stderr.decode()
    answer = json.loads(result.stdout)
    assert sum(row["calls"] for row in answer["rows"] if row["function"].startswith("counted_")) == session.calls
    return result.stdout


def failures(ada, session):
    result = ada("verify", "--format=json", session.path)
    return [(row["file"].split("/")[-1], row["check"]) for row in json.loads(result.stdout)["rows"] if not row["ok"]]


def test_the_end_of_a_recording_writes_them(ada, ended):
    if not sums_of(ended):
        pytest.skip("the machine was so busy that nothing was counted in the 0.2 s that the end has for it")
    sums, = sums_of(ended)
    assert sums.stat().st_mode & 0o777 == 0o600
    told = report_of(ada, ended)
    assert failures(ada, ended) == []
    sums.unlink()
    assert report_of(ada, ended) == told


def test_pack_and_unpack(ada, session):
    sums, = sums_of(session)
    told, written = report_of(ada, session), sums.read_bytes()
    sums.unlink()
    assert ada("pack", session.path).status == 0
    assert sums.read_bytes() == written
    assert ada("unpack", session.path).status == 0
    assert not sums.exists() and report_of(ada, session) == told
    assert ada("pack", "--disk-limit=1T", session.path).status == 0
    assert not sums.exists()
    assert ada("pack", session.path).status == 0
    assert sums.read_bytes() == written and report_of(ada, session) == told


def test_damage_is_told_and_not_believed(ada, session):
    sums, = sums_of(session)
    told, written = report_of(ada, session), sums.read_bytes()
    for damage in (written[:100], written[:-1], b"", written[:200] + bytes([written[200] ^ 1]) + written[201:]):
        sums.write_bytes(damage)
        assert report_of(ada, session) == told
        assert failures(ada, session) == [("sums", "sums")]
    sums.unlink()
    os.mkfifo(sums)
    assert report_of(ada, session) == told
    sums.unlink()
    assert ada("pack", session.path).status == 0
    assert sums.read_bytes() == written and failures(ada, session) == []


def test_few_events_and_plain_ones_have_none(ada, record, tmp_path):
    for number, options in enumerate((["--pack=always"], ["--pack=never"])):
        output, _ = record(1, 1500000 if number else 10000, 1, "--detail=off", "--on-full=block", *options, output=tmp_path / str(number))
        assert sums_of(Session(output)) == []


def test_recovery_takes_them_away(ada, session):
    """It may move events, or give them up."""
    sums, = sums_of(session)
    told = json.loads(report_of(ada, session))
    for path in session.path / "session.json", *session.path.glob("pid_*/manifest.json"):
        document = json.loads(path.read_text())
        document.pop("checksum")
        document["finalized"] = False
        path.write_text(json.dumps(document))
    assert ada("recover", session.path).status == 0
    assert not sums.exists() and json.loads(report_of(ada, session))["rows"] == told["rows"]
