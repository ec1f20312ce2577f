"""ada anchor on a session that is being recorded: the recorder takes anchors over, and no change of session.json is lost."""
import concurrent.futures
import json
import pathlib
import time

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def anchors_of(session):
    return json.loads((session / "session.json").read_text())["anchors"]


def info(ada, session):
    result = ada("info", "--format=json", session)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["anchors"]


def test_an_anchor_is_now_unless_said_otherwise(live, ada):
    session = live()
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    assert session.control("anchor", "video", "--media-time=12.5s") == "clock video: 1 anchor\n"
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    (row,) = info(ada, session.session)                 # at once, though the recorder has not written it yet
    assert before <= row["host_ns"] <= after and row["media_ns"] == 12500000000
    assert session.end() == 3
    assert anchors_of(session.session) == [{"clock": "video", "hostTimeNs": row["host_ns"], "mediaTimeNs": 12500000000}]
    assert info(ada, session.session) == [row]
    assert ada("verify", session.session).status == 0


def test_many_at_once_while_processes_come_and_go(live, ada):
    """Each of a program's children makes the recorder write session.json anew."""
    session = live(command=["sh", "-c", "echo ready; while read line; do /bin/true; echo done; done"])

    def store(number):
        return ada("anchor", session.session, f"clock{number}", "--media-time=1s").status
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = pool.map(store, range(24))
        for _ in range(12):
            session.tell("x\n")
        assert list(results) == [0] * 24
    assert session.end() == 0
    assert sorted(entry["clock"] for entry in anchors_of(session.session)) == sorted(f"clock{n}" for n in range(24))
    document = json.loads((session.session / "session.json").read_text())
    processes = [row["process"] for row in ada.rows("info", session.session)]
    assert len(processes) > 12 and [entry["directory"] for entry in document["processes"]] == processes and document["finalized"]
    # one more, now that nobody holds it
    assert ada("anchor", session.session, "clock0", "--media-time=2s", "--host-time=+1h").status == 125
    assert ada("anchor", session.session, "late", "--media-time=2s", "--host-time=+1us").status == 0
    assert len(anchors_of(session.session)) == 25
    assert json.loads((session.session / "session.json").read_text())["processes"] == document["processes"]
    assert ada("verify", session.session).status == 0
    text = (session.session / "session.json").read_text()
    (session.session / "session.json").write_text(text.replace('"late"', '"fate"'))
    result = ada("anchor", session.session, "other", "--media-time=2s", "--host-time=+1us")     # which would give it a sound checksum
    assert result.status == 125 and b"session.json is damaged" in result.stderr
    (session.session / "session.json").write_text(text)
    schemas = {name: json.loads((ROOT / "docs" / name).read_text()) for name in ("session.schema.json", "manifest.schema.json")}
    anchors = schemas["session.schema.json"]["properties"]["anchors"]
    jsonschema.validate(anchors_of(session.session), anchors)
    for name in ("boot", "wall"):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate([{"clock": name, "hostTimeNs": 1, "mediaTimeNs": 1}], anchors)


def test_a_killed_recorders_session_can_be_anchored(live, ada):
    """Its lock has gone with it; whoever finishes the recording for it may hold another."""
    session = live()
    session.control("anchor", "video", "--media-time=1s")
    session.process.kill()
    session.process.wait()
    assert ada("anchor", session.session, "sound", "--media-time=5s", "--host-time=+1us").status == 0
    assert {row["clock"] for row in info(ada, session.session)} == {"video", "sound"}
