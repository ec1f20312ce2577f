"""What ada says: report's rows, and the calls that each export holds, brought to one form."""
import csv
import io
import json
import re
import struct
import subprocess
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


def sql(ada, recording, statement):
    result = ada("query", "--format=json", "--", recording.path, statement)
    assert result.status == 0, result.stderr.decode()
    return json.loads(result.stdout)["rows"]


def tree(ada, recording, *options):
    """{path of (function, module): (calls, total, own)} of the call tree; every node has its parent before it."""
    result = ada("graph", "--format=json", *options, recording.path)
    assert result.status == 0, result.stderr.decode()
    paths, sums = {None: ()}, {}
    for row in json.loads(result.stdout)["rows"]:
        path = paths[row["parent"]] + ((row["function"], row["module"]),)
        assert row["depth"] == len(path) - 1 and path not in sums
        paths[row["id"]] = path
        sums[path] = (row["calls"], row["total_ns"], row["self_ns"])
    return sums


CTF_LINE = re.compile(r"^\[(\d+)\] \S+ (call|return|exception|lost): \{ .*?tid = (\d+), .*? \}, \{ (.*) \}$")


def ctf_events(ada, recording, tmp_path, *options):
    """(tid, index_seq, time, kind, depth, function) as babeltrace2 reads them"""
    directory = export(ada, recording, tmp_path, "ctf", *options)
    result = subprocess.run(["babeltrace2", "--clock-cycles", "--no-delta", directory], capture_output=True, timeout=120, check=True)
    events = []
    for line in result.stdout.decode().splitlines():
        time, kind, tid, fields = CTF_LINE.match(line).groups()
        number = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", fields)}
        events.append((int(tid), number["index_seq"], int(time), kind, number["depth"],
                       re.search(r'function = \( "(.*?)" :', fields)[1]))
    return events


# Perfetto, by the field numbers that its .proto files publish.
PACKET, TIME, SEQUENCE, EVENT_OF, INTERNED, DEFAULTS, DESCRIPTOR = 1, 8, 10, 11, 12, 59, 60
TYPE, NAME_IID, TRACK, NAME = 9, 10, 11, 23


def fields_of(data):
    """{number: values} of a protobuf message: numbers, or bytes."""
    fields, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or varint()
            value, at = data[at:at + size], at + size
        fields.setdefault(tag >> 3, []).append(value)
    return fields


def perfetto_calls(ada, recording, tmp_path, *options):
    """(tid, function, start, end) of the slices on threads' tracks"""
    data = export(ada, recording, tmp_path, "perfetto", *options).read_bytes()
    tids, names, tracks, stacks, calls = {}, {}, {}, {}, []
    for packet in map(fields_of, fields_of(data)[PACKET]):
        sequence = packet[SEQUENCE][0]
        for descriptor in map(fields_of, packet.get(DESCRIPTOR, [])):
            if 4 in descriptor:
                tids[descriptor[1][0]] = fields_of(descriptor[4][0])[2][0]
        for entry in map(fields_of, (e for i in packet.get(INTERNED, []) for e in fields_of(i).get(2, []))):
            names[sequence, entry[1][0]] = entry[2][0].decode()
        for defaults in map(fields_of, packet.get(DEFAULTS, [])):
            if EVENT_OF in defaults:
                tracks[sequence] = fields_of(defaults[EVENT_OF][0])[TRACK][0]
        for event in map(fields_of, packet.get(EVENT_OF, [])):
            track = event.get(TRACK, [tracks.get(sequence)])[0]
            if track not in tids or event[TYPE][0] not in (1, 2):
                continue
            stack = stacks.setdefault(track, [])
            if event[TYPE][0] == 1:
                name = names[sequence, event[NAME_IID][0]] if NAME_IID in event else event[NAME][0].decode()
                stack.append((name, packet[TIME][0]))
            else:
                calls.append((tids[track], *stack.pop(), packet[TIME][0]))
    assert not any(stacks.values()), "slices that stay open"
    return calls
