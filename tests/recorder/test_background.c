/* Which of the recorder's threads are in the background, and when. The test's own main thread stands for the recorder's. */
#include "../test.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "recorder/host/background.h"
#include "recorder/sched/samples.h"

#define SECOND_NS 1000000000ull
#define MS_NS 1000000ull
#define START_NS (1000 * SECOND_NS)

/* Without the right to come back nothing goes: then there is nothing to see. */
static struct ada_background opened(void)
{
	bool raised = !setpriority(PRIO_PROCESS, 0, -1);
	struct ada_background background;

	ada_background_open(&background, raised);
	assert_int_equal(background.may, raised);
	if (!raised)
		skip();
	return background;
}

struct other {
	const char *name;
	pid_t tid;
	pthread_t thread;
	sem_t begun, end;
};

static void *live(void *argument)
{
	struct other *other = argument;

	if (other->name)
		pthread_setname_np(pthread_self(), other->name);
	other->tid = gettid();
	sem_post(&other->begun);
	while (sem_wait(&other->end))
		;
	return NULL;
}

static void begin(struct other *other, const char *name)
{
	*other = (struct other){ .name = name };
	sem_init(&other->begun, 0, 0);
	sem_init(&other->end, 0, 0);
	assert_int_equal(pthread_create(&other->thread, NULL, live, other), 0);
	while (sem_wait(&other->begun))
		;
}

static void end(struct other *other)
{
	sem_post(&other->end);
	pthread_join(other->thread, NULL);
}

