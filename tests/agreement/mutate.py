"""Makes a hard session of an easy one: its index files written anew with losses, calls without their returns, returns that come
late, and windows in the manifest. Whole files, as ada would leave them: footers, counts and checksums fit."""
import json
import random
import struct
import zlib

from harness import CALL, EVENT, EXCEPTION, LOST, RETURN

HEADER = struct.Struct("<4sBBBBIIB3xIIIQQQQ")
FOOTER = struct.Struct("<4sIQQQQ24x")


def lose(events, chance):
    """Runs of 1 to 40 events become one LOST, sometimes with another right behind it."""
    kept, at, lost = [], 0, 0
    while at < len(events):
        if chance.random() < 0.02:
            count = min(chance.randrange(1, 40), len(events) - at)
            first = events[at]
            for part in ((count,) if chance.random() < 0.8 else (count, 3)):
                kept.append((first[0], part, first[2], LOST, first[4], 0xffffffff))
                lost += part
            at += count
        else:
            kept.append(events[at])
            at += 1
    return kept, lost


def forget_ends(events, chance):
    """Some functions' calls have no return, as where a call site got no stub."""
    silent = {e[1] for e in events if chance.random() < 0.0005} | {events[0][1]}
    return [e for e in events if e[3] == CALL or e[1] not in silent], 0


def delay_ends(events, chance):
    """Some returns come after others of the thread, as where it runs several stacks."""
    events = list(events)
    for at in range(len(events) - 30):
        if events[at][3] in (RETURN, EXCEPTION) and chance.random() < 0.05:
            to = at + chance.randrange(1, 25)
            time = events[to][0]
            moved = events.pop(at)
            events.insert(to, (time, *moved[1:]))
    return events, 0


MUTATIONS = {"lossy": [lose], "endless": [forget_ends], "fibers": [delay_ends], "all": [delay_ends, forget_ends, lose]}


def write_index(path, events):
    data = b"".join(EVENT.pack(*e) for e in events)
    first, last = (events[0][0], events[-1][0]) if events else (0, 0)
    head = list(HEADER.unpack(path.read_bytes()[:HEADER.size]))
    head[10], head[12:] = len(events), (HEADER.size + len(data), first, last)
    path.write_bytes(HEADER.pack(*head) + data + FOOTER.pack(b"2ITA", zlib.crc32(data), len(events), first, last, len(data)))


def mutate(path, name, seed):
    chance = random.Random(seed)
    document = json.loads((path / "session.json").read_text())
    for directory in sorted(path.glob("pid_*")):
        manifest = json.loads((directory / "manifest.json").read_text())
        for thread in manifest["threads"]:
            files = [directory / thread["directory"] / segment["file"] for segment in thread["segments"]]
            events = [e for file in files for e in EVENT.iter_unpack(file.read_bytes()[HEADER.size:-FOOTER.size])]
            lost = 0
            for step in MUTATIONS[name]:
                events, more = step(events, chance)
                lost += more
            cuts = sorted(chance.randrange(len(events) + 1) for _ in files[1:])
            for segment, file, first, last in zip(thread["segments"], files, [0, *cuts], [*cuts, len(events)]):
                write_index(file, events[first:last])
                segment["events"] = last - first
            thread["events"], thread["lost"] = len(events), lost
            thread["gaps"] = sum(e[3] == LOST for e in events)
        lane = manifest["index_lane"]
        lane["event_count"] = sum(t["events"] for t in manifest["threads"])
        lane["lost"] = sum(t["lost"] for t in manifest["threads"])
        lane["gaps"] = sum(t["gaps"] for t in manifest["threads"])
        (directory / "manifest.json").write_text(json.dumps(manifest))
        for process in document["processes"]:
            if process["directory"] == directory.name:
                process["events"], process["lost"] = lane["event_count"], lane["lost"]
    (path / "session.json").write_text(json.dumps(document))


def add_window(path, start, end):
    """A window in the manifest of the session's first process; nothing of it was marked, and no detail kept."""
    manifest = sorted(path.glob("pid_*"))[0] / "manifest.json"
    document = json.loads(manifest.read_text())
    document["detail_lane"]["windows"].append({
        "startNs": start, "endNs": end, "triggerKind": "manual", "triggerKinds": ["manual"], "keySymbolVersion": "v1",
        "preRollSec": 0, "postRollSec": 0, "requestedPreRollSec": 0, "requestedPostRollSec": 0, "eventCount": 0, "markedCount": 0,
        "marks": [], "shortReason": None})
    manifest.write_text(json.dumps(document))
