"""ada info, dump, report and verify on sessions whose answers are known (tests/query/synth_main.c makes them)."""
import csv
import io
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import struct
import subprocess

import pytest
from harness import changed_manifest

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_NS = 1000000000000
EVENT_BYTES = 32
HEADER_BYTES = 64


def answer(ada, *arguments, status=0):
    result = ada(*arguments)
    assert result.status == status, result.stderr.decode()
    return result


def as_json(ada, command, *arguments, status=0):
    return json.loads(answer(ada, command, "--format=json", *arguments, status=status).stdout)


def as_lines(ada, *arguments, status=0):
    """dump's rows, and the completeness that comes last."""
    lines = [json.loads(line) for line in answer(ada, "dump", "--format=json", *arguments, status=status).stdout.splitlines()]
    return lines[:-1], lines[-1]["completeness"]


def as_csv(ada, command, *arguments):
    text = answer(ada, command, "--format=csv", *arguments).stdout.decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def plain_text(row):
    """A JSON row as CSV has it."""
    words = {None: "", True: "true", False: "false"}
    return {key: words[value] if value is None or isinstance(value, bool) else str(value) for key, value in row.items()}


# --- answers ------------------------------------------------------------------------------------------------------------

def test_report_knows_every_number(ada, session):
    result = as_json(ada, "report", session("plain"))
    fields = ["function", "module", "calls", "total_ns", "self_ns", "min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"]
    assert [list(row.values()) for row in result["rows"]] == [
        ["main", "prog", 1, 1000, 640, 1000, 1000, 1000, 1000, 1000, 1000],
        ["leaf", "prog", 2, 300, 300, 100, 150, 100, 200, 200, 200],
        ["thrower", "prog", 1, 50, 50, 50, 50, 50, 50, 50, 50],
        ["ns::add(int, int)", "prog", 1, 10, 10, 10, 10, 10, 10, 10, 10],
    ]
    assert list(result["rows"][0]) == fields
    assert result["completeness"] == {"events": 10, "lost": 0, "detailCoverage": 0, "complete": True}


@pytest.mark.parametrize("field, first", [("calls", "leaf"), ("total_ns", "main"), ("self", "main"), ("min", "main"),
                                          ("function", "leaf"), ("max_ns", "main")])
def test_report_sorts(ada, session, field, first):
    rows = as_json(ada, "report", f"--sort={field}", session("plain"))["rows"]
    assert rows[0]["function"] == first
    assert as_json(ada, "report", f"--sort={field}", "--limit=1", session("plain"))["rows"] == rows[:1]


def test_dump_gives_every_field(ada, session):
    rows, completeness = as_lines(ada, session("plain"))
    assert rows[0] == {"timestamp_ns": START_NS, "thread": 0, "tid": 100, "index_seq": 0, "kind": "call", "function": "main",
                       "module": "prog", "depth": 0, "detail_seq": None}
    assert [row["kind"] for row in rows] == ["call", "call", "return", "call", "return", "call", "exception", "call", "return",
                                             "return"]
    assert [row["index_seq"] for row in rows] == list(range(10))
    assert [row["depth"] for row in rows] == [0] + [1] * 8 + [0]
    assert completeness["events"] == 10


def test_dump_text(ada, session):
    lines = answer(ada, "dump", session("plain")).stdout.decode().splitlines()
    assert lines[0] == "    0.000000000  0:prog        > main"
    assert lines[2] == "    0.000000100  0:prog          < leaf  100 ns"
    assert lines[6] == "    0.000000350  0:prog          ! thrower  50 ns"
    assert lines[-1] == "10 events; none was lost."


@pytest.mark.parametrize("arguments, count", [
    (["--limit=3"], 3), (["--function=leaf"], 4), (["--function=l*f"], 4), (["--function=ns::add"], 2),
    (["--function=_ZN2ns3addEii"], 2), (["--function=ns::add(int, int)"], 2), (["--function=none"], 0),
    (["--from=+300ns"], 6), (["--to=+300ns"], 4), (["--from=+100ns", "--to=+351ns"], 6),
    ([f"--from={START_NS + 300}"], 6), (["--thread=0"], 10), (["--thread=100"], 10), (["--thread=prog"], 10),
    (["--seq=2-5"], 4), (["--seq=7"], 1), (["--seq=8-100"], 2), (["--seq=10"], 0), (["--seq=2-8", "--function=leaf"], 3),
    (["--seq=2-5", "--from=+300ns"], 2)])
