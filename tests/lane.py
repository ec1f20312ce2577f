"""Scheduling lanes: one made up for a session, and what is true of any, read without any code of ada's by docs/format.md."""
import json
import random
import shutil
import struct
import zlib
from dataclasses import dataclass
from types import SimpleNamespace

OFF, PREEMPTED, ON, FAULT, LOST = range(1, 6)
KINDS = {OFF: "off", PREEMPTED: "preempted", ON: "on", FAULT: "fault", LOST: "lost"}
EVENT = struct.Struct("<QQIIIHH")       # time, count, thread, process, other, kind, CPU
CPUS = 3


def make(recording, pid, seed, losses):
    """Events of most threads, from before their first call on; of every seventh thread there are none."""
    chance, events = random.Random(seed), []
    begin, end = min(c.start for c in recording.calls), max(c.end or c.start for c in recording.calls)
    tids = sorted({c.tid for c in recording.calls})
    for tid in [tid for number, tid in enumerate(tids) if number % 7 != 6]:
        time = begin - chance.randrange(1, 1000) + chance.choice([0, 0, 0, (end - begin) // 3])
        events.append((time, 0, tid, pid, 0, ON, chance.randrange(CPUS)))
        for _ in range(chance.randrange(0, 60)):
            kind = chance.choice([OFF, PREEMPTED])
            other = chance.choice(tids + [0]) if kind == PREEMPTED else 0
            time += chance.randrange((end - begin) // 30 + 2)
            events.append((time, 0, tid, pid, other, kind, events[-1][6]))
            time += chance.randrange((end - begin) // 60 + 2)
            events.append((time, 0, tid, pid, 0, ON, chance.randrange(CPUS)))
            if chance.random() < 0.2:
                events.append((time, chance.randrange(1, 9), tid, pid, 0, FAULT, events[-1][6]))
        if chance.random() < 0.5:       # it never comes back
            events.append((time + 1, 0, tid, pid, 0, OFF, events[-1][6]))
    events.sort(key=lambda event: event[0])
    for _ in range(losses):
        at = chance.randrange(1, len(events))
        events.insert(at, (events[at][0], 5, 0, 0, 0, LOST, chance.randrange(CPUS)))
    return events


def write(path, events):
    body = b"".join(EVENT.pack(*event) for event in events)
    first, last = events[0][0], events[-1][0]
    header = struct.pack("<4sBBBBIIB7xIIQQQQ", b"ATS2", 1, 1, 1, 1, 0, CPUS, 1, EVENT.size, 0, 64, len(events), first, last)
    path.write_bytes(header + body + struct.pack("<4sIQQQQ24x", b"2STA", zlib.crc32(body), len(events), first, last, len(body)))


def read(path):
    data = path.read_bytes()
    assert data[:4] == b"ATS2" and data[-64:-60] == b"2STA"
    return list(EVENT.iter_unpack(data[64:-64]))


@dataclass
class Spell:
    start: int
    end: float = float("inf")
    known: bool = True
    preempted: bool = False
    other: int = 0


class Lane:
    def __init__(self, events):
        self.first, self.spells = {}, {}
        last_of_cpu = {}
        for time, _, tid, _, other, kind, cpu in events:
            if kind == LOST:
                self.lose(last_of_cpu.get(cpu, 0))
            else:
                self.first.setdefault(tid, time)
                self.take(self.spells.setdefault(tid, []), kind, time, other)
            last_of_cpu[cpu] = time

    @staticmethod
    def take(spells, kind, time, other):
        away = spells and spells[-1].end == float("inf")
        if kind in (OFF, PREEMPTED):
            if away:
                spells[-1].known = False
            else:
                spells.append(Spell(time, preempted=kind == PREEMPTED, other=other))
        elif kind == ON and away:
            spells[-1].end = time

    def lose(self, since):
        """From the CPU's last record on nothing is known of any thread, up to its own next one."""
        for spells in self.spells.values():
            for spell in spells:
                spell.known &= spell.end <= since
            if not spells or spells[-1].end != float("inf"):
                spells.append(Spell(max(since, spells[-1].end if spells else 0), known=False))

    def away(self, tid, start, end):
        """How long the thread was off its CPU; None: not known."""
        if tid not in self.first or start < self.first[tid]:
            return None
        met = [spell for spell in self.spells[tid] if spell.end > start and spell.start < end]
        if not all(spell.known for spell in met):
            return None
        return sum(min(spell.end, end) - max(spell.start, start) for spell in met)

    def stretches(self, tid, begin, end):
        """(state, from, to, who has the CPU) of the thread between the two times, without gaps from its first record on."""
        found, since = [], self.first.get(tid, end)
        for spell in self.spells.get(tid, []):
            found.append(("running", since, spell.start, 0))
            state = "unknown" if not spell.known else "preempted" if spell.preempted else "off CPU"
            found.append((state, spell.start, spell.end, spell.other if state == "preempted" else 0))
            since = max(since, spell.end)
        cut = [(state, max(first, begin), min(last, end), other) for state, first, last, other in found + [("running", since, end, 0)]]
        return [stretch for stretch in cut if stretch[1] < stretch[2]]

    def call(self, call):
        """[on, off] of a call of the oracle's."""
        off = None if call.end is None else self.away(call.tid, call.start, call.end)
        return [None, None] if off is None else [call.end - call.start - off, off]


def scheduled(ada, session, copy, losses):
    """Makes a copy of a session, with a lane; gives stretches() of each thread, by tid, in a part of the time."""
    shutil.copytree(session, copy)
    ends = {path.parent.name: json.loads(path.read_text())["endNs"] for path in copy.glob("pid_*/manifest.json")}
    only = min(ends)
    rows = [json.loads(line) for line in ada("dump", "--format=json", session).stdout.splitlines()][:-1]
    threads = {}
    for row in rows:
        thread = threads.setdefault(row["tid"], SimpleNamespace(tid=row["tid"], start=row["timestamp_ns"], process=row.get("process", only)))
        thread.end, thread.depth = row["timestamp_ns"], row["depth"] + (row["kind"] == "call")
        ends[thread.process] = max(ends[thread.process], thread.end)
    events = make(SimpleNamespace(calls=list(threads.values())), 1, 5, losses)
    write(copy / "sched.atf", events)
    lane = Lane(events)

    def expected(begin=0, end=float("inf"), only=None):
        told = {tid: lane.stretches(tid, max(thread.start, begin), min(ends[thread.process] if thread.depth else thread.end, end))
                for tid, thread in threads.items() if only in (None, tid)}
        return {tid: stretches for tid, stretches in told.items() if stretches}
    return expected
