/* The lane's files under a limit: the oldest go first, whole; what is there is what came last; a recorder that is killed leaves a list that
 * can be mended. */
#include "../test.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "atf/sched/sched_list.h"
#include "base/clock.h"
#include "recorder/bound/bound.h"
#include "recorder/sched/roll.h"

#define LIMIT (16ull << 20)
#define SHARE (LIMIT / 16)
#define BATCH 512

static char root[] = "/tmp/ada-roll-XXXXXX";

static int begin(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	return !mkdtemp(root);
}

static int end(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -r %s", root);
	return system(command);
}

static struct ada_bound *limit(uint64_t bytes, uint64_t age_ns)
{
	struct ada_bound *bound;

	assert_int_equal(ada_bound_open(&bound, &(struct ada_bound_options){ .session = root, .disk_limit = bytes, .max_age_ns = age_ns }),
			 0);
	return bound;
}

static struct ada_roll *files(struct ada_bound *bound)
{
	struct ada_error error = { "" };
	struct ada_roll *roll;

	assert_int_equal(
		ada_roll_open(&roll, &(struct ada_roll_options){ .directory = root, .name = "sched", .cpus = 2, .bound = bound }, &error),
		0);
	return roll;
}

/* Event i has number i, at `start_ns` + i. */
static void append(struct ada_roll *roll, uint64_t start_ns, uint64_t *number)
{
	AtfSchedEvent events[BATCH];

	for (size_t i = 0; i < BATCH; i++, ++*number)
		events[i] = (AtfSchedEvent){ .timestamp_ns = start_ns + *number, .count = *number, .thread_id = 7, .kind = ATF_SCHED_ON };
	ada_roll_append(roll, events, BATCH);
}

static uint64_t bytes_there(void)
{
	DIR *opened = opendir(root);
	uint64_t bytes = 0;
	struct dirent *entry;
	struct stat status;

	while ((entry = readdir(opened)))
		if (*entry->d_name != '.' && !fstatat(dirfd(opened), entry->d_name, &status, 0))
			bytes += (uint64_t)status.st_size;
	closedir(opened);
	return bytes;
}

/* The events are those before `next`, without gaps. */
static uint64_t expect_last(uint64_t next, bool complete)
{
	struct atf_sched_names names;
	struct atf_message message;
	struct atf_sched_list *list;
	char file[NAME_MAX], path[PATH_MAX];
	uint64_t count;

	assert_true(atf_sched_names_find(&names, root, "sched"));
	assert_int_equal(names.missing, 0);
	assert_false(names.plain);
	for (uint32_t i = names.first; i < names.end; i++) {
		struct atf_sched *one;

		atf_sched_name(file, &names, "sched", i);
		snprintf(path, sizeof path, "%s/%s", root, file);
		assert_int_equal(atf_sched_open(&one, path, &message), 0);
		assert_int_equal(complete, atf_sched_completeness(one) == ATF_COMPLETE);
		atf_sched_close(one);
	}
	assert_int_equal(atf_sched_list_open(&list, root, "sched", &message), 0);
	count = atf_sched_list_count(list);
	assert_true(count > 0 && count <= next);
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(atf_sched_list_at(list, i)->count, next - count + i);
	assert_int_equal(atf_sched_list_has_aged(list), names.first > 0);
	atf_sched_list_close(list);
	return count;
}

