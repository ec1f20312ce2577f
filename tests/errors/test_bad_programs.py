"""Programs that can't be traced, for `ada trace` (which must run nothing half-traced) and `ada functions`."""
import os
import shutil
import struct
import subprocess

import pytest

from harness import Session, run, shell_status

TRUE = "/bin/true"
LOADER = b"/lib64/ld-linux-x86-64.so.2"


def write(path, data, mode=0o755):
    path.write_bytes(data)
    path.chmod(mode)
    return path


def patched(*changes):
    """/bin/true with bytes changed: (offset, bytes)."""
    data = bytearray(open(TRUE, "rb").read())
    for offset, new in changes:
        data[offset:offset + len(new)] = new
    return bytes(data)


def with_loader(name):
    data = open(TRUE, "rb").read()
    assert data.count(LOADER) == 1 and len(name) <= len(LOADER)
    return data.replace(LOADER, name.ljust(len(LOADER), b"\0"))


ELVES = {
    "32-bit": (lambda: patched((4, b"\1"), (18, struct.pack("<H", 3))), "32"),
    "x32": (lambda: patched((4, b"\1")), "32"),
    "aarch64": (lambda: patched((18, struct.pack("<H", 183))), "x86-64|architecture|machine"),
    "big-endian": (lambda: patched((5, b"\2")), "endian|x86-64|architecture|machine"),
    "cut in the header": (lambda: patched()[:40], "."),
    "cut behind the header": (lambda: patched()[:64], "."),
    "cut in the program headers": (lambda: patched()[:200], "."),
    "cut in the middle": (lambda: patched()[:4096], "."),
    "program headers outside": (lambda: patched((32, struct.pack("<Q", 1 << 40))), "."),
    "65,535 program headers": (lambda: patched((56, struct.pack("<H", 0xffff))), "."),
    "header entries of no size": (lambda: patched((54, struct.pack("<H", 0))), "."),
    "no program": (lambda: patched((16, struct.pack("<H", 1))), "."),
    "a core": (lambda: patched((16, struct.pack("<H", 4))), "."),
    "magic alone": (lambda: b"\x7fELF", "."),
    "empty": (lambda: b"", "."),
    "text": (lambda: b"no program at all\n" * 20, "."),
    "noise": (lambda: bytes(i * 7919 % 251 for i in range(8192)), "."),
    "musl": (lambda: with_loader(b"/lib/ld-musl-x86_64.so.1"), "musl|loader|interpreter"),
    "loader that isn't there": (lambda: with_loader(b"/lib64/no-such-loader.so.2"), "loader|interpreter"),
}


@pytest.mark.parametrize("kind", ELVES)
def test_bad_elf(kind, refused, tmp_path):
    make, pattern = ELVES[kind]
    program = write(tmp_path / "program", make())
    assert "program" in refused(126, pattern, "trace", "--", program)


@pytest.mark.parametrize("kind", ["32-bit", "aarch64", "cut in the header", "program headers outside", "empty", "text", "noise"])
def test_bad_elf_functions(kind, refused, tmp_path):
    make, pattern = ELVES[kind]
    program = write(tmp_path / "program", make())
    assert "program" in refused(125, pattern, "functions", program)


def test_missing(refused):
    refused(127, "no-such-program", "trace", "--", "no-such-program")
    refused(127, "/no/such/program", "trace", "--", "/no/such/program")
    refused(127, "program", "trace", "--", "/bin/true/program")
    refused(127, ".", "trace", "--", "")
    refused(125, "/no/such/program", "functions", "/no/such/program")


def test_not_executable(refused, tmp_path):
    refused(126, "executable", "trace", "--", write(tmp_path / "program", patched(), 0o644))
    refused(126, "directory", "trace", "--", tmp_path)
    refused(126, ".", "trace", "--", "/dev/null")


