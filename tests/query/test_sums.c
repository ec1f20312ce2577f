/* What trees and edges must add up to: the statistics, on whatever a thread may hold. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include "base/interrupt.h"
#include "fixture.h"
#include "query/sums/edges.h"
#include "query/sums/tree.h"
#include "synth_random.h"

static const char *const names[] = { "main", "a", "b", "leaf", "open" };
enum { NAMES = 5 };

static struct ada_tree compute_tree(const struct fixture *fixture, unsigned int workers, bool fold)
{
	struct ada_error error = {};
	struct ada_tree tree;

	if (ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){ .fold = fold }, workers, &error))
		fail_msg("%s", error.text);
	return tree;
}

static struct ada_edges compute_edges(const struct fixture *fixture, unsigned int workers)
{
	struct ada_error error = {};
	struct ada_edges edges;

	if (ada_edges_compute(&edges, &fixture->selection, workers, &error))
		fail_msg("%s", error.text);
	return edges;
}

static void expect_completeness(const struct ada_completeness *answer, const struct ada_completeness *expected)
{
	assert_int_equal(answer->events, expected->events);
	assert_int_equal(answer->lost, expected->lost);
	assert_int_equal(answer->complete, expected->complete);
}

static void expect_sums_as(struct fixture *fixture, unsigned int workers, bool fold)
{
	struct ada_tree tree = compute_tree(fixture, workers, fold);
	struct ada_edges edges = compute_edges(fixture, workers);

	fixture_compute(fixture);
	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];
		struct ada_edge edge = {};
		struct ada_tree_node node = {};

		for (size_t j = 1; j < tree.nodes.count; j++) {
			const struct ada_tree_node *other = &tree.nodes.items[j];

			if (other->module != function->module || (uint32_t)other->function_id != (uint32_t)function->function_id)
				continue;
			node.calls += other->calls;
			node.unknown += other->unknown;
			node.self_ns += other->self_ns;
		}
		for (size_t j = 0; j < edges.edges.count; j++) {
			const struct ada_edge *other = &edges.edges.items[j];

			if (other->callee_module != function->module || (uint32_t)other->callee_id != (uint32_t)function->function_id)
				continue;
			edge.calls += other->calls;
			edge.unknown += other->unknown;
			edge.total_ns += other->total_ns;
			edge.self_ns += other->self_ns;
		}
		assert_int_equal(node.calls, function->calls);
		assert_int_equal(node.unknown, function->unknown);
		assert_int_equal(node.self_ns, function->self_ns);
		assert_int_equal(edge.calls, function->calls);
		assert_int_equal(edge.unknown, function->unknown);
		assert_int_equal(edge.total_ns, function->total_ns);
		assert_int_equal(edge.self_ns, function->self_ns);
	}
	expect_completeness(&tree.completeness, &fixture->stats.completeness);
	expect_completeness(&edges.completeness, &fixture->stats.completeness);
	ada_tree_free(&tree);
	ada_edges_free(&edges);
	ada_stats_free(&fixture->stats);
}

static void expect_sums(struct fixture *fixture, unsigned int workers)
{
	expect_sums_as(fixture, workers, false);
	expect_sums_as(fixture, workers, true);
}

/* The whole, and parts of it. */
static void expect_all_sums(struct fixture *fixture, uint64_t end_ns)
{
	fixture_open(fixture, true, NULL, NULL, NULL);
	expect_sums(fixture, 1);
	for (unsigned int i = 0; i < 8; i++) {
		fixture->selection.from_ns = SYNTH_START_NS + end_ns * i / 10;
		fixture->selection.to_ns = SYNTH_START_NS + end_ns * (i + 1 + i % 3) / 10;
		expect_sums(fixture, 1 + i % 3);
	}
}

