"""Every kind of rule over a program of which it is known how many calls fit: matches and marks, as the manifest counts them."""
import json
import pathlib
import subprocess

import pytest

from harness import Session, check_recording


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """Built once: kinds with debug information, kinds_bare without, throws, panics."""
    here = pathlib.Path(__file__).parent
    out = tmp_path_factory.mktemp("programs")
    for command in (["cc", "-g", "-O1", "-o", "kinds", here / "kinds.c"],
                    ["cc", "-g0", "-O1", "-o", "kinds_bare", here / "kinds.c"],
                    ["cc", "-g", "-O1", "-shared", "-fPIC", "-o", "late.so", here / "late.c"],
                    ["c++", "-g", "-O1", "-o", "throws", here / "throws.cc"],
                    ["rustc", "-g", "-O", "-o", "panics", here / "panics.rs"]):
        subprocess.run(command, cwd=out, check=True)
    return out


def record(ada, tmp_path, rules, argv, *options, status=0):
    """(matches, marks) of each rule."""
    result = ada.trace(tmp_path, argv, *[f"--trigger={rule}" for rule in rules], *options)
    assert result.status == status, result.stderr.decode()
    manifest, = check_recording(ada, tmp_path).manifests().values()
    found = manifest["marking_policy"]["rules"]
    assert [rule["text"] for rule in found] == list(rules)
    return [(rule["matches"], rule["marks"]) for rule in found]


VALUES = {                                  # over 1000 calls with -500 to 499
    "symbol=twice": 1000,
    "symbol=twice,half": 2000,
    "symbol=tw*": 1000,
    "symbol=re:^(twice|half)$": 2000,
    "symbol=TWICE@nocase": 1000,
    "symbol=TWICE": 0,
    "arg=twice:1>490": 9,
    "arg=twice:1<=-499": 2,
    "arg=status_of:2==0x10000000000": 1,
    "arg=status_of:2>=0x3e70000000000": 1,
    "return=twice<-900": 50,
    "return=twice==-1000": 1,
    "return=twice==-1000@int": 1,           # the function widens it
    "return=twice!=0@long": 999,
    "return=half>249.0": 1,
    "return=half>=249": 2,                  # debug information says double
    "return=nothing_at==0": 250,
    "return=nothing_at>0xffffffff00000000": 375,     # a pointer: the negative ones
    "return=status_of==254": 7,
    "depth=twice>1": 1000,
    "depth=twice>2": 0,
}


def test_values(ada, tmp_path, programs):
    found = record(ada, tmp_path, VALUES, [programs / "kinds", "values"])
    assert dict(zip(VALUES, found)) == {rule: (count, count) for rule, count in VALUES.items()}


def test_values_without_debug_information(ada, tmp_path, programs):
    """They are int then, or as the rule says."""
    rules = {"return=twice==-1000": 1, "return=nothing_at==0": 250, "return=nothing_at<0": 375, "return=nothing_at<0@ptr": 0,
             "return=half>249.0": 1, "return=half>=249@double": 2, "return=status_of==254@uchar": 7, "return=status_of==-2@char": 7}
    found = record(ada, tmp_path, rules, [programs / "kinds_bare", "values"])
    assert dict(zip(rules, found)) == {rule: (count, count) for rule, count in rules.items()}


def test_after_every_limit(ada, tmp_path, programs):
    rules = {"symbol=twice@after=990": 10, "symbol=twice@every=100": 10, "symbol=twice@limit=3/h": 3,
             "symbol=twice@after=500,every=100": 5, "symbol=twice@every=100,limit=2/h": 2, "symbol=twice@after=1000": 0}
    found = record(ada, tmp_path, rules, [programs / "kinds", "values"])
    assert dict(zip(rules, found)) == {rule: (1000, count) for rule, count in rules.items()}


def test_latency_and_percentile(ada, tmp_path, programs):
    """Four calls sleep for 150 ms. Of the last four more than half exceed 100 ms from the third on."""
    rules = ["latency=nap>100ms", "latency=nap>=100ms@every=2", "latency=nap>10s", "latency=naps>500ms", "p50=nap>100ms@over=4",
             "p50=nap>10s@over=4"]
    found = record(ada, tmp_path, rules, [programs / "kinds", "naps"])
    assert [marks for _, marks in found] == [4, 2, 0, 1, 1, 0]


def test_cpu_time_of_calls(ada, tmp_path, programs):
    """Two of ten calls burn 30 ms. Those that sleep burn nothing."""
    assert record(ada, tmp_path / "1", ["cpu=burn>15ms", "cpu=burns>50ms"], [programs / "kinds", "burns"]) == [(2, 2), (1, 1)]
    assert record(ada, tmp_path / "2", ["cpu=nap>50ms"], [programs / "kinds", "naps"]) == [(0, 0)]


def test_depth(ada, tmp_path, programs):
    """Five dives, 11, 21, 31, 41 and 51 calls deep; the first of each at depth 2, below main and dives."""
    rules = ["depth=dive>20", "depth>20", "depth>=21", "depth>52", "depth>51"]
    found = record(ada, tmp_path, rules, [programs / "kinds", "dives"])
    #                            depths of a dive of n: 2 to n + 1
    assert [marks for _, marks in found] == [4, 4, 4, 0, 1]


