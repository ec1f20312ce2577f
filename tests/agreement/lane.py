"""Scheduling lanes: one made up for a session, and what is true of any, read without any code of ada's by docs/format.md."""
import random
import struct
import zlib
from dataclasses import dataclass

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


class Lane:
    def __init__(self, events):
        self.first, self.spells = {}, {}
        last_of_cpu = {}
        for time, _, tid, _, _, kind, cpu in events:
            if kind == LOST:
                self.lose(last_of_cpu.get(cpu, 0))
            else:
                self.first.setdefault(tid, time)
                self.take(self.spells.setdefault(tid, []), kind, time)
            last_of_cpu[cpu] = time

    @staticmethod
    def take(spells, kind, time):
        away = spells and spells[-1].end == float("inf")
        if kind in (OFF, PREEMPTED):
            if away:
                spells[-1].known = False
            else:
                spells.append(Spell(time))
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

    def call(self, call):
        """[on, off] of a call of the oracle's."""
        off = None if call.end is None else self.away(call.tid, call.start, call.end)
        return [None, None] if off is None else [call.end - call.start - off, off]
