"""Processes of a session with their detail and windows, read without any code of ada's (but that packed segments are unpacked), and what holds for every one of them
(docs/format.md)."""
import bisect
import json
import mmap
import struct
from dataclasses import dataclass, field, replace
from functools import cached_property

from harness import CALL, EVENT, FOOTER_MAGIC, HEADER_BYTES, RETURN, unpacked

NONE = 2**32 - 1
DETAIL_HEADER = struct.Struct("<4sBBBBIIIIQQQQQ")
RECORD = struct.Struct("<IHHIIQ")
PAYLOAD = struct.Struct("<Q8QQQQHH")
HEAD = struct.Struct("<IHHI4xQQ88xHH")          # of RECORD and PAYLOAD what every record is checked by
WINDOW = struct.Struct("<QQQQQQIIQ")
FOOTER = struct.Struct("<4sIQQQQQQII")
TYPES = {CALL: 3, RETURN: 4}


@dataclass(slots=True)
class Record:
    index_seq: int
    type: int
    time: int
    function: int
    x: tuple
    lr: int
    fp: int
    sp: int
    stack: bytes
    vectors: tuple


@dataclass
class Detail:
    """Of each record what tells which event it is of; all of it where it is asked for: there are millions."""
    data: bytes
    heads: list = field(default_factory=list)       # of (index_seq, type, time, function, where it begins, flags, bytes of stack)
    windows: list = field(default_factory=list)     # of (start, end, marked, first_detail_seq, first_ordinal, count, marks, id)

    @cached_property
    def records(self):
        return [self.record(*head) for head in self.heads]

    def record(self, seq, kind, time, function, at, flags, stack_bytes):
        fields = PAYLOAD.unpack_from(self.data, at + RECORD.size)
        end = at + RECORD.size + PAYLOAD.size + stack_bytes
        vectors = struct.unpack_from("<8Q", self.data, end) if flags & 1 else ()
        return Record(seq, kind, time, function, fields[1:9], *fields[9:12], self.data[end - stack_bytes:end], vectors)


@dataclass
class Thread:
    """One thread of one process: its index segments, and what there is of detail."""
    id: int
    tid: int
    segments: list          # (Events, Detail or None) of each

    @property
    def events(self):
        """Of all its segments, numbered through: where a disk was slow there are two."""
        parts = [events for events, _ in self.segments]
        return parts[0] if len(parts) == 1 else Joined(parts)

    def start(self, segment):
        """The number of its first event."""
        return sum(len(events) for events, _ in self.segments[:segment])

    @property
    def details(self):
        """Numbered as the events."""
        return [replace(r, index_seq=r.index_seq + self.start(i)) for i, (_, d) in enumerate(self.segments) if d for r in d.records]

    @property
    def detail_count(self):
        return sum(len(d.heads) for _, d in self.segments if d)


def read_detail(path):
    data = path.read_bytes()
    head = DETAIL_HEADER.unpack_from(data)
    assert head[0] == b"ATD2" and head[1:5] == (1, 1, 1, 4), f"{path}: header {head}"
    foot = FOOTER.unpack_from(data, len(data) - FOOTER.size)
    assert foot[0] == b"2DTA", f"{path}: no footer"
    _, _, count, length, _, _, tables, window_count, _, _ = foot
    assert head[10] == count and head[9] == HEADER_BYTES, f"{path}: header and footer disagree"
    detail, at = Detail(data), HEADER_BYTES
    fixed, append, unpack = RECORD.size + PAYLOAD.size, detail.heads.append, HEAD.unpack_from
    offsets = struct.unpack_from(f"<{count}Q", data, tables)
    for number in range(count):
        assert offsets[number] == at, f"{path}: offset table, record {number}"
        total, kind, flags, seq, time, function, stack_bytes, _ = unpack(data, at)
        captured = total - fixed - stack_bytes - (64 if flags & 1 else 0)
        assert captured == 0 or (flags & 2 and 0 < captured <= 4 * 280), f"{path}: record {number}: length {total}"
        append((seq, kind, time, function, at, flags, stack_bytes))
        at += total
    assert at == HEADER_BYTES + length, f"{path}: records end at {at}"
    for number in range(window_count):
        detail.windows.append(WINDOW.unpack_from(data, tables + 8 * count + number * WINDOW.size)[:8])
    return detail


