"""ada export --format=ctf: what babeltrace2 reads of it is what ada dump says."""
import collections
import datetime
import json
import re
import shutil
import signal
import subprocess

import lane
import pytest

LINE = re.compile(r"^\[(\d+)\] (\S+) (call|return|exception|lost|mark): \{ process = (\d+), thread = (\d+), tid = (\d+), "
                  r'process_name = "(.*?)", thread_name = "(.*?)" \}, \{ (.*) \}$')
DISCARDED = re.compile(r"Tracer discarded (\d+) events? between \[[0-9:.]+\] and \[(\d\d):(\d\d):(\d\d)\.(\d{9})\]")
START_NS = 1000000000000                # of the session, which is midnight


@pytest.fixture
def export(ada, tmp_path):
    def run(session, *options, status=0):
        directory = tmp_path / f"trace{len(list(tmp_path.iterdir()))}"
        result = ada("export", "--format=ctf", "-o", directory, *options, session)
        assert result.status == status, result.stderr.decode()
        return directory
    return run


def babeltrace(directory, *options):
    result = subprocess.run(["babeltrace2", *options, directory], capture_output=True, timeout=120)
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout.decode().splitlines(), result.stderr.decode()


def unquote(text):
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t", "e": "\x1b"}.get(match[1], match[1]), text)


def events_of(directory):
    """As rows of dump, in the reader's order; and the marks, and the losses that it was told of."""
    lines, errors = babeltrace(directory, "--clock-cycles", "--clock-gmt", "--no-delta")
    rows, marks = [], []
    for line in lines:
        match = LINE.match(line)
        assert match, line
        ns, _, kind, _, thread, tid, process, name, fields = match.groups()
        if kind == "mark":
            marks.append((int(ns), fields))
            continue
        row = {"timestamp_ns": int(ns), "process": process, "thread": int(thread), "tid": int(tid), "kind": kind}
        for field in ("index_seq", "depth"):
            row[field] = int(re.search(rf"{field} = (\d+)", fields)[1])
        if kind == "lost":
            row["lost"] = int(re.search(r"count = (\d+)", fields)[1])
        else:
            named = re.search(r'function = \( "(.*)" : container = \d+ \), module = \( "(.*)" : container = \d+ \)$', fields)
            row["function"], row["module"] = unquote(named[1]), unquote(named[2])
        rows.append(row)
    told = [[int(number) for number in match.groups()] for match in DISCARDED.finditer(errors)]
    return rows, marks, [(count, START_NS + ((h * 60 + m) * 60 + s) * 10**9 + ns) for count, h, m, s, ns in told]


def dumped(ada, session, *options):
    rows = [json.loads(line) for line in ada("dump", "--format=json", *options, session).stdout.splitlines()][:-1]
    directory = json.loads(ada("info", "--format=json", session).stdout)["rows"]
    for row in rows:
        row.setdefault("process", directory[0]["process"] if directory else None)
        del row["detail_seq"]
        if row["kind"] == "lost":
            del row["function"], row["module"]
    return rows


def counted(rows):
    return collections.Counter(tuple(sorted(row.items())) for row in rows)


@pytest.mark.parametrize("scenario", ["plain", "lossy", "processes", "detail", "names", "rules", "running", "random:3:4:20000"])
def test_babeltrace_reads_what_dump_says(ada, export, session, scenario):
    rows, _, discarded = events_of(export(session(scenario)))
    expected = dumped(ada, session(scenario))
    assert counted(rows) == counted(expected)
    assert [row["timestamp_ns"] for row in rows] == sorted(row["timestamp_ns"] for row in expected)
    lost = [row for row in expected if row["kind"] == "lost"]
    assert sum(row[0] for row in discarded) == sum(row["lost"] for row in lost)
    # Each loss is told with its own time
    assert sorted(discarded) == sorted((row["lost"], row["timestamp_ns"]) for row in lost)


@pytest.mark.parametrize("options", [["--from=+100ns", "--to=+351ns"], ["--window=0"], ["--window=1"], ["--thread=quiet"]])
def test_cut(ada, export, session, options):
    rows, marks, _ = events_of(export(session("detail"), *options))
    expected = dumped(ada, session("detail"), *options)
    assert expected and counted(rows) == counted(expected)
    assert len(marks) == {"--window=0": 2, "--window=1": 2, "--from=+100ns": 3}.get(options[0], 4)


CPU = re.compile(r"^\[(\d+)\] \S+ cpu: \{ process = \d+, thread = \d+, tid = (\d+), .* \}, "
                 r'\{ state = \( "(.*)" : container = \d+ \), by_tid = (\d+) \}$')


