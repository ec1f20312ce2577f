/* The lane's files under a limit: the oldest go first, whole; what is there is what came last; a recorder that is killed leaves a list that
 * can be mended. */
#include "../test.h"

#include <dirent.h>
#include <fcntl.h>
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

static struct ada_roll *files_that_stay(struct ada_bound *bound, bool keeps)
{
	const struct ada_roll_options options = { .directory = root, .name = "sched", .cpus = 2, .bound = bound, .keeps = keeps };
	struct ada_error error = { "" };
	struct ada_roll *roll;

	assert_int_equal(ada_roll_open(&roll, &options, &error), 0);
	return roll;
}

static struct ada_roll *files(struct ada_bound *bound)
{
	return files_that_stay(bound, false);
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

/* --- windows ---------------------------------------------------------------------------------------------------------------- */

struct window {
	uint64_t from_ns, to_ns, around_ns; /* around_ns: 0 where there is none */
};

static enum ada_roll_wish wish_of(void *context, uint64_t from_ns, uint64_t to_ns)
{
	const struct window *window = context;
	bool around = from_ns <= window->to_ns + window->around_ns && to_ns + window->around_ns >= window->from_ns;

	if (!window->to_ns || !around)
		return ADA_ROLL_GOES;
	return from_ns <= window->to_ns && to_ns >= window->from_ns ? ADA_ROLL_OWN : ADA_ROLL_AROUND;
}

/* What the main thread does in each of its turns, so much later than in the last. */
static void answer(struct ada_roll *roll, struct window *window, bool anew)
{
	static uint64_t later_ns;

	later_ns += 1000000000ull;
	ada_roll_answer(roll, &(struct ada_roll_wants){
				      .wants = wish_of, .context = window, .now_ns = ada_clock_boottime_ns() + later_ns, .anew = anew });
}

static struct atf_sched_list *list_of(void)
{
	struct atf_message message;
	struct atf_sched_list *list;

	assert_int_equal(atf_sched_list_open(&list, root, "sched", &message), 0);
	assert_non_null(list);
	return list;
}

/* All events up to `last`, with a window around those from number `from` to `to` on. */
static struct ada_roll *run_with(struct ada_bound *bound, struct window *window, uint64_t *number, uint64_t bytes)
{
	struct ada_roll *roll = files_that_stay(bound, true);