class Events:
    """The events of an index file, mapped: what isn't looked at is never read."""

    def __init__(self, path):
        if path.suffix == ".atp":
            self.data = unpacked(path)
        else:
            with path.open("rb") as file:
                self.data = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        assert self.data[-64:-60] == FOOTER_MAGIC, f"{path}: no footer"
        self.count = (len(self.data) - 2 * HEADER_BYTES) // EVENT.size

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if number < 0:
            number += self.count
        if not 0 <= number < self.count:
            raise IndexError(number)
        return EVENT.unpack_from(self.data, HEADER_BYTES + number * EVENT.size)

    def __iter__(self):
        return self.part(0, self.count)

    def part(self, start, end):
        return EVENT.iter_unpack(self.data[HEADER_BYTES + start * EVENT.size:HEADER_BYTES + end * EVENT.size])

    def at(self, positions):
        """Those at these positions, which rise: read in one go where they lie close to each other."""
        first, last = positions[0], positions[-1]
        if not 0 <= first <= last < self.count or last - first > 4 * len(positions):
            return [self[position] for position in positions]
        near = list(self.part(first, last + 1))
        return near if len(near) == len(positions) else [near[position - first] for position in positions]


class Joined(Events):
    """The events of several files."""

    def __init__(self, parts):
        self.data = bytes(HEADER_BYTES) + b"".join(part.data[HEADER_BYTES:-HEADER_BYTES] for part in parts)
        self.count = sum(len(part) for part in parts)


class Process:
    """A pid directory: manifest, threads, names of functions."""

    def __init__(self, path):
        self.path = path
        self.manifest = json.loads((path / "manifest.json").read_text())
        self.windows = self.manifest["detail_lane"]["windows"]
        self.threads = [self.thread(t) for t in self.manifest["threads"]]
        for mark in (mark for window in self.windows for mark in window["marks"] if mark["segment"]):
            mark["indexSeq"] += self.threads[mark["thread"]].start(mark["segment"])
        self.names = {}
        for module in self.manifest["modules"]:
            if not module["symbols"]:
                continue
            for line in (path / module["symbols"]).read_text().splitlines()[1:]:
                number, _, _, name = line.split("\t")
                self.names[module["id"] << 32 | int(number)] = name

    def thread(self, entry):
        directory, segments = self.path / entry["directory"], []
        for segment in entry["segments"]:
            file = directory / segment["file"].replace("index", "detail").replace(".atp", ".atf")
            segments.append((Events(directory / segment["file"]), read_detail(file) if file.exists() else None))
        return Thread(entry["id"], entry["tid"], segments)

    def ids(self, name):
        return {i for i, n in self.names.items() if n.partition("@")[0] == name}

    def find(self, name, kind=CALL):
        """(thread, number among its events, event) of each event of that function, by time."""
        ids, found = self.ids(name), []
        for thread in self.threads:
            found += [(thread, seq, e) for seq, e in enumerate(thread.events) if e[1] in ids and e[3] == kind]
        return sorted(found, key=lambda f: f[2][0])


def durations(events, ids):
    """(ns, index_seq of the return) of each call of these functions, which don't call each other, as the index has it. A busy
    machine may stop a program amid the shortest call: how long one was only this tells."""
    begun, found = None, []
    for seq, (time, function, _, kind, *_) in enumerate(events):
        if function in ids and kind == CALL:
            begun = time
        elif function in ids and kind == RETURN:
            found.append((time - begun, seq))
    return found


