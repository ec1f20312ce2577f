"""The rows of the peer table: what is run, and what of it is measured."""
import collections
import functools
import os
import pathlib
import random
import shutil
import subprocess
import time

import programs
from measure import Skipped, end, memory_mib, run, start, tree

HERE = pathlib.Path(__file__).resolve().parent
PYTHON, REDIS = "/usr/bin/python3.11", "/usr/bin/redis-check-rdb"
CALLS, PARTS = 2000000, {"threads": 0.5, "cold": 4}        # of each thread; of the calls of others
CHILDREN, STARTS = 200, 10

Sample = collections.namedtuple("Sample", "value made count")


class Row:
    """`kind`: of what its values are (table.py); `rounds`: so many at most. A tool that isn't for it raises Skipped."""
    functions, ada_options, rounds = (), (), 100
    floor_ns = None
    clears = True       # what a run leaves goes before the next

    def __init__(self, key, title, scale):
        self.key, self.title, self.scale = key, title, scale

    def made(self, tool, place):
        """The events of a run, where a sample doesn't say."""

    def argv(self, tool, place):
        raise NotImplementedError

    def traced(self, tool, place, counting):
        """One run of a command under a tool: its outcome, and what was recorded."""
        argv = self.argv(tool, place)
        tool.prepare(place)
        try:
            outcome = run(*self.under(tool, argv, place))
            return outcome, tool.count(place, outcome, argv[0]) if counting else None
        finally:
            tool.finish()

    def under(self, tool, argv, place):
        command, environment = tool.command(argv, place, self)
        return command, place, environment


class Micro(Row):
    kind = "micro"

    def __init__(self, key, title, scale, program, cpus, functions):
        super().__init__(key, title, scale)
        self.program, self.cpus, self.functions = program, cpus, functions

    def words(self, variant, name, calls):
        return [self.program.path(variant), name, str(max(int(calls * self.scale), 64)), *map(str, self.cpus)]

    def argv(self, tool, place):
        return self.words(tool.build, self.key, CALLS * PARTS.get(self.key, 1) * tool.share)

    def sample(self, tool, place, counting):
        outcome, count = self.traced(tool, place, counting)
        timed, ns, made = map(int, outcome.output.split()[-3:])
        return Sample(ns / timed, made, count)

    def floor_ns(self, place):
        timed, ns, _ = map(int, run(self.words("plain", "floor", 2 * CALLS), place).output.split())
        return ns / timed


class Whole(Row):
    """A program from fork to exit, in seconds."""
    kind = "program"

    def __init__(self, key, title, scale, floor, words, program=None):
        """`program`: makes one of ours, when the row is first run."""
        super().__init__(key, title, scale)
        self.floor_ns, self.words, self.program = floor, words, functools.cache(program) if program else None

    def argv(self, tool, place):
        if self.program:
            return [self.program().path(tool.build), *self.words(place)]
        if tool.build != "plain":
            raise Skipped("Debian's build, without its hooks")
        return self.words(place)

    def made(self, tool, place):
        return tool.made(self.argv(tool, place), place)

    def sample(self, tool, place, counting):
        outcome, count = self.traced(tool, place, counting)
        return Sample(outcome.seconds, None, count)


class Redis(Whole):
    """The time of redis-benchmark; what the server made before and behind is little."""

    def sample(self, tool, place, counting):
        argv = self.argv(tool, place)
        command, environment = tool.command(argv, place, self)
        with open(place / "stdout", "wb") as output, open(place / "stderr", "w+b") as errors:
            server = start(command, place, environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
            try:
                client = ["redis-cli", "-s", place / "socket"]
                deadline = time.monotonic() + 30
                while subprocess.run([*client, "ping"], capture_output=True).stdout != b"PONG\n":
                    if server.poll() is not None or time.monotonic() > deadline:
                        raise Skipped("the server does not answer")
                    time.sleep(0.02)
                requests = max(int(30000 * self.scale), 1000)
                seconds = run(["redis-benchmark", "-s", place / "socket", "-q", "-P", "16", "-n", requests, "-t", "set,get"],
                              place).seconds
                subprocess.run([*client, "shutdown", "nosave"], capture_output=True)
                server.wait(60)
            except subprocess.TimeoutExpired:
                raise Skipped("the server does not end") from None
            finally:
                end(server)
        return Sample(seconds, None, tool.count(place, None, argv[0]) if counting else None)


class Start(Row):
    """What a command costs from fork to exit, ms; of many, each."""
    kind, rounds = "start", 5
    clears = False      # its files are small and many; ext4 passes over the numbers of each that went in the last minute, so the next pays

    def __init__(self, key, title, scale, words, parts, times):
        super().__init__(key, title, scale)
        self.words, self.parts, self.times = words, parts, times

    def argv(self, tool, place):
        if tool.build != "plain":
            raise Skipped("Debian's build, without its hooks")
        return self.words

    def sample(self, tool, place, counting):
        seconds, first = 0, None
        for turn in range(self.times):
            at = place / str(turn)
            at.mkdir()
            outcome, count = self.traced(tool, at, counting and turn == 0)
            seconds += outcome.seconds
            first = first or count
        return Sample(seconds * 1000 / self.parts / self.times, None, first)


class Memory(Row):
    """MiB of a program with idle threads, its tracer included."""
    kind, rounds = "memory", 3          # it hardly varies, and each takes a second

    def __init__(self, key, title, scale, program, threads):
        super().__init__(key, title, scale)
        self.program, self.threads = program, threads

    def argv(self, tool, place):
        return [self.program.path(tool.build), self.threads]

    def sample(self, tool, place, counting):
        tool.prepare(place)
        before = memory_mib(tool.pids())
        try:
            with open(place / "stderr", "wb") as errors:
                process = start(*self.under(tool, self.argv(tool, place), place), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=errors)
            try:
                if process.stdout.readline() != b"ready\n":
                    raise Skipped("doesn't come so far")
                time.sleep(3)           # a tracer's own threads come to rest, and give back what they made ahead
                mib = memory_mib(tree(process.pid)) + memory_mib(tool.pids()) - before
                process.stdin.close()
                process.wait(60)
            except subprocess.TimeoutExpired:
                raise Skipped("does not end") from None
            finally:
                end(process)
        finally:
            tool.finish()
        return Sample(mib, None, None)


MICRO = {"leaf": ("leaf", ["leaf"]), "fib": ("fib", ["fib"]), "callers": ("64 callers", ["popular"]), "deep": ("30 deep", ["deep"]),
         "busy": ("busy body", ["busy"]), "threads": ("two threads", ["leaf"]), "cold": ("8 million calls, cold", [])}


def text_file(place, size):
    """Something to compress, always the same."""
    path, words = place / "text", random.Random(1)
    if path.exists():
        return path
    dictionary = ["".join(words.choices("etaoinshrdlu", k=words.randint(2, 9))) for _ in range(5000)]
    with path.open("w") as out:
        while out.tell() < size:
            out.write(" ".join(words.choices(dictionary, k=2000)) + "\n")
    return path


C_FUNCTION = """int f%d(int *a, int n) {
    int s = %d;
    for (int i = 0; i < n; i++) {
        switch (a[i] & 7) { case 0: s += a[i]; break; case 1: s ^= i; break; case 2: a[i] = s; break; default: s = s * 3 + n; }
        if (s > 1000) s -= a[n - 1 - i];
    }
    return s;
}
"""


def c_file(place, functions):
    path = place / "input.c"
    path.write_text("".join(C_FUNCTION % (i, i) for i in range(functions)))
    return path


def compiler():
    told = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True).stdout.strip()
    return told if os.path.isabs(told) else None


