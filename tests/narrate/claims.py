"""Holds each sentence of a narrative against the events and files that it cites, computed anew from `ada dump` and the
manifests."""
import errno
import json
import re
import shlex
from dataclasses import dataclass, field

SOURCE = re.compile(r" \(([\w.-]+):(\d+)\)")


def duration(ns):
    """As base/units.h writes it: three digits."""
    units = [("ns", 1), ("us", 1000), ("ms", 10**6), ("s", 10**9)]
    at = 0
    while at + 1 < len(units) and ns / units[at][1] >= 999.5:
        at += 1
    name, scale = units[at]
    if at == 0:
        return f"{ns} ns"
    shown = ns / scale
    return f"{shown:.{2 if shown < 9.995 else 1 if shown < 99.95 else 0}f} {name}"


def number(text):
    return int(text.replace(",", ""))


@dataclass
class Call:
    function: str
    depth: int
    start: int
    position: int
    parent: object
    end: int = None
    end_position: int = None
    outcome: str = "open"
    children: int = 0

    @property
    def took(self):
        return self.end - self.start


@dataclass
class Thread:
    rows: list = field(default_factory=list)
    calls: list = field(default_factory=list)

    def pair(self, end):
        """`end`: of the process, which open calls last until."""
        stack = []
        for row in self.rows:
            if row["kind"] == "call":
                call = Call(row["function"], row["depth"], row["timestamp_ns"], row["index_seq"], stack[-1] if stack else None)
                assert row["depth"] == len(stack), "this reader knows balanced threads alone"
                stack.append(call)
                self.calls.append(call)
            elif row["kind"] in ("return", "exception"):
                call = stack.pop()
                assert (call.function, call.depth) == (row["function"], row["depth"])
                call.end, call.end_position, call.outcome = row["timestamp_ns"], row["index_seq"], row["kind"]
                if stack:
                    stack[-1].children += call.took
        for call in reversed(stack):
            call.end = end
            if call.parent:
                call.parent.children += call.took

    def open_at(self, position):
        """The calls that are open behind the events before `position`."""
        return [c for c in self.calls if c.position < position and (c.end_position is None or c.end_position >= position)]

    def before(self, ns):
        return sum(1 for row in self.rows if row["timestamp_ns"] < ns)


