"""Runs commands and measures them: time, memory, the machine."""
import collections
import mmap
import os
import pathlib
import select
import signal
import subprocess
import time

Outcome = collections.namedtuple("Outcome", "seconds output errors")
TIMEOUT_S = 60
WARM_BYTES, HUGE_PAGE = 1 << 30, 2 << 20


class Skipped(Exception):
    """Why a peer has no figure in a row."""


def said(errors):
    """The last line of what a program complained about."""
    lines = [line for line in errors.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:100] if lines else "nothing"


def start(command, place, environment=None, **streams):
    try:
        return subprocess.Popen([str(word) for word in command], cwd=place, env={**os.environ, **(environment or {})},
                                start_new_session=True, **streams)
    except OSError as error:
        raise Skipped(f"{pathlib.Path(command[0]).name}: {error.strerror}") from error


def end(process):
    """Whatever of it still runs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def ended(process, timeout):
    """Whether it is over within that time. Popen.wait() with a time limit looks only every 50 ms."""
    descriptor = os.pidfd_open(process.pid)
    try:
        return bool(select.select([descriptor], [], [], timeout)[0])
    finally:
        os.close(descriptor)


def warm():
    """A guest gives its free memory back to the host, and the first touch of a page that it has to ask for again takes ten times as long
    (here 18 us of a page, not 1.8): so some is asked for, and freed, shortly before each run."""
    with mmap.mmap(-1, WARM_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, WARM_BYTES, HUGE_PAGE):
            memory[at] = 1


def run(command, place, environment=None, timeout=TIMEOUT_S):
    """From fork to exit. Output goes to files: nobody who keeps them open holds us up."""
    with open(place / "stdout", "w+b") as output, open(place / "stderr", "w+b") as errors:
        begun = time.monotonic()
        process = start(command, place, environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        try:
            in_time = ended(process, timeout)
            seconds = time.monotonic() - begun
            status = process.wait() if in_time else None
        finally:
            end(process)
        if not in_time:
            raise Skipped(f"took more than {timeout} s")
        output.seek(0)
        errors.seek(0)
        outcome = Outcome(seconds, output.read(), errors.read())
    if status:
        raise Skipped(f"ended with {status}: {said(outcome.errors or outcome.output)}")
    return outcome


def tree(pid):
    """A process and all below it."""
    parents = collections.defaultdict(list)
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.read_text().rpartition(")")[2].split()[1])].append(int(stat.parent.name))
        except OSError:
            continue
    found = [pid]
    for parent in found:
        found += parents[parent]
    return found


def memory_mib(pids):
    """What belongs to processes, shared pages divided among those who map them (Pss)."""
    total = 0
    for pid in pids:
        try:
            lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def cpus():
    """The two that all is pinned to; on a machine with one, that one."""
    return sorted(os.sched_getaffinity(0))[:2]


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    model = next((line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")), "an unknown CPU")
    flags = next((line.split() for line in info.splitlines() if line.startswith("flags")), [])
    huge = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    huge = huge.read_text().partition("[")[2].partition("]")[0] if huge.exists() else "none"
    return {"cpu": model, "guest": "hypervisor" in flags, "cores": os.cpu_count(), "kernel": os.uname().release,
            "huge_pages": huge, "cpus": cpus(), "load": round(os.getloadavg()[0], 1)}
