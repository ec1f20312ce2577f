"""Calls as the exports hold them, each format read by its own rules and without any code of ada's, and what they add up to."""
import csv
import io
import json
import pathlib
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal

START_NS = 1000000000000        # of synthesised sessions


@dataclass
class Call:
    name: str
    start: int
    end: int
    outcome: str = "return"     # as the format says it
    children: list = field(default_factory=list)

    def shape(self):
        """Comparable: (name, start, end, children)."""
        return (self.name, self.start, self.end, tuple(c.shape() for c in self.children))


def shapes(threads):
    """Of all threads, whatever they are called."""
    return sorted(tuple(c.shape() for c in roots) for roots in threads.values() if roots)


def sums(threads):
    """{function: (calls, total, self)} by the rules of `report`: recursion counts once in total."""
    result = defaultdict(lambda: [0, 0, 0])
    for roots in threads.values():
        active = defaultdict(int)
        todo = [(c, False) for c in reversed(roots)]
        while todo:
            call, done = todo.pop()
            if done:
                active[call.name] -= 1
                continue
            row, duration = result[call.name], call.end - call.start
            row[0] += 1
            row[1] += 0 if active[call.name] else duration
            row[2] += duration - sum(c.end - c.start for c in call.children)
            active[call.name] += 1
            todo.append((call, True))
            todo += [(c, False) for c in reversed(call.children)]
    return {name: tuple(row) for name, row in result.items()}


def reported(ada, session, *arguments):
    """The same from `ada report`."""
    result = defaultdict(lambda: [0, 0, 0])
    for row in ada.rows("report", session, *arguments):
        for i, column in enumerate(["calls", "total_ns", "self_ns"]):
            result[row["function"]][i] += row[column]
    return {name: tuple(row) for name, row in result.items()}


def clipped(threads, start, end):
    """Those that are open at some time in start <= t < end, cut there: what formats of begins and ends show."""
    def cut(calls):
        return [Call(c.name, max(c.start, start), min(c.end, end), c.outcome, cut(c.children))
                for c in calls if c.start < end and c.end >= start]
    return {thread: cut(roots) for thread, roots in threads.items()}


def from_dump(ada, session, *arguments):
    """What the calls are, from the events that `ada dump` prints. Of sessions that lost nothing."""
    result = ada("dump", "--format=json", *arguments, session)
    assert result.status == 0, result.stderr
    threads, stacks = defaultdict(list), defaultdict(list)
    ends = {path.parent.name: json.loads(path.read_text())["endNs"] or 0 for path in pathlib.Path(session).glob("pid_*/manifest.json")}
    only = next(iter(ends), None)
    for line in result.stdout.splitlines()[:-1]:
        event = json.loads(line)
        key = event.get("process"), event["thread"]
        stack, name = stacks[key], key[0] or only
        ends[name] = max(ends[name], event["timestamp_ns"])
        if event["kind"] == "call":
            call = Call(event["function"], event["timestamp_ns"], None, "open")
            (stack[-1].children if stack else threads[key]).append(call)
            stack.append(call)
        else:
            assert stack[-1].name == event["function"] and len(stack) == event["depth"] + 1
            call = stack.pop()
            call.end, call.outcome = event["timestamp_ns"], event["kind"]
    for (process, _), stack in stacks.items():
        for call in stack:
            call.end = ends[process or only]
    return dict(threads)


# --- csv ----------------------------------------------------------------------------------------------------------------

CALL_COLUMNS = ["thread", "tid", "index_seq", "end_index_seq", "start_ns", "end_ns", "duration_ns", "self_ns", "function_id",
                "function", "caller", "depth", "outcome"]


def csv_rows(text):
    reader = csv.DictReader(io.StringIO(text.decode(), newline=""))
    assert reader.fieldnames[:len(CALL_COLUMNS)] == CALL_COLUMNS
    return list(reader)


def from_csv(text):
    """Of calls that all have an end: each lies below the one that the order of their beginnings and their depths put it in."""
    threads = defaultdict(list)
    for row in csv_rows(text):
        threads[row.get("process"), row["thread"]].append(row)
    result = {}
    for key, rows in threads.items():
        stack, roots = [], []
        for row in sorted(rows, key=lambda r: int(r["index_seq"])):
            call = Call(row["function"], int(row["start_ns"]), int(row["end_ns"]), row["outcome"])
            assert int(row["duration_ns"]) == call.end - call.start
            del stack[int(row["depth"]):]
            assert row["caller"] == (stack[-1].name if stack else "")
            (stack[-1].children if stack else roots).append(call)
            stack.append(call)
        result[key] = roots
    return result


def csv_sums(text):
    """Calls and self times by function, from the rows as they are."""
    result = defaultdict(lambda: [0, 0])
    for row in csv_rows(text):
        result[row["function"]][0] += 1
        result[row["function"]][1] += int(row["self_ns"] or 0)
    return {name: tuple(row) for name, row in result.items()}


# --- Chrome's Trace Event Format ------------------------------------------------------------------------------------------

@dataclass
class Chrome:
    threads: dict               # (pid, tid): calls
    around: list                # that were open when the cut began
    late: list                  # that ended on another stack
    unknown: list               # without a known end
    instants: list
    windows: list
    counters: dict              # name: [(ns, value)]
    names: dict                 # (kind, pid, tid): name
    other: dict
    cpu: dict                   # tid: [(state, from, to, who has the CPU)]