def test_dump_narrows(ada, session, arguments, count):
    assert len(as_lines(ada, *arguments, session("plain"))[0]) == count


def test_dump_by_index_seq(ada, session):
    """Counted on over segments, and each thread by itself."""
    rows, _ = as_lines(ada, "--thread=0", "--seq=6-9", session("detail"))
    assert [row["index_seq"] for row in rows] == [6, 7, 8, 9]
    assert {(row["process"], row["index_seq"]) for row in as_lines(ada, "--seq=1", session("processes"))[0]} == {
        ("pid_50", 1), ("pid_51", 1), ("pid_50_1", 1)}


@pytest.mark.parametrize("scenario, seqs", [("processes", ["1"]), ("detail", ["1", "4-6", "5", "6-9", "12", "13", "0-100", "20"]),
                                             ("lossy", ["3-4", "4", "5-6"]), ("crowd", ["2", "1-3", "30-40"])])
def test_dump_by_index_seq_is_complete_for_what_it_covers(ada, session, scenario, seqs):
    """Other threads' events of that time, and others of the same ns, are none of its business."""
    for seq in seqs:
        rows, completeness = as_lines(ada, f"--seq={seq}", "--detail", session(scenario))
        assert completeness["events"] == len(rows)
        assert completeness["lost"] == sum(row.get("lost", 0) for row in rows)
        assert completeness["detailCoverage"] == pytest.approx(sum(row["detail"] is not None for row in rows) / max(len(rows), 1), rel=1e-5)
        assert as_lines(ada, f"--seq={seq}", "--function=leaf", session(scenario))[1] == completeness


@pytest.mark.parametrize("value", ["", "x", "5-", "-5", "7-3", "1-2-3", "99999999999999999999"])
def test_dump_of_no_index_seq(ada, session, value):
    stderr = answer(ada, "dump", f"--seq={value}", session("plain"), status=125).stderr.decode()
    assert stderr.startswith("ada dump: --seq") and stderr.count("\n") == 1


def test_report_narrows(ada, session):
    rows = as_json(ada, "report", "--from=+100ns", "--to=+350ns", session("plain"))["rows"]
    assert {row["function"]: row["calls"] for row in rows} == {"leaf": 1, "thrower": 1}


def test_losses_are_said(ada, session):
    rows, completeness = as_lines(ada, session("lossy"))
    lost = [row for row in rows if row["kind"] == "lost"]
    assert [(row["lost"], row["function"], row["index_seq"]) for row in lost] == [(12, None, 4)]
    assert completeness == {"events": 7, "lost": 12, "detailCoverage": 0, "complete": False}
    report = as_json(ada, "report", session("lossy"))
    assert report["completeness"] == completeness
    leaf = next(row for row in report["rows"] if row["function"] == "leaf")
    assert (leaf["calls"], leaf["total_ns"], leaf["max_ns"]) == (3, 90, 60)
    assert answer(ada, "report", session("lossy")).stdout.decode().endswith("7 events; 12 were lost.\n")
    assert as_json(ada, "info", session("lossy"))["completeness"] == completeness
    # A part without the loss
    assert as_json(ada, "report", "--from=+36ns", session("lossy"))["completeness"]["lost"] == 0


def test_what_newer_events_replaced_is_no_loss(ada, session, tmp_path):
    """In a circular buffer that is what was asked for: it is told apart, and the answer isn't complete all the same."""
    path = changed_manifest(session("lossy"), tmp_path / "session", lambda told: told["threads"][0].update(overwritten=12))
    report = as_json(ada, "report", path)
    assert report["completeness"] == {"events": 7, "lost": 12, "overwritten": 12, "detailCoverage": 0, "complete": False}
    assert answer(ada, "report", path).stdout.decode().endswith("7 events; 12 older ones were overwritten, as asked; none was lost.\n")
    assert "12 older ones were overwritten" in answer(ada, "info", path).stdout.decode()
    changed_manifest(session("lossy"), path, lambda told: told["threads"][0].update(overwritten=11))
    assert answer(ada, "report", path).stdout.decode().endswith("7 events; 11 older ones were overwritten, as asked; 1 was lost.\n")


