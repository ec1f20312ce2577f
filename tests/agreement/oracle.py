"""What is true of a recording, worked out from its files by the rules of src/query/calls/calls.h and tally/stats.h without any code of ada's:
slow, simple, and the judge of report, SQL and exports."""
import os
from dataclasses import dataclass, field

from harness import CALL, EXCEPTION, LOST, RETURN
from recording import Process

OUTCOMES = {RETURN: "return", EXCEPTION: "exception"}


@dataclass
class Call:
    process: str
    tid: int
    function: tuple         # (name as in the symbol table, module's file name)
    function_id: int
    start: int
    depth: int
    index_seq: int
    caller: tuple           # function, None where it is outermost
    path: tuple             # functions that are open below it, itself last
    losses: int
    outer: list = field(default_factory=list, repr=False)   # calls of the same function that are open below it
    end: int = None         # None: not recorded
    end_index_seq: int = None
    children: int = 0       # time of the calls directly below, and of gaps
    outcome: str = "unknown"
    across_loss: bool = False

    @property
    def duration(self):
        return self.end - self.start

    @property
    def own(self):
        return self.duration - self.children


class Pairing:
    """The calls of one thread."""

    def __init__(self, process, tid, name_of):
        self.process, self.tid, self.name_of = process, tid, name_of
        self.open, self.aside, self.calls = [], [], []
        self.last = self.before_loss = 0
        self.losses = self.orphans = self.lost = 0
        self.after_loss = False

    def leave(self):
        """The newest open call has gone without a word."""
        call = self.open.pop()
        if not self.after_loss:
            self.aside.append(call)
        elif self.open:             # it won't come back; what it took until the loss is known
            self.open[-1].children += self.before_loss - call.start

    def gap(self, time):
        if self.after_loss and self.open:
            self.open[-1].children += time - self.before_loss

    def deeper(self, depth, time):
        while self.open and self.open[-1].depth >= depth:
            self.leave()
        self.gap(time)

    def finish(self, call, time, outcome, index_seq=None):
        call.end, call.end_index_seq, call.outcome = time, index_seq, outcome
        call.across_loss = call.losses != self.losses

    def begin(self, time, function_id, depth, index_seq):
        self.deeper(depth, time)
        function = self.name_of(function_id)
        below = self.open[-1] if self.open else None
        call = Call(self.process, self.tid, function, function_id, time, depth, index_seq, below and below.function,
                    (below.path if below else ()) + (function,), self.losses)
        call.outer = [c for c in self.open if c.function == function]
        self.open.append(call)
        self.calls.append(call)

    def finish_one(self, time, function_id, kind, depth, index_seq):
        def fits(call):
            return call.function_id == function_id and call.depth == depth
        number = next((n for n, call in enumerate(self.open) if fits(call)), None)
        if number is None:
            late = next((c for c in reversed(self.aside) if fits(c)), None)
            if late:
                self.aside = [c for c in self.aside if c is not late]
                self.finish(late, time, OUTCOMES[kind], index_seq)
            else:
                self.orphans += 1
            if self.after_loss:
                self.deeper(depth, time)
            return
        while len(self.open) > number + 1:
            self.leave()
        self.gap(time)
        call = self.open.pop()
        self.finish(call, time, OUTCOMES[kind], index_seq)
        if self.open:
            self.open[-1].children += call.duration

    def feed(self, event, index_seq):
        time, function_id, _, kind, depth, _ = event
        if kind == CALL:
            self.begin(time, function_id, depth, index_seq)
        elif kind in OUTCOMES:
            self.finish_one(time, function_id, kind, depth, index_seq)
        elif kind == LOST:
            self.aside = []
            if not self.after_loss:
                self.before_loss = self.last
            self.losses += 1
            self.lost += function_id
        else:
            return
        self.last, self.after_loss = time, kind == LOST

    def close(self, end):
        """`end`: of the process, which open calls last until."""
        self.last = max(self.last, end)
        self.gap(self.last)
        while self.open:
            call = self.open.pop()
            self.finish(call, self.last, "open")
            if self.open:
                self.open[-1].children += call.duration
        return self.calls