def nanoseconds(us):
    ns = us * 1000
    assert ns == int(ns) and ns >= 0, us
    return int(ns)


def chrome_calls(events):
    """Complete events of a thread, which come in the order of their ends: below a call lie the deeper ones before it."""
    pending, roots = [], []
    for event in events:
        start, depth = nanoseconds(event["ts"]), event["args"]["depth"]
        call = Call(event["name"], start, start + nanoseconds(event["dur"]), event["args"].get("outcome", "return"))
        below = len(pending)
        while below and pending[below - 1][0] > depth:
            below -= 1
        children, pending[below:] = [c for d, c in pending[below:]], []
        if event["args"].get("cut"):    # it was there before the others, and is told apart
            roots += children
            continue
        call.children = children
        assert all(start <= c.start and c.end <= call.end for c in call.children)
        pending.append((depth, call))
    return roots + [call for _, call in pending]


def from_chrome(text, base=START_NS):
    document = json.loads(text, parse_float=Decimal)
    assert set(document) == {"traceEvents", "displayTimeUnit", "otherData"} and document["displayTimeUnit"] == "ns"
    assert int(document["otherData"]["startNs"]) == base
    complete, result = defaultdict(list), Chrome({}, [], [], [], [], [], defaultdict(list), {}, document["otherData"], defaultdict(list))
    open_pairs = {}
    for event in document["traceEvents"]:
        phase, key = event["ph"], (event["pid"], event["tid"])
        assert isinstance(event["name"], str) and all(isinstance(n, int) for n in key)
        if phase == "M":
            result.names[event["name"], *key] = event["args"]["name"]
            continue
        ns = nanoseconds(event["ts"])
        if phase == "X" and event["args"].get("cut"):
            result.around.append((event["name"], ns, ns + nanoseconds(event["dur"])))
            complete[key].append(event)
        elif phase == "X" and event["args"].get("outcome") == "unknown":
            result.unknown.append((event["name"], ns, ns + nanoseconds(event["dur"])))
        elif phase == "X":
            complete[key].append(event)
        elif phase == "b":
            assert open_pairs.setdefault((event["cat"], event["id"]), event) is event
        elif phase == "e":
            begin = open_pairs.pop((event["cat"], event["id"]))
            if event["cat"] == "cpu":
                assert (begin["name"], begin["args"], begin["tid"]) == (event["name"], event["args"], event["tid"])
                result.cpu[event["tid"]].append((event["name"], nanoseconds(begin["ts"]), ns, event["args"].get("by_tid", 0)))
                continue
            pair = (event["name"], nanoseconds(begin["ts"]), ns)
            (result.windows if event["cat"] == "window" else result.late).append(pair)
        elif phase == "i":
            assert event["s"] in ("t", "p", "g")
            result.instants.append((event["name"], event["s"], ns, event["args"]))
        else:
            assert phase == "C" and isinstance(event["args"]["events"], int)
            result.counters[event["name"]].append((ns, event["args"]["events"]))
    assert not open_pairs
    result.threads = {key: chrome_calls(events) for key, events in complete.items()}
    return result


def shifted(threads, ns):
    """Times from the session's start on made absolute."""
    def shift(calls):
        return [Call(c.name, c.start + ns, c.end + ns, c.outcome, shift(c.children)) for c in calls]
    return {key: shift(roots) for key, roots in threads.items()}


# --- speedscope -----------------------------------------------------------------------------------------------------------

def exactly(value, required, optional=()):
    assert isinstance(value, dict) and set(required) <= set(value) <= set(required) | set(optional), value


def from_speedscope(text):
    """By the published file-format-spec.ts, and what its importer demands. Returns {profile: calls}, frames, name."""
    document = json.loads(text)
    exactly(document, ["$schema", "shared", "profiles"], ["name", "activeProfileIndex", "exporter"])
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    exactly(document["shared"], ["frames"])
    frames, result = document["shared"]["frames"], {}
    for frame in frames:
        exactly(frame, ["name"], ["file", "line", "col"])
        assert isinstance(frame["name"], str) and isinstance(frame.get("line", 0), int)
    for number, profile in enumerate(document["profiles"]):
        exactly(profile, ["type", "name", "unit", "startValue", "endValue", "events"])
        assert profile["type"] == "evented" and profile["unit"] == "nanoseconds"
        assert profile["startValue"] <= profile["endValue"]
        stack, roots, last = [], [], profile["startValue"]
        for event in profile["events"]:
            exactly(event, ["type", "at", "frame"])
            assert last <= event["at"] <= profile["endValue"], "events must be in the order of time"
            last = event["at"]
            if event["type"] == "O":
                call = Call(frames[event["frame"]]["name"], event["at"], None)
                (stack[-1][1].children if stack else roots).append(call)
                stack.append((event["frame"], call))
            else:
                assert event["type"] == "C"
                frame, call = stack.pop()
                assert frame == event["frame"], "a frame is closed that is not the innermost"
                call.end = event["at"]
        assert not stack, "frames stay open"
        result[profile["name"], number] = roots
    return result, frames, document["name"]