def test_a_command_is_what_a_shell_reads(ada, session, tmp_path):
    """Whatever its arguments hold, on one line."""
    words = ["synth", "", "a b", "it's", "$HOME", "`id`", "a\nb\t\x01c'd\\e", "caf\u00e9", "*", "-x=1,2", "\\", "~"]
    directory = shutil.copytree(session("plain"), tmp_path / "copy")
    document = json.loads((directory / "session.json").read_text())
    document["command"] = words
    (directory / "session.json").write_text(json.dumps(document))
    info = re.search(r"^command   (.*)$", answer(ada, "info", directory).stdout.decode(), re.M)[1]
    told = re.search(r"The command `(.*)` was recorded", answer(ada, "narrate", directory).stdout.decode())[1]
    assert info == told
    read = subprocess.run(["bash", "-c", "printf '%s\\0' " + info], capture_output=True, check=True).stdout
    assert read.decode().split("\0")[:-1] == words


def test_calls_that_were_not_recorded_are_said(ada, session, tmp_path):
    """Every answer sends to `ada info` for why it isn't complete."""
    directory = shutil.copytree(session("plain"), tmp_path / "copy")
    manifest = json.loads((directory / "pid_100/manifest.json").read_text())
    manifest["threads"][0]["skipped"] = 68
    (directory / "pid_100/manifest.json").write_text(json.dumps(manifest))
    assert b"not complete (`ada info` says why)" in answer(ada, "report", directory).stdout
    assert b"\nnote      pid_100: 68 calls of 1 thread could not be recorded\n" in answer(ada, "info", directory).stdout
    assert as_json(ada, "info", directory)["threads"][0]["skipped"] == 68
    assert b"could not be recorded" not in answer(ada, "info", session("plain")).stdout


def test_processes(ada, session):
    rows, _ = as_lines(ada, session("processes"))
    assert [row["process"] for row in rows] == ["pid_50"] * 2 + ["pid_51"] * 2 + ["pid_50_1"] * 2
    assert as_json(ada, "report", session("processes"))["rows"][0]["calls"] == 3
    one = session("processes") / "pid_51"
    rows, _ = as_lines(ada, one)
    assert {row["tid"] for row in rows} == {51} and "process" not in rows[0]
    assert [row["process"] for row in as_json(ada, "info", one)["rows"]] == ["pid_51"]
    assert answer(ada, "verify", one).status == 0


def test_still_recording(ada, session):
    rows, completeness = as_lines(ada, session("running"))
    assert len(rows) == 10 and completeness["complete"] is False
    assert as_json(ada, "info", session("running"))["rows"][0]["state"] == "running"
    assert b"left by a crash" in answer(ada, "info", session("running")).stdout
    answer(ada, "verify", session("running"))


REGISTERS = ["rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10"]
DETAIL_OF_5 = {**{name: hex(80 + i) for i, name in enumerate(REGISTERS)}, "return_address": "0x401005", "rbp": "0x1", "rsp": "0x7ff0",
               **{f"xmm{i}": hex(i) for i in range(8)}, "stack": "0505"}
DETAIL_OF_6 = {"rax": "0x60", "rdx": "0x61", "xmm0": "0x62", "xmm1": "0x63", "return_address": "0x401006", "rbp": "0x1", "rsp": "0x7ff0",
               "stack": "0606"}


def test_dump_gives_detail(ada, session):
    rows, completeness = as_lines(ada, "--detail", session("detail"))
    assert [row["index_seq"] for row in rows if row["detail"]] == [5, 6, 7, 8, 9, 10]
    assert rows[5]["detail"] == {**DETAIL_OF_5, "args": None, "result": None}     # no file, so no types
    assert rows[6]["detail"] == {**DETAIL_OF_6, "args": None, "result": None}
    assert rows[9]["detail"]["rdi"] == "0x0"            # the next segment counts from 0
    assert completeness["detailCoverage"] == 0.375
    assert "detail" not in as_lines(ada, session("detail"))[0][5]


def test_dump_csv_gives_detail(ada, session):
    rows = as_csv(ada, "dump", "--detail", session("detail"))
    assert {key: rows[5][key] for key in DETAIL_OF_5} == DETAIL_OF_5
    assert {key: rows[6][key] for key in DETAIL_OF_5} == {**dict.fromkeys(DETAIL_OF_5, ""), **DETAIL_OF_6}
    assert {rows[4][key] for key in DETAIL_OF_5} == {""}


