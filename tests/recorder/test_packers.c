/* Threads that pack: the priority that they have while they do. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include "../test.h"
#include "recorder/index/packers.h"

#define JOBS 7
#define HURRIED 4 /* jobs in a queue, the one at hand included */

static int priorities[JOBS];
static unsigned done;
static sem_t begun, go_on;

static int note_priority(struct atf_packer *packer, const struct ada_packed_job *job, bool pressed)
{
	(void)packer, (void)job, (void)pressed;
	priorities[done++] = getpriority(PRIO_PROCESS, 0);
	sem_post(&begun);
	sem_wait(&go_on);
	return 0;
}

static bool main_sleeps(void)
{
	FILE *file = fopen("/proc/self/stat", "re");
	char state = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state == 'S';
}

/* Until the main thread waits, the first job lasts. */
static int note_while_awaited(struct atf_packer *packer, const struct ada_packed_job *job, bool pressed)
{
	(void)packer, (void)job, (void)pressed;
	priorities[done++] = getpriority(PRIO_PROCESS, 0);
	while (!main_sleeps())
		sched_yield();
	return 0;
}

static void submit(struct ada_packers *packers, struct ada_packed_state *state)
{
	struct ada_packed_job *job = calloc(1, sizeof *job);

	assert_non_null(job);
	*job = (struct ada_packed_job){ .state = state, .what = ADA_PACKED_TAIL };
	assert_int_equal(ada_packers_submit(packers, job), 0);
}

static void wait_and_close(struct ada_packers *packers, const struct ada_packed_state *state)
{
	struct ada_packed_job *jobs;

	assert_int_equal(ada_packers_wait(packers, state, true), 0);
	jobs = ada_packers_done(packers);
	while (jobs) {
		struct ada_packed_job *next = jobs->next;

		free(jobs);
		jobs = next;
	}
	ada_packers_close(packers);
}

/* The first is alone when it begins, the second finds all others behind it. */
static void work_all(void)
{
	struct ada_packers *packers;
	struct ada_packed_state state = { 0 };

	done = 0;
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	assert_int_equal(ada_packers_open(&packers, note_priority, 1), 0);
	submit(packers, &state);
	sem_wait(&begun);
	for (int i = 1; i < JOBS; i++)
		submit(packers, &state);
	for (int i = 1; i < JOBS; i++) {
		sem_post(&go_on);
		sem_wait(&begun);
	}
	sem_post(&go_on);
	wait_and_close(packers, &state);
	assert_int_equal(done, JOBS);
}

static bool may_change_it(void)
{
	int own = getpriority(PRIO_PROCESS, 0);

	return !setpriority(PRIO_PROCESS, 0, -5) && !setpriority(PRIO_PROCESS, 0, own);
}

/* Who may not change it is tested below. */
static void makes_way_until_jobs_queue_up(void **state)
{
	(void)state;
	if (!may_change_it())
		skip();
	work_all();
	assert_int_equal(priorities[0], 5);
	for (int i = 1; i < JOBS; i++)
		assert_int_equal(priorities[i], JOBS - i >= HURRIED ? -5 : 5);
}

static void makes_no_way_while_it_is_waited_for(void **unused)
{
	struct ada_packers *packers;
	struct ada_packed_state state = { 0 };

	(void)unused;
	if (!may_change_it())
		skip();
	done = 0;
	assert_int_equal(ada_packers_open(&packers, note_while_awaited, 1), 0);
	submit(packers, &state);
	submit(packers, &state);
	wait_and_close(packers, &state);
	assert_int_equal(done, 2);
	assert_int_equal(priorities[1], -5);
}

static void *as_it_is(void *wanted)
{
	*(int *)wanted = getpriority(PRIO_PROCESS, 0);
	return NULL;
}

/* Who could not raise it again keeps the priority that a thread begins with. */
static void keeps_it_where_it_may_not_change_it(void **state)
{
	const struct rlimit none = { 0, 0 };
	pthread_t thread;
	bool root = !geteuid();
	int wanted;

	(void)state;
	setrlimit(RLIMIT_NICE, &none);
	if (root)
		assert_int_equal(seteuid(65534), 0); /* and without CAP_SYS_NICE */
	assert_int_equal(pthread_create(&thread, NULL, as_it_is, &wanted), 0);
	pthread_join(thread, NULL);
	work_all();
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(priorities[i], wanted);
	if (root) /* a leak sanitizer looks into the process at its end: a change of user forbids it */
		assert_false(seteuid(0) || prctl(PR_SET_DUMPABLE, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(makes_way_until_jobs_queue_up),
					    cmocka_unit_test(makes_no_way_while_it_is_waited_for),
					    cmocka_unit_test(keeps_it_where_it_may_not_change_it) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
