/* Folded stacks: known lines, and sums that are the statistics'. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "fixture.h"
#include "query/export/export.h"
#include "synth_random.h"

static const char *const names[] = { "main", "a;b", "line\nbreak", "leaf", "bad\xff" };
enum { MAIN, SEMICOLON, BREAK, LEAF, BAD, NAMES };

/* What is written, malloc'ed. */
static char *fold(struct fixture *fixture)
{
	static struct ada_output output;
	struct ada_export export = { .selection = &fixture->selection, .output = &output };
	struct ada_error error = {};
	FILE *file = tmpfile();
	char *text;
	long size;

	ada_output_open(&output, fileno(file));
	if (ada_export_folded(&export, &error))
		fail_msg("%s", error.text);
	assert_true(ada_output_flush(&output));
	size = lseek(fileno(file), 0, SEEK_END);
	text = calloc(1, size + 1);
	assert_int_equal(pread(fileno(file), text, size, 0), size);
	fclose(file);
	fixture_compute(fixture);
	assert_int_equal(export.completeness.events, fixture->stats.completeness.events);
	return text;
}

static void expect(struct fixture *fixture, const char *expected)
{
	char *text = fold(fixture);

	assert_string_equal(text, expected);
	free(text);
}

/* Each function's weights are its self_ns. */
static void expect_sums(struct fixture *fixture)
{
	char *text = fold(fixture), *rest = NULL, buffer[ADA_NAME_BUFFER];
	uint64_t all = 0, weight;

	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];
		const char *name = ada_module_function(function->module, function->function_id, buffer);
		uint64_t sum = 0;
		char *copy = strdup(text);

		for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
			char *space = strrchr(line, ' '), *leaf;

			assert_non_null(space);
			*space = 0;
			leaf = strrchr(line, ';');
			assert_non_null(leaf);
			weight = strtoull(space + 1, NULL, 10);
			sum += strcmp(leaf + 1, name) ? 0 : weight;
			all += i ? 0 : weight;
		}
		free(copy);
		assert_int_equal(sum, function->self_ns);
		all -= sum;
	}
	assert_int_equal(all, 0);
	free(text);
}

static struct synth_thread *one_thread(struct fixture *fixture, uint32_t pid, const char *name)
{
	synth_process(fixture->synth, pid);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	return synth_thread(fixture->synth, pid, name);
}

static void test_lines(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture, 10, "my; prog");

	synth_call(thread, MAIN);
	for (uint64_t i = SEMICOLON; i < NAMES; i++) {
		synth_call(thread, i);
		synth_pass(thread, 100 - i);
		synth_return(thread);
	}
	synth_call(thread, BREAK);
	synth_call(thread, LEAF);
	synth_pass(thread, 7);
	synth_return(thread);
	synth_return(thread);
	synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "my: prog;main;line?break 98\nmy: prog;main;line?break;leaf 7\nmy: prog;main;a:b 99\n"
			"my: prog;main;leaf 97\nmy: prog;main;bad\xef\xbf\xbd 96\n");
}

static void test_threads_of_a_name_share_a_frame(void **state)
{
	struct fixture *fixture = *state;
	static const char *const threads[] = { "worker", "", "worker" };

	one_thread(fixture, 10, "quiet");
	for (uint32_t i = 0; i < 3; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 11 + i, threads[i]);

		synth_call(thread, LEAF);
		synth_pass(thread, 1 + i);
		synth_return(thread);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "worker;leaf 4\nthread 12;leaf 2\n");
}

static void test_processes(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t i = 0; i < 2; i++) {
		struct synth_thread *thread = one_thread(fixture, 10 + i, "prog");

		synth_call(thread, LEAF);
		synth_pass(thread, 5);
		synth_return(thread);
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "pid_10/prog;leaf 5\npid_11/prog;leaf 5\n");
}

static void test_nothing(void **state)
{
	struct fixture *fixture = *state;

	fixture_open(fixture, true, NULL, NULL, NULL);
	expect(fixture, "");
}

/* 5,000 deep, calls of two functions in turn: no line is longer than 1,000 frames, and nothing is left out. */
static void test_deep(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture, 10, "prog");
	char *text, *last;

	for (int i = 0; i < 5000; i++) {
		synth_call(thread, i % 2 ? LEAF : MAIN);
		synth_pass(thread, 1);
	}
	for (int i = 0; i < 5000; i++)
		synth_return(thread);
	fixture_open(fixture, true, NULL, NULL, NULL);
	text = fold(fixture);
	last = strstr(text, ";[...];main 2000\n");
	assert_non_null(last);
	assert_non_null(strstr(last, ";[...];leaf 2000\n"));
	free(text);
	ada_stats_free(&fixture->stats);
	expect_sums(fixture);
}

static void test_sums_of_random_calls(void **state)
{
	struct fixture *fixture = *state;

	known_free(synth_random(fixture->synth, 7, 4, 20000));
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect_sums(fixture);
	ada_stats_free(&fixture->stats);
	fixture->selection.from_ns = SYNTH_START_NS + 10000;
	fixture->selection.to_ns = SYNTH_START_NS + 20000;
	expect_sums(fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_lines),     FIXTURE_TEST(test_threads_of_a_name_share_a_frame),
		FIXTURE_TEST(test_processes), FIXTURE_TEST(test_nothing),
		FIXTURE_TEST(test_deep),      FIXTURE_TEST(test_sums_of_random_calls),
	};

	return cmocka_run_group_tests_name("folded", tests, NULL, NULL);
}
