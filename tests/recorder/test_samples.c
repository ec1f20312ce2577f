/* What the sampler counts of processes that run when they are told to. */
#include "../test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "atf/sched/sched_list.h"
#include "base/clock.h"
#include "recorder/sched/samples.h"

#define CHILDREN 2
#define MS 1000000ull
#define LOOKS_APART_NS (100 * MS) /* at least, where the machine is spared */

static char root[] = "/tmp/ada-samples-XXXXXX";
static struct child {
	pid_t pid;
	int told[2], done[2];
	uint64_t cpu_ns; /* what it has used */
} children[CHILDREN];

static void serve(const struct child *child)
{
	uint64_t more_ns, now_ns;

	while (read(child->told[0], &more_ns, sizeof more_ns) == sizeof more_ns) {
		uint64_t end_ns = ada_clock_thread_ns() + more_ns;

		while ((now_ns = ada_clock_thread_ns()) < end_ns)
			;
		if (write(child->done[1], &now_ns, sizeof now_ns) != sizeof now_ns)
			break;
	}
	_exit(0);
}

/* Has it run for so long. */
static void work(struct child *child, uint64_t ns)
{
	assert_int_equal(write(child->told[1], &ns, sizeof ns), sizeof ns);
	assert_int_equal(read(child->done[0], &child->cpu_ns, sizeof child->cpu_ns), sizeof child->cpu_ns);
}

static size_t processes(void *context, pid_t *pids, size_t max)
{
	for (size_t i = 0; i < CHILDREN; i++)
		pids[i] = children[i].pid;
	return CHILDREN;
}

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	if (!mkdtemp(root))
		return -1;
	for (struct child *child = children; child < children + CHILDREN; child++) {
		if (pipe(child->told) || pipe(child->done) || (child->pid = fork()) < 0)
			return -1;
		if (!child->pid) {
			for (const struct child *other = children; other <= child; other++)
				close(other->told[1]);
			serve(child);
		}
		close(child->told[0]);
		close(child->done[1]);
	}
	return 0;
}

static int end(void **state)
{
	char command[64];
	int failed = 0;

	for (const struct child *child = children; child < children + CHILDREN; child++) {
		close(child->told[1]);
		failed |= waitpid(child->pid, NULL, 0) != child->pid;
		close(child->done[0]);
	}
	snprintf(command, sizeof command, "rm -r %s", root);
	return failed || system(command);
}

static struct ada_samples *begin_samples(void)
{
	const struct ada_sched_source source = { NULL, processes };
	struct ada_error error = { "" };
	struct ada_samples *samples;

	assert_int_equal(ada_samples_open(&samples, root, NULL, &source, &error), 0);
	return samples;
}

/* Has it run until the sampler has said of it what came before. */
static void await_look(struct ada_samples *samples, struct child *child)
{
	uint64_t events = ada_samples_count(samples).events;

	while (ada_samples_count(samples).events == events)
		work(child, MS);
}

struct sums {
	uint64_t ran_ns, looks;
};

static bool ran(const AtfSchedEvent *event)
{
	return event->kind == ATF_SCHED_RAN;
}

static struct sums sums_of(pid_t tid)
{
	struct atf_message message;
	struct atf_sched_list *list;
	struct sums sums = {};
	uint64_t last_ns = 0;

	assert_int_equal(atf_sched_list_open(&list, root, "samples", &message), 0);
	for (uint64_t i = 0; i < atf_sched_list_count(list); i++) {
		const AtfSchedEvent *event = atf_sched_list_at(list, i);

		if (event->thread_id != (uint32_t)tid || !ran(event))
			continue;
		sums.ran_ns += event->count;
		sums.looks += event->timestamp_ns != last_ns;
		last_ns = event->timestamp_ns;
	}
	atf_sched_list_close(list);
	return sums;
}

/* Each look is at all of them, whoever rests: what it says is of no earlier time than the look before. */
static void expect_no_older_times(void)
{
	struct atf_message message;
	struct atf_sched_list *list;

	assert_int_equal(atf_sched_list_open(&list, root, "samples", &message), 0);
	for (uint64_t i = 0; i < atf_sched_list_count(list); i++) {
		const AtfSchedEvent *event = atf_sched_list_at(list, i);
		uint64_t since_ns = event->timestamp_ns - event->other_id * 1000ull;

		for (uint64_t earlier = 0; earlier < i && ran(event); earlier++) {
			const AtfSchedEvent *before = atf_sched_list_at(list, earlier);

			if (ran(before) && before->timestamp_ns < event->timestamp_ns)
				assert_true(before->timestamp_ns <= since_ns + 1000); /* it is rounded up */
		}
	}
	atf_sched_list_close(list);
}

/* By turns, so that each rests while the other runs: a process that rests isn't looked at, and what it does then isn't missed. */
static void all_that_ran_is_counted(void **state)
{
	struct ada_samples *samples = begin_samples();
	uint64_t begun_ns[CHILDREN], least_ns[CHILDREN];

	for (int i = 0; i < CHILDREN; i++) {
		await_look(samples, &children[i]);
		await_look(samples, &children[i]);
		begun_ns[i] = children[i].cpu_ns;
	}
	for (int turn = 0; turn < 6; turn++)
		work(&children[turn % CHILDREN], 60 * MS);
	for (int i = 0; i < CHILDREN; i++) {
		least_ns[i] = children[i].cpu_ns - begun_ns[i];
		await_look(samples, &children[i]);
		await_look(samples, &children[i]);
	}
	ada_samples_stop(samples);
	for (int i = 0; i < CHILDREN; i++) {
		assert_true(sums_of(children[i].pid).ran_ns >= least_ns[i]);
		assert_true(sums_of(children[i].pid).ran_ns <= children[i].cpu_ns + 5 * MS); /* it goes on to its next read */
	}
	expect_no_older_times();
	ada_samples_close(samples);
}

static void where_the_machine_is_spared_looks_are_few(void **state)
{
	struct ada_samples *samples = begin_samples();
	uint64_t begun_ns = ada_clock_boottime_ns(), most;

	ada_samples_spare(samples, true);
	ada_samples_spare(NULL, true);
	work(&children[0], 600 * MS);
	await_look(samples, &children[0]);
	ada_samples_stop(samples);
	most = (ada_clock_boottime_ns() - begun_ns) / LOOKS_APART_NS + 2; /* the first was before */
	assert_in_range(sums_of(children[0].pid).looks, 1, most);
	ada_samples_close(samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_that_ran_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(where_the_machine_is_spared_looks_are_few, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
