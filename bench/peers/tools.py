"""The tracers: for each, how a command is run under it, and how many events it recorded.

A tool has `build`, the build of a program that it needs (programs.py), and three steps: prepare(), command(), count(). `cheap`
says that count() costs so little that every round has one; of the others one round is counted. `share`: of the calls of a small
workload, where they take too long.
"""
import array
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

from measure import Skipped, run

Count = collections.namedtuple("Count", "recorded lost bytes")  # lost: None where the tool doesn't know; bytes: of all its files
HALF_MIB, BUFFER = 512 << 10, 64 << 20                           # ada's own default; what can be told gets as much


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Skipped(f"{name} is not installed")


def size(*paths):
    """Of files, and of all that directories hold."""
    return sum(file.stat().st_size for path in paths for file in [path, *path.rglob("*")] if file.is_file())


class Untraced:
    key, title, build, cheap, share = "untraced", "untraced", "plain", False, 1

    def check(self, row):
        """Raises Skipped where this can't be measured."""

    def prepare(self, place):
        pass

    def command(self, argv, place, row):
        return argv, {}

    def count(self, place, outcome, program):
        return None

    def made(self, argv, place):
        """How many events there are, where the tool itself can't say."""

    def finish(self):
        """What prepare() began."""

    def close(self):
        """At the end of everything."""

    def pids(self):
        """Processes of the tool's own that the command doesn't start."""
        return []


class Ada(Untraced):
    cheap = True

    def __init__(self, key, title, ada, cache, *options):
        self.key, self.title, self.ada, self.cache, self.options = key, title, ada, cache, options

    def command(self, argv, place, row):
        words = [self.ada, "trace", "--quiet", f"--output={place / 'traces'}", *self.options, *row.ada_options, "--", *argv]
        return words, {"XDG_CACHE_HOME": str(self.cache)}

    def count(self, place, outcome, program):
        lanes = [json.loads(path.read_text())["index_lane"] for path in (place / "traces").glob("session_*/pid_*/manifest.json")]
        if not lanes:
            raise Skipped("no recording")
        return Count(sum(lane["event_count"] for lane in lanes), sum(lane["lost"] for lane in lanes), size(place / "traces"))


