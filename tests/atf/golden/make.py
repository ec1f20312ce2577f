#!/usr/bin/python3
"""make.py [--check]: writes the golden files of version 1, byte by byte from specs/2 as docs/format.md settles it.

Knows nothing of libatf, so that the two can be held against each other. --check only compares with the files that are
committed. A golden file never changes: a new version of the format gets new ones, and this version must stay readable.
"""
import pathlib
import struct
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
THREAD_ID = 4242
CALL, RETURN, EXCEPTION, LOST, UNKNOWN = 1, 2, 3, 4, 1000
NO_DETAIL = 0xFFFFFFFF

EVENTS = [  # timestamp_ns, function_id, thread_id, event_kind, call_depth, detail_seq
    (1_000_000_007, 0x0000_0001_0000_0002, THREAD_ID, CALL, 0, NO_DETAIL),
    (1_000_000_017, 0x0000_0001_0000_0003, THREAD_ID, CALL, 1, 0),
    (1_000_000_017, 0x0000_0002_FFFF_FFFE, THREAD_ID, CALL, 2, 1),
    (1_000_000_400, 0x0000_0002_FFFF_FFFE, THREAD_ID, EXCEPTION, 2, 2),
    (1_000_000_401, 0x0000_0001_0000_0003, THREAD_ID, RETURN, 1, NO_DETAIL),
    (1_000_002_000, 123_456_789_012, THREAD_ID, LOST, 0, NO_DETAIL),
    (1_000_002_000, 0xFFFF_FFFF_FFFF_FFFF, THREAD_ID, UNKNOWN, 0xFFFF_FFFF, NO_DETAIL),
    (18_446_744_073_709_551_614, 0x0000_0001_0000_0002, THREAD_ID, RETURN, 0, 0xFFFF_FFFE),
]

# timestamp_ns, function_id, index_seq, type, flags, x0..x7, lr, fp, sp, stack, vectors: of the EVENTS that have a detail_seq
DETAIL = [
    (*EVENTS[1][:2], 1, 3, 1, range(0x10, 0x18), 0x401000, 0x7FFC_0000_0010, 0x7FFC_0000_0000, bytes(range(256)),
     (0x3FF0_0000_0000_0000, *range(7))),
    (*EVENTS[2][:2], 2, 3, 0, [0xFFFF_FFFF_FFFF_FFFF] * 8, 0x401234, 0, 0x7FFB_FFFF_FFF8, b"", ()),
    (*EVENTS[3][:2], 3, 4, 0, (42, 0, 0x4000_0000_0000_0000, 0, 0, 0, 0, 0), 0x401234, 1, 0x7FFB_FFFF_FFF8, b"\xa5" * 13, ()),
    (*EVENTS[7][:2], 7, 4, 0, (0,) * 8, 0, 0, 0, b"x", ()),
]
WINDOWS = [  # start_ns, end_ns, marked_ns, first_detail_seq, first_ordinal, event_count, marked_count, window_id
    (1_000_000_010, 1_000_000_400, 1_000_000_017, 0, 0, 3, 5, 0),
    (18_446_744_073_709_551_614, 18_446_744_073_709_551_614, 18_446_744_073_709_551_614, 0xFFFF_FFFE, 3, 1, 1, 4),
]


SCHED = [  # timestamp_ns, count, thread_id, process_id, other_id, kind, cpu
    (1_000_000_007, 1, 4242, 4240, 0, 3, 0),
    (1_000_000_100, 24, 4242, 4240, 0, 4, 0),
    (1_000_000_200, 1, 4242, 4240, 4243, 2, 0),
    (1_000_000_200, 1, 4243, 4240, 0, 3, 0),
    (1_000_000_300, 7, 0, 0, 0, 5, 1),
    (1_000_000_400, 1, 4242, 4240, 0, 3, 65535),
    (18_446_744_073_709_551_614, 1, 4242, 4240, 0, 1, 65535),
]


def sched_files():
    events = b"".join(struct.pack("<QQIIIHH", *event) for event in SCHED)
    first_ns, last_ns = SCHED[0][0], SCHED[-1][0]

    def head(count, first, last):
        return b"ATS2" + struct.pack("<BBBBIIB7xIIQQQQ", 1, 1, 1, 4, 1, 2, 3, 32, 0, 64, count, first, last)
    end = b"2STA" + struct.pack("<IQQQQ24x", zlib.crc32(events), len(SCHED), first_ns, last_ns, len(events))
    yield "sched-v1.atf", head(len(SCHED), first_ns, last_ns) + events + end
    yield "sched-v1-unfinished.atf", head(0, 0, 0) + events + events[:20]


def header(count, footer_offset, start_ns, end_ns):
    identity = b"ATI2" + struct.pack("<BBBBII", 1, 1, 1, 4, 0, THREAD_ID)
    timing = struct.pack("<B3xI", 3, 0)
    layout = struct.pack("<II", 32, count)
    return identity + timing + layout + struct.pack("<QQQQ", 64, footer_offset, start_ns, end_ns)


def footer(events, count, start_ns, end_ns):
    return b"2ITA" + struct.pack("<IQQQQ24x", zlib.crc32(events), count, start_ns, end_ns, len(events))


