"""Every way to read, over sessions that hold little, hold strange things, or miss some of what they should hold."""
import json
import os
import pathlib
import shutil
import struct

import pytest

from asking import FEW, FORMS, SOME, WAYS

HEADER_BYTES, FOOTER_BYTES = 64, 64
EVENT = struct.Struct("<QQIIII")        # time, function, thread, kind, depth, detail_seq
CALL, RETURN, EXCEPTION, LOST = 1, 2, 3, 4


def process(path):
    return sorted(path.glob("pid_*"))[0]


def thread(path, number=0):
    return process(path) / f"thread_{number}"


def edit(path, change):
    """A JSON file changed in place."""
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def unfinished(index, events):
    """An index file as while recording: these events, no footer."""
    header = bytearray(index.read_bytes()[:HEADER_BYTES])
    struct.pack_into("<I", header, 16, 0)
    index.write_bytes(header + b"".join(EVENT.pack(*event) for event in events))


# --- sessions that are well, with little in them --------------------------------------------------------------------------

@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scenario", ["empty", "running", "plain", "lossy", "processes", "detail", "pair", "fibers", "names"])
def test_well(ask, synth, way, scenario):
    answer = ask(way, synth(scenario), statuses=(1,) if scenario == "names" and way.startswith("verify") else (0,))
    if FORMS[way] == "json" and way != "report-diff" and answer.value() is not None and "completeness" in answer.value():
        assert answer.completeness()["complete"] is (scenario not in ("running", "lossy"))


@pytest.mark.parametrize("way", WAYS)
def test_a_program_without_events(ask, copy, way):
    path = copy("plain")
    shutil.rmtree(thread(path))
    edit(process(path) / "manifest.json", lambda m: m["threads"].clear())
    ask(way, path, statuses=(0, 1) if way.startswith("verify") else (0,))


@pytest.mark.parametrize("way", ["report", "graph", "narrate", "dump", "info", "windows"])
def test_a_recording_under_way_is_said_to_be_one(ask, synth, way):
    text = ask(way, synth("running")).stdout
    assert b"the recording is not complete" in text or b"had not ended" in text, text


# --- events that make no sense --------------------------------------------------------------------------------------------