def test_dump_text_gives_detail(ada, session):
    lines = answer(ada, "dump", "--detail", "--window=0", session("detail")).stdout.decode().splitlines()
    assert [line.strip() for line in lines] == [
        "0.000000230  0:prog          > leaf", "rdi=0x50 rsi=0x51 rdx=0x52 rcx=0x53 r8=0x54 r9=0x55 rax=0x56 r10=0x57",
        "return_address=0x401005 rbp=0x1 rsp=0x7ff0", "xmm0=0x0 xmm1=0x1 xmm2=0x2 xmm3=0x3 xmm4=0x4 xmm5=0x5 xmm6=0x6 xmm7=0x7", "stack 0505",
        "0.000000330  0:prog          < leaf  100 ns", "rdx=0x61 rax=0x60",
        "return_address=0x401006 rbp=0x1 rsp=0x7ff0", "xmm0=0x62 xmm1=0x63", "stack 0606", "2 events; none was lost; 100 % have detail."]


def test_info_says_detail(ada, session):
    row = as_json(ada, "info", session("detail"))["rows"][0]
    assert (row["windows"], row["detail_records"]) == (2, 6)
    text = answer(ada, "info", session("detail")).stdout.decode()
    assert "\ndetail    6 registers and stacks in 2 windows\n" in text
    assert "\ndetail " not in answer(ada, "info", session("plain")).stdout.decode()


def test_empty(ada, session):
    complete = {"events": 0, "lost": 0, "detailCoverage": 0, "complete": True}
    assert as_json(ada, "report", session("empty")) == {"rows": [], "completeness": complete}
    assert as_lines(ada, session("empty")) == ([], complete)
    assert as_json(ada, "info", session("empty"))["rows"] == []
    answer(ada, "verify", session("empty"))


def test_info(ada, session):
    result = as_json(ada, "info", session("plain"))
    row = result["rows"][0]
    assert (row["pid"], row["threads"], row["events"], row["hooked"], row["skipped"]) == (100, 1, 10, 8, 2)
    assert result["threads"] == [{"process": "pid_100", "thread": 0, "tid": 100, "events": 10, "lost": 0, "skipped": 0, "packed": 0,
                                  "name": "prog"}]
    assert result["modules"][0]["path"] == "/usr/bin/prog" and result["modules"][0]["traced"] is True
    assert result["session"]["command"] == ["synth", "a b"]
    assert as_csv(ada, "info", session("plain")) == [plain_text(row)]
    text = answer(ada, "info", session("plain")).stdout.decode()
    assert "command   synth 'a b'\n" in text and "10 events; none was lost." in text


# --- formats agree ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("scenario", ["plain", "names", "lossy", "processes"])
@pytest.mark.parametrize("command", ["report", "verify", "dump"])
def test_csv_says_what_json_says(ada, session, command, scenario):
    path = session(scenario)
    if command == "dump":
        rows = [{"lost": None, "object": None, "waited_ns": None, "holder": None, **row} for row in as_lines(ada, path)[0]]
    else:
        result = ada(command, "--format=json", path)
        rows = json.loads(result.stdout)["rows"]
    text = ada(command, "--format=csv", path).stdout.decode()
    assert list(csv.DictReader(io.StringIO(text, newline=""))) == [plain_text(row) for row in rows]


@pytest.mark.parametrize("scenario", ["plain", "lossy", "processes", "names"])
def test_report_says_what_dump_says(ada, session, scenario):
    calls = {}
    for row in as_lines(ada, session(scenario))[0]:
        if row["kind"] == "call":
            calls[row["function"]] = calls.get(row["function"], 0) + 1
    assert calls == {row["function"]: row["calls"] for row in as_json(ada, "report", session(scenario))["rows"]}


def test_names(ada, session):
    names = {row["function"] for row in as_json(ada, "report", session("names"))["rows"]}
    assert names == {"a,b", 'say "hi"', "tab\there", "line\nbreak", "back\\slash", "bad\ufffd\ufffdutf8", "caf\u00e9",
                     "\x1b[31mred", "pr,og+0x1080", "pr,og#77"}
    for command in "report", "dump":
        assert b"\x1b" not in answer(ada, command, session("names")).stdout


