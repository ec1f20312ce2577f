"""ada anchor on stored sessions, and times on other clocks in the answers: the session's events are known (synth)."""
import csv
import json
import shutil
import time

import pytest

START_NS = 1000000000000
WALL_NS = 1767225600 * 10**9            # of the session's start: 2026-01-01T00:00:00Z
MS = 10**6


@pytest.fixture
def copy(session, tmp_path):
    def make(scenario="plain", anchors=None):
        path = tmp_path / f"session{len(list(tmp_path.iterdir()))}"
        shutil.copytree(session(scenario), path)
        if anchors is not None:
            document = json.loads((path / "session.json").read_text())
            document["anchors"] = anchors
            (path / "session.json").write_text(json.dumps(document))
        return path
    return make


def entry(clock, host, media):
    return {"clock": clock, "hostTimeNs": host, "mediaTimeNs": media}


# From +0 on 0.1 % fast, begun 5 s earlier.
FAST = [entry("video", START_NS, 5000 * MS), entry("video", START_NS + 10**6, 5000 * MS + 1001000)]


def told(ns):
    """What FAST says."""
    return 5000 * MS + (ns - START_NS) * 1001 // 1000


def rows_of(ada, *arguments):
    result = ada("dump", "--format=json", *arguments)
    assert result.status == 0, result.stderr.decode()
    return [json.loads(line) for line in result.stdout.splitlines()][:-1]


def test_what_is_stored_is_listed(ada, copy):
    path = copy()
    before = json.loads((path / "session.json").read_text())
    assert ada("anchor", path, "video", "--media-time=12.5s", "--host-time=+1ms").stdout == b"clock video: 1 anchor\n"
    assert ada("anchor", path / "pid_100", "video", "--media-time=12520000100", "--host-time=+21ms").stdout == \
        b"clock video: 2 anchors, 5.000 ppm faster than the host's\n"
    assert ada("anchor", path, "sound", "--media-time=0.25", f"--host-time={START_NS}").status == 0
    assert ada("anchor", path, "sound", "--media-time=0.5", "--host-time=2026-01-01T00:00:00.250001Z").stdout == \
        b"clock sound: 2 anchors, 4.000 ppm slower than the host's\n"
    after = json.loads((path / "session.json").read_text())
    assert after.pop("anchors") == [entry("video", START_NS + MS, 12500 * MS), entry("video", START_NS + 21 * MS, 12520000100),
                                    entry("sound", START_NS, 250 * MS), entry("sound", START_NS + 250001000, 500 * MS)]
    after.pop("checksum", None)
    before.pop("checksum", None)
    assert after == before
    listed = json.loads(ada("info", "--format=json", path).stdout)
    assert [(row["clock"], row["host"], row["media_ns"], row["drift_ppm"]) for row in listed["anchors"]] == [
        ("sound", "+0.000000000s", 250 * MS, None), ("sound", "+0.250001000s", 500 * MS, -4.0),
        ("video", "+0.001000000s", 12500 * MS, None), ("video", "+0.021000000s", 12520000100, 5.0)]
    text = ada("info", path).stdout.decode()
    assert "CLOCK  HOST           MEDIA          DRIFT (PPM)\nsound  +0.000000000s  0.250000000s             -\n" in text
    assert ada("verify", path).status == 0
    query = json.loads(ada("query", "--format=json", path, "SELECT * FROM anchors WHERE clock = 'sound'").stdout)
    assert query["rows"] == [{"clock": "sound", "host_ns": START_NS, "media_ns": 250 * MS},
                             {"clock": "sound", "host_ns": START_NS + 250001000, "media_ns": 500 * MS}]


