"""Every way to read a session, and what is true of each answer whatever the session is like.

An answer is 0 and whole, or 125 (of verify also 2) and one line that says what is wrong, with what could be read well-formed on standard output.
"""
import csv
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import zlib
from dataclasses import dataclass

from harness import time_left

SECONDS = 120            # of a live session, which is the larger the longer all takes
MEMORY_KIB = 256 << 10          # of an ada without sanitizers
SANITIZER = (b"AddressSanitizer", b"runtime error:", b"LeakSanitizer")

# How to ask; "@" is the session, "OUT" a file to be made. What comes back: text, json, lines (of JSON), csv, bytes.
WAYS = {
    "info": (["info", "@"], "text"),
    "info-json": (["info", "-fjson", "@"], "json"),
    "info-csv": (["info", "-fcsv", "@"], "csv"),
    "windows": (["windows", "@"], "text"),
    "windows-json": (["windows", "-fjson", "@"], "json"),
    "windows-csv": (["windows", "-fcsv", "@"], "csv"),
    "report": (["report", "@"], "text"),
    "report-json": (["report", "-fjson", "--source", "@"], "json"),
    "report-csv": (["report", "-fcsv", "@"], "csv"),
    "report-diff": (["report", "-fjson", "--diff=@", "@"], "json"),
    "graph": (["graph", "@"], "text"),
    "graph-json": (["graph", "-fjson", "@"], "json"),
    "graph-csv": (["graph", "-fcsv", "--fold", "@"], "csv"),
    "graph-callers": (["graph", "-fjson", "--function=leaf", "--callers", "@"], "json"),
    "top": (["top", "--once", "@"], "text"),
    "top-json": (["top", "--once", "-fjson", "@"], "json"),
    "narrate": (["narrate", "@"], "text"),
    "narrate-markdown": (["narrate", "-fmarkdown", "@"], "text"),
    "narrate-json": (["narrate", "-fjson", "@"], "json"),
    "dump": (["dump", "--detail", "@"], "text"),
    "dump-json": (["dump", "-fjson", "--detail", "@"], "lines"),
    "dump-csv": (["dump", "-fcsv", "--source", "@"], "csv"),
    "query-events": (["query", "-fjson", "@", "SELECT * FROM events"], "json"),
    "query-calls": (["query", "-fcsv", "@", "SELECT * FROM calls ORDER BY duration_ns DESC"], "csv"),
    "query-stats": (["query", "@", "SELECT * FROM fn_stats"], "text"),
    "query-detail": (["query", "-fjson", "@", "SELECT * FROM detail"], "json"),
    "query-others": (["query", "-fjson", "@", "SELECT (SELECT count(*) FROM functions), (SELECT count(*) FROM threads), (SELECT"
                      " count(*) FROM modules), (SELECT count(*) FROM windows), (SELECT count(*) FROM marks), (SELECT sum(events)"
                      " FROM losses), (SELECT count(*) FROM callers('leaf')), (SELECT count(*) FROM around(0, 1, 3))"], "json"),
    "export-perfetto": (["export", "-q", "-fperfetto", "@"], "bytes"),
    "export-chrome": (["export", "-q", "-fchrome", "@"], "json"),
    "export-speedscope": (["export", "-q", "-fspeedscope", "@"], "json"),
    "export-folded": (["export", "-q", "-ffolded", "@"], "text"),
    "export-svg": (["export", "-q", "-fsvg", "@"], "text"),
    "export-csv": (["export", "-q", "-fcsv", "@"], "csv"),
    "export-events": (["export", "-q", "-fcsv", "--events", "@"], "csv"),
    "export-rowbinary": (["export", "-q", "-frowbinary", "@"], "bytes"),
    "export-ctf": (["export", "-q", "-fctf", "-oOUT", "@"], "text"),
    "export-sqlite": (["export", "-q", "-fsqlite", "-oOUT", "@"], "text"),
    "trigger-test": (["trigger", "test", "@", "latency=function:leaf>10ns"], "text"),
    "trigger-test-json": (["trigger", "test", "-fjson", "@", "symbol=*"], "json"),
    "verify": (["verify", "@"], "text"),
    "verify-json": (["verify", "-fjson", "@"], "json"),
    "verify-csv": (["verify", "-fcsv", "@"], "csv"),
}
# One of each, where the condition concerns the opening, which all share.
SOME = ["info-json", "windows", "report-json", "graph", "narrate-json", "dump-json", "query-events", "export-chrome", "export-sqlite",
        "trigger-test", "verify-json"]
