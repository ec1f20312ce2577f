/* Reading all threads of a crashed process back: what is seen, in which order, and what a budget leaves out. */
#include <stdlib.h>
#include "fixture.h"
#include "query/crash/internal.h"

#define THREADS 5
#define CALLS 20000
#define MS 1000000ull

static const char *const names[] = { "leaf", "free", "malloc" };

enum { LEAF, FREE, MALLOC };

struct seen {
	const struct ada_thread *threads;
	uint64_t from_ns[THREADS]; /* of each thread, the time of what was seen of it last */
	ADA_ARRAY(uint64_t) times; /* of all that was seen */
	uint64_t first_free_ns;
	bool until_free; /* is all that is asked for */
};

static unsigned int sort_of(const char *symbol)
{
	return *symbol == 'l' ? 0 : *symbol == 'f' ? FREE : MALLOC;
}

static void see(void *context, const struct ada_thread *thread, uint64_t position, unsigned int sort)
{
	const struct ada_event *event = atf_thread_get(thread->events, position);
	struct seen *seen = context;

	assert_int_equal(event->function_id, sort);
	assert_true(event->timestamp_ns <= seen->from_ns[thread - seen->threads]);
	seen->from_ns[thread - seen->threads] = event->timestamp_ns;
	assert_int_equal(ada_array_push(&seen->times, event->timestamp_ns), 0);
	if (sort == FREE && event->timestamp_ns > seen->first_free_ns)
		seen->first_free_ns = event->timestamp_ns;
}

static bool is_answered(const void *context)
{
	const struct seen *seen = context;

	return seen->until_free && seen->first_free_ns;
}

/* Each thread is busy at its own pace; only the first one frees, once. */
static void make_busy(struct fixture *fixture)
{
	struct synth_thread *threads[THREADS] = { fixture_thread(fixture, names, 3) };

	for (uint32_t i = 1; i < THREADS; i++)
		threads[i] = synth_thread(fixture->synth, 100 + i, "busy");
	for (uint32_t i = 0; i < THREADS; i++)
		for (uint32_t j = 0; j < CALLS; j++) {
			synth_leaf(threads[i], !i && j == CALLS / 2 ? FREE : j % 8 ? LEAF : MALLOC, 1000);
			synth_pass(threads[i], 1000 * (i + 1));
		}
	fixture_open(fixture, true, NULL, NULL, NULL);
}

/* Calls and returns of free and malloc from a time on, but of `own` only before a place of it. */
static uint64_t count_since(const struct ada_session *session, uint64_t from_ns, uint64_t until_ns, uint64_t own_end)
{
	uint64_t count = 0;

	for (size_t i = 0; i < THREADS; i++)
		for (uint64_t j = 0; j < session->threads.items[i].count; j++) {
			const struct ada_event *event = atf_thread_get(session->threads.items[i].events, j);

			count += event->timestamp_ns >= from_ns && event->timestamp_ns < until_ns && event->function_id != LEAF &&
				 (i || j < own_end);
		}
	return count;
}

static uint64_t read_back(struct fixture *fixture, struct seen *seen, uint64_t budget, uint64_t own_end)
{
	const struct ada_session *session = fixture->session;
	struct ada_crash_back back = { .process = session->processes.items[0],
				       .until_ns = SYNTH_START_NS + 80 * MS,
				       .own = &session->threads.items[0],
				       .own_end = own_end,
				       .budget = budget,
				       .sort = sort_of,
				       .see = see,
				       .is_answered = is_answered,
				       .context = seen };
	uint64_t read_ns;

	seen->threads = session->threads.items;
	for (size_t i = 0; i < THREADS; i++)
		seen->from_ns[i] = UINT64_MAX;
	assert_int_equal(ada_crash_read_back(&back, &read_ns), 0);
	return read_ns;
}

static void all_is_seen_once(void **state)
{
	struct fixture *fixture = *state;
	struct seen seen = {};

	make_busy(fixture);
	read_back(fixture, &seen, 0, 30000);
	assert_int_equal(seen.times.count, count_since(fixture->session, 0, SYNTH_START_NS + 80 * MS, 30000));
	ada_array_free(&seen.times);
}

static void an_answer_ends_it(void **state)
{
	struct seen seen = { .until_free = true };
	struct fixture *fixture = *state;
	uint64_t read_ns;

	make_busy(fixture);
	read_ns = read_back(fixture, &seen, 0, 30000);
	assert_true(read_ns > SYNTH_START_NS && read_ns <= seen.first_free_ns);
	assert_int_equal(seen.times.count, count_since(fixture->session, read_ns, SYNTH_START_NS + 80 * MS, 30000));
	ada_array_free(&seen.times);
}

/* It is spent in the middle of a slice: what was seen of that slice is of some threads, and read_ns leaves it out. */
static void a_budget_leaves_out_what_is_oldest(void **state)
{
	struct fixture *fixture = *state;

	make_busy(fixture);
	for (uint64_t budget = 1; budget < 100000; budget = budget * 3 + 1) {
		struct seen seen = {};
		uint64_t read_ns = read_back(fixture, &seen, budget, 30000);
		uint64_t since = 0;

		for (size_t i = 0; i < seen.times.count; i++)
			since += seen.times.items[i] >= read_ns;
		assert_int_equal(since, count_since(fixture->session, read_ns, SYNTH_START_NS + 80 * MS, 30000));
		assert_true(seen.times.count <= budget && read_ns > SYNTH_START_NS);
		ada_array_free(&seen.times);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(all_is_seen_once),
		FIXTURE_TEST(an_answer_ends_it),
		FIXTURE_TEST(a_budget_leaves_out_what_is_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
