"""An independent reading of the scheduling lane's files."""
import struct

OFF, PREEMPTED, ON, FAULT, LOST = range(1, 6)


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