FEW = ["report-json", "narrate-json", "dump-json", "query-others", "export-chrome", "verify-json"]
FORMS = {name: form for name, (_, form) in WAYS.items()}


@dataclass
class Answer:
    way: str
    form: str
    status: int
    stdout: bytes
    stderr: bytes
    memory_kib: int

    def value(self):
        """What JSON says; None where nothing was printed."""
        if not self.stdout:
            return None
        if self.form == "json":
            return json.loads(self.stdout.decode("utf-8", "strict"))
        return [json.loads(line) for line in self.stdout.decode("utf-8", "strict").splitlines()]

    def completeness(self):
        value = self.value()
        return value[-1]["completeness"] if self.form == "lines" else value["completeness"]


def check_form(answer):
    if answer.form in ("json", "lines"):
        answer.value()
    elif answer.form == "csv" and answer.stdout:
        rows = list(csv.reader(io.StringIO(answer.stdout.decode("utf-8", "strict"), newline=""), strict=True))
        assert {len(row) for row in rows} == {len(rows[0])}, "rows of different width"
    elif answer.form == "text":
        assert answer.stdout.decode("utf-8", "strict").endswith("\n") or not answer.stdout


class Asker:
    """ask(WAY, SESSION): runs it, and checks what is true of every answer."""

    def __init__(self, ada, directory, sample=1):
        self.ada, self.directory, self.sample = ada, pathlib.Path(directory), sample
        self.sanitized = ada.sanitized

    def part(self, ways, case):
        """All of them; with --sample=N one in N, others for each case."""
        return ways[zlib.crc32(case.encode()) % self.sample::self.sample]

    def run(self, way, argv, form="text", seconds=SECONDS, **options):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            options = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err, **options}
            process = subprocess.Popen([str(word) for word in [self.ada.path, *argv]], start_new_session=True, **options)
            begun = time.monotonic()

            def over(*_):
                left = time_left(process.pid, begun, seconds)
                if left > 0:
                    signal.setitimer(signal.ITIMER_REAL, left)
                else:
                    os.killpg(process.pid, signal.SIGKILL)
            before = signal.signal(signal.SIGALRM, over)
            signal.alarm(seconds)
            _, status, usage = os.wait4(process.pid, 0)
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            return Answer(way, form, process.returncode, out.read(), err.read(), usage.ru_maxrss)

    def __call__(self, way, session, statuses=None, **options):
        argv, form = WAYS[way]
        made = self.directory / f"made-{way}"
        answer = self.run(way, [word.replace("OUT", str(made)).replace("@", str(session)) for word in argv], form, **options)
        try:
            self.check(answer, statuses or ((0, 1, 2, 125) if way.startswith("verify") else (0, 125)))
            left = [name for name in os.listdir(self.directory) if name.startswith(f"{made.name}.ada-")]
            assert not left, f"left behind: {left}"
        except Exception as problem:
            raise AssertionError(f"{way}: {problem}: status {answer.status}, stderr {answer.stderr[-2000:]!r}, "
                                 f"stdout {answer.stdout[-500:]!r}") from problem
        finally:
            if made.exists():
                subprocess.run(["rm", "-rf", made], check=True)
        return answer

    def check(self, answer, statuses):
        assert not any(word in answer.stderr for word in SANITIZER), "a sanitizer speaks"
        assert answer.status >= 0, "killed"
        assert answer.status in statuses, "status"
        # That no function has a name that the statement gives isn't a failure.
        lines = sum(not line.startswith(b"ada query: No function of the recording is called ") for line in answer.stderr.splitlines())
        if answer.status or not (answer.way.startswith("query") and answer.stderr.endswith(b" lost\n")):
            assert lines == (1 if answer.status in (2, 125) else 0), "one line on stderr if it failed, none otherwise"
        assert answer.stderr.startswith(b"ada ") or not answer.stderr, "the line doesn't say who speaks"
        assert not set(answer.stderr) & set(range(32)) - {10}, "control characters on stderr"
        assert b"\x1b" not in answer.stdout or answer.form in ("csv", "bytes"), "colours"      # CSV has names as they are
        # The kernel counts what the parent had until the program was executed.
        mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert self.sanitized or answer.memory_kib < max(MEMORY_KIB, mine + 1), f"memory: {answer.memory_kib} KiB"
        check_form(answer)