def test_large(ada, session):
    """Two million events, merged and in order: counted twice, by report and by dump."""
    result = as_json(ada, "report", session("large"))
    leaf = next(row for row in result["rows"] if row["function"] == "leaf")
    assert (leaf["calls"], leaf["total_ns"], leaf["min_ns"], leaf["max_ns"]) == (1000000, 59500000, 10, 109)
    assert (leaf["p50_ns"], leaf["p90_ns"], leaf["p99_ns"]) == (59, 99, 108)
    lines = answer(ada, "dump", "--format=csv", session("large")).stdout.decode().splitlines()[1:]
    times = [int(line.split(",", 1)[0]) for line in lines]
    assert len(times) == result["completeness"]["events"] == 2000008
    assert times == sorted(times)


# --- bad input ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("command", ["info", "dump", "report", "verify"])
@pytest.mark.parametrize("what", ["nothing", "absent", "file", "other directory", "option", "format", "two"])
def test_no_session(ada, session, tmp_path, command, what):
    arguments = {"nothing": [], "absent": [tmp_path / "absent"], "file": [session("plain") / "session.json"],
                 "other directory": [tmp_path], "option": ["--colour-me", session("plain")],
                 "format": ["--format=xml", session("plain")], "two": [session("plain"), session("empty")]}[what]
    result = ada(command, *arguments, cwd=tmp_path)
    none = command == "verify" and what in ("nothing", "absent", "file", "other directory")
    assert (result.status, result.stdout) == (2 if none else 125, b"")
    assert result.stderr.startswith(b"ada %s: " % command.encode()) and result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("arguments", [["--limit=0"], ["--limit=-1"], ["--limit=99999999999999999999"], ["--limit=x"],
                                       ["--from=yesterday"], ["--from=+2s", "--to=+1s"], ["--thread=9"], ["--thread=nobody"]])
@pytest.mark.parametrize("command", ["dump", "report"])
def test_out_of_range(ada, session, command, arguments):
    result = ada(command, *arguments, session("plain"))
    assert (result.status, result.stdout) == (125, b"") and result.stderr.count(b"\n") == 1


def test_latest(ada, session, tmp_path):
    (tmp_path / "ada_traces").mkdir()
    os.symlink(session("plain"), tmp_path / "ada_traces" / "latest")
    result = ada("report", "--format=csv", cwd=tmp_path)
    assert result.status == 0 and result.stdout.count(b"\n") == 5


def index(path):
    return next(path.glob("pid_*/thread_0")) / "index.atf"


@pytest.mark.parametrize("damage", ["magic", "cut", "empty", "missing"])
def test_damaged_file_is_named_and_the_rest_answered(ada, copy, damage):
    path = copy("processes")
    victim = path / "pid_51" / "thread_0" / "index.atf"
    if damage == "missing":
        victim.unlink()
    elif damage == "magic":
        victim.write_bytes(b"XXXX" + victim.read_bytes()[4:])
    else:
        os.truncate(victim, 0 if damage == "empty" else HEADER_BYTES + EVENT_BYTES)
    result = ada("report", "--format=json", path)
    assert result.status == 125
    assert b"pid_51/thread_0" in result.stderr and result.stderr.count(b"\n") == 1
    report = json.loads(result.stdout)
    assert report["rows"][0]["calls"] == (3 if damage == "cut" else 2)
    assert report["completeness"]["complete"] is False
    assert ada("verify", path).status == 1


@pytest.mark.parametrize("name", ["manifest.json", "session.json"])
@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff\xfe\x00", b'{"threads": 3, "modules": [1, {}], "processes": {}}'])
def test_broken_json(ada, copy, name, content):
    path = copy("plain")
    victim = next(path.rglob(name))
    victim.write_bytes(content)
    for command in "info", "report", "dump":
        result = ada(command, "--format=json", path)
        assert result.status in (0, 125) and result.stdout
        json.loads(result.stdout.splitlines()[-1] if command == "dump" else result.stdout)
    assert ada("verify", path).status == 1
    assert {row["function"] for row in as_lines(ada, path, status=ada("dump", path).status)[0]} >= {"main", "leaf"}


def test_every_flipped_bit_is_found(ada, copy):
    """One bit in every byte of an index file; 64 + 10 * 32 + 64 bytes, and verify finds each."""
    path = copy("plain")
    victim = index(path)
    good = victim.read_bytes()
    for at in range(0, len(good), 7):
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        victim.write_bytes(bad)
        assert ada("verify", path).status == 1, f"byte {at} of {len(good)}"
        assert ada("report", path).status in (0, 125)
        assert ada("dump", path).status in (0, 125)