@dataclass
class Function:
    """What report says of one; None where no call has a known duration."""
    calls: int = 0
    total_ns: int = 0
    self_ns: int = 0
    durations: list = field(default_factory=list)

    def percentile(self, permille):
        rank = (len(self.durations) * permille + 999) // 1000
        return sorted(self.durations)[max(rank, 1) - 1]


class Recording:
    """All calls and events of a session directory."""

    def __init__(self, path):
        self.path, self.calls, self.events = path, [], []
        self.lost = 0
        self.ends = {}          # of processes, in ns: open calls last until then
        for directory in sorted(path.glob("pid_*")):
            self.read(Process(directory))

    def read(self, process):
        modules = {m["id"]: os.path.basename(m["path"]) for m in process.manifest["modules"]}

        def name_of(function_id):
            return (process.names[function_id], modules[function_id >> 32])
        last = [segment[-1][0] for thread in process.threads for segment, _ in thread.segments if segment]
        end = self.ends[process.path.name] = max([process.manifest["endNs"] or 0, *last])
        for thread in process.threads:
            pairing = Pairing(process.path.name, thread.tid, name_of)
            events = [event for segment, _ in thread.segments for event in segment]
            for index_seq, event in enumerate(events):
                pairing.feed(event, index_seq)
                name = None if event[3] == LOST else name_of(event[1])
                self.events.append((process.path.name, thread.id, thread.tid, index_seq, *event[:2], name, *event[3:]))
            self.calls += pairing.close(end)
            self.lost += pairing.lost

    def select(self, tid=None, start=0, end=2**64, process=None):
        """The calls that begin there: those a question with --thread, --from and --to is about."""
        return [c for c in self.calls if tid in (None, c.tid) and start <= c.start < end and process in (None, c.process)]

    def select_events(self, tid=None, start=0, end=2**64, process=None):
        return [e for e in self.events if tid in (None, e[2]) and start <= e[4] < end and process in (None, e[0])]


def brackets(recording, tid=None, start=0, end=2**64, process=None):
    """What formats of begin and end events hold of a part: calls that are open in it, cut at both its ends. (call, start, end)"""
    shown, threads = [], {}
    for event in recording.select_events(tid, 0, end, process):
        threads.setdefault((event[0], event[2]), []).append(event)
    for (directory, number), events in threads.items():
        first = next((e[3] for e in events if e[4] >= start), events[-1][3] + 1)
        last, stop = events[-1][3], min(end, recording.ends[directory])
        if start > recording.ends[directory]:
            continue
        for c in recording.calls:
            if (c.process, c.tid) == (directory, number) and c.index_seq <= last and (c.end_index_seq is None or c.end_index_seq >= first):
                shown.append((c, max(c.start, start), min(c.end, stop)))
    return shown


def is_outermost(call, chosen):
    return not any(id(outer) in chosen for outer in call.outer)


def edges(calls):
    """{(caller or None, function): [calls, total, own]}, by the rules of edges.h"""
    chosen, sums = set(map(id, calls)), {}
    for call in calls:
        edge = sums.setdefault((call.caller, call.function), [0, 0, 0])
        edge[0] += 1
        if call.end is not None:
            edge[1] += call.duration * is_outermost(call, chosen)
            edge[2] += call.own
    return sums


def statistics(calls):
    """Per function, by the rules of stats.h, of calls that were selected."""
    chosen, functions = set(map(id, calls)), {}
    for call in calls:
        sums = functions.setdefault(call.function, Function())
        sums.calls += 1
        if call.end is None:
            continue
        sums.total_ns += call.duration * is_outermost(call, chosen)
        sums.self_ns += call.own
        if not call.across_loss:
            sums.durations.append(call.duration)
    return functions


def folded(calls):
    """Own time by path, as flame graphs want it."""
    paths = {}
    for call in calls:
        if call.end is not None:
            paths[call.path] = paths.get(call.path, 0) + call.own
    return paths


def tree(calls):
    """{path: [calls, total, own]}"""
    paths = {}
    for call in calls:
        node = paths.setdefault(call.path, [0, 0, 0])
        node[0] += 1
        if call.end is not None:
            node[1] += call.duration
            node[2] += call.own
    return paths
