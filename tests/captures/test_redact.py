"""--redact: what no file of the recording has any more, byte for byte, and what it still has."""
import json
import pathlib
import struct
import subprocess

import pytest

from harness import check_recording

pytestmark = pytest.mark.traces
SOURCE = pathlib.Path(__file__).with_name("redact.c")
PIN = struct.pack("<Q", 0x5EC2E75EC2E7)
CAPTURE = "--capture=login:1=str,login:2=str,login:5=str,stat:1=str"
RULES = ["arg=login:3>5@pre=1000ev,post=1000ev", "latency=login:3..later:1>0.001us"]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("redact") / "redact"
    subprocess.run(["cc", "-g", "-O1", "-o", path, SOURCE, "-pthread"], check=True)
    return path


def record(ada, program, out, *options):
    result = ada.trace(out, [program], CAPTURE, *[f"--trigger={rule}" for rule in RULES], *options)
    assert result.status == 0, result.stderr.decode()
    return check_recording(ada, out)


def holds(session, needle):
    """Files of the recording that have these bytes."""
    return [path.name for path in session.path.rglob("*") if path.is_file() and needle in path.read_bytes()]


def detail(ada, session, kind="call"):
    rows = json.loads(ada("query", "--format=json", session.path, f"SELECT *, captured, args, rdi, rsi, rdx, rcx, r8, r9 FROM detail WHERE function = 'login' AND kind = '{kind}'").stdout)
    row, = rows["rows"]
    return row


def marks(session):
    (manifest,) = session.manifests().values()
    return manifest, [mark for window in manifest["detail_lane"]["windows"] for mark in window["marks"]]


def test_without(ada, program, tmp_path):
    """What there is to be dropped."""
    session = record(ada, program, tmp_path, "--stack-bytes=256")
    for secret in (PIN, b"hunter2", b"tokentoken", b"/secret/place"):
        assert "detail.atf" in holds(session, secret), secret
    row = detail(ada, session)
    assert row["x2"] == row["x3"] == row["rdx"] == row["rcx"] == 0x5EC2E75EC2E7 and len(json.loads(row["captured"])) == 3
    assert detail(ada, session, "return")["rdx"] == 0x5EC2E75EC2E7      # what is left in rdx
    manifest, found = marks(session)
    assert found[0]["value"] == found[1]["key"] == 0x5EC2E75EC2E7
    assert "redacted" not in manifest["detail_lane"]


def test_dropped(ada, program, tmp_path):
    """Also the fourth argument, which is equal to the third; and where the calls behind it have the same in registers and on the stack."""
    options = ["--redact=login:2,login:3", "--redact=re:^logi.$:5,stat:1"]
    session = record(ada, program, tmp_path, "--stack-bytes=256", *options)
    for secret in (PIN, b"hunter2", b"tokentoken", b"/secret/place"):
        assert not holds(session, secret), secret
    row = detail(ada, session)
    assert [row[f"x{n}"] for n in (1, 2, 3, 4)] == [None] * 4 and row["x5"] == 77 and row["x0"]
    assert [row[name] for name in ("rsi", "rdx", "rcx", "r8")] == [None] * 4 and row["r9"] == 77 and row["rdi"] == row["x0"]
    assert [(entry["argument"], entry["text"]) for entry in json.loads(row["captured"])] == [(1, "someone")]
    assert row["args"] == 'login(user="someone", password=(redacted), pin=(redacted), again=(redacted), token=(redacted), other=77)'
    assert detail(ada, session, "return")["rdx"] is None
    text = ada("dump", "--detail", "--function=login", session.path).stdout.decode()
    assert "rsi=(redacted) rdx=(redacted) rcx=(redacted) r8=(redacted) r9=0x4d" in text and "rdx=(redacted) rax=" in text
    manifest, found = marks(session)
    assert manifest["detail_lane"]["redacted"] == ["login:2,login:3", "re:^logi.$:5,stat:1"]
    assert found[0]["value"] is None and found[1]["key"] is None
    assert "(redacted)" in ada("windows", session.path).stdout.decode()
    assert ada("trigger", "test", session.path, "arg=login:3>5").stdout.startswith(b"0 matches")


@pytest.mark.parametrize("redacted", [False, True])
def test_copies_of_what_the_argument_points_at(ada, program, tmp_path, redacted):
    """In vector registers of the call and behind it, and on the stack of the call."""
    session = record(ada, program, tmp_path, "--trigger=symbol=enter@pre=1000ev,post=1000ev", "--stack-bytes=0",
                     *["--redact=enter:1"] * redacted)
    assert holds(session, b"vectored") == ([] if redacted else ["detail.atf"])
    session = record(ada, program, tmp_path / "stack", "--trigger=symbol=enter@pre=1000ev,post=1000ev", "--stack-bytes=256",
                     *["--redact=enter:1"] * redacted)
    rows = json.loads(ada("query", "--format=json", session.path,
                          "SELECT function, kind, fp0, coalesce(length(stack), 0) AS bytes FROM detail WHERE function IN ('enter', 'leave')").stdout)["rows"]
    assert len(rows) == 4
    for row in rows:
        assert (row["fp0"] is None) == (redacted or row["kind"] == "return")
        assert (row["bytes"] == 0) == (row["kind"] == "return" or (redacted and row["function"] == "enter"))


def test_locks(ada, program, tmp_path):
    """No event names the object of a lock function whose argument is dropped."""
    session = record(ada, program, tmp_path, "--redact=pthread_mutex_*:1")
    rows = json.loads(ada("query", "--format=json", session.path, "SELECT kind FROM events WHERE kind = 'object'").stdout)["rows"]
    assert not rows


def test_words(ada, program, tmp_path):
    """A pattern that fits nothing is told; a mistake is refused before the program starts."""
    refused = ada.trace(tmp_path, [program], "--redact=login")
    assert refused.status == 125 and b"--redact 'login': at character 6: FUNCTION:N is meant" in refused.stderr
    told = ada("trace", f"--output={tmp_path}", "--redact=logan:2", "--", program)
    assert b"ada: --redact: no function is called logan; near it: login" in told.stderr