@pytest.mark.parametrize("change, check", [
    (lambda m: m["threads"][0].update(events=9), "events"), (lambda m: m["threads"][0].update(gaps=1), "manifest"),
    (lambda m: m["threads"][0].update(tid=99), "tid"), (lambda m: m["index_lane"].update(lost=7), "lost"),
    (lambda m: m["threads"][0]["segments"].append({"file": "index.1.atf", "events": 0}), "segments"),
    (lambda m: m["clock"]["anchors"].reverse(), "clock")])
def test_verify_holds_manifest_against_files(ada, copy, change, check):
    path = copy("plain")
    victim = next(path.glob("pid_*/manifest.json"))
    manifest = json.loads(victim.read_text())
    change(manifest)
    victim.write_text(json.dumps(manifest))
    rows = as_json(ada, "verify", path, status=1)["rows"]
    assert check in {row["check"] for row in rows if not row["ok"]}


@pytest.mark.parametrize("change, check, message", [
    (lambda lane: lane["windows"][0].update(eventCount=3), "window 0", "says 3 records where there are 2"),
    (lambda lane: lane["windows"][0].update(endNs=START_NS + 329), "window 0",
     "a thread's detail file has wider bounds for it"),
    (lambda lane: lane["windows"][0].update(startNs=START_NS + 220), "window 0", "1 events inside it have no record"),
    (lambda lane: lane["windows"][1].update(startNs=START_NS + 300), "window 1", "starts before the one in front of it ends"),
    (lambda lane: lane["windows"][0].update(endNs=1), "window 0", "ends before it starts"),
    (lambda lane: lane["windows"][0]["marks"][0].update(indexSeq=0), "window 0",
     "1 of its marks name an event that is another one or not there"),
    (lambda lane: lane["windows"][0]["marks"][0].update(functionId=3), "window 0",
     "1 of its marks name an event that is another one or not there"),
    (lambda lane: lane["windows"][0]["marks"][0].update(indexSeq=60), "window 0",
     "1 of its marks name an event that is another one or not there"),
    (lambda lane: lane["windows"].pop(), "windows", "detail files hold 2 windows that it doesn't list"),
    (lambda lane: lane.update(event_count=7), "detail", "says 7 records where there are 6")])
def test_verify_holds_windows_against_files(ada, copy, change, check, message):
    path = copy("detail")
    assert as_json(ada, "verify", path)["rows"]
    manifest = json.loads((path / "pid_100/manifest.json").read_text())
    change(manifest["detail_lane"])
    (path / "pid_100/manifest.json").write_text(json.dumps(manifest))
    failed = [row for row in as_json(ada, "verify", path, status=1)["rows"] if not row["ok"]]
    assert ("pid_100/manifest.json", check, message) in [(row["file"], row["check"], row["message"]) for row in failed]


def test_verify_reads_detail_files(ada, copy):
    """The right records of another segment, and none at all."""
    path = copy("detail")
    thread = path / "pid_100/thread_0"
    shutil.copy(thread / "detail.1.atf", thread / "detail.atf")
    rows = as_json(ada, "verify", path, status=1)["rows"]
    assert ("pid_100/thread_0/detail.atf", "events") in [(row["file"], row["check"]) for row in rows if not row["ok"]]
    (thread / "detail.atf").unlink()
    failed = [(row["file"], row["check"]) for row in as_json(ada, "verify", path, status=1)["rows"] if not row["ok"]]
    assert failed == [("pid_100/thread_0/index.atf", "detail"), ("pid_100/manifest.json", "window 0"),
                      ("pid_100/manifest.json", "window 1"), ("pid_100/manifest.json", "detail")]


@pytest.mark.parametrize("table", [None, "", "#\t/usr/bin/prog\t-\t0x0\n0\t0x0\t1\tmain\n", "0\t0x0\t1\tmain\n",
                                   "#\t/usr/bin/prog\t-\t0x0\n0\t0x0\tmany\tmain\n"])
def test_verify_wants_every_function_named(ada, copy, table):
    path = copy("plain")
    victim = next(path.glob("pid_*/modules/0.tsv"))
    if table is None:
        victim.unlink()
    else:
        victim.write_text(table)
    rows = as_json(ada, "verify", path, status=1)["rows"]
    assert "functions" in {row["check"] for row in rows if not row["ok"]}
    short = table is not None and table.startswith("#") and "many" not in table         # sound, but for what it lacks
    assert as_lines(ada, path, status=0 if short else 125)[0][1]["function"] == "prog#2"
    assert short or b"answered without what can't be read" in ada("report", path).stderr