static void test_sums_of_random_calls(void **state)
{
	struct fixture *fixture = *state;
	struct known *known = synth_random(fixture->synth, 42, 5, 20000);
	uint64_t end_ns = 0;

	for (size_t i = 0; i < known->times.count; i++)
		if (known->times.items[i] - SYNTH_START_NS > end_ns)
			end_ns = known->times.items[i] - SYNTH_START_NS;
	expect_all_sums(fixture, end_ns);
	known_free(known);
}

/* What no program does: any event behind any other, with losses; as fibers, longjmp and damaged files look. */
static void test_sums_of_chaos(void **state)
{
	struct fixture *fixture = *state;
	uint64_t random = 12345;

	for (uint32_t process = 0; process < 2; process++) {
		synth_process(fixture->synth, 10 + process);
		synth_module(fixture->synth, process ? "/bin/other" : "/bin/prog", names, NAMES);
		for (uint32_t i = 0; i < 3; i++) {
			struct synth_thread *thread = synth_thread(fixture->synth, 10 + 10 * i + process, "prog");
			uint32_t depth = 0;

			for (int j = 0; j < 5000; j++) {
				uint32_t kind;

				random = random * 6364136223846793005u + 1442695040888963407u;
				kind = random >> 60;
				synth_pass(thread, random >> 20 & 15);
				/* Mostly as it should be: deeper with a call, less deep with its end. */
				if ((random >> 50 & 63) == 0)
					depth = random >> 40 & 7;
				if (kind < 7)
					synth_event(thread, ADA_EVENT_CALL, random >> 32 & 3, depth++);
				else if (kind < 15)
					synth_event(thread, kind < 13 ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION, random >> 32 & 3,
						    depth ? --depth : 0);
				else if ((random >> 52 & 15) == 0)
					synth_event(thread, ADA_EVENT_LOST, 5, depth);
				if (j % 2000 == 1999)
					synth_roll(thread);
			}
		}
	}
	expect_all_sums(fixture, 5000 * 8);
}

/* A damaged file whose times fall: main's a begins behind the selection, what a calls lies in it again. */
static void test_sums_of_falling_times(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread;
	uint64_t far_ns = SYNTH_START_NS + 1000000;
	char path[PATH_MAX];
	FILE *file;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	thread = synth_thread(fixture->synth, 10, "prog");
	for (uint64_t function = 0; function < 3; function++) {
		synth_call(thread, function);
		synth_pass(thread, 1);
	}
	for (uint64_t function = 0; function < 3; function++)
		synth_return(thread);
	synth_close(fixture->synth, true);
	fixture->synth = NULL;
	snprintf(path, sizeof path, "%s/pid_10/thread_0/index.atf", fixture->directory);
	file = fopen(path, "r+");
	assert_non_null(file);
	assert_int_equal(fseek(file, 64 + sizeof(struct ada_event), SEEK_SET), 0);
	assert_int_equal(fwrite(&far_ns, sizeof far_ns, 1, file), 1);
	fclose(file);
	fixture_open(fixture, true, NULL, NULL, "+100ns");
	expect_sums(fixture, 1);
	fixture->selection.to_ns = far_ns;
	expect_sums(fixture, 1);
	fixture->selection.from_ns = SYNTH_START_NS + 2;
	expect_sums(fixture, 1);
}

/* Last, for the signal stays caught. */
static void test_interrupted(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct ada_edges edges;
	struct ada_tree tree;

	known_free(synth_random(fixture->synth, 1, 2, 100));
	fixture_open(fixture, true, NULL, NULL, NULL);
	ada_interrupt_catch();
	raise(SIGTERM);
	assert_int_equal(ada_tree_compute(&tree, &fixture->selection, &(struct ada_tree_how){}, 1, &error), -EINTR);
	assert_int_equal(ada_edges_compute(&edges, &fixture->selection, 1, &error), -EINTR);
	assert_int_equal(ada_interrupt_status(), 128 + SIGTERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_sums_of_random_calls),
		FIXTURE_TEST(test_sums_of_chaos),
		FIXTURE_TEST(test_sums_of_falling_times),
		FIXTURE_TEST(test_interrupted),
	};

	return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
