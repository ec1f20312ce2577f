"""ada trigger test: rules replayed over the session "rules" (tests/query/synth_main.c), whose every time is known.

leaf is called at event 1 + 2i, for 10 (i + 1) ns, from START + 5i(i + 1) + 100i on, for i from 0 to 19; then at 46 and 49.
"""
import json
import shutil
import subprocess

import pytest

START_NS = 1000000000000
LEAF = [1 + 2 * i for i in range(20)] + [46, 49]
LEAF_ENDS = [2 + 2 * i for i in range(20)]


@pytest.fixture(scope="module")
def rules(build_dir, tmp_path_factory):
    place = tmp_path_factory.mktemp("rules") / "session"
    subprocess.run([build_dir / "tests" / "query" / "synth", "rules", place], check=True)
    return place


@pytest.fixture
def replay(ada, rules):
    def call(rule, *options, session=rules, **more):
        result = ada("trigger", "test", "--format=json", *options, session, rule, **more)
        assert result.status == 0, result.stderr.decode()
        return json.loads(result.stdout)
    return call


def marked(answer):
    return [row["index_seq"] for row in answer["rows"]]


@pytest.mark.parametrize("rule, expected", [
    ("symbol=leaf", LEAF),
    ("symbol=le*", LEAF),
    ("symbol=re:^LEAF$@nocase", LEAF),
    ("symbol=leaf@after=2,every=5", [5, 15, 25, 35]),
    ("symbol=leaf@limit=3/us", [1, 3, 5, 17, 19, 21, 27, 29, 31, 35, 37, 39]),
    ("symbol=no_such_function", []),
    ("latency=leaf>150ns", [32, 34, 36, 38, 40]),
    ("latency=leaf<25ns", [2, 4, 47, 50]),
    ("depth>3", [44]),
    ("depth=fib>3", [44]),       # 45 is of the same descent
    ("depth=leaf>=5", [46, 49]),
    ("rate=leaf>2/350ns", [5, 49]),
    ("rate=leaf>22/s", []),
    ("rate=leaf>21/s", [49]),
    ("p90=leaf>95ns@over=10", [22]),
    ("p90=leaf>200ns@over=10", []),
    ("p50=leaf>1ns@over=10", [4]),
    ("new-caller=leaf", [1, 46]),
    ("new-caller=leaf@after=1", [46]),
    ("new-caller=leaf@after=21", []),
    ("exception", [48, 56]),
])
def test_marks(replay, rule, expected):
    answer = replay(rule)
    assert marked(answer) == expected
    assert answer["marks"] == len(expected)
    assert answer["untold"] == 0
    assert answer["completeness"]["events"] == 58


def test_values(replay):
    assert [row["value"] for row in replay("latency=leaf>150ns")["rows"]] == [160, 170, 180, 190, 200]
    assert [row["value"] for row in replay("depth=fib>3")["rows"]] == [4]
    assert [row["value"] for row in replay("new-caller=leaf")["rows"]] == ["main", "fib"]
    assert replay("p90=leaf>95ns@over=10")["rows"][0]["value"] == 110
    row = replay("symbol=leaf")["rows"][1]
    assert row == {"timestamp_ns": START_NS + 110, "thread": 0, "tid": 100, "pid": 100, "index_seq": 3, "value": None,
                   "function": "leaf"}


def test_matches_are_all_that_fit(replay):
    answer = replay("symbol=leaf@every=5", "--limit=2")
    assert (answer["matches"], answer["marks"], marked(answer)) == (22, 5, [1, 11])


@pytest.mark.parametrize("rule", ["arg=leaf:1>3", "return=main<0"])
def test_values_that_were_not_kept(replay, rule):
    answer = replay(rule)
    assert (answer["rows"], answer["matches"]) == ([], 0)
    assert answer["untold"] == (22 if rule.startswith("arg") else 1)


@pytest.fixture
def ended(rules, tmp_path):
    """ended(EXIT, CRASH): a copy of the session with another end."""
    def make(exit, crash=None):
        session = shutil.copytree(rules, tmp_path / "session")
        path = next(session.glob("pid_*/manifest.json"))
        manifest = json.loads(path.read_text())
        manifest.update(exit=exit, crash=crash, endNs=START_NS + 10000)
        path.write_text(json.dumps(manifest))
        return session
    return make