TOP32, TOP64 = 2**32 - 1, 2**64 - 1
EVENTS = {
    "times at the end of 64 bits": [(0, 0, 100, CALL, 0, TOP32), (TOP64 - 1, 2, 100, CALL, 1, TOP32), (TOP64, 2, 100, RETURN, 1, TOP32)],
    "times that fall": [(10**12 - i * 10**9, 2, 100, CALL if i % 2 else RETURN, i, TOP32) for i in range(20)],
    "depths at the end of 32 bits": [(i, 2, 100, CALL, TOP32 - i, TOP32) for i in range(20)],
    "depths that jump": [(i, 2, 100, CALL + i % 2, 2**i, TOP32) for i in range(32)],
    "functions at the end of 64 bits": [(i, TOP64 - i // 2, 100, CALL + i % 2, 0, TOP32) for i in range(20)],
    "functions of no module": [(i, (i // 2) << 32 | 5, 100, CALL + i % 2, 0, TOP32) for i in range(2000)],
    "losses beyond counting": [(i, TOP64 - i, 100, LOST, 0, TOP32) for i in range(5)],
    "losses of nothing": [(i, 0, 100, LOST, 0, TOP32) for i in range(5)],
    "returns alone": [(i, 2, 100, RETURN, i, TOP32) for i in range(20)],
    "exceptions alone": [(i, 2, 100, EXCEPTION, TOP32, TOP32) for i in range(20)],
    "other threads": [(i, 2, i * 77, CALL + i % 2, 0, TOP32) for i in range(20)],
    "kinds to come": [(i, 2, 100, 5 + i, 0, TOP32) for i in range(20)] + [(30, 2, 100, TOP32, 0, TOP32)],
    "no kinds": [(0, 0, 0, 0, 0, 0)] * 20 + [(5, 2, 100, CALL, 0, TOP32)],
    "details that are not": [(i, 2, 100, CALL + i % 2, 0, i * 1000) for i in range(20)],
    "deep": [(i, 2, 100, CALL, i, TOP32) for i in range(3000)],
    "at one moment": [(7, 2, 100, CALL + i % 2, 0, TOP32) for i in range(1000)],
}


@pytest.mark.shares
@pytest.mark.parametrize("what", EVENTS)
def test_events(ask, copy, what):
    path = copy("detail")
    unfinished(thread(path) / "index.atf", EVENTS[what])
    for way in ask.part(list(WAYS), what):
        ask(way, path)


def test_thousands_of_threads(ask, copy):
    path = copy("plain")
    for number in range(1, 1200):
        os.makedirs(thread(path, number))
        os.link(thread(path) / "index.atf", thread(path, number) / "index.atf")
    for way in SOME:
        ask(way, path)


def test_names_of_100_kb(ask, copy):
    path = copy("detail")
    table = process(path) / "modules" / "0.tsv"
    table.write_text(table.read_text().replace("\tleaf\n", "\tleaf" + "x" * 100000 + "\n").replace("\tmain\n", "\t_ZN" + "3abc" * 25000 + "Ev\n"))
    edit(process(path) / "manifest.json", lambda m: [m["threads"][0].update(name="t" * 100000),
                                                     m["modules"][0].update(path="/" + "m" * 100000)])
    edit(path / "session.json", lambda s: s.update(command=["c" * 100000]))
    for way in WAYS:
        ask(way, path)


# --- files that are missing, empty, garbled or something else -------------------------------------------------------------

FILES = {"session.json": lambda p: p / "session.json", "manifest.json": lambda p: process(p) / "manifest.json",
         "table": lambda p: process(p) / "modules" / "0.tsv", "index": lambda p: thread(p) / "index.atf",
         "index of the next segment": lambda p: thread(p) / "index.1.atf", "detail": lambda p: thread(p) / "detail.atf",
         "another thread": lambda p: thread(p, 1) / "index.atf"}
CONTENTS = {"empty": b"", "garbage": bytes(range(256)) * 40, "zeros": bytes(10000), "text": b"hello\n", "array": b"[1, 2]",
            "deep": b"[" * 100000, "object": b"{}", "numbers": b'{"threads": 7, "modules": {"a": 1}, "detail_lane": [], "processes": [7]}'}


def replace_by(path, what):
    path.unlink()
    if what == "fifo":
        os.mkfifo(path)
    elif what == "directory":
        path.mkdir()
    elif what == "loop":
        path.symlink_to(path.name)
    elif what == "link to nothing":
        path.symlink_to("nothing")
    elif what == "terminal":
        path.symlink_to("/dev/tty")
    elif what == "endless":
        path.symlink_to("/dev/zero")
    elif what != "missing":
        path.write_bytes(CONTENTS[what])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("what", [*CONTENTS, "missing", "fifo", "directory", "loop", "link to nothing", "terminal", "endless"])
def test_file_replaced(ask, copy, name, what):
    path = copy("detail")
    victim = FILES[name](path)
    replace_by(victim, what)
    named = 0
    for way in FEW:
        answer = ask(way, path, seconds=10)
        named += victim.name.encode() in answer.stderr or victim.parent.name.encode() in answer.stderr
        if way == "verify-json":
            assert answer.status != 0 or what == "missing" and name in ("table", "session.json") or \
                what in ("object", "numbers") and name == "session.json", "verify takes it for sound"
    if not (what in ("object", "numbers") and name.endswith(".json")) and \
            not (name in ("session.json", "detail") and what in ("missing", "link to nothing")):
        assert named, f"no answer names {victim.name}"


@pytest.mark.parametrize("name", ["pid", "thread", "modules"])
@pytest.mark.parametrize("what", ["empty", "file", "fifo", "loop", "missing", "unlisted"])
def test_directory_replaced(ask, copy, name, what):
    path = copy("detail")
    victim = {"pid": process(path), "thread": thread(path), "modules": process(path) / "modules"}[name]
    if what == "unlisted":
        (victim / "pid_7").mkdir()
        (victim / "thread_7").mkdir()
        (victim / "index.07.atf").write_bytes(b"")
    else:
        shutil.rmtree(victim)
    if what == "empty":
        victim.mkdir()
    elif what == "file":
        victim.write_bytes(b"x")
    elif what == "fifo":
        os.mkfifo(victim)
    elif what == "loop":
        victim.symlink_to(victim.name)
    for way in SOME:
        ask(way, path, seconds=10)


@pytest.mark.parametrize("way", SOME)
def test_a_segment_missing_in_the_middle(ask, copy, way):
    """What lies before the gap is answered."""
    path = copy("detail")
    (thread(path) / "index.1.atf").rename(thread(path) / "index.2.atf")
    answer = ask(way, path, statuses=(1, 125))
    assert b"thread_0" in answer.stderr or way == "verify-json"
    if way == "dump-json":
        rows = [row for row in answer.value()[:-1] if row["thread"] == 0]
        assert [row["index_seq"] for row in rows] == list(range(len(rows))) and len(rows) == 9


@pytest.mark.parametrize("way", SOME)
@pytest.mark.parametrize("lane", ["index", "detail"])
def test_another_thread_s_file(ask, copy, synth, way, lane):
    path = copy("detail")
    source = thread(synth("pair")) / f"{lane}.atf"
    shutil.copy(source, thread(path) / f"{lane}.atf")
    answer = ask(way, path)
    assert way != "verify-json" or answer.status == 1


@pytest.mark.parametrize("way", SOME)
@pytest.mark.parametrize("where, value", [(4, 0), (4, 2), (5, 0), (5, 2), (5, 255)])
def test_wrong_version(ask, copy, way, where, value):
    path = copy("plain")
    victim = thread(path) / "index.atf"
    data = bytearray(victim.read_bytes())
    data[where] = value
    victim.write_bytes(data)
    answer = ask(way, path, statuses=(1, 125))
    assert way == "verify-json" or b"version" in answer.stderr or b"byte order" in answer.stderr


@pytest.mark.parametrize("way", SOME)
@pytest.mark.parametrize("lane", ["index", "detail"])
def test_footer_zeroed(ask, copy, way, lane):
    """As a crash leaves it: all events are there, and no file is called damaged."""
    path = copy("detail")
    victim = thread(path) / f"{lane}.atf"
    data = victim.read_bytes()
    victim.write_bytes(data[:-FOOTER_BYTES] + bytes(FOOTER_BYTES))
    answer = ask(way, path)
    if way == "dump-json":
        assert sum(row["thread"] == 0 for row in answer.value()[:-1]) == 14


@pytest.mark.skipif(os.geteuid() != 0, reason="is about what another user may not read")
@pytest.mark.parametrize("name", [*FILES, "pid", "thread", "modules", "session"])
def test_without_permission(ask, ada_of_all, copy, name):
    ask.ada = ada_of_all
    path = copy("detail")
    victim = {**FILES, "pid": process, "thread": thread, "modules": lambda p: process(p) / "modules", "session": lambda p: p}[name](path)
    for directory in [ask.directory, path, *path.rglob("*")]:
        directory.chmod(0o755 if directory.is_dir() else 0o644)
    victim.chmod(0)
    base = [parent for parent in pathlib.Path(ask.directory).parents if parent.stat().st_mode & 5 != 5]
    modes = {parent: parent.stat().st_mode for parent in base}
    try:
        for parent in base:
            parent.chmod(parent.stat().st_mode | 0o5)
        for way in SOME:
            if way != "export-sqlite":      # has nowhere to write
                answer = ask(way, path, user=65534, group=65534, extra_groups=[])
                assert answer.status or name in ("detail", "table", "modules"), f"{way} says nothing"
    finally:
        victim.chmod(0o700)
        for parent, mode in modes.items():
            parent.chmod(mode & 0o7777)
