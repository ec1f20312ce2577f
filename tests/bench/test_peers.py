"""The peer table of `make bench`: figures from measurements of which the answer is known, what is skipped, and one small run."""
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import programs  # noqa: E402  (the path is set above)
import table  # noqa: E402
import tools as all_of_tools  # noqa: E402
from measure import Skipped, run  # noqa: E402

TITLES = {"untraced": "untraced", "ada": "ada, index", "uftrace": "uftrace -P .", "lttng": "LTTng-UST", "perf": "perf uprobes"}
MICRO = {"key": "leaf", "title": "leaf", "kind": "micro", "floor": [11, 10, 30], "cells": {
    "untraced": {"values": [1, 5, 2], "made": 4000, "recorded": []},
    "ada": {"values": [14, 12, 13], "made": 4000, "recorded": [4002, 3000, 2000], "bytes": [0.6, 0.9, 0.7]},
    "uftrace": {"values": [112, 200, 90], "made": 4000, "recorded": [4000], "bytes": [17]},
    "lttng": {"values": [57, 50, 60], "made": 4000, "recorded": [4000]},
    "perf": {"skipped": "perf is not installed"}}}
PROGRAM = {"key": "lua", "title": "lua", "kind": "program", "floor": [10], "cells": {
    "untraced": {"values": [0.5], "made": None, "recorded": []},
    "ada": {"values": [1.5], "made": 50000000, "recorded": [50000000]},
    "uftrace": {"values": [4.5], "made": 40000000, "recorded": [40000000]},
    "lttng": {"values": [0.51], "made": 1000000, "recorded": [1000]},
    "perf": {"skipped": "perf is not installed"}}}
MEMORY = {"key": "memory", "title": "1,000 idle threads, MiB", "kind": "memory", "floor": [], "cells": {
    "untraced": {"values": [9], "made": None, "recorded": []},
    "ada": {"values": [73, 72, 75], "made": None, "recorded": []}}}
MACHINE = {"cpu": "A CPU", "guest": True, "cores": 2, "kernel": "6.1", "huge_pages": "madvise", "cpus": [0, 1], "load": 0.2}
RESULTS = {"machine": MACHINE, "rounds": 3, "rows": [MICRO, PROGRAM, MEMORY], "tools": TITLES}