@pytest.mark.parametrize("arguments, message", [
    ([], "name the clock"),
    (["video"], "--media-time=TIME"),
    (["video", "--media-time=soon", "--host-time=+1s"], "'soon' is no time: write it like 12.5s"),
    (["video", "--media-time=-2s", "--host-time=+1s"], "begins at 0"),
    (["video", "--media-time=2s"], "no longer being recorded: say with --host-time=TIME"),
    (["video", "--media-time=2s", "--host-time=noon"], "'noon' is no time"),
    (["video", "--media-time=2s", "--host-time=Tuesday"], "2026-11-22T13:40:00.5Z"),
    (["video", "--media-time=2s", "--host-time=0"], "no moment"),
    (["boot", "--media-time=2s", "--host-time=+1s"], "can't be called boot: that one is ada's own"),
    (["wall", "--media-time=2s", "--host-time=+1s"], "can't be called wall"),
    (["a b", "--media-time=2s", "--host-time=+1s"], "'a b' can't name a clock"),
    (["x" * 32, "--media-time=2s", "--host-time=+1s"], "31 characters at most"),
    (["fast", "--media-time=1s", "--host-time=+1ms"], "would stand still or go backwards"),
    (["fast", "--media-time=1us", "--host-time=+1ms"], "would stand still or go backwards"),
    (["a", "b", "--media-time=2s"], "unexpected argument 'b'"),
])
def test_nonsense_is_refused_in_one_line(ada, copy, arguments, message):
    path = copy(anchors=[entry("fast", START_NS + 1, 2 * 10**9)])
    before = (path / "session.json").read_bytes()
    result = ada("anchor", path, *arguments)
    assert result.status == 125 and not result.stdout
    assert message in result.stderr.decode() and result.stderr.count(b"\n") == 1 and result.stderr.startswith(b"ada anchor: ")
    assert (path / "session.json").read_bytes() == before


def test_what_is_still_to_come_is_refused(ada, copy):
    """Of a session of this boot, begun a moment ago, however long this machine has been up."""
    path = copy()
    document = json.loads((path / "session.json").read_text())
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    document.update(startNs=now - 2, endNs=now - 1)
    (path / "session.json").write_text(json.dumps(document))
    result = ada("anchor", path, "video", "--media-time=2s", f"--host-time={now + 3600 * 10**9}")
    assert (result.status, result.stdout) == (125, b"")
    assert b"ahead of now" in result.stderr and result.stderr.startswith(b"ada anchor: ")
    assert json.loads((path / "session.json").read_text()) == document


def test_a_strange_rate_is_stored_and_said(ada, copy):
    path = copy(anchors=[entry("video", START_NS, 0)])
    result = ada("anchor", path, "video", "--media-time=100s", "--host-time=+100ms")
    assert result.status == 0 and b"runs at 1000 times the host's rate" in result.stderr


@pytest.mark.parametrize("command", [["dump"], ["report"], ["graph"], ["windows"], ["narrate"],
                                     ["export", "--format=folded"]])
def test_an_unknown_clock_names_the_known_ones(ada, copy, command):
    path = copy(anchors=FAST + [entry("sound", START_NS, 0)])
    result = ada(*command, "--clock=vidoe", path)
    assert result.status == 125 and not result.stdout
    assert f"no clock 'vidoe' in {path}: it has boot, wall, sound, video\n" in result.stderr.decode()
    assert b"`ada anchor` adds others" in ada(*command, "--clock=video", copy()).stderr


def test_dump_tells_times_on_the_clock(ada, copy):
    path = copy(anchors=FAST)
    plain = rows_of(ada, path)
    assert rows_of(ada, "--clock=boot", path) == [{**row, "clock_ns": row["timestamp_ns"]} for row in plain]
    assert rows_of(ada, "--clock=video", path) == [{**row, "clock_ns": told(row["timestamp_ns"])} for row in plain]
    assert rows_of(ada, "--clock=wall", path) == [{**row, "clock_ns": row["timestamp_ns"] - START_NS + WALL_NS} for row in plain]
    table = list(csv.DictReader(ada("dump", "--format=csv", "--clock=video", path).stdout.decode().splitlines()))
    assert [int(row["clock_ns"]) for row in table] == [told(row["timestamp_ns"]) for row in plain]
    line = ada("dump", "--clock=video", "--limit=1", path).stdout.decode().split()
    assert line[0] == "%d.%09d" % divmod(told(plain[0]["timestamp_ns"]), 10**9)
    line = ada("dump", "--clock=wall", "--limit=1", path).stdout.decode().split()
    assert line[0] == "2026-01-01T00:00:00.%09dZ" % (plain[0]["timestamp_ns"] - START_NS)
    assert ada("dump", "--clock=boot", path).stdout == ada("dump", path).stdout


