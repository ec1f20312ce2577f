"""Threads that give themselves a name when they run already, as those of most programs do."""
import json
import subprocess
import time

import pytest
from live import Live

SOURCE = r"""#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_barrier_t begun;
__attribute__((noinline)) int work(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
static void *worker(void *name)
{
	work(1);
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&begun);
	for (;;)
		pause();
}
int main(void)
{
	static char *names[] = { "alpha", "exactly_fifteen", "with \"quotes\"" };
	pthread_t thread;
	pthread_barrier_init(&begun, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, worker, names[i]);
	pthread_barrier_wait(&begun);
	work(2);
	pthread_setname_np(pthread_self(), "boss");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
"""
NAMES = ["alpha", "boss", "exactly_fifteen", 'with "quotes"']


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    path = tmp_path_factory.mktemp("names") / "named"
    subprocess.run(["gcc", "-O1", "-pthread", "-x", "c", "-", "-o", path], input=SOURCE.encode(), check=True)
    return path


def test_a_name_that_comes_late_is_known(ada, named, tmp_path):
    session = Live(ada, tmp_path / "traces", [named])
    try:
        found, end = [], time.monotonic() + 60
        while found != NAMES and time.monotonic() < end:
            for manifest in session.session.glob("pid_*/manifest.json"):
                found = sorted(thread["name"] for thread in json.loads(manifest.read_text())["threads"])
            time.sleep(0.05)
        assert found == NAMES
        session.end()
    finally:
        session.close()
    rows = ada.rows("report", "--thread=alpha", session.session)
    assert {row["function"]: row["calls"] for row in rows}["work"] == 1
    told = ada("narrate", "--all", session.session).stdout.decode()
    assert "(exactly_fifteen, tid " in told and "(boss, tid " in told


RENAMED = r"""#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) int work(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
int main(int argc, char **argv)
{
	work(argc);
	if (argc > 1) {
		pthread_setname_np(pthread_self(), "first");
		execl(argv[1], "again", NULL);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
"""


def test_the_name_of_the_next_image_is_none_of_the_first_ones(ada, tmp_path):
    """A program that was started by a symlink has that name, and exec gives the process another."""
    program, link, again = (tmp_path / name for name in ("program", "linked", "other"))
    subprocess.run(["gcc", "-O1", "-pthread", "-x", "c", "-", "-o", program], input=RENAMED.encode(), check=True)
    link.symlink_to(program)
    again.symlink_to(program)
    session = Live(ada, tmp_path / "traces", [link, again])
    try:
        end = time.monotonic() + 1.5          # the recorder looks each half second
        while time.monotonic() < end:
            named = {p.name: json.loads((p / "manifest.json").read_text()) for p in session.session.glob("pid_*") if (p / "manifest.json").exists()}
            names = [thread["name"] for manifest in named.values() for thread in manifest["threads"]]
            assert set(names) <= {"linked", "first", "other"}, names
            time.sleep(0.1)
        session.end()
    finally:
        session.close()
    images = sorted((json.loads((p / "manifest.json").read_text()) for p in session.session.glob("pid_*")), key=lambda m: m["startNs"])
    assert [image["threads"][0]["name"] for image in images][1:] == ["other"] and images[0]["threads"][0]["name"] in ("linked", "first")
