/* How long a manifest stays as it is: writing it costs little, and whoever waits for a window hears of it soon, on any disk. */
#include "../test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/files/scribe.h"

#define MS 1000000ull

static char directory[] = "/tmp/ada-scribe-XXXXXX";
static uint64_t boottime_ns, thread_ns; /* what the clocks say */
static unsigned synced;
static uint64_t waits_ns, works_ns; /* what making a file or its directory durable takes */

uint64_t __wrap_ada_clock_boottime_ns(void);
uint64_t __wrap_ada_clock_thread_ns(void);

uint64_t __wrap_ada_clock_boottime_ns(void)
{
	return boottime_ns;
}

uint64_t __wrap_ada_clock_thread_ns(void)
{
	return thread_ns;
}

/* In place of libc's. */
int fsync(int fd)
{
	boottime_ns += waits_ns + works_ns;
	thread_ns += works_ns;
	synced++;
	return 0;
}

static uint64_t pause_behind(uint64_t waits, uint64_t works)
{
	struct ada_paper paper = {};
	struct ada_scribe *scribe;
	uint64_t pause_ns;

	waits_ns = waits;
	works_ns = works;
	snprintf(paper.path, sizeof paper.path, "%s/manifest.json", directory);
	assert_int_equal(ada_scribe_open(&scribe), 0);
	ada_scribe_write(scribe, &paper, json_object_new_object(), false);
	ada_scribe_wait(scribe);
	assert_int_equal(ada_paper_written(&paper), 1);
	pause_ns = ada_paper_pause_ns(&paper);
	ada_scribe_close(scribe);
	unlink(paper.path);
	return pause_ns;
}

/* A process's first manifest says little, and others follow: nobody waits for the disk. */
static void the_first_is_not_synced(void **state)
{
	struct ada_paper paper = {};
	struct ada_scribe *scribe;

	snprintf(paper.path, sizeof paper.path, "%s/manifest.json", directory);
	assert_int_equal(ada_scribe_open(&scribe), 0);
	synced = 0;
	ada_scribe_write(scribe, &paper, json_object_new_object(), true);
	ada_scribe_wait(scribe);
	assert_int_equal(synced, 0);
	assert_int_equal(access(paper.path, R_OK), 0);
	ada_scribe_write(scribe, &paper, json_object_new_object(), false);
	ada_scribe_wait(scribe);
	assert_int_equal(synced, 2); /* the file and its directory */
	ada_scribe_close(scribe);
	unlink(paper.path);
}

static void a_twentieth_of_the_time(void **state)
{
	assert_int_equal(pause_behind(1 * MS, 0), 2 * 20 * MS);
	assert_int_equal(pause_behind(1 * MS, 2 * MS), 2 * 60 * MS);
	assert_int_equal(pause_behind(0, 200 * MS), 2 * 4000 * MS);
}

/* `ada mark` waits three seconds for a window's end to be there. */
static void a_slow_disk_keeps_nobody_waiting(void **state)
{
	assert_int_equal(pause_behind(300 * MS, 1 * MS), 1000 * MS);
	assert_int_equal(pause_behind(300 * MS, 100 * MS), 2 * 2000 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_not_synced),
		cmocka_unit_test(a_twentieth_of_the_time),
		cmocka_unit_test(a_slow_disk_keeps_nobody_waiting),
	};
	int status;

	if (!mkdtemp(directory))
		return 1;
	status = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(directory);
	return status;
}