def test_times_before_a_clock_began(ada, copy):
    path = copy(anchors=[entry("late", START_NS + 10**9, 0)])
    row = rows_of(ada, "--clock=late", "--limit=1", path)[0]
    assert row["clock_ns"] == row["timestamp_ns"] - START_NS - 10**9 < 0
    assert ada("dump", "--clock=late", "--limit=1", path).stdout.decode().split()[0].startswith(("-1.0000", "-0.9999"))
    assert rows_of(ada, "--clock=late", "--from=-2s", path) == rows_of(ada, "--clock=late", path)


def test_cuts_on_a_clock_are_those_of_the_host(ada, copy):
    """Whatever time is named, exactly the events behind it are there."""
    path = copy(anchors=FAST)
    rows = rows_of(ada, "--clock=video", path)
    for row in rows:
        for text in (str(row["clock_ns"]), "%d.%09d" % divmod(row["clock_ns"], 10**9), f"{row['clock_ns']}ns"):
            assert rows_of(ada, "--clock=video", f"--from={text}", path) == [r for r in rows if r["clock_ns"] >= row["clock_ns"]]
        after = row["clock_ns"] + 1
        assert rows_of(ada, "--clock=video", f"--from={after}", path) == [r for r in rows if r["clock_ns"] >= after]
        wall = "2026-01-01T00:00:00.%09dZ" % (row["timestamp_ns"] - START_NS)
        assert [r["index_seq"] for r in rows_of(ada, "--clock=wall", f"--from={wall}", path)] == \
            [r["index_seq"] for r in rows if r["timestamp_ns"] >= row["timestamp_ns"]]
        for clock in "boot", "video":               # what has a date is of the wall clock on all
            assert [r["index_seq"] for r in rows_of(ada, f"--clock={clock}", f"--from={wall}", path)] == \
                [r["index_seq"] for r in rows if r["timestamp_ns"] >= row["timestamp_ns"]]
    cut = rows[3]["timestamp_ns"] - START_NS
    assert rows_of(ada, "--clock=video", f"--from=+{cut}ns", path) == [
        row for row in rows if row["timestamp_ns"] >= START_NS + cut]     # + is the session's start on every clock
    result = ada("dump", "--clock=video", "--from=noon", path)
    assert result.status == 125 and b"'noon' is no time of clock video: write it like 12.5s" in result.stderr
    result = ada("dump", "--clock=wall", "--from=noon", path)
    assert result.status == 125 and b"2026-11-22T13:40:00.5Z" in result.stderr


def test_report_graph_and_diff(ada, copy):
    path = copy(anchors=FAST)
    rows = rows_of(ada, "--clock=video", path)
    for command in ("report", "graph"):
        plain = json.loads(ada(command, "--format=json", path).stdout)
        on = json.loads(ada(command, "--format=json", "--clock=video", path).stdout)
        assert on.pop("clock") == {"name": "video", "first_ns": rows[0]["clock_ns"], "last_ns": rows[-1]["clock_ns"]}
        assert on == plain                                      # durations are the host's
        text = ada(command, "--clock=video", path).stdout.decode()
        assert "On clock video the events lie between %d.%09ds and " % divmod(rows[0]["clock_ns"], 10**9) in text
    host, video = (json.loads(ada("report", "--format=json", *cut, path).stdout)["rows"] for cut in (
        [f"--from={rows[1]['timestamp_ns']}", f"--to={rows[5]['timestamp_ns']}"],
        ["--clock=video", f"--from={rows[1]['clock_ns']}", f"--to={rows[5]['clock_ns']}"]))
    assert host == video != []
    both = json.loads(ada("report", "--format=json", "--clock=video", f"--diff={path}", path).stdout)
    assert both["clock"] == both["otherClock"]
    assert b"no clock 'video'" in ada("report", "--clock=video", f"--diff={copy()}", path).stderr