class Uftrace(Untraced):
    def __init__(self, key, title, build, *options):
        self.key, self.title, self.build, self.options = key, title, build, options

    def check(self, row):
        need("uftrace")

    def command(self, argv, place, row):
        return ["uftrace", "record", "--no-libcall", "--no-event", "-d", place / "uftrace", *self.options, *argv], {}

    def count(self, place, outcome, program):
        """Its files are records of 16 bytes: time; type (2 bits), more, magic (3 bits: 5), depth, address."""
        kinds, lost = collections.Counter(), 0
        for path in (place / "uftrace").glob("[0-9]*.dat"):
            words = array.array("Q")
            words.frombytes(path.read_bytes()[:path.stat().st_size // 16 * 16])
            words = words[1::2]
            if any(word >> 3 & 7 != 5 for word in words[:1000]):
                raise Skipped(f"{path.name} is not what uftrace 0.13 writes")
            kinds.update(word & 3 for word in words)
            lost += sum(word >> 16 for word in words if word & 3 == 2)
        return Count(kinds[0] + kinds[1], lost, size(place / "uftrace"))


class Xray(Untraced):
    key, title, build = "xray", "XRay FDR", "xray"

    def check(self, row):
        need("llvm-xray")

    def command(self, argv, place, row):
        options = f"func_duration_threshold_us=0:buffer_size={16 << 10}:buffer_max={BUFFER // (16 << 10)}"
        return argv, {"BENCH_XRAY": options, "XRAY_OPTIONS": f"xray_logfile_base={place / 'xray.'}"}

    def count(self, place, outcome, program):
        """As raw records it is a header and 32 bytes each."""
        total, paths = 0, list(place.glob("xray.*"))
        for path in paths:
            convert = subprocess.Popen(["llvm-xray", "convert", "-f", "raw", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            length = 0
            while piece := convert.stdout.read(HALF_MIB):
                length += len(piece)
            convert.wait()
            total += max(length - 32, 0) // 32
        return Count(total, None, size(*paths))

    def made(self, argv, place):
        return counted(argv, place, {})


def counted(argv, place, environment):
    path = place / "count"
    run(argv, place, {"BENCH_COUNT": str(path), **environment})
    return int(path.read_text()) if path.exists() else None


class Lttng(Untraced):
    """A session in memory that keeps the newest, and a snapshot of it at the end. The daemon is ours, unless one runs already."""
    key, title, build = "lttng", "LTTng-UST", "cyg"
    PRELOAD, SESSION = "liblttng-ust-cyg-profile-fast.so", f"ada-bench-{os.getpid()}"

    def __init__(self, home, counter):
        self.home, self.counter, self.daemon = home, counter, None

    def check(self, row):
        need("lttng", "lttng-sessiond", "babeltrace2")

    def lttng(self, *words):
        told = subprocess.run(["lttng", "--no-sessiond", *words], env=self.environment(), capture_output=True, text=True, timeout=30)
        if told.returncode:
            raise Skipped(f"lttng {words[0]}: {(told.stderr or told.stdout).strip().splitlines()[-1][:80]}")

    def environment(self):
        return {**os.environ, "LTTNG_HOME": str(self.home)}

    def begin(self):
        self.home.mkdir(exist_ok=True)
        if subprocess.run(["lttng", "--no-sessiond", "list"], env=self.environment(), capture_output=True).returncode == 0:
            self.daemon = False
            return
        run(["lttng-sessiond", "--daemonize", "--no-kernel"], self.home, {"LTTNG_HOME": str(self.home)})
        ids = pathlib.Path("/var/run/lttng" if os.geteuid() == 0 else self.home / ".lttng") / "lttng-sessiond.pid"
        self.daemon = int(ids.read_text())

    def prepare(self, place):
        if self.daemon is None:
            self.begin()
        self.lttng("create", self.SESSION, "--snapshot", f"--output={place / 'lttng'}")
        self.lttng("enable-channel", "--userspace", "--session", self.SESSION, f"--subbuf-size={BUFFER // 16}", "--num-subbuf=16", "c")
        self.lttng("enable-event", "--userspace", "--session", self.SESSION, "--channel=c", "lttng_ust_cyg_profile*")
        self.lttng("start", self.SESSION)

    def command(self, argv, place, row):
        return argv, {"LD_PRELOAD": self.PRELOAD, "LTTNG_UST_REGISTER_TIMEOUT": "-1", "LTTNG_HOME": str(self.home)}

    def count(self, place, outcome, program):
        self.lttng("snapshot", "record", "--session", self.SESSION)
        told = subprocess.run(["babeltrace2", place / "lttng", "--component=sink.utils.counter"], capture_output=True, text=True)
        found = re.findall(r"(\d+) Event messages", told.stdout)
        return Count(int(found[-1]) if found else 0, None, size(place / "lttng"))

    def made(self, argv, place):
        return counted(argv, place, {"LD_PRELOAD": str(self.counter)})

    def finish(self):
        self.lttng("destroy", self.SESSION)

    def close(self):
        if self.daemon:
            os.kill(self.daemon, signal.SIGTERM)

    def pids(self):
        return [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*") if name_of(path).startswith("lttng-")]


def name_of(process):
    try:
        return (process / "comm").read_text()
    except OSError:
        return ""


class Perf(Untraced):
    """Probes at entry and return of the few functions that a row names, in a mount namespace that has tracefs."""
    key, title, share = "perf", "perf uprobes", 0.02
    GROUP = f"adabench{os.getpid()}"

    def check(self, row):
        need("perf", "unshare")
        if not row.functions:
            raise Skipped("only in the first rows: an event takes microseconds")

    def command(self, argv, place, row):
        probes = " ".join(f"--add '{self.GROUP}:{name}_in={name}' --add '{self.GROUP}:{name}_out={name}%return'" for name in row.functions)
        return self.inside(f"perf probe -q -x \"$1\" {probes} && "
                           f"perf record -m 16M -e '{self.GROUP}:*' -o {place / 'perf.data'} \"$@\"", argv), {}

    @staticmethod
    def inside(script, argv=()):
        mount = "[ -e /sys/kernel/tracing/uprobe_events ] || mount -t tracefs tracefs /sys/kernel/tracing || exit; "
        return ["unshare", "-m", "sh", "-c", mount + script, "perf", *argv]

    def finish(self):
        """The probes are the kernel's, and outlive whoever put them there."""
        subprocess.run(self.inside(f"perf probe -q -d '{self.GROUP}:*'"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def count(self, place, outcome, program):
        found = re.search(rb"\((\d+) samples\)", outcome.errors)
        lost = re.search(rb"lost (\d+)", outcome.errors)
        return Count(int(found[1]) if found else 0, None if lost else 0, size(place / "perf.data"))


def all_tools(ada, place, counter):
    cache = place / "cache"
    return [
        Untraced(),
        Ada("ada", "ada, index to disk", ada, cache, "--detail=off"),
        Ada("ada-memory", "ada, index in memory", ada, cache, "--detail=off", "--index-mode=circular"),
        Ada("ada-detail", "ada, with detail, to disk", ada, cache),
        Ada("ada-packed", "ada, with detail, packed", ada, cache, "--pack=always"),
        Ada("ada-detail-memory", "ada, with detail, in memory", ada, cache, "--index-mode=circular"),
        Uftrace("uftrace", "uftrace -P .", "plain", "-P", "."),
        Uftrace("uftrace-pg", "uftrace, -pg", "pg"),
        Lttng(place / "lttng", counter),
        Xray(),
        Perf(),
    ]
