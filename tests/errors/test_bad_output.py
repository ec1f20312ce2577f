"""Output directories that can't be written, and ones that fill up while the program runs."""
import os
import re
import subprocess

import pytest


def test_not_a_directory(refused, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    refused(125, "file", "trace", f"--output={file}", "--", "/bin/true")
    refused(125, "file", "trace", f"--output={file}/below", "--", "/bin/true")


def test_cannot_be_made(refused):
    refused(125, "/proc/ada", "trace", "--output=/proc/ada", "--", "/bin/true")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_not_writable(refused, tmp_path):
    place = tmp_path / "locked"
    place.mkdir(mode=0o555)
    refused(125, "locked", "trace", f"--output={place}", "--", "/bin/true")


@pytest.fixture
def small_disk(tmp_path):
    """small_disk(SIZE, OPTIONS): a tmpfs of its own, gone after the test."""
    mounted = []

    def mount(size, options=""):
        place = tmp_path / "disk"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0777{options}", "tmpfs", place]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("needs root and mount(2)")
        mounted.append(place)
        return place
    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", place], check=True)


def test_read_only(refused, small_disk):
    place = small_disk("1m", ",ro")
    refused(125, "disk", "trace", f"--output={place}/out", "--", "/bin/true")


def test_full_from_the_start(refused, small_disk):
    place = small_disk("64k")
    subprocess.run(f"dd if=/dev/zero of={place}/filler bs=4k 2>/dev/null", shell=True)
    refused(125, "[Nn]o space|full", "trace", f"--output={place}/out", "--", "/bin/true")
    assert [p.name for p in place.iterdir()] == ["filler"]


def test_fills_up(ada, small_disk, tmp_path):
    """The program runs to its end as if nothing were; ada says once that the disk is full, and what fitted can be read."""
    place = small_disk("1m")
    program = tmp_path / "program"
    source = """#include <stdio.h>
        static long n; __attribute__((noinline)) static void leaf(void) { n++; }
        int main(void) { for (int i = 0; i < 500000; i++) leaf(); printf("%ld\\n", n); return 7; }"""
    subprocess.run(["gcc", "-O1", "-x", "c", "-", "-o", program], input=source.encode(), check=True)
    result = ada("trace", f"--output={place}/out", "--", program, cwd=tmp_path, timeout=60)
    assert result.stdout == b"500000\n"
    assert result.status in (7, 125)
    assert re.search(r"[Nn]o space|full", result.stderr.decode()), result.stderr.decode()
    session = next((place / "out").glob("session_*"))
    read = ada("info", "--format=json", session)
    assert read.status in (0, 125) and read.stderr.count(b"\n") <= 1, read.stderr.decode()