def test_windows_and_narrate(ada, copy):
    path = copy("detail", anchors=FAST)
    plain = json.loads(ada("windows", "--format=json", path).stdout)["rows"]
    for row, other in zip(plain, json.loads(ada("windows", "--format=json", "--clock=video", path).stdout)["rows"]):
        assert other.pop("clock_start_ns") == told(row["startNs"])
        assert other.pop("clock_end_ns") == (told(row["endNs"]) if row["endNs"] is not None else None)
        assert other == row
    start = "%d.%09ds" % divmod(told(plain[0]["startNs"]), 10**9)
    assert start in ada("windows", "--clock=video", path).stdout.decode()
    table = list(csv.DictReader(ada("windows", "--format=csv", "--clock=video", path).stdout.decode().splitlines()))
    assert [int(row["clock_start_ns"]) for row in table] == [told(row["startNs"]) for row in plain]
    assert f"from {start} to" in ada("narrate", "--all", "--clock=video", "--window=0", path).stdout.decode()


def test_sql(ada, copy):
    path = copy(anchors=FAST)
    rows = rows_of(ada, "--clock=video", path)

    def ask(sql):
        return [list(row.values()) for row in json.loads(ada("query", "--format=json", path, sql).stdout)["rows"]]
    assert ask("SELECT on_clock(timestamp_ns, 'video'), on_clock(timestamp_ns, 'boot') FROM events ORDER BY timestamp_ns") == [
        [row["clock_ns"], row["timestamp_ns"]] for row in rows]
    assert ask(f"SELECT count(*) FROM events WHERE timestamp_ns >= at('{rows[4]['clock_ns']}', 'video')") == [[len(rows) - 4]]
    assert ask("SELECT at('2026-01-01T00:00:00.5Z', 'wall')") == [[START_NS + 500 * MS]]
    assert ask("SELECT on_clock(NULL, 'video'), at('1s', NULL)") == [[None, None]]
    assert b"no clock 'x' in" in ada("query", path, "SELECT on_clock(1, 'x')").stderr


def test_the_journal_counts_too(ada, copy):
    """What was appended while the recorder wrote session.json, and came too late for it."""
    path = copy(anchors=FAST[:1])
    (path / "anchors.jsonl").write_text("".join(json.dumps(one) + "\n" for one in FAST))
    assert [row["media_ns"] for row in json.loads(ada("info", "--format=json", path).stdout)["anchors"]] == [
        one["mediaTimeNs"] for one in FAST]
    assert ada("anchor", path, "video", "--media-time=6s", "--host-time=+5ms").status == 0
    assert [one["mediaTimeNs"] for one in json.loads((path / "session.json").read_text())["anchors"]] == [
        FAST[0]["mediaTimeNs"], 6 * 10**9, FAST[1]["mediaTimeNs"]]


@pytest.mark.parametrize("broken", [
    7, {}, "x", [7], [None], [[]], [{}], [entry("wall", 1, 1)], [entry("", 1, 1)], [entry("a\n", 1, 1)], [entry("a", -1, 1)],
    [entry("a", 1, 1 << 63)], [entry("a", 1 << 64, 1)], [entry("a", 1.5, 1)], [entry("a", "1", 1)], [entry("a", 0, 1)], [entry(7, 1, 1)],
    [entry("a", 1, None)], [entry("a", 5, 5), entry("a", 6, 5)], [entry("a", 5, 5), entry("a", 5, 6)]])
def test_broken_anchors_are_left_out_and_named(ada, copy, broken):
    path = copy(anchors=broken)
    document = json.loads((path / "session.json").read_text())
    if isinstance(broken, list):
        document["anchors"] += FAST
    (path / "session.json").write_text(json.dumps(document))
    result = ada("info", "--format=json", path)
    assert result.status == 125 and result.stderr.count(b"\n") == 1 and b"of the anchors make" in result.stderr
    assert [row["media_ns"] for row in json.loads(result.stdout)["anchors"] if row["clock"] == "video"] == [
        one["mediaTimeNs"] for one in FAST if isinstance(broken, list)]
    result = ada("dump", "--clock=boot", path)
    assert result.status == 125 and result.stdout


