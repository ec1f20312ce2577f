"""A large program that is planned for the first time on a busy machine: its processes wait for the plan, and are recorded."""
import os
import subprocess
import threading
import time

from harness import check_recording

SECONDS = 25        # an agent gives a recorder that says nothing 20
SLOW = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int fsync(int fd)
{
	char link[40], name[4096] = "";
	const char *gate = getenv("SLOW_GATE");
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (readlink(link, name, sizeof name - 1) > 0 && strstr(name, "/ada/plans/") && strstr(name, "-full"))
		while (gate && !access(gate, F_OK))
			usleep(1000);
	return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
"""
PROGRAM = r"""#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) int tick(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
int main(int argc, char **argv)
{
	if (argc > 1)
		return tick(1) != 2;
	for (int i = 0; i < 3; i++)
		if (!fork())
			return execl(argv[0], argv[0], "child", (char *)NULL);
	int status, failed = 0;
	while (wait(&status) > 0)
		failed |= status;
	return failed || tick(1) != 2;
}
"""


def test_processes_wait_for_it(ada, tmp_path):
    """Two processes begin with the same file, whose plan is made for the first of them."""
    for name, source, flags in (("slow.so", SLOW, ["-shared", "-fPIC"]), ("program", PROGRAM, [])):
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-x", "c", "-", "-o", tmp_path / name, *flags], input=source.encode(), check=True)
    gate = tmp_path / "gate"
    environment = dict(os.environ, LD_PRELOAD=str(tmp_path / "slow.so"), SLOW_GATE=str(gate), XDG_CACHE_HOME=str(tmp_path / "cache"))
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    assert ada.trace(tmp_path / "shell", ["sh", "-c", ":"], env=environment).status == 0        # its plan is there
    gate.touch()
    opener = threading.Timer(SECONDS, gate.unlink)
    began = time.monotonic()
    opener.start()
    result = ada.trace(tmp_path / "out", ["sh", "-c", f"{tmp_path}/program child & {tmp_path}/program; wait"], env=environment, timeout=120)
    opener.join()
    assert time.monotonic() - began > SECONDS, "nobody has waited"
    assert (result.status, result.stderr) == (0, b"")
    session = check_recording(ada, tmp_path / "out")
    assert len([m for m in session.manifests().values() if m["program"].endswith("/program")]) >= 5


def test_no_file_is_planned_twice(ada, tmp_path):
    """Libc's names and its hooks come from one plan: a first start waits for it once."""
    environment = dict(os.environ, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert ada.trace(tmp_path / "out", ["/bin/true"], env=environment).status == 0
    plans = [path.name.split("-")[0] for path in (tmp_path / "cache" / "ada" / "plans").iterdir()]
    assert len(plans) >= 3 and len(plans) == len(set(plans))