	for (*number = 0; *number * sizeof(AtfSchedEvent) < bytes;) {
		append(roll, 1000, number);
		answer(roll, window, false);
	}
	return roll;
}

static void what_a_window_wants_stays(void **state)
{
	struct window window = { .from_ns = 1000 + 7000, .to_ns = 1000 + 9000 };
	struct ada_bound *bound = limit(LIMIT, 0);
	struct atf_sched_list *list;
	uint64_t number, first, kept, gap;
	struct ada_roll *roll = run_with(bound, &window, &number, 3 * SHARE);

	list = list_of();
	kept = atf_sched_list_since(list);
	first = atf_sched_list_at(list, 0)->count;
	assert_true(first > 0 && first <= 7000 && first + kept > 9000 && kept < 3 * SHARE / 8 / sizeof(AtfSchedEvent));
	gap = atf_sched_list_gap(list, 1);
	assert_int_equal(gap, kept);
	assert_int_equal(atf_sched_list_gap(list, gap + 1), atf_sched_list_count(list));
	for (uint64_t i = 0; i < kept; i++)
		assert_int_equal(atf_sched_list_at(list, i)->count, first + i);
	for (uint64_t i = kept; i < atf_sched_list_count(list); i++)
		assert_int_equal(atf_sched_list_at(list, i)->count, number - atf_sched_list_count(list) + i);
	assert_int_equal(ada_roll_count(roll).events, atf_sched_list_count(list));
	assert_int_equal(ada_bound_state(bound).kept, kept * sizeof(AtfSchedEvent) + 128 * (kept / (SHARE / 8 / sizeof(AtfSchedEvent))));
	atf_sched_list_close(list);
	/* The window is given up, and that is known at once; the file goes in the lane's next turn. */
	window.to_ns = 0;
	answer(roll, &window, true);
	assert_int_equal(ada_bound_state(bound).kept, 0);
	ada_roll_turn(roll);
	assert_int_equal(ada_roll_count(roll).events + ada_roll_count(roll).aged, number);
	ada_roll_end(roll);
	assert_int_equal(expect_last(number, true), ada_roll_count(roll).events);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

/* As much as an eighth of the limit is kept: first what is around the window goes. */
static void there_is_a_limit_to_it(void **state)
{
	const uint64_t all = LIMIT / sizeof(AtfSchedEvent), part = SHARE / 8 / sizeof(AtfSchedEvent);
	struct window window = { .from_ns = 1000 + all / 3, .to_ns = 1000 + all / 3 + part, .around_ns = all };
	struct ada_bound *bound = limit(LIMIT, 0);
	struct atf_sched_list *list;
	uint64_t number, at = 0;
	struct ada_roll *roll = run_with(bound, &window, &number, LIMIT);

	assert_in_range(ada_bound_state(bound).kept, LIMIT / 8 - SHARE / 4, LIMIT / 8);
	ada_roll_end(roll);
	list = list_of();
	for (uint64_t i = window.from_ns - 1000; i <= window.to_ns - 1000; i++) {
		while (at < atf_sched_list_since(list) && atf_sched_list_at(list, at)->count < i)
			at++;
		assert_int_equal(atf_sched_list_at(list, at)->count, i);
	}
	atf_sched_list_close(list);
	/* Given up behind the end: the main thread lets the files go. */
	window.to_ns = 0;
	answer(roll, &window, true);
	assert_int_equal(expect_last(number, true), ada_roll_count(roll).events);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

/* A segment that a window wants. */
static void keep_segment(struct ada_bound *bound)
{
	const struct ada_bound_segment segment = { .start_ns = 1, .end_ns = 2, .bytes = 1 };
	char directory[PATH_MAX], path[PATH_MAX + 16];
	int fd;

	snprintf(directory, sizeof directory, "%s/thread_0", root);
	snprintf(path, sizeof path, "%s/index.atp", directory);
	assert_int_equal(mkdir(directory, 0700), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	ada_bound_closed(bound, &segment);
	ada_bound_go(bound, directory, 7)->keeps[0] = true;
	ada_bound_send(bound);
	ada_bound_wait(bound);
	while (ada_bound_done(bound))
		;
	assert_non_null(ada_bound_kept(bound, 0));
}

/* So much of the session is something else. */
static void fill(uint64_t bytes)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "%s/filler", root);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(posix_fallocate(fd, 0, (off_t)bytes), 0);
	close(fd);
}

/* The session is too large by a part of what one window keeps of the lane: that window goes, and no other, whenever its files do. */
static void one_window_is_enough(void **state)
{
	const uint64_t all = LIMIT / sizeof(AtfSchedEvent);
	struct window window = { .from_ns = 1000, .to_ns = 1000, .around_ns = all };
	struct ada_bound *bound;
	struct ada_roll *roll;
	uint64_t number, until_ns;

	assert_int_equal(ada_bound_open(&bound, &(struct ada_bound_options){ .session = root, .disk_limit = LIMIT, .fold = ignore_fold }),
			 0);
	roll = run_with(bound, &window, &number, LIMIT / 2);
	assert_true(ada_bound_state(bound).kept > 3 * SHARE / 2);
	keep_segment(bound);
	fill(LIMIT - LIMIT / 8 + SHARE - bytes_there());
	for (until_ns = ada_clock_boottime_ns() + 30000000000ull; !ada_bound_kept_over(bound);) /* it is measured */
		assert_true(ada_clock_boottime_ns() < until_ns);
	window.to_ns = 0;
	answer(roll, &window, true);
	assert_null(ada_bound_kept_over(bound));
	ada_roll_turn(roll);
	assert_null(ada_bound_kept_over(bound));
	ada_roll_end(roll);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

/* What goes makes room at once. How large the session is was measured at any time meanwhile, with what came and went just then: no more than
 * its share. */
static void what_goes_is_counted(void **state)
{
	struct ada_bound *bound = limit(LIMIT, 0);
	struct ada_roll *roll = files(bound);
	uint64_t number = 0;

	while (number * sizeof(AtfSchedEvent) < LIMIT)
		append(roll, 1000, &number);
	assert_in_range(bytes_there(), SHARE / 2, 5 * SHARE / 4);
	assert_in_range(ada_bound_state(bound).bytes, 0, 3 * SHARE);
	ada_roll_end(roll);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

/* A main thread that doesn't come costs twice the share, and no more. */
static void nobody_answers(void **state)
{
	struct ada_bound *bound = limit(LIMIT, 0);
	struct ada_roll *roll = files_that_stay(bound, true);
	uint64_t number = 0;

	while (number * sizeof(AtfSchedEvent) < 4 * SHARE) {
		append(roll, 1000, &number);
		assert_true(bytes_there() <= 2 * SHARE + SHARE / 4 + BATCH * sizeof(AtfSchedEvent));
	}
	assert_in_range(bytes_there(), SHARE + SHARE / 2, UINT64_MAX);
	ada_roll_end(roll);
	assert_int_equal(expect_last(number, true), ada_roll_count(roll).events);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

/* A window that comes once its time has been answered for, and before that leaves the list. */
static void a_window_may_come_late(void **state)
{
	struct window window = {};
	struct ada_bound *bound = limit(LIMIT, 0);
	uint64_t number, first;
	struct ada_roll *roll = run_with(bound, &window, &number, SHARE / 2);
	struct atf_sched_list *list;

	window = (struct window){ .from_ns = 1000 + 100, .to_ns = 1000 + 200 };
	answer(roll, &window, false);
	while (number * sizeof(AtfSchedEvent) < 2 * SHARE) {
		append(roll, 1000, &number);
		answer(roll, &window, false);
	}
	ada_roll_end(roll);
	list = list_of();
	first = atf_sched_list_at(list, 0)->count;
	assert_int_equal(first, 0);
	assert_true(atf_sched_list_since(list) > 200);
	atf_sched_list_close(list);
	ada_roll_free(roll);
	ada_bound_close(bound);
}

static void remove_all(void)
{
	DIR *opened = opendir(root);
	struct dirent *entry;

	while ((entry = readdir(opened)))
		if (*entry->d_name != '.')
			assert_int_equal(unlinkat(dirfd(opened), entry->d_name, 0), 0);
	closedir(opened);
}

/* Killed while files are kept and given up: each is there once, under one name or the other. */
static void what_a_kill_leaves_of_kept_files(void **state)
{
	for (int round = 0; round < 30; round++) {
		struct atf_sched_names names;
		struct atf_sched_list *list;
		atf_sched_numbers kept;
		pid_t child = fork();

		assert_true(child >= 0);
		if (!child) {
			struct ada_roll *roll = files_that_stay(limit(LIMIT / 16, 0), true);
			struct window window = { .from_ns = 1, .to_ns = 2 };
			uint64_t number = 0;

			for (int i = 0;; i++) {
				window.from_ns = 1000 + number;
				window.to_ns = window.from_ns + 1000;
				append(roll, 1000, &number);
				answer(roll, &window, i % 8 == 0);
			}
		}
		while (!atf_sched_names_find(&names, root, "sched") || names.first < 3 + (uint32_t)round)
			;
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		assert_true(atf_sched_names_find(&names, root, "sched"));
		assert_int_equal(names.missing, 0);
		assert_int_equal(atf_sched_kept_find(&kept, root, "sched"), 0);
		if (kept.count)
			assert_true(kept.items[kept.count - 1] < names.first);
		ada_array_free(&kept);
		list = list_of();
		assert_false(atf_sched_list_damaged(list));
		for (uint64_t i = 1; i < atf_sched_list_count(list); i++)
			assert_true(atf_sched_list_at(list, i)->count > atf_sched_list_at(list, i - 1)->count);
		atf_sched_list_close(list);
		remove_all();
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
		cmocka_unit_test_setup_teardown(what_a_window_wants_stays, begin, end),
		cmocka_unit_test_setup_teardown(there_is_a_limit_to_it, begin, end),
		cmocka_unit_test_setup_teardown(one_window_is_enough, begin, end),
		cmocka_unit_test_setup_teardown(what_goes_is_counted, begin, end),
		cmocka_unit_test_setup_teardown(nobody_answers, begin, end),
		cmocka_unit_test_setup_teardown(a_window_may_come_late, begin, end),
		cmocka_unit_test_setup_teardown(what_a_kill_leaves_of_kept_files, begin, end),
		cmocka_unit_test_setup_teardown(a_gap_is_said, begin, end),
		cmocka_unit_test_setup_teardown(without_a_limit_it_is_one_file, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