def test_not_executable_in_path(refused, tmp_path, monkeypatch):
    write(tmp_path / "only-here", patched(), 0o644)
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(126, "executable", "trace", "--", "only-here")


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_static(flag, refused, tmp_path):
    program = tmp_path / "program"
    subprocess.run(["gcc", flag, "-x", "c", "-", "-o", program], input=b"int main(void) { return 0; }", check=True)
    assert "static" in refused(126, "static", "trace", "--", program)


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_setuid(mode, refused, tmp_path):
    program = tmp_path / "program"
    shutil.copy(TRUE, program)
    program.chmod(mode)
    refused(126, "set[ug]id", "trace", "--", program)


def test_bad_scripts(refused, tmp_path):
    refused(126, "interpreter", "trace", "--", write(tmp_path / "none", b"#!\necho\n"))
    refused(126, "begins with #!; name its interpreter: `ada trace sh ", "trace", "--", write(tmp_path / "headless", b"echo\n"))
    refused(126, "/no/such/shell", "trace", "--", write(tmp_path / "missing", b"#!/no/such/shell\necho\n"))
    loop = tmp_path / "loop"
    refused(126, "loop", "trace", "--", write(loop, b"#!" + os.fsencode(loop) + b"\n"))


def test_script(ada, tmp_path):
    """A script is traced through its interpreter."""
    script = write(tmp_path / "script", b"#!/bin/sh\necho \"$1\" from $0\nexit 3\n")
    result = ada.trace(tmp_path / "out", [script, "words"], timeout=30)
    assert (result.stdout, result.stderr, result.status) == (f"words from {script}\n".encode(), b"", 3)
    assert list((tmp_path / "out").glob("session_*/pid_*"))


def test_no_room_for_the_segment(ada, tmp_path):
    """RLIMIT_AS too low for the recording's memory: the program runs as ever, and the session says why there is nothing of it."""
    result = ada("trace", f"--output={tmp_path}", "--", "/bin/bash", "-c", "ulimit -v 65536; exec /bin/echo ran", timeout=30)
    assert (result.stdout, result.status) == (b"ran\n", 0)
    assert b"was not recorded: its limit of address space (RLIMIT_AS) leaves no room for a recording" in result.stderr


@pytest.mark.parametrize("before, status, words", [("", 153, b""), ("trap '' XFSZ; ", 1, b"File too large")])
def test_a_limit_of_file_sizes(ada, tmp_path, before, status, words):
    """RLIMIT_FSIZE too low for the recording's memory: the recorder lives, and the program has what it inherited of SIGXFSZ."""
    limited = ["/bin/bash", "-c", f'{before}ulimit -f 2000 && exec "$@"', "bash"]
    program = ["/bin/dd", "if=/dev/zero", f"of={tmp_path / 'large'}", "bs=4M", "count=1"]
    plain = run([*limited, *program], timeout=30)
    traced = run([*limited, ada.path, "trace", f"--output={tmp_path / 'out'}", "--", *program], timeout=30)
    assert shell_status(plain.status) == traced.status == status and words in plain.stderr and words in traced.stderr
    assert b"no shared memory (ulimit -f): File too large" in traced.stderr
    assert b"1 program NOT RECORDED" in traced.stderr


def test_a_recording_that_meets_a_limit_of_file_sizes(ada, build_dir, tmp_path):
    """The recording ends there, and says so; the program goes on."""
    program = write(tmp_path / "calls.c", b"__attribute__((noinline)) static int add(int i) { __asm__ volatile(\"\"); return i + 1; }\n"
                                          b"int main(void) { int sum = 0; for (int i = 0; i < 3000000; i++) sum = add(sum); return sum == 3000000 ? 7 : 1; }\n")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "calls", program], check=True)
    traced = run(["/bin/bash", "-c", 'ulimit -f 60000 && exec "$@"', "bash", ada.path, "trace", f"--output={tmp_path / 'out'}", "--pack=never",
                  "--index-buffer=1M", "--on-full=block", "--detail=off", "--", tmp_path / "calls"], timeout=60)
    assert traced.status == 7
    assert b"recording ends, the program goes on: " in traced.stderr and b"can't be written: File too large" in traced.stderr
    manifest, = Session(tmp_path / "out").manifests().values()
    assert manifest["recording"]["state"] == "failed"
