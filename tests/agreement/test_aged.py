"""`ada pack --disk-limit` and `--max-age`: the oldest segments go, and what they added up to stays. Sums by function are the same as before,
the books too; everything else answers from what is left, and says so."""
import json
import signal
import subprocess

import pytest


@pytest.fixture
def session(build_dir, tmp_path):
    """Three threads of three segments each, in two processes."""
    subprocess.run([build_dir / "tests" / "query" / "synth", "random:8:3:60000", tmp_path / "session"], check=True)
    return tmp_path / "session"


def report(ada, session):
    result = ada("report", "--format=json", session)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)


def size(session):
    return sum(path.stat().st_size for path in session.rglob("*") if path.is_file() and not path.is_symlink())


def threads(session):
    """(directory, entry of the manifest) of each."""
    return [(path.parent / entry["directory"], entry) for path in sorted(session.glob("pid_*/manifest.json"))
            for entry in json.loads(path.read_text())["threads"]]


def segments(directory):
    return sorted(path.name for path in directory.glob("index*"))


def times(ada, session):
    result = ada("query", "--format=json", session, "SELECT MIN(timestamp_ns) AS first, MAX(timestamp_ns) AS last FROM events")
    row = json.loads(result.stdout)["rows"][0]
    return row["first"], row["last"]


def books(ada, session):
    """{(process, thread): row} of what verify says, which finds nothing wrong."""
    result = ada("verify", "--format=json", session)
    assert result.status == 0, result.stdout.decode()
    return {(row["process"], row["thread"]): row for row in json.loads(result.stdout)["books"]}


def test_limit(ada, session):
    """In as many steps as one likes; packed, as `ada pack` leaves them."""
    before, captured = report(ada, session), {number: row["captured"] for number, row in books(ada, session).items()}
    assert ada("pack", session).status == 0
    full, last = size(session), 0
    for share in 0.9, 0.7:
        result = ada("pack", f"--disk-limit={int(full * share)}", session)
        assert result.status == 0 and b"went into totals" in result.stdout, result.stderr.decode()
        now = report(ada, session)
        assert now["rows"] == before["rows"]
        kept = books(ada, session)
        assert {number: row["captured"] for number, row in kept.items()} == captured
        aged = sum(row["aged"] for row in kept.values())
        assert now["completeness"]["aged"] == aged > last and not now["completeness"]["complete"]
        last = aged
    for directory, entry in threads(session):
        assert segments(directory) == sorted(segment["file"] for segment in entry["segments"])
    rows = json.loads(ada("query", "--format=json", session, "SELECT SUM(calls) AS calls FROM fn_stats()").stdout)["rows"]
    assert rows[0]["calls"] == sum(row["calls"] for row in before["rows"])
    assert b"older ones have gone into totals" in ada("dump", "--limit=1", session).stdout
    assert ada("unpack", session).status == 0
    assert report(ada, session)["rows"] == before["rows"]
    books(ada, session)


def test_a_limit_is_kept(ada, session):
    """With what totals take, and as few segments go as do."""
    assert ada("pack", session).status == 0
    full = size(session)
    for share in 1, 0.9, 0.75:
        assert ada("pack", f"--disk-limit={int(full * share)}", session).status == 0
        assert full * share * 0.7 < size(session) <= full * share


def test_last_segments_stay(ada, session):
    result = ada("pack", "--disk-limit=4K", session)
    assert result.status == 0 and b"more than asked" in result.stdout
    assert [(entry["firstSegment"], segments(directory)) for directory, entry in threads(session)] == [(2, ["index.2.atp"])] * 3


def test_age(ada, session):
    before, (first, last) = report(ada, session), times(ada, session)
    assert ada("pack", f"--max-age={(last - first) // 4}ns", session).status == 0
    left = times(ada, session)[0]
    assert first < left
    assert report(ada, session)["rows"] == before["rows"]
    # Of a time that lies in what is left, and of one that doesn't.
    part = json.loads(ada("report", "--format=json", f"--from={last - 1000}", session).stdout)
    assert "aged" not in part["completeness"]
    part = json.loads(ada("report", "--format=json", f"--from={first + 1}", session).stdout)
    assert part["completeness"]["aged"] > 0 and not part["completeness"]["complete"]


def test_segments_with_detail_stay(ada, session):
    """And all behind them: a window is a promise."""
    (one, _), (other, _) = threads(session)[:2]
    (one / "detail.1.atf").write_bytes(b"")
    assert ada("pack", "--disk-limit=4K", session).status == 0
    assert segments(one) == ["index.1.atp", "index.2.atp"] and segments(other) == ["index.2.atp"]


def test_killed_in_the_midst(ada, session):
    """At whatever moment each event counts once, and the same command finishes."""
    before, captured = report(ada, session), {number: row["captured"] for number, row in books(ada, session).items()}
    assert ada("pack", session).status == 0
    full = size(session)
    for i in range(6):
        process = subprocess.Popen([ada.path, "pack", f"--disk-limit={full * (9 - i) // 10}", session], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.004 + 0.003 * i)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert report(ada, session)["rows"] == before["rows"]
    assert ada("pack", "--disk-limit=4K", session).status == 0
    assert {number: row["captured"] for number, row in books(ada, session).items()} == captured
    assert report(ada, session)["rows"] == before["rows"]


def test_the_files_had_not_gone(ada, session):
    """Totals are in place, and a segment is still there: it doesn't count twice, and goes with the next run."""
    before, directory = report(ada, session), threads(session)[0][0]
    first = (directory / "index.atf").read_bytes()
    assert ada("pack", "--disk-limit=4K", session).status == 0
    (directory / "index.atf").write_bytes(first)
    assert report(ada, session)["rows"] == before["rows"]
    assert ada("verify", session).status == 1
    assert ada("pack", "--disk-limit=4K", session).status == 0
    assert not (directory / "index.atf").exists()
    books(ada, session)


@pytest.mark.parametrize("place", [0, 5, 12, 20, 90, 130, -1, None])
def test_damaged_totals(ada, session, place):
    """They are named, don't count, and what is left of the thread is read."""
    before = report(ada, session)
    assert ada("pack", "--disk-limit=4K", session).status == 0
    totals = threads(session)[0][0] / "totals"
    content = bytearray(totals.read_bytes())
    if place is None:
        content = content[:-7]
    else:
        content[place] ^= 16
    totals.write_bytes(content)
    result = ada("report", "--format=json", session)
    assert result.status == 125 and b"totals, is damaged" in result.stderr
    now = json.loads(result.stdout)
    assert not now["completeness"]["complete"] and sum(row["calls"] for row in now["rows"]) < sum(row["calls"] for row in before["rows"])
    assert ada("verify", session).status == 1
    refused = ada("pack", "--disk-limit=4K", session)
    assert refused.status == 125 and b"totals" in refused.stderr and refused.stderr.count(b"\n") == 1