@pytest.mark.parametrize("scenario, losses", [("plain", 0), ("random:8:3:6000", 2)])
@pytest.mark.parametrize("between", [False, True])
def test_when_threads_had_a_cpu(ada, export, session, tmp_path, scenario, losses, between):
    """A state lasts until the thread's next one."""
    path = tmp_path / "scheduled"
    expected = lane.scheduled(ada, session(scenario), path, losses)
    ends = sorted(stretch[2] for stretches in expected().values() for stretch in stretches)
    begin, end = (ends[len(ends) // 3] - 1, ends[2 * len(ends) // 3]) if between else (0, 2**62)
    lines, _ = babeltrace(export(path, f"--from={begin}", f"--to={end}"), "--clock-cycles", "--clock-gmt", "--no-delta")
    states = collections.defaultdict(list)
    for match in filter(None, map(CPU.match, lines)):
        states[int(match[2])].append((match[3], int(match[1]), int(match[4])))
    assert states and all(told[-1][0] == "end" for told in states.values())
    assert {tid: [(state, since, until, other) for (state, since, other), (_, until, _) in zip(told, told[1:])]
            for tid, told in states.items()} == expected(begin, end)


def test_marks(export, session):
    _, marks, _ = events_of(export(session("detail")))
    assert marks[:2] == [
        (1000000000230, 'window = 0, thread = 0, index_seq = 5, kind = "symbol:leaf", label = ""'),
        (1000000000330, 'window = 0, thread = -1, index_seq = -1, kind = "manual", label = "here"')]


def test_wall_clock(export, session):
    """The clock counts from boot; its offset makes the time of day of it."""
    path = session("plain")
    started = datetime.datetime.fromisoformat(json.loads((path / "session.json").read_text())["started"].replace("Z", "+00:00"))
    lines, _ = babeltrace(export(path), "--clock-seconds", "--no-delta")
    assert lines[0].startswith("[%d.000000000]" % started.timestamp())


def test_anchors(export, session, tmp_path):
    """In the environment, by clock."""
    path = tmp_path / "anchored"
    shutil.copytree(session("plain"), path)
    document = json.loads((path / "session.json").read_text())
    document["anchors"] = [{"clock": clock, "hostTimeNs": host, "mediaTimeNs": media}
                           for clock, host, media in (("video", 9, 2), ("sound", 7, 3), ("video", 5, 1))]
    (path / "session.json").write_text(json.dumps(document))
    directory = export(path)
    assert len(events_of(directory)[0]) == 10
    shown = "\n".join(babeltrace(directory, "-c", "sink.text.details")[0])
    for line in ("clock_0: sound", "clock_0_anchor_0_host_ns: 7", "clock_0_anchor_0_media_ns: 3", "clock_1: video",
                 "clock_1_anchor_0_host_ns: 5", "clock_1_anchor_0_media_ns: 1", "clock_1_anchor_1_host_ns: 9",
                 "clock_1_anchor_1_media_ns: 2"):
        assert line in shown, shown


def test_empty(export, session):
    directory = export(session("empty"))
    assert [path.name for path in directory.iterdir()] == ["metadata"]
    assert babeltrace(directory)[0] == []


def test_packets_are_bounded(export, session):
    directory = export(session("large"))
    text = "\n".join(babeltrace(directory, "-c", "sink.utils.counter")[0])
    assert re.search(r"2000008 Event messages", text) and re.search(r"\b0 Discarded event messages", text), text
    packets = int(re.findall(r"(\d+) Packet beginning messages", text)[-1])
    size = sum(path.stat().st_size for path in directory.iterdir())
    assert size / packets <= 256 << 10


def test_many_functions(ada, export, tmp_path, build_dir):
    """Each of 3,000 functions has its name."""
    session = tmp_path / "session"
    subprocess.run([build_dir / "tests" / "query" / "synth", "plain", session], check=True)
    table = session / "pid_100" / "modules" / "0.tsv"
    head, first = table.read_text().splitlines()[:2]
    columns = first.split("\t")
    with open(table, "w") as file:
        print(head, file=file)
        for i in range(3000):
            print(i, *columns[1:-1], f"function_{i}", sep="\t", file=file)
    assert counted(events_of(export(session))[0]) == counted(dumped(ada, session))


def test_nothing_is_left_of_a_failure(ada, session, tmp_path):
    (tmp_path / "there").mkdir()
    result = ada("export", "--format=ctf", "-o", tmp_path / "there", session("plain"))
    assert result.status == 125 and len(result.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["there"] and not list((tmp_path / "there").iterdir())
    process = subprocess.Popen([ada.path, "export", "--format=ctf", "-o", tmp_path / "new", session("large")],
                               stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list(tmp_path.iterdir())) < 2:
        pass
    process.send_signal(signal.SIGINT)
    if process.wait(60):                # it may have been done already
        assert [path.name for path in tmp_path.iterdir()] == ["there"]
