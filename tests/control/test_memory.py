"""Memory that is slow to come: whoever doesn't need it waits for none.

A library in the recorder holds up every allocation of shared memory of one process, whose number is in the gate file, until that file
is gone, and says so beside it. So the process's own growth stands still for as long as the test likes, on any machine.
"""
import os
import subprocess

import pytest
from harness import check_recording

SLOW = r"""#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
/* Is this memory of the process that the gate names? Then that process maps it. */
static int is_held(int fd, const char *gate)
{
	char number[16] = "", path[40], line[512];
	int file = open(gate, O_RDONLY | O_CLOEXEC), found = 0;
	struct stat memory;
	if (file < 0)
		return 0;
	ssize_t got = read(file, number, sizeof(number) - 1);
	close(file);
	snprintf(path, sizeof(path), "/proc/%.15s/maps", number);
	FILE *maps = got > 0 && !fstat(fd, &memory) ? fopen(path, "re") : NULL;
	while (maps && !found && fgets(line, sizeof(line), maps)) {
		unsigned int major_number, minor_number;
		unsigned long inode;
		found = sscanf(line, "%*s %*s %*s %x:%x %lu", &major_number, &minor_number, &inode) == 3 && inode == memory.st_ino &&
			makedev(major_number, minor_number) == memory.st_dev;
	}
	if (maps)
		fclose(maps);
	return found;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length)
{
	const char *gate = getenv("SLOW_GATE");
	char held[4096];
	while (gate && !strcmp(program_invocation_short_name, "ada") && is_held(fd, gate)) {
		snprintf(held, sizeof(held), "%s.held", gate);
		close(open(held, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
		usleep(1000);
	}
	return ((int (*)(int, int, off64_t, off64_t))dlsym(RTLD_NEXT, "fallocate64"))(fd, mode, offset, length);
}
"""
PROGRAM = r"""#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) int tick(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
__attribute__((noinline)) int quiet(int n) { __asm__ volatile("" ::: "memory"); return n - 1; }
static void ticks(int count) { for (int i = 0; i < count; i++) tick(i); }
/* Its history of detail fills more and more memory, until the recorder is held up by that. */
static void fill(const char *gate)
{
	char held[4096], made[4096];
	snprintf(held, sizeof(held), "%s.held", gate);
	snprintf(made, sizeof(made), "%s.new", gate);
	int fd = open(made, O_CREAT | O_WRONLY, 0600);
	dprintf(fd, "%d", getpid());
	close(fd);
	rename(made, gate);
	while (access(held, F_OK))
		ticks(1000);
}
/* A child that goes on as long as the gate is there. */
static void begin_child(const char *gate)
{
	int ready[2];
	char byte = 0;
	if (pipe(ready) || fork()) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			_exit(9);
		return;
	}
	close(0);
	close(1);
	ticks(1000);
	if (write(ready[1], &byte, 1) != 1)
		_exit(9);
	for (int opened = 0; !opened || !access(gate, F_OK); usleep(1000)) {
		opened |= !access(gate, F_OK);
		ticks(1000);
	}
	_exit(0);
}
int main(int argc, char **argv)
{
	const char *gate = getenv("SLOW_GATE");
	char line[64];
	if (argc > 1)
		begin_child(gate);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "fill\n"))
			fill(gate);
		else if (!strcmp(line, "quiet\n"))
			quiet(1);
		else
			ticks(atoi(line));
		puts("done");
		fflush(stdout);
	}
	return argv[1] ? 7 : 3;
}
"""
OPTIONS = "--index-buffer=1M", "--on-full=block"        # 32 chunks of 1,023 events: who isn't drained soon stands still
MANY = 200000


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    directory = tmp_path_factory.mktemp("memory")
    for name, source, flags in (("slow.so", SLOW, ["-shared", "-fPIC"]), ("program", PROGRAM, [])):
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-x", "c", "-", "-o", directory / name, *flags],
                       input=source.encode(), check=True)
    return directory


@pytest.fixture
def gate(parts, tmp_path, monkeypatch):
    path = tmp_path / "gate"
    monkeypatch.setenv("LD_PRELOAD", str(parts / "slow.so"))
    monkeypatch.setenv("SLOW_GATE", str(path))
    # A sanitized recorder comes behind slow.so in the list, which does no harm here.
    monkeypatch.setenv("ASAN_OPTIONS", os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    yield path
    path.unlink(missing_ok=True)


def test_commands_are_answered(live, ada, parts, gate):
    """Also a late patch, and the end; the program goes on meanwhile."""
    session = live(*OPTIONS, "--exclude=quiet", command=[parts / "program"])
    session.tell("fill\n")
    session.wait_for(lambda s: s["events"] > 0, "events come")
    assert "1 process" in session.control("mark --no-wait", "here")
    assert session.control("trigger add", "symbol=quiet") == "rule 3, policy version 2\n"
    session.tell("quiet\n")
    assert "symbol=quiet" in session.control("trigger list")
    session.control("trigger remove", "3")
    before = session.status()["events"]
    session.tell(f"{MANY}\n")
    session.wait_for(lambda s: s["events"] >= before + MANY, "events come")
    session.wait_for(lambda s: s["windows"] >= 1, "the marks have windows")
    session.control("stop")
    assert gate.exists()
    session.tell(f"{MANY}\n")                   # to itself
    gate.unlink()
    assert session.process.wait(60) == 0
    recording = check_recording(ada, session.output, states=("stopped",))
    assert recording.lost() == 0
    assert [row["calls"] for row in ada.rows("report", recording.path) if row["function"] == "quiet"] == [1]


def test_a_process_ends(live, ada, parts, gate):
    """The one whose memory doesn't come: its end is noted, rules that mark at ends judge it, and its child is recorded on."""
    session = live(*OPTIONS, "--trigger=exit", command=[parts / "program", "child"])
    session.wait_for(lambda s: len(s["providers"]) == 2, "the child is recorded")
    session.tell("fill\n")
    session.process.stdin.close()
    status = session.wait_for(lambda s: not s["providers"][0]["recording"], "the end is noted")
    before = status["providers"][1]["events"]
    session.wait_for(lambda s: s["providers"][1]["events"] > before + MANY, "the child's events come")
    assert gate.exists()
    gate.unlink()
    assert session.process.wait(60) == 7
    recording = check_recording(ada, session.output)
    assert recording.lost() == 0
    ended, child = sorted(recording.manifests().values(), key=lambda m: m["provider"])
    assert ended["exit"]["kind"] == "exited" and ended["endNs"] < child["endNs"]
    assert [m["value"] for w in ended["detail_lane"]["windows"] for m in w["marks"]] == [7]