def test_verify_finds_a_return_too_many(ada, copy):
    path = copy("running")          # has no checksum that would find it first
    victim = index(path)
    data = bytearray(victim.read_bytes())
    struct.pack_into("<I", data, HEADER_BYTES + EVENT_BYTES + 20, 2)     # the first call of leaf becomes a return
    victim.write_bytes(data)
    rows = as_json(ada, "verify", path, status=1)["rows"]
    assert "balance" in {row["check"] for row in rows if not row["ok"]}


@pytest.mark.parametrize("command", ["report", "graph", "dump"])
def test_a_function_that_is_not_there_is_named(ada, session, command):
    """An empty answer alone would say that it was never called."""
    for name in ["leaf", "l*f", "laef", "x*"]:
        lines = answer(ada, command, f"--function={name}", session("plain")).stdout.decode().splitlines()
        near = " (near it: leaf)" if name == "laef" else ""
        told = f"No function of the recording is called '{name}'{near}: `ada query \"SELECT name FROM functions\"` lists them."
        assert (told in lines) == (name in ["laef", "x*"])
        assert told not in lines or lines == [told, "10 events; none was lost."]


# --- the terminal and the pipe ------------------------------------------------------------------------------------------

def test_closed_pipe_ends_quietly(ada, session):
    process = subprocess.Popen([ada.path, "dump", session("large")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN), restore_signals=False)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == -signal.SIGPIPE


def test_full_disk_is_said(ada, session):
    with open("/dev/full", "wb") as full:
        process = subprocess.run([ada.path, "report", session("plain")], stdout=full, stderr=subprocess.PIPE, check=False)
    assert process.returncode == 125 and b"No space left" in process.stderr


def on_terminal(ada, path, environment):
    master, slave = pty.openpty()
    subprocess.run([ada.path, "dump", path], stdout=slave, check=True, env={"PATH": "/usr/bin", **environment})
    os.close(slave)
    text = os.read(master, 1 << 16)
    os.close(master)
    return text


def test_colours_only_on_a_terminal(ada, session):
    assert b"\x1b[31m! thrower" in on_terminal(ada, session("plain"), {})
    assert b"\x1b" not in on_terminal(ada, session("plain"), {"NO_COLOR": "1"})
    assert b"\x1b" not in answer(ada, "dump", session("plain")).stdout


# --- the program itself -------------------------------------------------------------------------------------------------

def test_help_fits_a_screen(ada):
    text = answer(ada, "--help").stdout.decode()
    lines = text.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    for command in ["trace", "functions", "info", "dump", "report", "verify"]:
        assert f"\n  {command} " in text
        assert answer(ada, command, "--help").stdout.startswith(b"Usage: ada " + command.encode())


@pytest.mark.parametrize("arguments, words", [(["reprot"], b"did you mean report?"), (["timeline"], b"did you mean dump?"), (["xyzzy"], b"`ada --help` lists them"),
                                              (["--frob"], b"unknown option '--frob'")])
def test_unknown_command(ada, arguments, words):
    result = answer(ada, *arguments, status=125)
    assert words in result.stderr and result.stderr.count(b"\n") == 1 and not result.stdout


def test_version(ada):
    assert answer(ada, "--version").stdout.startswith(b"ada ")


def test_a_table_that_the_manifest_does_not_know_of_yet(ada, copy):
    """As in the first second of a recording, when the manifest names a module and its table is just being written."""
    directory = copy("plain")
    path, = directory.glob("pid_*/manifest.json")
    manifest = json.loads(path.read_text())
    for module in manifest["modules"]:
        module["symbols"] = None
    path.write_text(json.dumps(manifest))
    assert "leaf" in [row["function"] for row in ada.rows("report", directory)]
    assert ada("verify", directory).status == 0


def test_json_by_the_same_option_everywhere(ada):
    assert json.loads(ada("functions", "--format=json", "/bin/true").stdout) == json.loads(ada("functions", "--json", "/bin/true").stdout)
    assert b"it is text or json" in ada("functions", "--format=csv", "/bin/true").stderr
