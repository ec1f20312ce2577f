"""What is asked while the recording comes to its end, and a recorder that lives behind other mounts."""
import json
import os
import pathlib
import subprocess
import threading
import time

import pytest
from harness import skip_unless_possible
from live import Live

SECONDS = 60
# A library in the recorder holds up its last session.json until the file `gate` is gone, and says that it does by `held`.
HELD = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int is_last(int directory, const char *path)
{
	static char text[1 << 16];
	int fd = openat(directory, path, O_RDONLY);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	close(fd);
	text[length > 0 ? length : 0] = 0;
	return strstr(text, "\"finalized\": true") || strstr(text, "\"finalized\":true");
}
int renameat(int from, const char *old, int to, const char *new)
{
	const char *gate = getenv("GATE"), *held = getenv("HELD");
	if (gate && !strcmp(program_invocation_short_name, "ada") && !strcmp(new, "session.json") && is_last(from, old)) {
		close(open(held, O_CREAT | O_WRONLY, 0600));
		while (!access(gate, F_OK))
			usleep(1000);
	}
	return ((int (*)(int, const char *, int, const char *))dlsym(RTLD_NEXT, "renameat"))(from, old, to, new);
}
"""
# In a mount namespace in which $XDG_RUNTIME_DIR is another directory than outside.
OWN_RUNTIME = ("/usr/bin/unshare", "-m", "/bin/sh", "-c", 'mount -t tmpfs -o mode=700 tmpfs "$XDG_RUNTIME_DIR" && exec "$@"', "sh")


def wait_until(holds, what):
    end = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def documented(code):
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "control.md").read_text().splitlines()
    asked, said = [(page[i - 1], line) for i, line in enumerate(page) if f'"code": "{code}"' in line][0]
    return asked.removeprefix("> "), json.loads(said.removeprefix("< "))


@pytest.fixture
def held(ada, tmp_path, monkeypatch):
    """(the gate, the file that says that the recorder waits for it)"""
    library, gate = tmp_path / "held.so", tmp_path / "gate"
    subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=HELD.encode(), check=True)
    gate.touch()
    monkeypatch.setenv("LD_PRELOAD", str(library))
    # A sanitized recorder comes behind it in the list, which does no harm here.
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    monkeypatch.setenv("GATE", str(gate))
    monkeypatch.setenv("HELD", str(tmp_path / "held"))
    return gate, tmp_path / "held"


@pytest.mark.traces
def test_what_is_asked_too_late_hears_so(held, live):
    gate, waits = held
    session = live()
    asked, expected = documented("ended")
    address = session.address()
    session.address = lambda: address                       # which the last session.json no longer has
    stopped = threading.Thread(target=session.ask, args=(b'{"request": "stop"}\n',))
    stopped.start()
    wait_until(waits.exists, "the recorder comes to its end")
    with session.connect() as client:
        client.sendall(asked.encode() + b"\n")
        assert json.loads(session.ask(b'{"request": "trigger-list"}\n'))["ok"]      # behind it: so it has been read, too
        gate.unlink()
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    stopped.join(SECONDS)
    assert json.loads(answer) == expected


@pytest.mark.traces
def test_a_recorder_with_a_runtime_directory_of_its_own(ada, program, tmp_path, monkeypatch):
    """As systemd's PrivateTmp= and containers make it: its socket isn't where its session says, for who is outside."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    skip_unless_possible(OWN_RUNTIME)
    session = Live(ada, tmp_path / "out", [program], before=OWN_RUNTIME)
    try:
        assert str(runtime) in session.address() and not os.path.exists(session.address())
        status = ada("status", "--json", session.session)
        assert status.status == 0, status.stderr.decode()
        assert json.loads(status.stdout)["recording"] is True
        refused = ada("recover", session.session)
        assert refused.status == 125
        assert f"is still being recorded, by process {session.process.pid}" in refused.stderr.decode()
        assert ada("mark", "--no-wait", session.session).status == 0
    finally:
        session.close()