def inside(events, start, end):
    """Range of positions of the events with start <= time <= end."""
    return (bisect.bisect_left(events, start, key=lambda e: e[0]), bisect.bisect_right(events, end, key=lambda e: e[0]))


def check_numbers(thread):
    """detail_seq counts what was captured, a segment at a time; events with registers are calls and returns only."""
    for events, _ in thread.segments:
        captured = 0
        for seq, (_, _, _, kind, _, detail_seq) in enumerate(events):
            if detail_seq == NONE:
                continue
            assert kind in (CALL, RETURN), f"thread {thread.id}: event {seq} of kind {kind} has detail"
            assert detail_seq == captured, f"thread {thread.id}: event {seq}: detail_seq {detail_seq}, expected {captured}"
            captured += 1


def check_records(thread, windows):
    """Each record belongs to its event and lies in a window; each window's entry says which."""
    spans = [(w["startNs"], w["endNs"]) for w in windows]
    for position, (events, detail) in enumerate(thread.segments):
        if not detail:
            continue
        assert detail.heads, f"thread {thread.id}: an empty detail file"
        places = [head[0] for head in detail.heads]
        assert all(map(int.__lt__, places, places[1:])), f"thread {thread.id}: index_seq falls"
        recorded, (since, until) = events.at(places), (1, 0)
        for number, ((seq, kind, time, function, *_), event) in enumerate(zip(detail.heads, recorded)):
            assert event[0] == time and event[1] == function and TYPES.get(event[3]) == kind, \
                f"thread {thread.id}: record {number} is not of event {seq}"
            if not since <= time <= until:
                since, until = next((span for span in spans if span[0] <= time <= span[1]), (1, 0))
                assert since <= time <= until, f"thread {thread.id}: record {number} in no window"
        ordinal = 0
        for start, end, _, first, first_ordinal, count, _, number in detail.windows:
            assert first_ordinal == ordinal and count, f"thread {thread.id}: window {number}: ordinals"
            assert start == windows[number]["startNs"], f"thread {thread.id}: window {number}"
            # One that went on when this thread began its next file ends here as far as it was known.
            on = position + 1 < len(thread.segments) and end < windows[number]["endNs"]
            assert on or end == windows[number]["endNs"], f"thread {thread.id}: window {number}"
            part = recorded[ordinal:ordinal + count]
            assert all(start <= event[0] <= end for event in part), f"thread {thread.id}: window {number}: a record outside"
            assert [event[5] for event in part] == list(range(first, first + count)), \
                f"thread {thread.id}: window {number}: detail_seq"
            ordinal += count
        assert ordinal == len(detail.heads), f"thread {thread.id}: records of no window"


def check_no_holes(thread, windows):
    """Every call and return that a window holds has its record."""
    for events, detail in thread.segments:
        have = {head[0] for head in detail.heads} if detail else set()
        for number, window in enumerate(windows):
            start, end = inside(events, window["startNs"], window["endNs"])
            missing = {seq for seq, event in enumerate(events.part(start, end), start) if event[3] == CALL or event[5] != NONE} - have
            assert not missing, f"thread {thread.id}: event {min(missing)} lies in window {number} without detail"


def check_process(process, numbers=True):
    """All of it; returns how many records there are. numbers: reads every event, too."""
    windows = process.windows
    for before, after in zip(windows, windows[1:]):
        assert before["endNs"] < after["startNs"], f"windows overlap: {before} {after}"
    for thread in process.threads:
        if numbers:
            check_numbers(thread)
        check_records(thread, windows)
        check_no_holes(thread, windows)
    total = sum(t.detail_count for t in process.threads)
    lane = process.manifest["detail_lane"]
    assert lane["event_count"] == total
    assert sum(w["eventCount"] for w in windows) == total
    if not windows:
        assert not list(process.path.glob("thread_*/detail*.atf")), "detail.atf without a window"
    return total