def test_each_way_beyond_a_depth(ada, tmp_path, programs):
    """100 rounds of calls down to depth 22, 22 (left by longjmp) and 22 (in one slot), by paths that are known after the first."""
    rules = ["depth>1", "depth>2", "depth>11", "depth>20", "depth>21", "depth>22"]
    found = record(ada, tmp_path, rules, [programs / "kinds", "dips"], "--no-libcalls")
    assert [marks for _, marks in found] == [300, 300, 300, 300, 300, 0]


def test_rate(ada, tmp_path, programs):
    """100 calls at once: the rule marks when the rate begins to exceed."""
    found = record(ada, tmp_path, ["rate=tick>50/min", "rate=tick>100/min"], [programs / "kinds", "ticks"])
    assert [marks for _, marks in found] == [1, 0]


def test_what_a_mark_says(ada, tmp_path, programs):
    """The first function of the first module has the id 0. Rates compare no one number."""
    record(ada, tmp_path, ["symbol=_init", "rate=tick>50/min", "exit"], [programs / "kinds", "ticks"], "--functions=*")
    manifest, = check_recording(ada, tmp_path).manifests().values()
    marks = [mark for window in manifest["detail_lane"]["windows"] for mark in window["marks"]]
    found = {mark["rule"]: mark for mark in marks}
    assert found[1]["functionId"] == 0 and found[1]["value"] is None
    assert found[2]["functionId"] and found[2]["value"] is None


def test_new_caller(ada, tmp_path, programs):
    """8 calls from three places; the first two places are known after two calls, the third after the fifth."""
    found = record(ada, tmp_path, ["new-caller=callee", "new-caller=callee@after=1", "new-caller=callee@after=3"],
                   [programs / "kinds", "places"])
    assert [marks for _, marks in found] == [3, 2, 1]


def test_a_library_that_is_loaded_later(ada, tmp_path, programs):
    rules = ["symbol=late_function", "symbol=not_exported", "return=late_function==2"]
    argv = [programs / "kinds", "late", programs / "late.so"]
    assert record(ada, tmp_path, rules, argv) == [(7, 7), (7, 7), (1, 1)]


def test_exceptions(ada, tmp_path, programs):
    rules = {"exception": 31, "exception=app::Mine": 11, "exception=std::bad_alloc": 10, "exception=std::*": 20,
             "exception=N3app4MineE": 11, "exception=app::Yours": 0}
    found = record(ada, tmp_path, rules, [programs / "throws"])
    assert dict(zip(rules, found)) == {rule: (count, count) for rule, count in rules.items()}


def test_panics(ada, tmp_path, programs):
    found = record(ada, tmp_path, ["exception", "exception=std::*", "symbol=panics::checked"], [programs / "panics"])
    assert found == [(5, 5), (0, 0), (8, 8)]


def test_a_panic_marks_before_it_is_told_of(ada, tmp_path, programs):
    """The default hook writes the message and the backtrace, which may take longer than a post-roll, and, where it is asked for, makes some
    million events."""
    assert record(ada, tmp_path, ["exception"], [programs / "panics", "loud"], "--on-full=block") == [(5, 5)]
    session = Session(tmp_path).path
    row, = json.loads(ada("query", "--format=json", session, "SELECT (SELECT min(index_seq) FROM marks) AS mark, min(index_seq) AS hook FROM events"
                          " WHERE kind = 'call' AND function LIKE 'std%::panicking::default_hook'").stdout)["rows"]
    asked = json.loads(ada("query", "--format=json", session, "SELECT index_seq FROM events WHERE kind = 'call' AND function LIKE"
                           " '%panics::checked' ORDER BY index_seq").stdout)["rows"]
    assert asked[3]["index_seq"] < row["mark"] < row["hook"] < asked[4]["index_seq"]


def test_signals(ada, tmp_path, programs):
    found = record(ada, tmp_path, ["signal=USR1", "signal=SIGUSR1,SIGUSR2", "signal=SIGTERM"], [programs / "kinds", "signals"])
    assert [marks for _, marks in found] == [5, 10, 0]


def test_crash(ada, tmp_path, programs):
    found = record(ada, tmp_path, ["crash", "signal=SIGABRT", "signal=SIGSEGV"], [programs / "kinds", "abort"], status=134)
    assert [marks for _, marks in found] == [1, 1, 0]


def rules_of(ada, tmp_path, programs, *options):
    result = ada("trace", "--quiet", f"--output={tmp_path / 'out'}", *options, "--", programs / "kinds", "abort")
    assert result.status == 134, result.stderr.decode()
    manifest, = check_recording(ada, tmp_path / "out").manifests().values()
    return {rule["text"]: rule["marks"] for rule in manifest["marking_policy"]["rules"]}


@pytest.mark.parametrize("options, rules", [
    ([], {"crash": 1, "manual": 0}),
    (["--trigger=symbol=twice"], {"symbol=twice": 0, "crash": 1, "manual": 0}),
    (["--trigger=crash@pre=5ev"], {"crash@pre=5ev": 1, "manual": 0}),
    (["--trigger=symbol=twice", "--no-default-triggers"], {"symbol=twice": 0}),
    (["--no-default-triggers"], {})])
def test_crash_and_manual_stay(ada, tmp_path, programs, options, rules):
    """Whatever else is asked: nobody wants to miss a crash because of another rule."""
    assert rules_of(ada, tmp_path, programs, *options) == rules
