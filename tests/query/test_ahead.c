/* Of many threads the files are opened before the manifest is known. What is said of them must be what the manifest makes of them:
 * the same where the recorder's last word is misunderstood, so that nothing of what was opened ahead is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"

#define THREADS 100 /* enough for helpers */

static const char *const names[] = { "main", "leaf" };

struct seen {
	uint64_t counts[THREADS + 1];
	uint32_t segments[THREADS + 1], tids[THREADS + 1];
	size_t threads, problems;
	char lines[32][300];
};

static void change(const struct fixture *fixture, const char *command)
{
	char line[PATH_MAX + 512];

	snprintf(line, sizeof line, "cd '%s/pid_5' && %s", fixture->directory, command);
	assert_int_equal(system(line), 0);
}

/* Thread N has N + 1 calls in its first file, and where N ends in 1 one more in a second. */
static void make(struct fixture *fixture, bool finished)
{
	synth_process(fixture->synth, 5);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 1000 + i, "many");

		for (uint32_t j = 0; j <= i; j++)
			synth_leaf(thread, 1, 10);
		if (i % 10 == 1) {
			synth_roll(thread);
			synth_leaf(thread, 1, 10);
		}
	}
	synth_close(fixture->synth, finished);
	fixture->synth = NULL;
}

static void look(const struct fixture *fixture, struct seen *seen)
{
	struct ada_session *session;
	struct ada_error error = {};

	memset(seen, 0, sizeof *seen);
	assert_int_equal(ada_session_open(&session, fixture->directory, &error), 0);
	seen->threads = session->threads.count;
	seen->problems = session->problems.count;
	assert_true(seen->threads <= THREADS + 1 && seen->problems <= 32);
	for (size_t i = 0; i < seen->threads; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		seen->counts[i] = thread->count;
		seen->tids[i] = thread->tid;
		seen->segments[i] = thread->events ? atf_thread_segments(thread->events) : 0;
	}
	for (size_t i = 0; i < seen->problems; i++)
		snprintf(seen->lines[i], sizeof seen->lines[i], "%s", session->problems.items[i]);
	ada_session_close(session);
}

static void expect_problem(const struct seen *seen, const char *part)
{
	for (size_t i = 0; i < seen->problems; i++)
		if (strstr(seen->lines[i], part))
			return;
	fail_msg("no problem says \"%s\"", part);
}

static void test_sound(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	make(fixture, true);
	look(fixture, &seen);
	assert_int_equal(seen.problems, 0);
	assert_int_equal(seen.threads, THREADS);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(seen.counts[i], 2 * (i + 1 + (i % 10 == 1)));
		assert_int_equal(seen.segments[i], 1 + (i % 10 == 1));
		assert_int_equal(seen.tids[i], 1000 + i);
	}
}

static void test_damaged(void **state)
{
	struct fixture *fixture = *state;
	struct seen ahead, after;

	make(fixture, true);
	change(fixture, "truncate -s -100 thread_3/index.atf"); /* cut: its footer and more */
	change(fixture, "rm thread_5/index.atf");
	change(fixture, "echo foreign > thread_7/index.atf");
	change(fixture, "rm -r thread_9");
	change(fixture, "rm thread_11/index.1.atf");
	change(fixture, "rm thread_21/index.atf");
	change(fixture, "truncate -s -100 thread_31/index.1.atf");
	change(fixture, "cp thread_2/index.atf thread_2/index.1.atf"); /* more than the manifest knows */
	change(fixture, "cp thread_4/index.atf thread_4/index.2.atf"); /* and one apart, which it doesn't ask for */
	change(fixture, "cp thread_51/index.1.atf thread_51/index.3.atf");
	change(fixture, "echo foreign > thread_61/index.1.atf");
	change(fixture, "mv thread_81/index.1.atf thread_81/index.2.atf");
	change(fixture, ": > thread_8/index.1.atf");
	change(fixture, "cp -r thread_6 thread_500");
	change(fixture, "mkdir thread_10_1 thread_012"); /* names of a thread that has another */
	look(fixture, &ahead);
	change(fixture, "printf '%200s\\n' '' >> manifest.json");
	look(fixture, &after);
	assert_memory_equal(&ahead, &after, sizeof ahead);

	assert_int_equal(ahead.threads, THREADS + 1);
	assert_int_equal(ahead.problems, 9);
	expect_problem(&ahead, "thread_3/index.atf: cut:");
	expect_problem(&ahead, "thread_5: index.atf is missing");
	expect_problem(&ahead, "thread_7/index.atf: not an ATF index file");
	expect_problem(&ahead, "thread_9: index.atf is missing");
	expect_problem(&ahead, "thread_11: only 1 of its 2 index files are there");
	expect_problem(&ahead, "thread_21: index.atf is missing");
	expect_problem(&ahead, "thread_31/index.1.atf: cut:");
	expect_problem(&ahead, "thread_61/index.1.atf: not an ATF index file");
	expect_problem(&ahead, "thread_81/index.1.atf: No such file");
	assert_int_equal(ahead.counts[2], 12);
	assert_int_equal(ahead.counts[4], 10);
	assert_int_equal(ahead.counts[51], 106);
	assert_int_equal(ahead.counts[THREADS], 14);
}

