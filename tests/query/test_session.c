/* Opening sessions whole, in part and in ruins; and selecting threads and times. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "fixture.h"

static const char *const names[] = { "main", "leaf" };

/* Two processes, the first with two threads of which one has no events. */
static void make_two(struct fixture *fixture)
{
	synth_process(fixture->synth, 20);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	synth_call(synth_thread(fixture->synth, 20, "first"), 0);
	synth_thread(fixture->synth, 21, "idle");
	synth_process(fixture->synth, 3);
	synth_module(fixture->synth, "/bin/prog", names, 2);
	synth_module(fixture->synth, "/lib/other.so", names, 2);
	synth_call(synth_thread(fixture->synth, 7, "second"), ADA_FUNCTION_ID(1, 1));
}

static void expect_open(struct fixture *fixture, const char *below, int expected)
{
	struct ada_error error = {};
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s%s", fixture->directory, below);
	ada_session_close(fixture->session);
	fixture->session = NULL;
	assert_int_equal(ada_session_open(&fixture->session, path, &error), expected);
	assert_int_equal(!*error.text, !expected);
	assert_null(strchr(error.text, '\n'));
}

static void remove_file(struct fixture *fixture, const char *below)
{
	char path[PATH_MAX];

	snprintf(path, sizeof path, "%s%s", fixture->directory, below);
	assert_int_equal(unlink(path), 0);
}

static void test_whole(void **state)
{
	struct fixture *fixture = *state;
	const struct ada_session *session;
	char buffer[ADA_NAME_BUFFER];

	make_two(fixture);
	fixture_open(fixture, true, NULL, NULL, NULL);
	session = fixture->session;
	assert_int_equal(session->problems.count, 0);
	assert_int_equal(session->start_ns, SYNTH_START_NS);
	assert_int_equal(session->processes.count, 2); /* in the order of starting, not of names */
	assert_int_equal(session->processes.items[0]->pid, 20);
	assert_int_equal(session->processes.items[1]->pid, 3);
	assert_int_equal(session->modules.count, 2); /* prog once */
	assert_int_equal(session->threads.count, 3);
	assert_string_equal(session->threads.items[1].name, "idle");
	assert_int_equal(session->threads.items[1].count, 0);
	assert_int_equal(session->processes.items[1]->first_thread, 2);
	assert_string_equal(
		ada_module_function(ada_process_module(session->processes.items[1], ADA_FUNCTION_ID(1, 1)), ADA_FUNCTION_ID(1, 1), buffer),
		"leaf");
	assert_null(ada_process_module(session->processes.items[0], ADA_FUNCTION_ID(1, 1)));
}

static void test_without_json(void **state)
{
	struct fixture *fixture = *state;

	make_two(fixture);
	synth_close(fixture->synth, false);
	fixture->synth = NULL;
	remove_file(fixture, "/session.json");
	remove_file(fixture, "/pid_3/manifest.json");
	expect_open(fixture, "", 0);
	assert_int_equal(fixture->session->processes.count, 2);
	assert_int_equal(fixture->session->processes.items[0]->pid, 3);
	assert_int_equal(fixture->session->processes.items[0]->modules.count, 2);
	assert_string_equal(ada_module_name(fixture->session->processes.items[0]->modules.items[1]), "other.so");
	assert_int_equal(fixture->session->threads.items[0].tid, 7); /* from the file's header */
	assert_int_equal(fixture->session->threads.items[0].count, 1);
	assert_int_equal(fixture->session->start_ns, SYNTH_START_NS); /* the first event's */
	assert_int_equal(fixture->session->problems.count, 1);
	assert_string_equal(fixture->session->problems.items[0], "pid_3: manifest.json is missing");
}

/* While a session is recorded, a process that has just begun has no manifest yet: nothing is wrong with it. */
static void test_just_begun(void **state)
{
	struct fixture *fixture = *state;
	int held;

	make_two(fixture);
	synth_close(fixture->synth, true);
	fixture->synth = NULL;
	remove_file(fixture, "/pid_3/manifest.json");
	held = open(fixture->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(held >= 0 && !flock(held, LOCK_EX | LOCK_NB));
	expect_open(fixture, "", 0);
	assert_int_equal(fixture->session->processes.count, 2);
	assert_int_equal(fixture->session->problems.count, 0);
	close(held);
	expect_open(fixture, "", 0);
	assert_int_equal(fixture->session->problems.count, 1);
}

/* A manifest whose threads stand in another order, twice, or without number. */
static void test_numbers_of_threads(void **state)
{
	static const char manifest[] = "{\"threads\":[{\"id\":1,\"tid\":77},{\"id\":0,\"tid\":66},{\"id\":1,\"tid\":88},5,"
				       "{\"id\":4294967297,\"tid\":99}]}";
	static const struct {
		uint32_t number, tid;
	} expected[] = { { 0, 66 }, { 1, 77 }, { 3, 0 } };
	struct fixture *fixture = *state;
	const struct ada_session *session;
	char path[PATH_MAX];
	FILE *file;

	make_two(fixture);
	synth_close(fixture->synth, true);
	fixture->synth = NULL;
	snprintf(path, sizeof path, "%s/pid_20/manifest.json", fixture->directory);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(manifest, file) >= 0 && !fclose(file));
	expect_open(fixture, "/pid_20", 0);
	session = fixture->session;
	assert_int_equal(session->threads.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(session->threads.items[i].number, expected[i].number);
		assert_int_equal(session->threads.items[i].tid, expected[i].tid);
		assert_int_equal(!session->threads.items[i].entry, i == 2);
		assert_ptr_equal(ada_process_thread(session->processes.items[0], expected[i].number), &session->threads.items[i]);
	}
	assert_null(ada_process_thread(session->processes.items[0], 2));
	assert_null(ada_process_thread(session->processes.items[0], 4));
	assert_null(ada_process_thread(session->processes.items[0], (1ull << 32) + 1));
}

