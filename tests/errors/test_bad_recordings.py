"""Sessions that are none, cut or damaged: readers say so, verify finds every flipped bit, and nothing crashes."""
import json
import os
import random
import re
import shutil
import subprocess

import pytest

READERS = ["info", "dump", "report"]
PROGRAM = """#include <stdio.h>
__attribute__((noinline)) static int leaf(int n) { __asm__ volatile("" ::: "memory"); return n; }
__attribute__((noinline)) static int outer(int n) { return leaf(n) + leaf(n); }
int main(void) { int sum = 0; for (int i = 0; i < 200; i++) sum += outer(i); printf("%d\\n", sum); }"""


@pytest.fixture(scope="module")
def recorded(ada, tmp_path_factory):
    """A small sound session, with a window."""
    place = tmp_path_factory.mktemp("recorded")
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", place / "program"], input=PROGRAM.encode(), check=True)
    result = ada.trace(place / "out", [place / "program"], "--trigger=symbol=outer@limit=1/min,post=10ev", timeout=30)
    assert result.status == 0, result.stderr.decode()
    session = next((place / "out").glob("session_*"))
    assert ada("verify", session).status == 0
    return session


@pytest.fixture
def session(recorded, tmp_path):
    """A copy to damage."""
    copy = tmp_path / "session_copy"
    shutil.copytree(recorded, copy, symlinks=True)
    return copy


def index_of(session):
    return sorted(session.glob("pid_*/thread_*/index.atf"))[0]


def check_readers(ada, session, verdicts):
    """Whatever is wrong: no crash, no flood of messages; verify's answer is among the expected."""
    for command in READERS:
        result = ada(command, "--format=json", session, timeout=20)
        assert result.status in (0, 125), f"{command}: {result.status} {result.stderr.decode()}"
        assert result.stderr.count(b"\n") <= 2, result.stderr.decode()
    result = ada("verify", session, timeout=20)
    assert result.status in verdicts, f"verify: {result.status}: {result.stdout.decode()}{result.stderr.decode()}"


@pytest.mark.parametrize("command", [*READERS, "verify"])
def test_no_session(command, refused, tmp_path):
    (tmp_path / "nothing").mkdir()
    status = 2 if command == "verify" else 125
    refused(status, "ada_traces", command)
    refused(status, "nothing", command, tmp_path / "nothing")
    refused(status, "missing", command, tmp_path / "missing")
    refused(status, "/etc/passwd", command, "/etc/passwd")
    refused(status, "/etc", command, "/etc")


@pytest.mark.parametrize("command", [*READERS, "mark", "status"])
def test_the_directory_that_sessions_lie_in(command, refused, recorded):
    """What `ada trace --output=DIR` was given: the error names what is wanted."""
    refused(125, "is no session, but holds some: name one of them, as ", command, recorded.parent)


LENGTHS = {"empty": 0, "in the magic": 3, "in the header": 63, "header alone": 64, "in the first event": 80, "one event": 96,
           "between events": 64 + 32 * 100, "in an event": 64 + 32 * 100 + 5}


@pytest.mark.parametrize("where", LENGTHS)
def test_cut(where, ada, session):
    os.truncate(index_of(session), LENGTHS[where])
    check_readers(ada, session, (1,))


def test_cut_in_the_footer(ada, session):
    index = index_of(session)
    size = index.stat().st_size
    for cut in (1, 32, 63, 64):
        os.truncate(index, size - cut)
        check_readers(ada, session, (1,))