/* The manifest's last bytes are a guess at what it says, and it says otherwise. */
static void test_misled(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen;

	make(fixture, true);
	change(fixture, "rm thread_11/index.1.atf thread_5/index.atf");
	change(fixture, "mv thread_13/index.atf thread_13/index.2.atf && cp thread_2/index.atf thread_13");
	change(fixture, "sed -i 's/\"finalized\": true}$/\"finalized\": false, \"other\": {\"finalized\": true}}/' manifest.json");
	change(fixture, "grep -q '\"finalized\": false, \"other\"' manifest.json");
	look(fixture, &seen);
	assert_int_equal(seen.threads, THREADS);
	assert_int_equal(seen.counts[11], 24);
	assert_int_equal(seen.problems, 2); /* of a process that isn't finalized, segments may be fewer */
	expect_problem(&seen, "thread_13/index.1.atf: No such file");
	expect_problem(&seen, "thread_5: index.atf is missing");
	change(fixture, "truncate -s -5 manifest.json");
	change(fixture, "echo ' ] \"finalized\": true' >> manifest.json");
	look(fixture, &seen);
	assert_int_equal(seen.threads, THREADS);
	assert_int_equal(seen.problems, 2);
	expect_problem(&seen, "thread_13/index.1.atf: No such file");
	expect_problem(&seen, "manifest.json: not a JSON object");
	assert_int_equal(seen.counts[11], 24);
	assert_int_equal(seen.tids[11], 1011); /* from its file */
}

/* Still being recorded, or left by a crash. */
static void test_unfinished(void **state)
{
	struct fixture *fixture = *state;
	struct seen ahead, after;

	make(fixture, false);
	look(fixture, &ahead);
	assert_int_equal(ahead.threads, THREADS);
	assert_int_equal(ahead.problems, 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		assert_int_equal(ahead.counts[i], 2 * (i + 1 + (i % 10 == 1)));
		assert_int_equal(ahead.segments[i], 1 + (i % 10 == 1));
	}
	change(fixture, "truncate -s -10 thread_3/index.atf");
	change(fixture, "rm thread_5/index.atf");
	change(fixture, "echo foreign > thread_7/index.atf");
	change(fixture, ": > thread_8/index.atf");
	change(fixture, "rm -r thread_9");
	change(fixture, "rm thread_11/index.1.atf");
	change(fixture, "mv thread_21/index.1.atf thread_21/index.2.atf");
	change(fixture, "cp thread_2/index.atf thread_2/index.1.atf");
	change(fixture, "echo foreign > thread_31/index.1.atf");
	change(fixture, "cp -r thread_6 thread_500");
	look(fixture, &ahead);
	change(fixture, "sed -i 's/\"finalized\": false}$/\"finalized\": false, \"other\": {\"finalized\": true}}/' manifest.json");
	change(fixture, "grep -q '\"other\"' manifest.json");
	look(fixture, &after);
	assert_memory_equal(&ahead, &after, sizeof ahead);

	assert_int_equal(ahead.threads, THREADS + 1);
	assert_int_equal(ahead.problems, 6);
	expect_problem(&ahead, "thread_5: index.atf is missing");
	expect_problem(&ahead, "thread_7/index.atf: not an ATF index file");
	expect_problem(&ahead, "thread_8: index.atf is missing");
	expect_problem(&ahead, "thread_9: index.atf is missing");
	expect_problem(&ahead, "thread_21/index.1.atf: No such file");
	expect_problem(&ahead, "thread_31/index.1.atf: not an ATF index file");
	assert_int_equal(ahead.counts[2], 12);
	assert_int_equal(ahead.counts[3], 7);
	assert_int_equal(ahead.counts[11], 24);
	assert_int_equal(ahead.counts[21], 44);
	assert_int_equal(ahead.counts[THREADS], 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_sound),
		FIXTURE_TEST(test_damaged),
		FIXTURE_TEST(test_misled),
		FIXTURE_TEST(test_unfinished),
	};

	return cmocka_run_group_tests_name("ahead", tests, NULL, NULL);
}
