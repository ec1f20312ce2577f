"""An independent reading of the scheduling lane's files."""
import struct

OFF, PREEMPTED, ON, FAULT, LOST = range(1, 6)
READY = 7                  # of samples.atf


def read_records(path):
    """(ns, count, tid, pid, other, kind, cpu), of a finished file."""
    data = path.read_bytes()
    assert data[:4] == b"ATS2" and data[-64:-60] == b"2STA"
    count, = struct.unpack_from("<Q", data, 40)
    assert len(data) == 128 + 32 * count
    return [struct.unpack_from("<QQIIIHH", data, 64 + 32 * i) for i in range(count)]


def off_between(records, tid, start, end):
    """How long the thread was off its CPU, as the records say; None: they don't reach so far back."""
    off, since, known = 0, None, records[0][0] <= start
    for ns, _, of, _, _, kind, _ in records:
        if of != tid or kind not in (OFF, PREEMPTED, ON):
            continue
        if kind != ON:
            since = ns
        elif since is not None:
            off += max(0, min(ns, end) - max(since, start))
            since = None
        elif ns > start:        # it waited since before the oldest record
            known = False
    return off + (max(0, end - max(since, start)) if since is not None else 0) if known else None


def ready_between(session, tid, start, end):
    """How long the thread was ready to run between the two times, and had no CPU; at most, where a sample reaches beyond them."""
    path = session / "sched.atf"
    switches = [(ns, kind) for ns, _, of, _, _, kind, _ in (read_records(path) if path.exists() else [])
                if of == tid and kind in (OFF, PREEMPTED, ON) and start <= ns <= end]
    ready = sum(then - now for (now, kind), (then, _) in zip(switches, switches[1:]) if kind == PREEMPTED)
    # Whoever was woken, and had no CPU yet, is known to the system's counts alone.
    counted = sum(count for ns, count, of, _, reach_us, kind, _ in read_records(session / "samples.atf")
                  if (of, kind) == (tid, READY) and start <= ns and ns - reach_us * 1000 <= end)
    return max(ready, counted)