@pytest.mark.parametrize("kind", ["session.json", "manifest.json", "tsv", "detail.atf"])
def test_a_changed_byte_of_any_file(kind, ada, session):
    """verify says so (1), and says of which file, wherever it is and whatever it becomes."""
    victims = [p for p in sorted(session.rglob("*")) if p.is_file() and p.name.endswith(kind)]
    assert victims, kind
    rng = random.Random(kind)
    for victim in victims:
        sound = victim.read_bytes()
        places = {*range(0, 40, 5), *range(len(sound) - 20, len(sound), 3), *rng.sample(range(len(sound)), 15)}
        for place in sorted(places)[::len(victims)]:
            data = bytearray(sound)
            data[place] ^= rng.randrange(1, 256)
            victim.write_bytes(data)
            result = ada("verify", "--format=json", session, timeout=20)
            assert result.status == 1, f"byte {place} of {victim.name}: status {result.status}: {result.stderr.decode()}"
            failed = {row["file"] for row in json.loads(result.stdout)["rows"] if not row["ok"]}
            assert any(victim.name in file or file in (".", f"{victim.parent.parent.name}/{victim.parent.name}") for file in failed), \
                f"byte {place} of {victim.name}: {failed}"
        victim.write_bytes(sound)
    assert ada("verify", session).status == 0


def test_every_file_has_its_turn(session):
    """What a session consists of is what the test above changes, and descriptors.json, which a look at a mark may come too late for."""
    kinds = re.compile(r"session\.json|manifest\.json|descriptors\.json|[0-9]+\.tsv|(index|detail)(\.[0-9]+)?\.atf|(sched|samples)\.atf")
    files = [p.name for p in session.rglob("*") if p.is_file()]
    assert not [name for name in files if not kinds.fullmatch(name)] and len(files) >= 6


@pytest.mark.parametrize("name", ["session.json", "pid_*/manifest.json"])
def test_a_document_without_checksum(name, ada, session):
    """Changed on purpose: sound without its checksum, damaged with one that isn't its own."""
    path = next(session.glob(name))
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document))
    assert ada("verify", session).status == 1
    del document["checksum"]
    path.write_text(json.dumps(document))
    assert ada("verify", session).status == 0


def flips(data):
    """Places to flip one bit: every byte of header and footer, and 40 in the events."""
    chosen = random.Random(7).sample(range(64, len(data) - 64), 40)
    return [*range(64), *range(len(data) - 64, len(data)), *chosen]


def test_flipped_bits(ada, session):
    """verify sees each one: by the header's and footer's own rules, or by the CRC."""
    index = index_of(session)
    sound = index.read_bytes()
    missed = []
    for place in flips(sound):
        data = bytearray(sound)
        data[place] ^= 1 << place % 8
        index.write_bytes(data)
        result = ada("verify", session, timeout=20)
        assert result.status in (0, 1), f"byte {place}: status {result.status}: {result.stderr.decode()}"
        if result.status == 0:
            missed.append(place)
    assert not missed, f"flips that verify did not see at {missed} of {len(sound)} bytes"


def test_flipped_bits_readers(ada, session):
    index = index_of(session)
    sound = index.read_bytes()
    for place in flips(sound)[::5]:
        data = bytearray(sound)
        data[place] ^= 1 << place % 8
        index.write_bytes(data)
        check_readers(ada, session, (1,))


@pytest.mark.parametrize("content", [None, "", "{", "[]", "{}", "null", "9" * 1000, "[" * 5000, "\0\xff"])
@pytest.mark.parametrize("name", ["session.json", "pid_*/manifest.json"])
def test_bad_json(name, content, ada, session):
    path = next(session.glob(name))
    if content is None:
        path.unlink()
    else:
        path.write_text(content, encoding="latin-1")
    check_readers(ada, session, (0, 1, 125) if name == "session.json" else (1, 125))


def test_bad_symbols(ada, session):
    for path in session.glob("pid_*/modules/*.tsv"):
        path.write_bytes(b"no\ttable\n\n\t\t\t\t\n" + b"x" * 10000)
    check_readers(ada, session, (0, 1))
    for path in session.glob("pid_*/modules/*.tsv"):
        path.unlink()
    check_readers(ada, session, (0, 1))
    assert "modules/0.tsv" in ada("report", session).stderr.decode()
