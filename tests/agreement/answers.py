"""What ada says: report's rows, and the calls that each export holds, brought to one form."""
import csv
import io
import json
import struct
from decimal import Decimal

EVENT = struct.Struct("<QQIIII")


def export(ada, recording, tmp_path, format, *options):
    """The bytes that the export writes."""
    target = tmp_path / f"export-{len(list(tmp_path.iterdir()))}"
    result = ada("export", f"--format={format}", f"--output={target}", "--quiet", *options, recording.path)
    assert result.status == 0, result.stderr.decode()
    return target


def report(ada, recording, *options):
    """{(function, module): row}"""
    result = ada("report", "--format=json", *options, recording.path)
    assert result.status == 0, result.stderr.decode()
    answer = json.loads(result.stdout)
    rows = {(row["function"], row["module"]): row for row in answer["rows"]}
    assert len(rows) == len(answer["rows"]), "a function twice"
    return rows, answer["completeness"]


def csv_rows(ada, recording, tmp_path, *options):
    text = export(ada, recording, tmp_path, "csv", *options).read_text()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def chrome_calls(ada, recording, tmp_path, *options):
    """(tid, function, module, start, duration, depth, index_seq) of calls that begin there, and of those around them"""
    begin = json.loads((recording.path / "session.json").read_text())["startNs"]
    text = export(ada, recording, tmp_path, "chrome", *options).read_text()
    inside, around = [], []
    for e in json.loads(text, parse_float=Decimal)["traceEvents"]:
        if e["ph"] == "X":
            (around if "cut" in e["args"] else inside).append(
                (e["tid"], e["name"], e["cat"], begin + ns(e["ts"]), ns(e["dur"]), e["args"]["depth"], e["args"]["index_seq"]))
    return inside, around


def ns(microseconds):
    value = microseconds * 1000
    assert value == int(value), microseconds
    return int(value)


def speedscope_calls(ada, recording, tmp_path, *options):
    """(profile, function, start, duration, own, depth), each bracket closed by its own frame."""
    start = json.loads((recording.path / "session.json").read_text())["startNs"]
    document = json.loads(export(ada, recording, tmp_path, "speedscope", *options).read_text())
    frames, calls = [f["name"] for f in document["shared"]["frames"]], []
    for profile in document["profiles"]:
        assert profile["type"] == "evented" and profile["unit"] == "nanoseconds"
        last, stack = profile["startValue"], []
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append([event["frame"], event["at"], 0])
                continue
            frame, begun, children = stack.pop()
            assert frame == event["frame"]
            duration = event["at"] - begun
            calls.append((profile["name"], frames[frame], start + begun, duration, duration - children, len(stack)))
            if stack:
                stack[-1][2] += duration
        assert not stack, "brackets that stay open"
    return calls


def folded_paths(ada, recording, tmp_path, *options):
    paths = {}
    for line in export(ada, recording, tmp_path, "folded", *options).read_text().splitlines():
        path, _, own = line.rpartition(" ")
        assert path not in paths
        paths[path] = int(own)
    return paths


def rowbinary_events(ada, recording, tmp_path, *options):
    return list(EVENT.iter_unpack(export(ada, recording, tmp_path, "rowbinary", *options).read_bytes()))