class Story:
    """A session and its narrative."""

    def __init__(self, ada, session, *arguments, pair=True):
        self.ada, self.session = ada, session
        self.rows = ada.rows("narrate", session, "--full-names", *arguments)
        self.manifests = {p.name: json.loads((p / "manifest.json").read_text()) for p in session.glob("pid_*")}
        self.document = json.loads((session / "session.json").read_text())
        self.start = self.document["startNs"]
        self.report = {(r["function"], r["module"]): r for r in ada.rows("report", session)}
        self.threads = {}
        only = next(iter(self.manifests)) if len(self.manifests) == 1 else None
        result = ada("dump", "--format=json", "--detail", session)
        assert result.status == 0
        for line in result.stdout.splitlines():
            row = json.loads(line)
            if "completeness" not in row:
                self.threads.setdefault((row.get("process", only), row["thread"]), Thread()).rows.append(row)
        ends = {name: manifest["endNs"] or 0 for name, manifest in self.manifests.items()}
        for (process, _), thread in self.threads.items():
            ends[process] = max(ends[process], thread.rows[-1]["timestamp_ns"])
        for (process, _), thread in self.threads.items():
            assert [r["index_seq"] for r in thread.rows] == list(range(len(thread.rows)))
            if pair:
                thread.pair(ends[process])

    def of(self, kind, window=None):
        return [r for r in self.rows if r["kind"] == kind and (window is None or r["window"] == window)]

    def one(self, kind, window=None):
        row, = self.of(kind, window)
        return row

    # --- what every sentence owes ---------------------------------------------------------------------------------------

    def events(self, row):
        """The events that a sentence cites, in its order."""
        found = []
        for e in row["evidence"]:
            if "thread" in e:
                found += self.threads[e["process"], e["thread"]].rows[e["first"]:e["last"] + 1]
        return found

    def positions(self, row):
        return [e["first"] for e in row["evidence"] if "thread" in e]

    def check_evidence(self, row):
        assert row["evidence"], row
        assert row["text"].endswith("."), row
        for e in row["evidence"]:
            if "thread" in e:
                rows = self.threads[e["process"], e["thread"]].rows
                assert 0 <= e["first"] <= e["last"] < len(rows), row
            elif e["file"] == "ada verify":
                assert e["field"] == ""
            else:
                value = self.document if e["process"] is None else self.manifests[e["process"]]
                assert e["file"] == ("session.json" if e["process"] is None else "manifest.json")
                for part in re.findall(r"\w+|\[\d+\]", e["field"]):
                    value = value[int(part[1:-1])] if part[0] == "[" else value[part]

    def check(self):
        """Every sentence; returns the kinds that there were."""
        for row in self.rows:
            self.check_evidence(row)
            checker = getattr(self, "check_" + row["kind"].replace("-", "_"))
            text = SOURCE.sub("", row["text"])
            assert checker(row, text) is not False, row
        self.check_marks_are_told()
        return {row["kind"] for row in self.rows}

    def ns(self, text):
        seconds, fraction = re.fullmatch(r"\+(\d+)\.(\d{9})s", text).groups()
        return self.start + int(seconds) * 10**9 + int(fraction)

    def thread(self, row, text):
        return self.threads[row["process"], int(re.search(r"[Tt]hread (\d+)", text)[1])]

    # --- why it took long -----------------------------------------------------------------------------------------------

    def check_headline(self, row, text):
        """Begins its window. What its cause says of the call is so."""
        assert row is next(r for r in self.rows if r["window"] == row["window"])
        if "crash" in row:
            return self.check_crash_cause(row, text)
        cause = row["cause"]
        if cause is None:
            return text.endswith("; no call that took long is behind it.") and len(row["evidence"]) == 1
        assert cause["window"] == row["window"] and 0 < cause["share"] <= 1
        thread = self.threads[row["process"], cause["thread"]]
        call = next(c for c in thread.calls if c.position == cause["index_seq"])
        assert call.function == cause["function"] and row["evidence"][0]["first"] == call.position
        if call.end_position is not None:
            assert call.took == cause["duration_ns"] and duration(call.took) in text
        inside = [c for c in thread.calls if c.position >= call.position and c.position < (call.end_position or len(thread.rows))]
        assert cause["function_waited"] in {c.function for c in inside}
        assert cause["culprit_thread"] is None or (row["process"], cause["culprit_thread"]) in self.threads

    def check_cause(self, row, text):
        """The last headline's evidence: each event cited is of the thread that the sentence names."""
        assert [r["kind"] for r in self.rows[:self.rows.index(row)] if r["window"] == row["window"]][0] == "headline"
        slow = re.match(r"There was a slow call, too\. A call of (\S+) took (.+?), usually ", text)
        if slow:                            # behind a crash: its own first event is the call's
            thread = self.threads[row["process"], row["evidence"][0]["thread"]]
            call = next(c for c in thread.calls if c.position == row["evidence"][0]["first"])
            assert slow.groups() == (call.function, duration(call.took))
            return
        number = int(re.search(r"[Tt]hread (\d+)", text)[1])
        assert {e["thread"] for e in row["evidence"]} == {number}

    # --- the session ----------------------------------------------------------------------------------------------------

    def check_session(self, row, text):
        processes, threads, events = re.search(r": (\d+) process(?:es)?, (\d+) threads? with events, ([\d,]+) events?\.", text).groups()
        assert int(processes) == len(self.manifests) and int(threads) == len(self.threads)
        assert number(events) == sum(len(t.rows) for t in self.threads.values()) == len(self.events(row))
        took = duration(self.document["endNs"] - self.start)
        command = re.match(r"The command `(.*)` was recorded", text)[1]
        assert shlex.split(command) == self.document["command"] and f"for {took}:" in text

    def lost(self):
        return sum(t["lost"] for m in self.manifests.values() for t in m["threads"])

    def check_losses(self, row, text):
        assert text == "No event was lost." if not self.lost() else number(re.match(r"([\d,]+) ", text)[1]) == self.lost()

    def check_coverage(self, row, text):
        windows = sum(len(m["detail_lane"]["windows"]) for m in self.manifests.values())
        records = sum(m["detail_lane"]["event_count"] for m in self.manifests.values())
        if not windows:
            return text == "No event has detail: no window was kept."
        share, count = re.match(r"([\d.]+) % of the events have detail; (\d+) windows? ", text).groups()
        assert int(count) == windows and share == f"{100 * records / len(self.events(row)):.3g}"

    def check_process(self, row, text):
        manifest = self.manifests[row["process"]]
        pid, start, took, end = re.match(r"Process (\d+) ran .* from (\S+) for (.*?) and (.*)\.", text).groups()
        assert int(pid) == manifest["pid"] and self.ns(start) == manifest["startNs"]
        last = max((t.rows[-1]["timestamp_ns"] for (process, _), t in self.threads.items() if process == row["process"]), default=None)
        late = last is not None and manifest["endNs"] - last > 10**9
        if late:
            took, at = re.fullmatch(r"at most (.*), its last event at (\S+),", took).groups()
            assert self.ns(at) == last
        assert took == duration(manifest["endNs"] - manifest["startNs"])
        kind = manifest["exit"]["kind"]
        assert end == {"exited": f"ended with exit status {manifest['exit'].get('status')}",
                       "signal": f"was killed by {'SIGSEGV' if manifest['exit'].get('signal') == 11 else 'SIGABRT'}"}[kind]

    def check_hooked(self, row, text):
        hooks = self.manifests[row["process"]]["hooks"]
        assert [number(n) for n in re.findall(r"[\d,]+", text)] == [hooks["functions"], hooks["hooked"]]

    def check_thread(self, row, text):
        thread = self.thread(row, text)
        assert self.events(row) == thread.rows
        events, start, took = re.search(r"has ([\d,]+) events? from (\S+) on over (.*?)[;.]? (?:most|its)", text).groups()
        assert number(events) == len(thread.rows) and self.ns(start) == thread.rows[0]["timestamp_ns"]
        assert took.rstrip(";") == duration(thread.rows[-1]["timestamp_ns"] - thread.rows[0]["timestamp_ns"])
        own = {}
        for call in thread.calls:
            calls, self_ns = own.get(call.function, (0, 0))
            own[call.function] = calls + 1, self_ns + call.took - call.children
        told = re.findall(r"(?:^|, | and )(\S.*?) \(([\d.]+ \w+) in ([\d,]+) calls?\)", text.partition("own time was in ")[2])
        best = sorted(own.values(), key=lambda v: (-v[1], -v[0]))[:3]
        assert [(t, number(c)) for _, t, c in told] == [(duration(s), c) for c, s in best]
        assert all((number(c), t) == (own[f][0], duration(own[f][1])) for f, t, c in told)

    def check_frames(self, row, names, frames):
        """A call path: names, outermost first, and the CALL of each."""
        assert [f.depth for f in frames] == list(range(len(frames)))
        said = [f.function for f in frames]
        if len(frames) > 16:            # the outermost 4 and the innermost 12
            said[4:-12] = [f"({len(frames) - 16} more)"]
            frames = frames[:4] + frames[-12:]
        assert names.rstrip(".").split(" > ") == said
        assert self.positions(row)[:len(frames)] == [f.position for f in frames]
        for file, line in SOURCE.findall(row["text"]):
            assert file and int(line) > 0

    def check_still_open(self, row, text):
        _, _, names = text.partition(": ")
        thread = self.threads[row["process"], row["evidence"][0]["thread"]]
        self.check_frames(row, names, thread.open_at(len(thread.rows)))

    # --- windows --------------------------------------------------------------------------------------------------------

    def window(self, row):
        """Its manifest's entry; windows are numbered on over the processes in the order of `ada windows`."""
        return next(w for w in self.ada.rows("windows", self.session) if w["window"] == row["window"])

    def check_window(self, row, text):
        window = self.window(row)
        took, start, end, events, threads, share = re.match(
            r"Window \d+ holds (.*?), from (\S+) to (\S+?), .*: ([\d,]+) events? of (\d+) threads?, ([\d.]+) % with detail\.",
            text).groups()
        assert (self.ns(start), self.ns(end)) == (window["startNs"], window["endNs"])
        assert took == duration(window["endNs"] - window["startNs"])
        inside = [r for t in self.threads.items() if t[0][0] == row["process"] for r in t[1].rows
                  if window["startNs"] <= r["timestamp_ns"] <= window["endNs"]]
        assert number(events) == len(inside) == len(self.events(row))
        assert int(threads) == len({r["thread"] for r in inside})
        assert share == f"{100 * sum(r['detail'] is not None for r in inside) / len(inside):.3g}"
        assert f"a pre-roll of {duration(round(window['preRollSec'] * 1e9))}" in text
        assert f"a post-roll of {duration(round(window['postRollSec'] * 1e9))}" in text

    def check_short(self, row, text):
        assert text == f"It has less than was asked for: {self.window(row)['shortReason']}."

    def mark(self, row):
        place = re.search(r"marks\[(\d+)\]", row["evidence"][-1]["field"])
        return self.window(row)["marks"][int(place[1])]

    def mark_before(self, row):
        """The mark of which the last trigger sentence before this one tells."""
        at = next(i for i, r in enumerate(self.rows) if r is row)
        return self.mark([r for r in self.rows[:at] if r["kind"] == "trigger" and r["window"] == row["window"]][-1])

    def kinds(self, row, mark):
        """All the rules that a mark names, as a sentence lists them."""
        rules = {r["id"]: r["kind"] for r in self.manifests[row["process"]]["marking_policy"]["rules"]}
        names = [mark["kind"]] + [rules[r] for r in mark["rules"] if rules.get(r, mark["kind"]) != mark["kind"]]
        return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]

    def check_marks_are_told(self):
        """Of each window that is told: each rule that marked, at the first mark of it, with the path to that."""
        for number in {r["window"] for r in self.rows if r["window"] is not None}:
            rows = [r for r in self.rows if r["window"] == number]
            told = [r for r in rows if r["kind"] == "trigger"]
            seen = set()
            for i, mark in enumerate(self.window(rows[0])["marks"]):
                new = bool(set(mark["rules"]) - seen)
                seen |= set(mark["rules"])
                if not new:
                    continue
                row, = [r for r in told if r["evidence"][-1]["field"].endswith(f".marks[{i}]")]
                if mark["thread"] is not None and not (i and mark["kind"] == "crash"):
                    thread = self.threads[row["process"], mark["thread"]]
                    is_end = thread.rows[mark["indexSeq"]]["kind"] != "call" and mark["functionId"] is not None
                    assert (rows[rows.index(row) + 1]["kind"] == "path") == bool(thread.open_at(mark["indexSeq"] + (not is_end)))
                elif mark["thread"] is not None:
                    assert [r for r in rows if r["kind"] == "crash"]

    def check_trigger(self, row, text):
        mark = self.mark(row)
        assert self.ns(re.match(r"At (\S+) ", text)[1]) == mark["tsNs"]
        if mark["thread"] is None:
            for e in row["evidence"][:-1]:
                rows = self.threads[e["process"], e["thread"]].rows
                assert rows[e["first"]]["timestamp_ns"] <= mark["tsNs"] and e["first"] == e["last"]
                assert e["last"] + 1 == len(rows) or rows[e["last"] + 1]["timestamp_ns"] > mark["tsNs"]
            assert len(row["evidence"]) > 1
            return "marked by hand" in text or f"{self.kinds(row, mark)} marked" in text
        event = self.threads[row["process"], mark["thread"]].rows[mark["indexSeq"]]
        assert event == self.events(row)[-1] and f"thread {mark['thread']}" in text
        if mark["functionId"] is None:
            return text == f"At {text.split()[1]} {self.kinds(row, mark)} marked thread {mark['thread']} ({self.signal(mark['value'])})."
        assert f", which {self.kinds(row, mark)} marked" in text and event["function"] in text
        if event["kind"] == "call":
            return f" called {event['function']}" in text
        call = self.events(row)[0]
        assert (call["kind"], call["function"], call["depth"]) == ("call", event["function"], event["depth"])
        assert f" returned from {event['function']}" in text
        assert f" after {duration(event['timestamp_ns'] - call['timestamp_ns'])}" in text

    @staticmethod
    def signal(number_):
        return {11: "SIGSEGV", 6: "SIGABRT"}[number_]

    def check_trigger_more(self, row, text):
        window = self.window(row)
        assert number(text.split()[0]) == window["markedCount"] - len(self.of("trigger", row["window"]))

    def marked(self, row, mark):
        thread = self.threads[row["process"], mark["thread"]]
        return mark, thread, thread.rows[mark["indexSeq"]]

    def check_path(self, row, text):
        mark, thread, event = self.marked(row, self.mark_before(row))
        behind = event["kind"] == "call" or mark["functionId"] is None
        self.check_frames(row, text.partition(": ")[2], thread.open_at(mark["indexSeq"] + behind))

    def check_other_thread(self, row, text):
        mark = self.mark_before(row)
        return self.check_doing(row, text, mark["tsNs"], mark["thread"] is None)

    def check_crash_other_thread(self, row, text):
        return self.check_doing(row, text, self.crash(row)[0]["timestampNs"])

    def check_doing(self, row, text, ns, behind=False):
        """What a thread was doing at a moment: before its events of that ns, or behind them."""
        thread = self.thread(row, text)
        position = thread.before(ns + behind)
        frames = thread.open_at(position)
        if "no open call" in text:
            return not frames
        name = re.search(r"was (?:waiting in|in the library call|in) (.+?)(?: of|, called|, for)", text)[1]
        assert frames[-1].function == name
        assert ("waiting in" in text) == (name in ("poll", "pthread_join", "nanosleep"))
        assert len(frames) < 2 or f"called by {frames[-2].function}," in text
        assert f"for {duration(ns - frames[-1].start)} so far" in text
        assert row["evidence"][-1]["first"] == frames[-1].position and row["evidence"][-1]["last"] == position - 1

    def durations(self, name):
        return sorted(c.took for t in self.threads.values() for c in t.calls if c.function == name)

    def call(self, row):
        """The one whose CALL a sentence cites first."""
        e = row["evidence"][0]
        return next(c for c in self.threads[e["process"], e["thread"]].calls if c.position == e["first"])

    def check_slow(self, row, text):
        name, how, took, median, high, high_ns, calls = re.match(
            r"On thread \d+ a call of (\S+) (took|was still open at the window's end, after at least|was left by an exception or jump after) (.*?); its median is (.*?) and"
            r" its (p99|p90) (.*?) over ([\d,]+) calls", text).groups()
        call, (report,) = self.call(row), [r for r in self.report.values() if r["function"] == name]
        assert call.function == name
        if "still open" in how:
            last = self.events(row)[-1]
            assert call.end_position is None or call.end_position > last["index_seq"]
            return took == duration(last["timestamp_ns"] - call.start)
        assert took == duration(call.took)
        assert how == {"return": "took", "exception": "was left by an exception or jump after"}[call.outcome]
        assert number(calls) == report["calls"]
        assert (median, high_ns) == (duration(report["p50_ns"]), duration(report[f"{high}_ns"]))
        ordered = self.durations(name)
        exact = ordered[-(-int(high[1:]) * len(ordered) // 100) - 1]
        assert abs(report[f"{high}_ns"] - exact) <= exact / 100 and call.took > exact
        window = self.window(row)
        assert call.took == max(c.took for t in self.threads.values() for c in t.calls if c.function == name and
                                window["startNs"] <= c.end <= window["endNs"])

    def check_slow_more(self, row, text):
        assert int(re.search(r"Calls of (\d+) more", text)[1]) == len({r["function"] for r in self.events(row)})

    def check_new_caller(self, row, text):
        name, caller, before, calls = re.match(
            r"On thread \d+ (\S+) was called by (.*) for the first time in this recording; before that (.*) had called it"
            r" \(([\d,]+) calls in the whole recording\)\.", text).groups()
        first, now = self.events(row)
        edges = {}
        for thread in self.threads.values():
            for call in thread.calls:
                if call.function == name:
                    edges.setdefault(call.parent.function if call.parent else "no recorded function", []).append(call)
        starts = {c: min(e.start for e in calls_) for c, calls_ in edges.items()}
        assert now["timestamp_ns"] == starts[caller] and now["function"] == name == first["function"]
        others = [c for c, start in starts.items() if start < starts[caller]]
        assert before == (others[0] if len(others) == 1 else f"{len(others)} other functions")
        assert first["timestamp_ns"] == min(starts.values())
        assert number(calls) == sum(len(edges[c]) for c in others)

    def check_new_caller_more(self, row, text):
        assert number(text.split()[0]) == len(self.events(row)) or len(self.events(row)) == 64

    def check_error_return(self, row, text):
        name, value, error, rest = re.match(r"On thread \d+ (\S+) returned ([^ ;]+)(?: \((E\w+)\))?; (.*)", text).groups()
        errors, returns = ("1", "1") if rest == "no other return of it in this window has detail." else re.match(
            r"([\d,]+) of its ([\d,]+) returns with detail in this window (?:is|are) ", rest).groups()
        event, = self.events(row)
        assert (event["function"], event["kind"]) == (name, "return")
        kept = [each for each in event["detail"].get("captured", []) if each["argument"] == 7]
        assert [errno.errorcode[int.from_bytes(bytes.fromhex(each["bytes"]), "little")] for each in kept] == [error] * bool(error)
        register = int(event["detail"]["rax"], 16) & 0xffffffff
        assert value == "NULL" if not register else register - 2**32 == int(value)
        window = self.window(row)
        results = [int(r["detail"]["rax"], 16) & 0xffffffff for t in self.threads.values() for r in t.rows if r["function"] == name and
                   r["kind"] == "return" and r["detail"] and window["startNs"] <= r["timestamp_ns"] <= window["endNs"]]
        assert (number(errors), number(returns)) == (sum(r >= 2**31 or not r and value == "NULL" for r in results), len(results))

    def mark_followed(self, row, text):
        """The mark of which a sentence tells what followed."""
        marks = self.window(row)["marks"]
        later = re.match(r"After its mark at (\S+) thread (\d+) called ", text)
        if later:
            return next(m for m in marks if m["tsNs"] == self.ns(later[1]) and m["thread"] == int(later[2]))
        if text.startswith("The marked call"):
            return next(m for m in marks if m["indexSeq"] == row["evidence"][0]["first"] and m["thread"] == row["evidence"][0]["thread"])
        number = int(re.search(r"thread (\d+)", text)[1])
        return next(m for m in marks if m["thread"] == number)

    def check_followed(self, row, text):
        mark, thread, event = self.marked(row, self.mark_followed(row, text))
        window = self.window(row)
        end = thread.before(window["endNs"] + 1)
        calls = {c.position: c for c in thread.calls}
        if text.startswith("The marked call"):
            call = calls[mark["indexSeq"]]
            return f"{call.function} returned after {duration(call.took)}." in text or \
                f"{call.function} was left by an exception or jump after {duration(call.took)}." in text and call.outcome == "exception"
        if text.startswith(("Then thread", "After its mark")):
            after = [c for c in thread.calls if mark["indexSeq"] < c.position < end and c.depth <= event["depth"]]
            told = re.findall(r"([\w@.]+) \((.*?)\)", text)
            assert 0 < len(told) == min(4, len(after))
            for (name, how), call in zip(told, after):
                ended = call.end_position is not None and call.end_position < end
                left = ", left by an exception or jump" if call.outcome == "exception" else ""
                assert (name, how) == (call.function, duration(call.took) + left if ended else "without an end in the window")
            more = re.search(r"([\d,]+) more calls?", text)
            return (number(more[1]) if more else 0) == len(after) - len(told)
        left = [r for r in thread.rows[mark["indexSeq"] + 1:end] if r["kind"] == "exception"]
        if "ended by an exception or jump" in text:
            assert number(text.split()[0]) == len(left) and left[0]["function"] in text
            return self.events(row)[0] == left[0]
        none = re.match(r"No event follows on thread \d+ in this window; (.*)", text)
        if none:
            assert end - 1 == mark["indexSeq"]
            rest = none[1]
        else:
            count, time, rest = re.match(r"([\d,]+) events? follows? on thread \d+ in this window, to (\S+); then (.*)", text).groups()
            assert 0 < number(count) == end - 1 - mark["indexSeq"] and self.ns(time) == thread.rows[end - 1]["timestamp_ns"]
        frames = thread.open_at(end)
        return rest == "no call was open." if not frames else self.check_frames(row, rest.partition("it was in ")[2], frames)

    def check_threads(self, row, text):
        threads, events = re.match(r"(\d+) more threads? recorded ([\d,]+) events? together\.", text).groups()
        assert int(threads) == len(row["evidence"]) and number(events) == len(self.events(row))
        assert int(threads) + len(self.of("thread")) == len(self.threads)

    def check_other_threads(self, row, text):
        mark = self.mark_before(row)
        begun = [t for t in self.threads.values() if t.before(mark["tsNs"] + (mark["thread"] is None))]
        at = next(i for i, r in enumerate(self.rows) if r is row)
        told = 0
        while self.rows[at - told - 1]["kind"] == "other-thread":
            told += 1
        assert int(text.split()[0]) == len(row["evidence"]) == len(begun) - told - (mark["thread"] is not None)
        assert all(r["timestamp_ns"] < mark["tsNs"] for r in self.events(row))

    @staticmethod
    def likeness(row):
        """Windows of which this is the same are told once; None: nothing is told of a cause."""
        cause = row.get("cause") if row["kind"] == "headline" else None
        return cause and (cause["kind"], cause["function"], cause["function_waited"], cause["object"] if cause["kind"] == "lock" else None,
                          cause["culprit_function"])

    def check_windows(self, row, text):
        count, kind, which = re.match(r"([\d,]+) more windows? (?:was|were) triggered by (.*?), from .* marks?: (.*)\.", text).groups()
        all_windows = self.ada.rows("windows", self.session)
        told = {r["window"] for r in self.rows if r["window"] is not None}
        like = [w["window"] for w in all_windows if w["triggerKind"] == kind and w["window"] not in told]
        if any(" like it, " in r["text"] for r in self.of("headline")):
            counted = {self.likeness(r) for r in self.of("headline")} - {None}
            like = [w for w in like if not {self.likeness(r) for r in self.ada.rows("narrate", self.session, f"--window={w}")} & counted]
        assert number(count) == len(like)
        assert which == (f"window {like[0]}" if len(like) == 1 else
                         f"the first of them is window {like[0]}, the last window {like[-1]}")

    # --- crashes --------------------------------------------------------------------------------------------------------

    def check_unrecorded_crash(self, row, text):
        """No handler could run: the deepest recursion is to blame."""
        cause = row["crash"]
        thread = self.threads[row["process"], cause["thread"]]
        frames = thread.open_at(len(thread.rows))
        assert cause["kind"] == "overflow" and frames[-1].position == cause["index_seq"]
        depth = next((i for i, f in enumerate(frames[::-1]) if f.function != cause["function"]), len(frames))
        return depth == cause["depth"] == number(re.search(r"in itself ([\d,]+) times", text)[1])

    def crash(self, row):
        crash = self.manifests[row["process"]]["crash"]
        if crash is None:       # no handler could run: the thread is the one that the cause names
            number_ = next(r["crash"]["thread"] for r in self.rows if "crash" in r and r["process"] == row["process"])
            thread = self.threads[row["process"], number_]
            return {"timestampNs": thread.rows[-1]["timestamp_ns"]}, thread, len(thread.rows)
        entry = next(t for t in self.manifests[row["process"]]["threads"] if t["tid"] == crash["tid"])
        thread = self.threads[row["process"], entry["id"]]
        return crash, thread, thread.before(crash["timestampNs"] + 1)

    def check_crash_cause(self, row, text):
        if self.manifests[row["process"]]["crash"] is None:
            return self.check_unrecorded_crash(row, text)
        cause, (crash, thread, end) = row["crash"], self.crash(row)
        assert cause["signal"] == self.signal(crash["signal"]) and cause["address"] == (crash["faultAddress"] if crash["code"] > 0 else None)
        open_calls = [c for c in thread.open_at(end) if c.position == cause["index_seq"]]
        assert [c.function for c in open_calls] == [cause["function"]] * (cause["index_seq"] is not None)
        assert cause["kind"] != "unknown" or cause["culprit_thread"] is None
        return f" crashed with {cause['signal']}" in text or cause["kind"] in ("double-free", "exception", "noexcept", "assertion")

    def check_crash_frames(self, row, text):
        _, thread, end = self.crash(row)
        frames = thread.open_at(end)[::-1]
        assert self.positions(row) == [f.position for f in frames[:16]]
        assert re.findall(r"(?:: |; )#(\d+) ", text) == [str(i) for i in range(min(16, len(frames)))]
        return all(f"#{i} {frame.function}" in text for i, frame in enumerate(frames[:16]))

    def check_crash_registers(self, row, text):
        registers = self.manifests[row["process"]]["crash"]["registers"]
        return text == "The registers: " + ", ".join(f"{name}={value}" for name, value in registers.items()) + "."

    def check_crash(self, row, text):
        if self.manifests[row["process"]]["crash"] is None:
            return text.startswith("SIGSEGV ended the process") and self.manifests[row["process"]]["exit"]["signal"] == 11
        crash, thread, end = self.crash(row)
        assert self.ns(re.search(r"crashed at (\S+) with", text)[1]) == crash["timestampNs"]
        assert f"(tid {crash['tid']})" in text and f"with {self.signal(crash['signal'])}" in text
        assert crash["signal"] == 6 or crash["code"] <= 0 or crash["code"] == 128 or f"at address {crash['faultAddress']}" in text
        assert self.events(row) == [thread.rows[end - 1]]

    def check_crash_address(self, row, text):
        crash, _, _ = self.crash(row)
        assert f"The instruction pointer was {crash['registers']['rip']}, " in text

    def check_open_frames(self, row, text):
        _, thread, end = self.crash(row)
        frames = thread.open_at(end)
        assert int(text.split()[0]) == len(frames)
        self.check_frames(row, text.partition(": ")[2], frames)

    def check_last_calls(self, row, text):
        _, thread, end = self.crash(row)
        ended = sorted((c for c in thread.calls if c.end_position is not None and c.end_position < end), key=lambda c: c.end_position)[-5:]
        told = re.findall(r"([\w@.]+) \((.*?)\)", text.partition(": ")[2])
        assert told == [(c.function, duration(c.took) + (", left by an exception or jump" if c.outcome == "exception" else "")) for c in ended]
        assert self.positions(row) == [min(c.position for c in ended)] and row["evidence"][-1]["last"] == ended[-1].end_position
