"""What is measured: programs that say when each unit of their work is done, and servers under a benchmark of their own.

A work is run by one(words, place, amount), where `words` are what ada's command begins with, or nothing. It returns a dict: a paced work
`units`, when each was done, and `end`, both in seconds since it began; a server `rate`, answers a second, and `p99`, ms. Servers are also
measured by_turns([(words, place)...]), all of them in the same minute; what it returns is a list of such dicts.
"""
import contextlib
import csv
import itertools
import os
import pathlib
import pwd
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "peers"))
from measure import Skipped, end, run, start  # noqa: E402  (the path is set above)
import programs  # noqa: E402
from rows import PYTHON, REDIS, present, text_file  # noqa: E402

WAIT_S, WARM_S, SERVED_S, TURNS = 60, 2, 15, 3
MIB = 1 << 20
POSTGRES = pathlib.Path("/usr/lib/postgresql/15/bin")


def stamps(stream, begun):
    """When each line came."""
    return [time.monotonic() - begun for _ in stream]


def await_path(path, process):
    deadline = time.monotonic() + WAIT_S
    while not path.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise Skipped("the server does not begin")
        time.sleep(0.005)


class Paced:
    """A program that prints a line a unit."""
    kind = "paced"

    def __init__(self, key, argv):
        self.key, self.argv = key, argv

    def one(self, words, place, amount):
        with open(place / "stderr", "w+b") as errors:
            begun = time.monotonic()
            process = start([*words, *self.argv(place), amount], place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
            try:
                units = stamps(process.stdout, begun)
                status = process.wait(WAIT_S)
            finally:
                end(process)
            if status or len(units) != amount:
                errors.seek(0)
                raise Skipped(f"ended with {status} after {len(units)} units: {errors.read()[-200:].decode(errors='replace')}")
        return {"units": units, "end": time.monotonic() - begun}


class Fed(Paced):
    """A program that takes a MiB of its input a unit."""

    def one(self, words, place, amount):
        text = text_file(place.parent, 24e6).read_bytes()
        pieces = itertools.cycle(text[at:at + MIB] for at in range(0, len(text) - MIB, MIB))
        begun, units = time.monotonic(), []
        process = start([*words, *self.argv(place)], place, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for piece in itertools.islice(pieces, amount):
                process.stdin.write(piece)
                units.append(time.monotonic() - begun)
            process.stdin.close()
            if process.wait(WAIT_S):
                raise Skipped("it failed")
        finally:
            end(process)
        return {"units": units, "end": time.monotonic() - begun}


class Asked(Paced):
    """A server: its client prints a line a unit, and its time is counted from the client's first word."""

    def one(self, words, place, amount):
        program = self.argv(place)
        with open(place / "stderr", "w+b") as errors:
            server = start([*words, program, "serve", place / "socket"], place, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
            try:
                await_path(place / "socket", server)
                begun = time.monotonic()
                client = start([program, "ask", place / "socket", amount], place, stdout=subprocess.PIPE)
                try:
                    units = stamps(client.stdout, begun)
                finally:
                    end(client)
                over = time.monotonic() - begun
                server.wait(WAIT_S)
            finally:
                end(server)
        if len(units) != amount:
            raise Skipped(f"answered only {len(units)} units")
        return {"units": units, "end": over}


class Server:
    """Whoever derives from it begins the server, puts it under load for some seconds (bench), and has it end (finish)."""
    kind = "served"

    def __init__(self, key, warm_s=WARM_S, seconds=SERVED_S):
        self.key, self.warm_s, self.seconds = key, warm_s, seconds

    def one(self, words, place, amount):
        process = self.begin(words, place)
        try:
            self.bench(place, self.warm_s)
            found = self.bench(place, self.seconds)
            self.finish(place, process)
            process.wait(WAIT_S)
        finally:
            end(process)
        return found

    def by_turns(self, runs):
        """All servers are up, and had the warm-up; one at a time is under load, while the others and their recorders are stopped."""
        with contextlib.ExitStack() as stack:
            up = []
            for words, place in runs:
                process = self.begin(words, place)
                stack.callback(end, process)
                self.bench(place, self.warm_s)
                os.killpg(process.pid, signal.SIGSTOP)
                up.append((process, place, []))
            for turn in range(TURNS):
                for process, place, found in up[::-1 if turn % 2 else 1]:
                    os.killpg(process.pid, signal.SIGCONT)
                    found.append(self.bench(place, self.seconds))
                    os.killpg(process.pid, signal.SIGSTOP)
            for process, place, _ in up:
                os.killpg(process.pid, signal.SIGCONT)
                self.finish(place, process)
                process.wait(WAIT_S)
        return [{name: statistics.median(one[name] for one in found) for name in found[0]} for _, _, found in up]


class Redis(Server):
    RATE = 50000

    def begin(self, words, place):
        server = place / "redis-server"         # Debian's own package would start a service
        server.symlink_to(present(REDIS, "redis-tools"))
        process = start([*words, server, "--port", "0", "--unixsocket", place / "socket", "--save", "", "--appendonly", "no"], place,
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_path(place / "socket", process)
        while subprocess.run(["redis-cli", "-s", place / "socket", "ping"], capture_output=True).returncode and process.poll() is None:
            time.sleep(0.005)       # it is there before anybody listens
        return process

    def bench(self, place, seconds):
        told = run(["redis-benchmark", "-s", place / "socket", "--csv", "-n", int(self.RATE * seconds / 4), "-t", "set,get,incr,lpush"],
                   place).output.decode()
        rows = list(csv.DictReader(told.splitlines()))
        return {"rate": len(rows) / sum(1 / float(row["rps"]) for row in rows), "p99": max(float(row["p99_latency_ms"]) for row in rows)}

    def finish(self, place, process):
        subprocess.run(["redis-cli", "-s", place / "socket", "shutdown", "nosave"], capture_output=True)


class Postgres(Server):
    def __init__(self, key, *options):
        super().__init__(key)
        self.options = options

    def as_user(self, place, *words):
        """It runs as nobody but an unprivileged user."""
        if os.geteuid():
            return list(words)
        try:
            user = pwd.getpwnam("postgres")
        except KeyError:
            raise Skipped("postgresql is not installed") from None
        os.chown(place, user.pw_uid, user.pw_gid)
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--", *words]     # in its place: no process between

    def made(self, place):
        """A database, made once and copied."""
        made = place.parent / "postgres"
        if not made.exists():
            present(POSTGRES / "initdb", "postgresql")
            made.mkdir()
            run(self.as_user(made, POSTGRES / "initdb", "-A", "trust", "-N", "-D", made / "data"), place)
            with (made / "data/postgresql.conf").open("a") as out:
                out.write("listen_addresses = ''\nshared_buffers = 64MB\nfsync = off\nautovacuum = off\n")
            process = self.serve([], made)
            self.query(made, "pgbench", "-i", "-q", "-s", "5", "postgres")
            self.finish(made, process)
            process.wait(WAIT_S)
        return made

    def serve(self, words, place):
        command = [*words, POSTGRES / "postgres", "-D", place / "data", "-k", place]
        process = start(self.as_user(place, *command), place, {"HOME": str(place)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                        stderr=open(place / "stderr", "wb"))
        await_path(place / ".s.PGSQL.5432", process)
        while subprocess.run(self.as_user(place, POSTGRES / "pg_isready", "-q", "-h", place)).returncode:
            time.sleep(0.02)
        return process

    def begin(self, words, place):
        shutil.copytree(self.made(place) / "data", place / "data", symlinks=True)
        if not os.geteuid():
            subprocess.run(["chown", "-R", "postgres:", place], check=True)
        return self.serve(words, place)

    def query(self, place, program, *words):
        return run(self.as_user(place, POSTGRES / program, "-h", place, *words), place).output.decode()

    def bench(self, place, seconds):
        for log in place.glob("latency*"):
            log.unlink()
        told = self.query(place, "pgbench", "-n", "-c", "4", "-T", seconds, "-l", f"--log-prefix={place}/latency", *self.options, "postgres")
        latencies = sorted(int(line.split()[2]) for log in place.glob("latency*") for line in log.read_text().splitlines())
        return {"rate": float(re.search(r"tps = ([0-9.]+)", told).group(1)), "p99": latencies[len(latencies) * 99 // 100] / 1000}

    def finish(self, place, process):
        pid = (place / "data/postmaster.pid").read_text().splitlines()[0]
        os.kill(int(pid), 2)


def all_works(place):
    lua = programs.lua(place)
    sqlite = programs.Program(place, HERE / "sqlite.c", archive=["-l:libsqlite3.a"], libraries=["-lm", "-ldl", "-lz"])

    def server(_):
        target = place / "server"
        if not target.exists():
            programs.compile_(["g++", "-O2", "-g", HERE / "server.cc", "-o", target])
        return target

    return [
        *(Paced(f"lua-{name}", lambda at, name=name: [lua.path("plain"), HERE / f"{name}.lua"]) for name in ("calls", "tables", "objects")),
        Paced("sqlite", lambda at: [sqlite.path("plain")]),
        Paced("python", lambda at: [present(PYTHON, "python3.11"), "-BS", HERE / "units.py"]),
        Fed("zstd", lambda at: [present(shutil.which("zstd"), "zstd"), "-q5c"]),
        Asked("server", server),
        Redis("redis"),
        Postgres("pgbench -S", "-S"),
        Postgres("pgbench"),
    ]