def lines(text):
    return [[word.strip() for word in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


@pytest.mark.parametrize("value, text", [(None, "?"), (0, "0"), (0.0123, "0.012"), (1.2345, "1.23"), (13.456, "13.5"), (1234.5, "1,234"),
                                         (-2.5, "-2.50"), (99.96, "100.0")])
def test_numbers_have_three_digits(value, text):
    assert table.number(value) == text


def test_small_workloads_are_told_by_the_event():
    made = table.long_row(MICRO, TITLES)
    assert made.startswith("leaf (floor 11.0 ns)\n")
    _, _, untraced, ada, uftrace, lttng, perf = lines(made)
    assert untraced == ["untraced", "2.00", "1.00 5.00", "", "", "", "", "4,000", ""]
    assert ada == ["ada, index", "13.0", "12.0 14.0", "11.0", "1.18", "0.200", "3,000", "4,000", "0.700"]
    assert uftrace == ["uftrace -P .", "112", "90.0 200", "110", "10.2", "2.00", "4,000", "4,000", "17.0"]
    assert lttng[5] == "1.00"
    assert perf[1] == "skipped: perf is not installed"


def test_programs_are_told_by_what_an_event_adds_and_compared_with_who_sees_as_much():
    _, _, untraced, ada, uftrace, lttng, _ = lines(table.long_row(PROGRAM, TITLES))
    assert untraced[3] == "1.00"
    assert ada == ["ada, index", "1.50", "1.50 1.50", "3.00", "20.0", "2.00", "0.200", "50,000,000", "50,000,000", ""]
    assert uftrace[3:7] == ["9.00", "100", "10.0", "1.00"]
    assert lttng[4] == "10.0" and lttng[7:] == ["1,000", "1,000,000", ""]       # adds least, and of few events


def test_without_the_untraced_figure_nothing_is_said_to_be_added():
    row = {**MICRO, "cells": {**MICRO["cells"], "untraced": {"skipped": "why"}}}
    assert lines(table.long_row(row, TITLES))[3][3:6] == ["", "1.18", ""]


def test_the_short_tables_have_a_line_a_row():
    micro, program, memory, sizes, left_out = table.short(RESULTS).split("\n\n")
    assert lines(micro)[0] == ["ns an event (times the floor, 11.0 ns)", "untraced", "ada, index", "uftrace -P .", "LTTng-UST",
                               "ada, of the fastest peer"]
    assert lines(micro)[2] == ["leaf", "2.00", "13.0 (1.18), 75% kept", "112 (10.2)", "57.0 (5.18)", "0.200"]
    assert lines(program)[2] == ["lua", "0.500 s", "3.00x, 20.0 ns", "9.00x, 100 ns", "1.02x, 10.0 ns, 0% kept", "0.200"]
    assert lines(memory)[2] == ["1,000 idle threads, MiB", "9.00", "73.0"]
    assert lines(sizes) == [["bytes an event on disk", "ada, index", "uftrace -P ."], ["---"] * 3, ["leaf", "0.700", "17.0"]]
    assert left_out == "Not measured:\n- perf uprobes: leaf, lua: perf is not installed\n"


def test_how_far_the_floor_went_is_told():
    quiet, busy = MICRO, {**MICRO, "floor": [29, 31, 30]}
    assert table.floors([quiet, busy, MEMORY]) == "11.0 to 30.0 ns"
    assert table.floors([MEMORY]) == "not measured"


def test_each_reason_is_told_once():
    again = {**RESULTS, "rows": [MICRO, PROGRAM, {**PROGRAM, "title": "lua, ten times as long"}]}
    assert table.reasons(again) == ["- perf uprobes: leaf, lua: perf is not installed"]


def test_the_tools_are_compared_by_a_line_each():
    head, _, *tools = lines(table.compared(RESULTS))
    assert head == ["", "ns an event, small function", "64 callers", "start of `true`, ms", "1,000 idle threads, MiB", "the program needs"]
    assert tools == [["ada, index", "13.0 (1.18), 75% kept", "-", "-", "73.0", "nothing"],
                     ["uftrace -P .", "112 (10.2)", "-", "-", "-", "its symbols"],
                     ["LTTng-UST", "57.0 (5.18)", "-", "-", "-", "a build with -finstrument-functions"]]


def test_the_tables_replace_those_of_a_document(tmp_path):
    document, other, sources = tmp_path / "README.md", tmp_path / "comparison.md", [tmp_path / "one.json", tmp_path / "two.json"]
    document.write_text("before\n<!-- peers: begin -->\nold\n<!-- peers: end -->\nafter\n")
    other.write_text("<!-- compared: begin -->\n<!-- compared: end -->\n")
    sources[0].write_text(json.dumps({**RESULTS, "rows": RESULTS["rows"][:1]}))
    sources[1].write_text(json.dumps({**RESULTS, "rows": RESULTS["rows"][1:]}))
    subprocess.run([PEERS / "run", "--from", *sources, "--into", document, other], check=True)
    assert other.read_text() == f"<!-- compared: begin -->\n{table.compared(RESULTS)}<!-- compared: end -->\n"
    text = document.read_text()
    assert text.startswith("before\n<!-- peers: begin -->\nA CPU, a guest, 2 cores, Linux 6.1,")
    assert table.short(RESULTS) in text and "old" not in text
    assert text.endswith("<!-- peers: end -->\nafter\n")


@pytest.mark.parametrize("text", ["nothing", "<!-- peers: begin -->\n", "<!-- peers: end -->"])
def test_a_document_without_a_place_for_them_is_left_alone(text):
    with pytest.raises(ValueError):
        table.into(text, table.blocks(RESULTS))


@pytest.mark.parametrize("command, why", [(["/nowhere/ada"], "ada: No such file or directory"),
                                          (["sh", "-c", "echo first; echo last >&2; exit 3"], "ended with 3: last")])
def test_what_does_not_run_is_skipped_with_its_reason(tmp_path, command, why):
    with pytest.raises(Skipped, match=why):
        run(command, tmp_path)


def test_what_does_not_end_is_skipped(tmp_path):
    with pytest.raises(Skipped, match="took more than 0.1 s"):
        run(["sleep", "100"], tmp_path, timeout=0.1)


def test_uftrace_events_are_counted_from_its_records(tmp_path):
    records = [0, 0 | 5 << 3, 0, 1 | 5 << 3, 0, 2 | 5 << 3 | 7 << 16, 0, 0 | 5 << 3]       # entry, exit, 7 lost, entry
    (tmp_path / "uftrace").mkdir()
    (tmp_path / "uftrace" / "123.dat").write_bytes(b"".join(word.to_bytes(8, "little") for word in records))
    assert all_of_tools.Uftrace("", "", "plain").count(tmp_path, None, None) == (3, 7, 64)


APT = """#!/bin/sh
case $* in
indextargets*) echo "{targets}" ;;
*source*) mkdir -p lua5.4-5.4.4/src && echo 'int l;' >lua5.4-5.4.4/src/lapi.c && : >lua5.4-5.4.4/src/luac.c ;;
esac
"""


@pytest.mark.parametrize("targets, given, sources", [("", None, []), ("MetaKey: main/source/Sources", None, ["lapi.c"]),
                                                     ("MetaKey: main/source/Sources", "given", ["lgc.c"]), ("", "empty", [])])
def test_lua_is_built_from_the_sources_that_there_are(tmp_path, monkeypatch, targets, given, sources):
    (tmp_path / "apt-get").write_text(APT.format(targets=targets))
    (tmp_path / "apt-get").chmod(0o755)
    (tmp_path / "given" / "lua").mkdir(parents=True)
    (tmp_path / "given" / "lua" / "lgc.c").touch()
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("SOURCES", raising=False)
    if given:
        monkeypatch.setenv("SOURCES", str(tmp_path / given))
    lua = programs.lua(tmp_path)
    assert [path.name for path in lua.sources] == sources
    assert bool(lua.archive) == (not sources)
    if not sources:
        with pytest.raises(Skipped, match="Debian has it built; SOURCES=DIRECTORY with lua/ builds it"):
            lua.path("pg")


def bench(*words):
    return subprocess.run([str(word) for word in (PEERS / "run", *words)], capture_output=True, text=True)


@pytest.mark.traces
def test_one_small_round_of_two_rows(build_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_PLACE", str(tmp_path))
    done = bench("--ada", build_dir / "ada", "--rows=leaf,fib", "--peers=ada", "--rounds=1", "--scale=0.001", "--json", tmp_path / "json")
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "json").read_text())
    assert [row["key"] for row in results["rows"]] == ["leaf", "fib"]
    for row in results["rows"]:
        assert len(row["floor"]) == len(row["cells"]["untraced"]["values"]) == 1
        ada = row["cells"]["ada"]
        assert "skipped" not in ada, ada
        assert ada["made"] <= ada["recorded"][0] <= ada["made"] + 200       # main, and what the library is called for
        assert ada["bytes"][0] > 0.5        # more than 32, with a manifest and names, where a full machine's disk didn't have it packed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["json"]
    assert "fib (floor" in done.stdout


def test_unknown_rows_and_peers_are_refused(build_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_PLACE", str(tmp_path))
    done = bench("--ada", build_dir / "ada", "--rows=leav")
    assert done.returncode == 1 and done.stderr.startswith("bench: no leav: there are leaf fib callers")
    assert not list(tmp_path.iterdir())
