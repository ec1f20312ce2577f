/* Whom the scheduling lane follows: whose switches come from the kernel, in a rest and behind it. Skipped where perf_event_open is forbidden. */
#include "../test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "recorder/sched/follow.h"

#define CPUS 1
#define PAGES 8

#define THREADS 2

struct child { /* a process with a thread beside its first, each of which switches whenever it is told to */
	pid_t pid;
	int told[THREADS][2], done[2];
};
static struct child child;
static size_t running; /* processes that the source tells of */

static size_t processes(void *context, pid_t *pids, size_t max)
{
	size_t count = running < max ? running : max;

	for (size_t i = 0; i < count; i++)
		pids[i] = child.pid;
	return count;
}

static void *serve(void *told)
{
	char byte;

	while (read(*(int *)told, &byte, 1) == 1 && write(child.done[1], &byte, 1) == 1)
		;
	return NULL;
}

static int begin_child(void **state)
{
	pthread_t thread;

	if (pipe(child.told[0]) || pipe(child.told[1]) || pipe(child.done))
		return -1;
	child.pid = fork();
	if (child.pid)
		return child.pid < 0 ? -1 : 0;
	for (int i = 0; i < THREADS; i++)
		close(child.told[i][1]);
	if (!pthread_create(&thread, NULL, serve, child.told[1]))
		serve(child.told[0]);
	_exit(0);
}

static int end_child(void **state)
{
	for (int i = 0; i < THREADS; i++) {
		close(child.told[i][1]);
		close(child.told[i][0]);
	}
	close(child.done[0]);
	close(child.done[1]);
	return waitpid(child.pid, NULL, 0) != child.pid;
}

/* Each thread: were the other one to do all of it, on a machine where the first has no CPU, nobody would see any. */
static void switch_often(void)
{
	char byte = 0;

	for (int i = 0; i < 100; i++) {
		assert_int_equal(write(child.told[i % THREADS][1], &byte, 1), 1);
		assert_int_equal(read(child.done[0], &byte, 1), 1);
	}
}

/* Records that came since the last look. */
static size_t records_of(struct ada_sched_follow *follow)
{
	size_t count = 0;

	for (int i = 0; i < follow->cpus; i++) {
		ada_sched_ring_look(&follow->rings[i]);
		for (; ada_sched_ring_next(&follow->rings[i]); ada_sched_ring_pass(&follow->rings[i]))
			count++;
	}
	return count;
}

static void open_follow(struct ada_sched_follow *follow, struct ada_sched_ring *rings, int cpus)
{
	int status;

	memset(rings, 0, (size_t)cpus * sizeof *rings);
	*follow = (struct ada_sched_follow){ .rings = rings, .cpus = cpus, .pages = PAGES, .source = { NULL, processes } };
	status = ada_sched_follow_first(follow, child.pid);
	if (status == -EACCES || status == -EPERM || status == -ENOSYS)
		skip();
	assert_int_equal(status, 0);
}

static void in_a_rest_nothing_is_open(void **state)
{
	struct ada_sched_ring rings[64];
	struct ada_sched_follow follow;

	running = 1;
	open_follow(&follow, rings, (int)sysconf(_SC_NPROCESSORS_ONLN) < 64 ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 64);
	for (int rest = 0; rest < 3; rest++) {
		switch_often();
		assert_true(records_of(&follow) > 10);
		ada_sched_follow_hush(&follow);
		records_of(&follow);
		switch_often();
		assert_int_equal(records_of(&follow), 0);
		ada_sched_follow_rest(&follow);
		for (int i = 0; i < follow.cpus; i++)
			assert_null(rings[i].page);
		assert_int_equal(follow.events.count, 0);
		assert_int_equal(records_of(&follow), 0);
		assert_true(ada_sched_follow_again(&follow));
		assert_int_equal(follow.events.count, (size_t)follow.cpus); /* of its second thread; the first one's are the rings' */
	}
	ada_sched_follow_close(&follow);
}

static void too_many_stay_open_and_silent(void **state)
{
	struct ada_sched_ring rings[CPUS];
	struct ada_sched_follow follow;

	running = SIZE_MAX;
	open_follow(&follow, rings, CPUS);
	ada_sched_follow_hush(&follow);
	records_of(&follow); /* of how the child began */
	ada_sched_follow_rest(&follow);
	assert_non_null(rings[0].page);
	switch_often();
	assert_int_equal(records_of(&follow), 0);
	assert_true(ada_sched_follow_again(&follow));
	assert_int_equal(follow.events.count, 0);
	ada_sched_follow_close(&follow);
}

static void who_has_ended_is_not_followed(void **state)
{
	struct ada_sched_ring rings[CPUS];
	struct ada_sched_follow follow;

	running = 1;
	open_follow(&follow, rings, CPUS);
	ada_sched_follow_hush(&follow);
	ada_sched_follow_rest(&follow);
	running = 0;
	assert_false(ada_sched_follow_again(&follow));
	assert_null(rings[0].page);
	running = 1;
	assert_true(ada_sched_follow_again(&follow));
	assert_non_null(rings[0].page);
	ada_sched_follow_close(&follow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_a_rest_nothing_is_open, begin_child, end_child),
		cmocka_unit_test_setup_teardown(too_many_stay_open_and_silent, begin_child, end_child),
		cmocka_unit_test_setup_teardown(who_has_ended_is_not_followed, begin_child, end_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