static void a_limit_is_kept(void **state)
{
	struct ada_bound *bound = limit(LIMIT, 0);
	struct ada_roll *roll = files(bound);
	struct ada_roll_counts counts;
	uint64_t number = 0, start_ns = ada_clock_boottime_ns();

	while (number * sizeof(AtfSchedEvent) < 3 * SHARE) {
		append(roll, start_ns, &number);
		assert_true(bytes_there() <= SHARE + SHARE / 8 + BATCH * sizeof(AtfSchedEvent) + 128);
	}
	ada_roll_end(roll);
	counts = ada_roll_count(roll);
	assert_int_equal(counts.failed, 0);
	assert_int_equal(counts.events + counts.aged, number);
	assert_int_equal(expect_last(number, true), counts.events);
	assert_true(counts.events * sizeof(AtfSchedEvent) > SHARE / 2);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

static void what_is_old_goes(void **state)
{
	const uint64_t age_ns = 3600000000000ull;
	struct ada_bound *bound = limit(0, age_ns);
	struct ada_roll *roll = files(bound);
	uint64_t number = 0;

	append(roll, 1, &number); /* since the system was started: long ago, or it is younger than that */
	ada_roll_turn(roll);
	append(roll, ada_clock_boottime_ns() + age_ns, &number);
	ada_roll_turn(roll);
	ada_roll_end(roll);
	if (ada_clock_boottime_ns() > age_ns + number) {
		assert_int_equal(ada_roll_count(roll).aged, BATCH);
		assert_int_equal(expect_last(number, true), BATCH);
	}
	ada_roll_free(roll);
	ada_bound_close(bound);
}

static int ignore_fold(const char *directory, uint32_t border, struct ada_folded *folded, struct ada_error *error)
{
	return 0;
}

/* A segment that reaches up to an event goes: the files that end before it follow, and no other. */
static void it_goes_with_the_segments(void **state)
{
	struct ada_bound_segment segment = { .start_ns = 1, .bytes = 1000 }, open = { .thread = 1 };
	struct ada_bound *bound;
	struct ada_roll *roll;
	uint64_t number = 0, start_ns = 1000000, kept;
	char directory[PATH_MAX];

	snprintf(directory, sizeof directory, "%s/thread_0", root);
	assert_int_equal(mkdir(directory, 0700), 0);
	assert_int_equal(ada_bound_open(&bound, &(struct ada_bound_options){ .session = root, .disk_limit = LIMIT, .fold = ignore_fold }),
			 0);
	roll = files(bound);
	for (int i = 0; i < 20; i++) /* 2.5 files */
		append(roll, start_ns, &number);
	assert_int_equal(ada_roll_count(roll).aged, 0);
	segment.end_ns = start_ns + number;
	open.start_ns = open.end_ns = segment.end_ns + 1;
	ada_bound_closed(bound, &segment);
	ada_bound_closed(bound, &open);
	snprintf(directory, sizeof directory, "%s/thread_0", root);
	ada_bound_go(bound, directory, 7);
	ada_bound_send(bound);
	ada_bound_wait(bound);
	while (ada_bound_done(bound))
		;
	ada_roll_turn(roll);
	kept = ada_roll_count(roll).events;
	assert_true(kept > 0 && kept < number);
	ada_roll_end(roll);
	assert_int_equal(expect_last(number, true), kept);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

/* Killed while it writes, at whatever it does just then. */
static void what_a_kill_leaves(void **state)
{
	for (int round = 0; round < 30; round++) {
		struct atf_sched_names names;
		struct atf_message message;
		char file[NAME_MAX], path[PATH_MAX];
		uint64_t first, count;
		struct atf_sched_list *list;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			struct ada_roll *roll = files(limit(LIMIT / 16, 0));
			uint64_t number = 0;

			for (;;)
				append(roll, 1, &number);
		}
		while (!atf_sched_names_find(&names, root, "sched") || names.first < 1 + (uint32_t)round % 7)
			;
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		assert_true(atf_sched_names_find(&names, root, "sched"));
		assert_int_equal(names.missing, 0);
		for (uint32_t i = names.first; i < names.end; i++) {
			atf_sched_name(file, &names, "sched", i);
			snprintf(path, sizeof path, "%s/%s", root, file);
			assert_int_equal(atf_sched_recover(path, &message), 0);
		}
		assert_int_equal(atf_sched_list_open(&list, root, "sched", &message), 0);
		count = atf_sched_list_count(list);
		assert_true(count);
		first = atf_sched_list_at(list, 0)->count;
		atf_sched_list_close(list);
		assert_int_equal(expect_last(first + count, true), count);
		for (uint32_t i = names.first; i < names.end; i++) {
			atf_sched_name(file, &names, "sched", i);
			snprintf(path, sizeof path, "%s/%s", root, file);
			assert_int_equal(unlink(path), 0);
		}
		snprintf(path, sizeof path, "%s/sched.%u.atf.tmp", root, names.end);
		unlink(path);
	}
}

/* One that is missing within is said, and no other is read in its place. */
static void a_gap_is_said(void **state)
{
	struct ada_bound *bound = limit(LIMIT, 0);
	struct ada_roll *roll = files(bound);
	struct atf_sched_list *list;
	struct atf_message message;
	uint64_t number = 0;
	char path[64];

	while (number * sizeof(AtfSchedEvent) < SHARE / 2)
		append(roll, 1, &number);
	ada_roll_end(roll);
	ada_roll_free(roll);
	ada_bound_close(bound);
	snprintf(path, sizeof path, "%s/sched.1.atf", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(atf_sched_list_open(&list, root, "sched", &message), -ATF_ERROR_CORRUPT);
	assert_null(list);
	assert_non_null(strstr(message.text, "1 of its files are missing"));
}

static void without_a_limit_it_is_one_file(void **state)
{
	struct ada_roll *roll = files(NULL);
	struct atf_sched_names names;
	uint64_t number = 0;
	char path[64];

	while (number * sizeof(AtfSchedEvent) < SHARE)
		append(roll, 1, &number);
	ada_roll_end(roll);
	ada_roll_free(roll);
	assert_true(atf_sched_names_find(&names, root, "sched") && names.plain);
	snprintf(path, sizeof path, "%s/sched.atf", root);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(bytes_there(), 128 + number * sizeof(AtfSchedEvent));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_limit_is_kept, begin, end),
		cmocka_unit_test_setup_teardown(what_is_old_goes, begin, end),
		cmocka_unit_test_setup_teardown(it_goes_with_the_segments, begin, end),
		cmocka_unit_test_setup_teardown(what_a_kill_leaves, begin, end),
		cmocka_unit_test_setup_teardown(a_gap_is_said, begin, end),
		cmocka_unit_test_setup_teardown(without_a_limit_it_is_one_file, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