static void it_goes_with_its_workers_and_comes_with_them(void **state)
{
	struct ada_background background = opened();
	struct other worker, stranger, late, strange;

	begin(&worker, "iou-wrk-1");
	begin(&stranger, "ada-pack");
	ada_background_turn(&background, false, START_NS, 40);
	assert_true(sched_getscheduler(0) == SCHED_OTHER && sched_getscheduler(worker.tid) == SCHED_OTHER);
	ada_background_turn(&background, true, START_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	assert_int_equal(sched_getscheduler(worker.tid), SCHED_IDLE);
	assert_int_equal(sched_getscheduler(stranger.tid), SCHED_OTHER);
	/* What it creates there begins there, and a second later is where it belongs. */
	begin(&late, "iou-wrk-2");
	begin(&strange, "noter");
	sched_setscheduler(late.tid, SCHED_OTHER, &(struct sched_param){ 0 });
	assert_int_equal(sched_getscheduler(strange.tid), SCHED_IDLE);
	ada_background_turn(&background, true, START_NS + SECOND_NS, 40);
	assert_true(sched_getscheduler(late.tid) == SCHED_OTHER && sched_getscheduler(strange.tid) == SCHED_IDLE);
	ada_background_turn(&background, true, START_NS + SECOND_NS + 1, 40);
	assert_true(sched_getscheduler(late.tid) == SCHED_IDLE && sched_getscheduler(strange.tid) == SCHED_OTHER);
	ada_background_turn(&background, false, START_NS + SECOND_NS + 2, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	assert_int_equal(sched_getscheduler(worker.tid), SCHED_OTHER);
	assert_int_equal(sched_getscheduler(late.tid), SCHED_OTHER);
	end(&worker);
	end(&stranger);
	end(&late);
	end(&strange);
}

static void *hurry(void *background)
{
	ada_background_hurry(background);
	return NULL;
}

static void who_is_waited_for_stays_in_front_for_a_second(void **state)
{
	struct ada_background background = opened();
	pthread_t thread;

	ada_background_turn(&background, true, START_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	pthread_create(&thread, NULL, hurry, &background);
	pthread_join(thread, NULL);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	ada_background_turn(&background, true, START_NS + 1, 40);
	ada_background_turn(&background, true, START_NS + SECOND_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	ada_background_turn(&background, true, START_NS + SECOND_NS + 1, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	ada_background_hurry(&background);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

/* It is due 40 ms from its turn on, and late another 60 ms later. */
static void who_is_late_stays_in_front_for_three_seconds(void **state)
{
	struct ada_background background = opened();

	ada_background_watch(&background, START_NS);
	ada_background_turn(&background, true, START_NS, 40);
	ada_background_watch(&background, START_NS + 100 * MS_NS);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	ada_background_watch(&background, START_NS + 100 * MS_NS + 1);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	ada_background_turn(&background, true, START_NS + 101 * MS_NS, 40);
	ada_background_turn(&background, true, START_NS + 3100 * MS_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	ada_background_turn(&background, true, START_NS + 3100 * MS_NS + 1, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	ada_background_turn(&background, false, START_NS + 3200 * MS_NS, 40);
}

/* The whole recorder was stopped, its watch as well. */
static void nobody_is_late_whom_nobody_watched(void **state)
{
	struct ada_background background = opened();

	ada_background_watch(&background, START_NS);
	ada_background_turn(&background, true, START_NS, 40);
	ada_background_watch(&background, START_NS + 101 * MS_NS);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	ada_background_turn(&background, true, START_NS + 102 * MS_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	ada_background_turn(&background, false, START_NS + 103 * MS_NS, 40);
}

static void what_may_not_be_interrupted_is_done_in_front(void **state)
{
	struct ada_background background = opened();

	ada_background_leave(&background);
	ada_background_return(&background);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	ada_background_turn(&background, true, START_NS, 40);
	ada_background_leave(&background);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	ada_background_return(&background);
	assert_int_equal(sched_getscheduler(0), SCHED_IDLE);
	ada_background_leave(&background);
	ada_background_hurry(&background);
	ada_background_return(&background);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
}

static void who_could_not_come_back_does_not_go(void **state)
{
	struct ada_background background;

	ada_background_open(&background, false);
	ada_background_turn(&background, true, START_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }); /* as its user wanted it */
	ada_background_open(&background, true);
	ada_background_turn(&background, true, START_NS, 40);
	assert_int_equal(sched_getscheduler(0), SCHED_BATCH);
	sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
}

static size_t nobody(void *context, pid_t *pids, size_t max)
{
	return 0;
}

/* The one beside the main one. */
static pid_t another_thread(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t found = 0;

	while ((entry = readdir(tasks)))
		if (*entry->d_name != '.' && atoi(entry->d_name) != getpid())
			found = atoi(entry->d_name);
	closedir(tasks);
	return found;
}

/* It has its name a moment after it has begun. */
static void await_name(pid_t thread, const char *name)
{
	char path[64], line[32] = "";

	snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
	while (strcmp(line, name)) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		assert_non_null(fgets(line, sizeof line, file));
		fclose(file);
		sched_yield();
	}
}

static void samples_are_taken_in_the_background(void **state)
{
	struct ada_background background = opened();
	const struct ada_sched_source source = { NULL, nobody };
	char directory[] = "/tmp/ada-background-XXXXXX", path[64];
	struct ada_samples *samples;
	struct ada_error error;
	pid_t thread;

	assert_non_null(mkdtemp(directory));
	assert_int_equal(ada_samples_open(&samples, directory, NULL, &source, &error), 0);
	thread = another_thread();
	await_name(thread, "samples\n");
	ada_background_turn(&background, true, START_NS, 40);
	assert_int_equal(sched_getscheduler(thread), SCHED_IDLE);
	ada_background_hurry(&background);
	assert_int_equal(sched_getscheduler(thread), SCHED_OTHER);
	ada_samples_close(samples);
	snprintf(path, sizeof path, "%s/samples.atf", directory);
	unlink(path);
	assert_int_equal(rmdir(directory), 0);
}

static int in_front(void **state)
{
	return sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_goes_with_its_workers_and_comes_with_them, in_front),
		cmocka_unit_test_setup(who_is_waited_for_stays_in_front_for_a_second, in_front),
		cmocka_unit_test_setup(who_is_late_stays_in_front_for_three_seconds, in_front),
		cmocka_unit_test_setup(nobody_is_late_whom_nobody_watched, in_front),
		cmocka_unit_test_setup(what_may_not_be_interrupted_is_done_in_front, in_front),
		cmocka_unit_test_setup(who_could_not_come_back_does_not_go, in_front),
		cmocka_unit_test_setup(samples_are_taken_in_the_background, in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