def query(n):
    return (f"CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);"
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {n})"
            "INSERT INTO t SELECT i, printf('%d-%d', i * 7919 % 10007, i), i * 0.5 FROM n; CREATE INDEX u ON t(b);"
            "SELECT COUNT(*), SUM(c), MAX(b) FROM t WHERE b LIKE '1%'; SELECT b, COUNT(*) FROM t GROUP BY substr(b, 1, 2) LIMIT 3;"
            "UPDATE t SET c = c + 1 WHERE a % 3 = 0; DELETE FROM t WHERE b < '3'; SELECT COUNT(*) FROM t;")


def present(path, package):
    if not path or not os.path.exists(path):
        raise Skipped(f"{package} is not installed")
    return path


def redis_words(place):
    server = place / "redis-server"     # Debian's own package would start a service
    server.symlink_to(present(REDIS, "redis-tools"))
    return [server, "--port", "0", "--unixsocket", place / "socket", "--save", "", "--appendonly", "no"]


def all_rows(place, scale, cpus):
    micro, idle = programs.Program(place, "micro.c", [HERE.parent / "floor.S"]), programs.Program(place, "idle.c")
    rows = [Micro(key, title, scale, micro, cpus, functions) for key, (title, functions) in MICRO.items()]
    floor = rows[0].floor_ns
    rows[-1].ada_options, rows[-1].rounds = ("--on-full=block", "--index-buffer=1G"), 3
    scripts = HERE / "scripts"

    def n(count):
        return str(max(int(count * scale), 1))

    lua, sqlite = functools.cache(lambda: programs.lua(place)), functools.cache(lambda: programs.sqlite(place))
    rows += [
        Whole("lua", "lua", scale, floor, lambda at: [scripts / "work.lua", n(800)], lua),
        Whole("lua-long", "lua, ten times as long", scale, floor, lambda at: [scripts / "work.lua", n(8000)], lua),
        Whole("sqlite", "sqlite", scale, floor, lambda at: [":memory:", query(n(15000))], sqlite),
        Whole("sqlite-long", "sqlite, ten times as long", scale, floor, lambda at: [":memory:", query(n(150000))], sqlite),
        Whole("python", "python3.11", scale, floor,
              lambda at: [present(PYTHON, "python3.11"), "-BS", scripts / "work.py", n(400)]),
        Redis("redis", "redis", scale, floor, redis_words),
        Whole("zstd", "zstd", scale, floor,
              lambda at: [present(shutil.which("zstd"), "zstd"), "-q5fo", "/dev/null", text_file(place, 24e6 * scale)]),
        Whole("cc1", "cc1", scale, floor,
              lambda at: [present(compiler(), "gcc"), "-quiet", "-O1", c_file(place, int(n(16))), "-o", "/dev/null"]),
        Start("start", "the start of true, ms", scale, ["/bin/true"], 1, STARTS),
        Start("children", "200 children of a shell, ms each", scale,
              ["/bin/sh", "-c", f"i=0; while [ $i -lt {CHILDREN} ]; do /bin/true; i=$((i+1)); done"], CHILDREN, 1),
        Memory("memory", f"{int(n(1000)):,} idle threads, MiB", scale, idle, n(1000)),
    ]
    for row in rows:
        if row.key.endswith("-long"):   # some tracers take half a minute each time
            row.rounds = 3
    return rows
