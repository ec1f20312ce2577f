"""Files cut anywhere and with bytes changed anywhere (seeded): every way to read ends well, in bounded time and memory."""
import random
import struct

import pytest

from asking import WAYS

CHANGES_EACH = 4       # a way and file; more in the fuzz targets of each parser


def victims(path):
    return [sorted(path.glob(f"pid_*/thread_0/{name}"))[0] for name in ("index.atf", "index.1.atf", "detail.atf")] + \
        [sorted(path.glob("pid_*/manifest.json"))[0], sorted(path.glob("pid_*/modules/0.tsv"))[0], path / "session.json"]


def change(data, rng):
    """Some of it turned, cut, zeroed, doubled, or a number put at an extreme."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        at = rng.randrange(len(data))
        how = rng.randrange(6)
        if how == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            data[at] = rng.randrange(256)
        elif how == 2:
            del data[at:]
        elif how == 3:
            data[at:at + 64] = bytes(len(data[at:at + 64]))
        elif how == 4:
            data[at:at] = data[at:at + rng.randrange(1, 100)]
        else:
            at -= at % 4
            value = rng.choice([2**64 - 1, 2**63, 2**32, 2**32 - 1, 2**31, 2**63 - 1, 1 << 40])
            data[at:at + 8] = struct.pack("<Q", value)
        if not data:
            break
    return bytes(data)


@pytest.mark.parametrize("way", WAYS)
def test_changed_at_random(ask, copy, way):
    path = copy("detail")
    good = {victim: victim.read_bytes() for victim in victims(path)}
    for victim, data in good.items():
        for seed in range(CHANGES_EACH):
            victim.write_bytes(change(data, random.Random(f"{way} {victim.name} {seed}")))
            try:
                ask(way, path)
            except AssertionError as problem:
                raise AssertionError(f"{victim.name} seed {seed}: {problem}") from problem
        victim.write_bytes(data)


@pytest.mark.parametrize("way", ["report-json", "dump-json", "verify-json"])
def test_cut_anywhere(ask, copy, way):
    """Every length of a small index file: what is whole is answered."""
    path = copy("plain")
    victim, = path.glob("pid_*/thread_0/index.atf")
    good = victim.read_bytes()
    for length in range(0, len(good), 9 if way == "dump-json" else 23):
        victim.write_bytes(good[:length])
        answer = ask(way, path, statuses=(1, 125))
        if way == "dump-json":
            assert len(answer.value()) - 1 == min(10, max(0, (length - 64) // 32)), f"cut to {length}"
