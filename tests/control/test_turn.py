"""The recorder's turn: processes are drained, and their ends seen, whatever is being written or made for other processes.

A library in the recorder holds up one of its system calls until the program says so: the program lives through many fills of its
buffer meanwhile, and waits for chunks (--on-full=block). A recorder whose drain waits for that call hangs, on any machine. Memory
for the program itself, the first that comes, isn't held up: the drain may look into chunks that were allocated just now.
"""
import os
import resource
import subprocess

import pytest
from harness import check_recording

BEFORE, MEANWHILE = 100000, 300000      # calls: a buffer of 1 MiB holds 16,384
SLOW = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void hold_up(const char *call)
{
	const char *slow = getenv("SLOW_CALL"), *gate = getenv("SLOW_GATE");
	while (slow && gate && !strcmp(program_invocation_short_name, "ada") && !strcmp(call, slow) && !access(gate, F_OK))
		usleep(1000);
}
static int is_of_another(int fd)
{
	static ino_t first;
	ino_t none = 0;
	struct stat file;
	if (fstat(fd, &file))
		abort();
	return !__atomic_compare_exchange_n(&first, &none, file.st_ino, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) && none != file.st_ino;
}
int fsync(int fd)
{
	hold_up("fsync");
	return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(fd);
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	if (!(mode & FALLOC_FL_KEEP_SIZE) && is_of_another(fd))         /* of shared memory: files of events keep their size */
		hold_up("fallocate");
	return ((int (*)(int, int, off64_t, off64_t))dlsym(RTLD_NEXT, "fallocate64"))(fd, mode, offset, length);
}
"""
PROGRAM = r"""#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) int tick(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
static void ticks(int count) { for (int i = 0; i < count; i++) tick(i); }
int main(int argc, char **argv)
{
	(void)argc;
	const char *gate = getenv("SLOW_GATE");
	int ends = !strcmp(getenv("SLOW_CALL"), "fsync");       /* else the child can't even begin */
	struct timespec now;
	ticks(atoi(argv[1]));
	close(open(gate, O_CREAT | O_WRONLY, 0600));
	pid_t child = fork();
	if (!child) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	if (ends)
		waitpid(child, NULL, 0);
	ticks(atoi(argv[2]));
	clock_gettime(CLOCK_BOOTTIME, &now);
	unlink(gate);
	if (!ends)
		waitpid(child, NULL, 0);
	printf("%d %llu\n", (int)child, now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec);
	return 0;
}
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    directory = tmp_path_factory.mktemp("turn")
    for name, source, flags in (("slow.so", SLOW, ["-shared", "-fPIC"]), ("program", PROGRAM, [])):
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-x", "c", "-", "-o", directory / name, *flags],
                       input=source.encode(), check=True)
    return directory


def record(ada, parts, output, call):
    environment = dict(os.environ, LD_PRELOAD=str(parts / "slow.so"), SLOW_CALL=call, SLOW_GATE=str(output) + ".gate",
                       XDG_CACHE_HOME=str(output) + ".cache")      # plans are made meanwhile, and kept
    # A sanitized recorder comes behind slow.so in the list, which does no harm here.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    result = ada.trace(output, [parts / "program", BEFORE, MEANWHILE], "--on-full=block", "--index-buffer=1M", env=environment)
    assert result.status == 0, result.stderr.decode()
    session = check_recording(ada, output)
    assert session.lost() == 0
    row, = [row for row in ada.rows("report", session.path) if row["function"] == "tick"]
    assert row["calls"] == BEFORE + MEANWHILE
    child, opened_ns = map(int, result.stdout.split())
    return [m for m in session.manifests().values() if m["pid"] == child], opened_ns


def test_a_slow_disk(ada, parts, tmp_path):
    """Manifests of a process that has come and gone wait for the disk; its end is noted long before."""
    images, opened_ns = record(ada, parts, tmp_path / "out", "fsync")
    assert [m["exit"]["kind"] for m in sorted(images, key=lambda m: m["provider"])] == ["exec", "exited"]
    for manifest in images:
        assert manifest["startNs"] <= manifest["endNs"] <= opened_ns


def test_a_process_that_is_slow_to_begin(ada, parts, tmp_path):
    """Its buffer waits for memory: none lies ready where addresses are limited, however far."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 46, before[1]))
    try:
        images, opened_ns = record(ada, parts, tmp_path / "out", "fallocate")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert [m["exit"]["kind"] for m in sorted(images, key=lambda m: m["provider"])] == ["exec", "exited"]
    assert all(manifest["endNs"] > opened_ns for manifest in images)