static void test_one_process(void **state)
{
	struct fixture *fixture = *state;

	make_two(fixture);
	synth_close(fixture->synth, true);
	fixture->synth = NULL;
	expect_open(fixture, "/pid_3", 0);
	assert_int_equal(fixture->session->processes.count, 1);
	assert_non_null(fixture->session->document);
	expect_open(fixture, "/pid_3/", 0);
	assert_string_equal(fixture->session->processes.items[0]->directory, "pid_3");
	expect_open(fixture, "/pid_3/modules", -EBADMSG);
	expect_open(fixture, "/session.json", -ENOTDIR);
	expect_open(fixture, "/absent", -ENOENT);
}

static void test_select(void **state)
{
	static const struct {
		const char *thread, *from, *to;
		int result;
		size_t threads;
	} cases[] = { { NULL, NULL, NULL, 0, 3 },	 { "0", NULL, NULL, 0, 2 },	 { "1", NULL, NULL, 0, 1 },
		      { "21", NULL, NULL, 0, 1 },	 { "second", NULL, NULL, 0, 1 }, { "third", NULL, NULL, -EINVAL, 0 },
		      { "", NULL, NULL, -EINVAL, 0 },	 { NULL, "+1s", "+2s", 0, 3 },	 { NULL, "+2s", "+1s", -EINVAL, 0 },
		      { NULL, "+1s", "+1s", -EINVAL, 0 } };
	struct fixture *fixture = *state;

	make_two(fixture);
	fixture_open(fixture, true, NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_selection selection;
		struct ada_error error = {};

		assert_int_equal(ada_selection_open(&selection, fixture->session, cases[i].thread, cases[i].from, cases[i].to, &error),
				 cases[i].result);
		assert_int_equal(selection.threads.count, cases[i].threads);
		ada_selection_close(&selection);
	}
}

/* Of threads that were named, and in whatever order. */
static void test_what_is_selected(void **state)
{
	static const struct {
		const char *threads;
		bool has[3];
	} cases[] = { { NULL, { true, true, true } },
		      { "idle", { false, true, false } },
		      { "second,first", { true, false, true } },
		      { "second,idle", { false, true, true } } };
	struct fixture *fixture = *state;

	make_two(fixture);
	fixture_open(fixture, true, NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct ada_selection selection;
		struct ada_error error = {};

		assert_int_equal(ada_selection_open(&selection, fixture->session, cases[i].threads, NULL, NULL, &error), 0);
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(ada_selection_has(&selection, &fixture->session->threads.items[j]), cases[i].has[j]);
		ada_selection_close(&selection);
	}
}

static void test_directory_numbers(void **state)
{
	uint32_t number;

	assert_true(ada_directory_number("pid_12", "pid_", &number) && number == 12);
	assert_true(ada_directory_number("pid_12_3", "pid_", &number) && number == 12);
	assert_true(ada_directory_number("thread_0", "thread_", &number) && number == 0);
	assert_true(ada_directory_number("pid_4294967295", "pid_", &number) && number == UINT32_MAX);
	assert_false(ada_directory_number("pid_4294967296", "pid_", &number));
	assert_false(ada_directory_number("pid_99999999999999999999999", "pid_", &number));
	assert_false(ada_directory_number("pid_", "pid_", &number));
	assert_false(ada_directory_number("pid_x", "pid_", &number));
	assert_false(ada_directory_number("pid_1_", "pid_", &number));
	assert_false(ada_directory_number("pid_1_/../..", "pid_", &number));
	assert_false(ada_directory_number("pid_1_2_3", "pid_", &number));
	assert_false(ada_directory_number("pid_1x", "pid_", &number));
	assert_false(ada_directory_number("pi", "pid_", &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_whole),
		FIXTURE_TEST(test_without_json),
		FIXTURE_TEST(test_just_begun),
		FIXTURE_TEST(test_numbers_of_threads),
		FIXTURE_TEST(test_one_process),
		FIXTURE_TEST(test_select),
		FIXTURE_TEST(test_what_is_selected),
		cmocka_unit_test(test_directory_numbers),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