CRASH = {"signal": 11, "code": 1, "tid": 100, "timestampNs": START_NS + 5000, "faultAddress": "0x0", "registers": {}, "stack": ""}


@pytest.mark.parametrize("rule, exit, crash, expected", [
    ("crash", {"kind": "signal", "signal": 11, "coreDumped": False}, CRASH, [(5000, 11)]),
    ("signal=SIGSEGV", {"kind": "signal", "signal": 11, "coreDumped": False}, CRASH, [(5000, 11)]),
    ("signal=SIGABRT", {"kind": "signal", "signal": 11, "coreDumped": False}, CRASH, []),
    ("exit", {"kind": "signal", "signal": 9, "coreDumped": False}, None, [(10000, 137)]),
    ("exit", {"kind": "exited", "status": 7}, None, [(10000, 7)]),
    ("crash", {"kind": "signal", "signal": 9, "coreDumped": False}, None, []),
    ("crash", {"kind": "signal", "signal": 6, "coreDumped": False}, None, [(10000, 6)]),
    ("exit", {"kind": "exited", "status": 0}, None, []),
    ("crash", {"kind": "exited", "status": 0}, None, []),
])
def test_ends(replay, ended, rule, exit, crash, expected):
    rows = replay(rule, session=ended(exit, crash))["rows"]
    assert [(row["timestamp_ns"] - START_NS, row["value"]) for row in rows] == expected


@pytest.mark.parametrize("interval, started, length_min, expected", [
    ("10:30-10:45", "2026-03-01T10:00:00.250Z", 60, [30 * 60 - 0.25]),
    ("10:30-10:45", "2026-03-01T10:31:00.000Z", 1, [0]),
    ("10:30-10:45", "2026-03-01T10:46:00.000Z", 60, []),
    ("23:50-00:10", "2026-03-01T23:00:00.000Z", 120, [50 * 60]),
    ("23:50-00:10", "2026-03-02T00:05:00.000Z", 30, [0]),
    ("10:30-10:45", "2026-03-01T10:00:00.000Z", 25 * 60, [30 * 60, 24 * 3600 + 30 * 60]),
])
def test_time_of_day(replay, rules, tmp_path, interval, started, length_min, expected):
    """In local time, which is UTC here."""
    session = shutil.copytree(rules, tmp_path / "session")
    document = json.loads((session / "session.json").read_text())
    document["started"] = started
    (session / "session.json").write_text(json.dumps(document))
    path = next(session.glob("pid_*/manifest.json"))
    manifest = json.loads(path.read_text())
    manifest["endNs"] = manifest["startNs"] + length_min * 60 * 10**9
    path.write_text(json.dumps(manifest))
    rows = replay(f"time={interval}", session=session, env={"TZ": "UTC"})["rows"]
    assert [(row["timestamp_ns"] - manifest["startNs"]) / 1e9 for row in rows] == expected


def test_text(ada, rules):
    lines = ada("trigger", "test", rules, "latency=leaf>190ns").stdout.decode().splitlines()
    assert lines[0].split() == ["TIME", "THREAD", "TID", "PID", "EVENT", "VALUE", "FUNCTION"]
    assert lines[1].split() == ["+0.000004000s", "0", "100", "100", "40", "200", "ns", "leaf"]
    assert lines[3] == "1 match, of which 1 would have marked."


def test_csv(ada, rules):
    lines = ada("trigger", "test", "--format=csv", rules, "depth>3").stdout.decode().splitlines()
    assert lines == ["timestamp_ns,thread,tid,pid,index_seq,value,function", f"{START_NS + 4100},0,100,100,44,4,fib"]


@pytest.mark.parametrize("rule, word", [("cpu>90%", "CPU"), ("memory>2G", "memory"), ("manual", "says so"),
                                        ("exception=std::bad_alloc", "types"), ("cpu=leaf>1ms", "CPU"),
                                        ("frobnicate=leaf", "character 1"), ("latency=leaf>5parsecs", "character")])
def test_what_cannot_be_tested(ada, rules, rule, word):
    result = ada("trigger", "test", rules, rule)
    assert result.status == 125 and result.stdout == b""
    assert word in result.stderr.decode() and result.stderr.count(b"\n") == 1, result.stderr.decode()