def files():
    events = b"".join(struct.pack("<QQIIII", *event) for event in EVENTS)
    first_ns, last_ns = EVENTS[0][0], EVENTS[-1][0]
    end = footer(events, len(EVENTS), first_ns, last_ns)
    finished = header(len(EVENTS), 64 + len(events), first_ns, last_ns) + events + end
    yield "index-v1.atf", finished
    yield "index-v1-unfinished.atf", header(0, 0, 0, 0) + events + events[:20]
    yield "index-v1-empty.atf", header(0, 64, 0, 0) + footer(b"", 0, 0, 0)
    yield from detail_files()
    yield from sched_files()
    yield "index-v1.atp", packed(events, first_ns, last_ns, 1, True)
    yield "index-v2.atp", packed(events, first_ns, last_ns, 2, True)
    yield "index-v2-unchecked.atp", packed(events, first_ns, last_ns, 2, False)


def varint(value):
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def signed(value):
    return varint(2 * value if value >= 0 else -2 * value - 1)


def sum_of(events):
    """Of four words an event: each lane's sum, and the sum of its sums after each event, folded."""
    words = [struct.unpack("<4Q", events[at:at + 32]) for at in range(0, len(events), 32)]
    folded = 0
    for lane in range(4):
        for number in (sum(event[lane] for event in words), sum((len(words) - at) * event[lane] for at, event in enumerate(words))):
            folded = (folded ^ number % 2**64) * 0x9E37_79B9_7F4A_7C15 % 2**64
            folded ^= folded >> 32
    return folded


def packed(events, first_ns, last_ns, version, checked):
    """EVENTS as one block, each column by hand, none compressed."""
    columns = [
        struct.pack("<Q", 0b111),                                                 # three plain CALLs
        bytes([0, 10, 0, 252, 1, 252, 0, 254]),
        struct.pack("<HHQ", 383, 1599, last_ns - 1_000_002_000),
        bytes([5, 5, 5]),                                                         # each function is new
        signed(0x0000_0001_0000_0002) + signed(1) + signed(0x0000_0001_FFFF_FFFB),
        varint(3) + b"\x03" + varint(0) + varint(1) + b"\x04\x10" + signed(123_456_789_012) + varint(0) + b"\x00",
        events[6 * 32:7 * 32],
        varint(1) + signed(0) + varint(3) + varint(1) + signed(0xFFFF_FFFE - 3) + varint(1),
    ]
    sizes = struct.pack("<8I", *map(len, columns))
    longest = struct.pack("<12Q", 0x0000_0001_0000_0002, first_ns, last_ns - first_ns, 0x0000_0001_0000_0003, 1_000_000_017, 384,
                          0x0000_0002_FFFF_FFFE, 1_000_000_017, 383, 0, 0, 0)
    open_calls, body = varint(0), b"".join(columns)
    flags, events_sum = (1, 0) if version == 1 else (5, sum_of(events))

    def head(checksum):
        return struct.pack("<4sIQIIIIQQQIIIIII", b"ATB2", checksum, 64, zlib.crc32(body), len(EVENTS), 0, flags, first_ns, last_ns,
                           last_ns - first_ns, 0, len(open_calls), 0, 3, 2, 0) + sizes + sizes + longest + struct.pack("<Q8x", events_sum)
    finished = head(zlib.crc32(head(0) + open_calls))
    block = finished + open_calls + body
    block += bytes(-len(block) % 8)
    start = header(len(EVENTS), 64 + len(block) + 256, first_ns, last_ns)
    start = b"ATP2" + start[4:5] + bytes([version]) + start[6:]

    def end(checksum):
        return b"2PTA" + struct.pack("<IQQQQIIIII4x", zlib.crc32(events) if checked else 0, len(EVENTS), first_ns, last_ns, len(block), 1,
                                     zlib.crc32(finished), zlib.crc32(start), checksum, 0 if checked else 1)
    return start + block + finished + end(zlib.crc32(end(0)))


def detail_header(arch, count, length, first_seq, last_seq):
    return b"ATD2" + struct.pack("<BBBBII8xQQQQQ", 1, 1, arch, 4, 0, THREAD_ID, 64, count, length, first_seq, last_seq)


def detail_record(timestamp, function, index_seq, kind, flags, x, lr, fp, sp, stack, vectors):
    payload = struct.pack("<Q8QQQQHH", function, *x, lr, fp, sp, len(stack), 0) + stack + struct.pack(f"<{len(vectors)}Q", *vectors)
    return struct.pack("<IHHIIQ", 24 + len(payload), kind, flags, index_seq, THREAD_ID, timestamp) + payload


def detail_files():
    offsets, records = [], b""
    for record in DETAIL:
        offsets.append(64 + len(records))
        records += detail_record(*record)
    padding = bytes(-len(records) % 8)
    tables = struct.pack(f"<{len(offsets)}Q", *offsets) + b"".join(struct.pack("<6QII8x", *window) for window in WINDOWS)
    end = b"2DTA" + struct.pack("<IQQQQQQII", zlib.crc32(records), len(offsets), len(records), DETAIL[0][0], DETAIL[-1][0],
                                64 + len(records) + len(padding), len(WINDOWS), zlib.crc32(tables), 0)
    for name, arch in ("x86_64", 1), ("arm64", 2):
        yield f"detail-v1-{name}.atf", detail_header(arch, len(offsets), len(records), 1, 7) + records + padding + tables + end
    yield "detail-v1-unfinished.atf", detail_header(1, 0, 0, 0, 0) + records + records[:50]
    end = b"2DTA" + struct.pack("<IQQQQQQII", 0, 0, 0, 0, 0, 64, 0, 0, 0)
    yield "detail-v1-empty.atf", detail_header(1, 0, 0, 0, 0) + end


def main():
    for name, content in files():
        if "--check" not in sys.argv:
            (HERE / name).write_bytes(content)
        elif (HERE / name).read_bytes() != content:
            sys.exit(f"{name}: not what the specification says")


main()
