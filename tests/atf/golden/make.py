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


def main():
    for name, content in files():
        if "--check" not in sys.argv:
            (HERE / name).write_bytes(content)
        elif (HERE / name).read_bytes() != content:
            sys.exit(f"{name}: not what the specification says")


main()