def set_times(path, first, last):
    """The recording begins at `first` and its process ends at `last`, both ns since 1970."""
    document = json.loads((path / "session.json").read_text())
    begun = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(first // 10**9)) + ".%09dZ" % (first % 10**9)
    document.update(started=begun)
    document.pop("checksum", None)
    (path / "session.json").write_text(json.dumps(document))
    manifest, = path.glob("pid_*/manifest.json")
    process = json.loads(manifest.read_text())
    process.update(endNs=START_NS + last - first)
    process.pop("checksum", None)
    manifest.write_text(json.dumps(process))


NIGHT = 1767225600 - 30                 # 2025-12-31T23:59:30Z; in Samoa 13:59:30 on the next day


@pytest.mark.parametrize("zone, text, offset_ms", [
    ("UTC", "2025-12-31 23:59:31", 1000), ("UTC", "2025-12-31T23:59:31", 1000), ("UTC", "2025-12-31 23:59:31.25Z", 1250),
    ("UTC", "23:59:30.5", 500), ("UTC", "23:59:30", 0), ("UTC", "00:00:10.001", 40001), ("UTC", "0:00", 30000), ("UTC", "23:59:29.5", -500),
    ("UTC", "00:00:30.9", 60900),
    ("<+14>-14", "2026-01-01 13:59:31", 1000), ("<+14>-14", "13:59:31", 1000), ("<-03>3", "20:59:31", 1000),
])
@pytest.mark.parametrize("clock", ["boot", "wall", "video"])
def test_a_date_with_a_blank_and_a_bare_time_are_local(ada, copy, monkeypatch, zone, text, offset_ms, clock):
    """A recording of a minute, over midnight in UTC. A bare time is its first; the rest of a second may be left out."""
    path = copy(anchors=FAST)
    set_times(path, NIGHT * 10**9, NIGHT * 10**9 + 60 * 10**9)
    monkeypatch.setenv("TZ", zone)
    result = ada("query", "--format=json", path, f"SELECT at('{text}', '{clock}') AS at")
    assert result.status == 0, result.stderr.decode()
    assert json.loads(result.stdout)["rows"] == [{"at": START_NS + offset_ms * MS}]
    assert ada("dump", f"--clock={clock}", f"--from={text}", path).status == 0


@pytest.mark.parametrize("zone, text", [
    ("UTC", "23:59:28"), ("UTC", "00:00:31"), ("UTC", "12:00"), ("UTC", "2025-12-30 23:59:40"), ("UTC", "2026-01-01 00:00:31"),
    ("<-03>3", "23:59:31"),
])
def test_a_local_time_outside_of_the_recording_is_told(ada, copy, monkeypatch, zone, text):
    path = copy()
    set_times(path, NIGHT * 10**9, NIGHT * 10**9 + 60 * 10**9)
    monkeypatch.setenv("TZ", zone)
    result = ada("dump", f"--from={text}", path)
    local = [time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(NIGHT + shift + (zone != "UTC") * -3 * 3600)) for shift in (0, 60)]
    assert result.status == 125 and not result.stdout
    assert result.stderr.decode() == (f"ada dump: '{text}' is outside of the recording, which is from {local[0]} to {local[1]} "
                                      "(local time)\n")


@pytest.mark.parametrize("text", ["2026-13-01 00:00:00", "25:00:00", "12:61", "12:", "12:00:00Z", "12:00:00 x", "2026-01-01", "12:00:00:1"])
def test_what_is_no_time_stays_so(ada, copy, text):
    result = ada("dump", f"--from={text}", copy())
    assert result.status == 125 and b"is no time" in result.stderr and b"13:40:00 (local time)" in result.stderr
