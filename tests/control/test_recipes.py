"""docs/cookbook.md's recipes for systemd and containers, as far as that goes without either: what systemd would send, and a container's namespaces."""
import json
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from harness import Session
from live import Live

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVER = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t terms;

static void count(int number)
{
	terms += number == SIGTERM;
}

int main(void)
{
	sigset_t term, none;

	signal(SIGTERM, count);
	sigemptyset(&none);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL); /* one that came between a look and a pause would leave it waiting */
	puts("ready");
	fflush(stdout);
	while (!terms)
		sigsuspend(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sleep(1); /* one that comes twice interrupts it */
	fprintf(stderr, "got %d\n", (int)terms);
	return terms == 1 ? 7 : 8;
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    place = tmp_path_factory.mktemp("server")
    (place / "server.c").write_text(SERVER)
    subprocess.run(["cc", "-O1", "-o", place / "server", place / "server.c"], check=True)
    return place / "server"


def recipe(title):
    """The code blocks below a heading of the cookbook."""
    text = (ROOT / "docs" / "cookbook.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_drop_in_is_what_systemd_reads(ada, server, tmp_path):
    """Of the recipe's words none is unknown to it."""
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd-analyze")
    unit = recipe("Under systemd")[0].replace("/usr/bin/ada", str(ada.path)).replace("/usr/bin/server", str(server))
    (tmp_path / "server.service").write_text(f"[Unit]\nDescription=a server\n{unit}")
    said = subprocess.run(["systemd-analyze", "verify", tmp_path / "server.service"], capture_output=True, text=True, timeout=120)
    ours = [line for line in said.stderr.splitlines() if "server.service" in line]
    assert ours == []


@pytest.mark.traces
def test_sigterm_to_ada_alone_reaches_the_server_once(ada, server, tmp_path):
    """As KillMode=mixed sends it; the exit status is the server's, and the recording whole."""
    assert "KillMode=mixed" in recipe("Under systemd")[0]
    live = Live(ada, tmp_path, [server])
    try:
        live.process.send_signal(signal.SIGTERM)
        assert live.process.wait(120) == 7
    finally:
        live.close()
    assert json.loads(ada("report", "--format=json", Session(tmp_path).path).stdout)["completeness"]["complete"]


@pytest.mark.traces
def test_a_container_with_little_shared_memory(ada, server, tmp_path):
    """Its own processes, file systems and network, 64 MB of /dev/shm, and the sessions on a volume."""
    inside = ("/usr/bin/unshare", "--mount", "--pid", "--fork", "--ipc", "--net", "--uts", "--mount-proc", "/bin/sh", "-c",
              'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"', "sh")
    if subprocess.run([*inside, "true"], capture_output=True).returncode:
        pytest.skip("namespaces can't be made here")
    program = tmp_path / "calls"
    (tmp_path / "calls.c").write_text("static volatile int sum;\n__attribute__((noinline)) void leaf(int i) { sum += i; }\n"
                                      "int main(void) { for (int i = 0; i < 300000; i++) leaf(i); return 3; }\n")
    subprocess.run(["cc", "-O1", "-o", program, tmp_path / "calls.c"], check=True)
    result = subprocess.run([*inside, ada.path, "trace", "--quiet", f"--output={tmp_path / 'traces'}", "--", program],
                            capture_output=True, text=True, timeout=120)
    assert result.returncode == 3, result.stderr
    session = Session(tmp_path / "traces").path
    told = json.loads(ada("report", "--format=json", session).stdout)
    assert next(row for row in told["rows"] if row["function"] == "leaf")["calls"] == 300000 and told["completeness"]["lost"] == 0
    assert ada("verify", session).status == 0
