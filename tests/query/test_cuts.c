/* What a question about a part of a thread says, against pairing from the thread's beginning: threads that run several stacks,
 * whose calls leave without a word, whose recording begins in the middle, that lost events. */
#include <stdio.h>
#include <stdlib.h>
#include "query/calls/calls.h"
#include "query/calls/scan.h"
#include "query/sums/tree.h"
#include "sql_fixture.h"

#define EVENTS 500
#define OPEN_MAX 64

static const char *const names[] = { "f0", "f1", "f2", "f3", "f4" };
#define NAMES 5

struct random {
	uint64_t state;
};

static uint64_t below(struct random *random, uint64_t bound)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return (random->state >> 11) % bound;
}

/* As the agent's shadow stack has it (agent/record/shadow.c): frames in the order of their calls, whatever stack they are on; one that is
 * closed from between others says the depth of its call, and the next call's depth is how many are left. */
struct shadow {
	uint64_t functions[OPEN_MAX];
	uint32_t depths[OPEN_MAX];
	uint32_t count;
};

static void take_out(struct shadow *shadow, uint32_t number)
{
	shadow->count--;
	for (; number < shadow->count; number++) {
		shadow->functions[number] = shadow->functions[number + 1];
		shadow->depths[number] = shadow->depths[number + 1];
	}
}

static void make_event(struct synth_thread *thread, struct random *random, struct shadow *shadow, bool losses)
{
	uint64_t what = below(random, 100);
	uint32_t number;

	if (what < 2 && losses) {
		synth_event(thread, ADA_EVENT_LOST, 5, shadow->count);
		for (uint64_t i = below(random, 4); i-- > 0 && shadow->count;)
			take_out(shadow, (uint32_t)below(random, shadow->count));
	} else if (what < 4) {
		synth_event(thread, 77, 3, 0); /* a kind that means nothing */
	} else if ((what < 50 && shadow->count < 12) || !shadow->count) {
		shadow->functions[shadow->count] = below(random, NAMES);
		shadow->depths[shadow->count] = shadow->count;
		synth_event(thread, ADA_EVENT_CALL, shadow->functions[shadow->count], shadow->count);
		shadow->count++;
	} else {
		number = below(random, 8) ? shadow->count - 1 : (uint32_t)below(random, shadow->count);
		if (what < 97)
			synth_event(thread, what < 90 ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION, shadow->functions[number],
				    shadow->depths[number]);
		take_out(shadow, number);
	}
}

static void make_thread(struct fixture *fixture, uint64_t seed)
{
	struct synth_thread *thread = fixture_thread(fixture, names, NAMES);
	struct random random = { seed * 2654435761u + 88172645463325252ull };
	struct shadow shadow = {};

	if (seed % 3 == 0) /* its beginning was overwritten */
		for (; shadow.count < 5; shadow.count++) {
			shadow.functions[shadow.count] = below(&random, NAMES);
			shadow.depths[shadow.count] = shadow.count;
		}
	for (unsigned int i = 0; i < EVENTS; i++) {
		if (below(&random, 4))
			synth_pass(thread, 1 + below(&random, 9));
		if (i == EVENTS / 3 || i == EVENTS / 2)
			synth_roll(thread);
		make_event(thread, &random, &shadow, seed % 2);
	}
}

/* --- the truth ---------------------------------------------------------------------------------------------------------- */

struct known {
	struct ada_call call;
	uint64_t path[OPEN_MAX]; /* functions, outermost first, itself last */
	size_t length;
};

struct truth {
	struct ada_calls calls;
	struct known known[EVENTS]; /* by position */
};

static void note_begun(void *context, struct ada_call *call)
{
	struct truth *truth = context;
	struct known *known = &truth->known[call->position];

	for (size_t i = 0; i < truth->calls.stack.count; i++)
		known->path[known->length++] = truth->calls.stack.items[i].function_id;
}

static void note_ended(void *context, const struct ada_call *call)
{
	((struct truth *)context)->known[call->position].call = *call;
}

static struct truth *find_truth(const struct ada_thread *thread)
{
	struct truth *truth = calloc(1, sizeof *truth);

	ada_calls_open(&truth->calls, &(struct ada_calls_receiver){ .context = truth, .begun = note_begun, .ended = note_ended });
	for (uint64_t position = 0; position < thread->count; position++)
		assert_int_equal(ada_calls_feed(&truth->calls, atf_thread_get(thread->events, position), position), 0);
	ada_calls_end(&truth->calls, 0);
	ada_calls_close(&truth->calls);
	return truth;
}

/* --- the open calls ----------------------------------------------------------------------------------------------------- */

static void check_stacks(const struct ada_thread *thread)
{
	struct ada_calls calls;

	ada_calls_open(&calls, &(struct ada_calls_receiver){});
	for (uint64_t position = 0; position <= thread->count; position++) {
		const struct ada_event *event = position < thread->count ? atf_thread_get(thread->events, position) : NULL;
		size_t count = calls.stack.count;
		const struct ada_frame *frame;
		struct ada_lookback back;
		struct ada_stack stack;

		/* A call shows which have left without a word before it begins. */
		while (event && event->event_kind == ADA_EVENT_CALL && count && calls.stack.items[count - 1].depth >= event->call_depth)
			count--;
		assert_int_equal(ada_stack_at(&stack, thread, position), 0);
		assert_int_equal(stack.frames.count, count);
		assert_int_equal(stack.after_loss, calls.after_loss);
		ada_lookback_open(&back, thread, position);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(stack.frames.items[i].position, calls.stack.items[i].position);
			assert_int_equal(stack.frames.items[i].function_id, calls.stack.items[i].function_id);
			assert_int_equal(ada_lookback_get(&back, i, &frame), 0);
			assert_int_equal(frame->position, calls.stack.items[count - 1 - i].position);
		}
		assert_int_equal(ada_lookback_get(&back, count, &frame), 0);
		assert_null(frame);
		ada_lookback_close(&back);
		ada_stack_close(&stack);
		if (event)
			assert_int_equal(ada_calls_feed(&calls, event, position), 0);
	}
	ada_calls_end(&calls, 0);
	ada_calls_close(&calls);
}

static void test_open_calls(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct fixture *fixture;

		fixture_setup(state);
		fixture = *state;
		make_thread(fixture, seed);
		fixture_open(fixture, false, NULL, NULL, NULL);
		check_stacks(&fixture->session->threads.items[0]);
		fixture_teardown(state);
	}
}

/* --- parts -------------------------------------------------------------------------------------------------------------- */

struct scan {
	struct ada_scan scan;
	const struct truth *truth;
	uint64_t begun;
};

static void check_begun(struct ada_scan *base, struct ada_call *call)
{
	struct scan *scan = (struct scan *)base;
	const struct known *known = &scan->truth->known[call->position];
	const struct ada_call *caller = ada_scan_caller(base, call);
	size_t count = base->calls.stack.count;

	assert_int_equal(count, known->length);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(base->calls.stack.items[i].function_id, known->path[i]);
	if (caller)
		assert_ptr_equal(caller->user, scan);
	else if (count > 1)
		assert_int_equal(base->above.frames.items[base->above.frames.count - 1].function_id, known->path[count - 2]);
	else
		assert_int_equal(base->above.frames.count, 0);
	scan->begun++;
	call->user = scan;
}

static void check_ended(struct ada_scan *base, const struct ada_call *call)
{
	const struct ada_call *known = &((struct scan *)base)->truth->known[call->position].call;

	assert_int_equal(call->outcome, known->outcome);
	if (call->outcome == ADA_OUTCOME_UNKNOWN)
		return;
	assert_int_equal(call->end_ns, known->end_ns);
	assert_int_equal(call->children_ns, known->children_ns);
	assert_int_equal(call->across_loss, known->across_loss);
}

struct sums {
	uint64_t calls, unknown, self_ns;
};

/* Of the calls that begin in the selection: by function, the last item all of them. */
static void add_up(const struct truth *truth, const struct ada_selection *selection, struct sums sums[NAMES + 1])
{
	for (size_t i = 0; i < EVENTS; i++) {
		const struct ada_call *call = &truth->known[i].call;
		struct sums *one = &sums[call->function_id];

		if (!truth->known[i].length || call->start_ns < selection->from_ns || call->start_ns >= selection->to_ns)
			continue;
		one->calls++;
		sums[NAMES].calls++;
		if (call->outcome == ADA_OUTCOME_UNKNOWN)
			one->unknown++;
		else if (call->end_ns - call->start_ns > call->children_ns)
			one->self_ns += call->end_ns - call->start_ns - call->children_ns;
	}
}

static void check_part(const struct truth *truth, const struct ada_selection *selection, uint64_t piece)
{
	static const struct ada_scan_receiver receiver = { .begun = check_begun, .ended = check_ended };
	struct sums sums[NAMES + 1] = {};
	struct ada_completeness completeness;
	struct scan scan = { .truth = truth };
	struct ada_error error = {};
	struct ada_stats stats;

	assert_int_equal(ada_scan_run(selection, &receiver, &scan, sizeof scan, 1, &completeness, &error), 0);
	add_up(truth, selection, sums);
	assert_int_equal(scan.begun, sums[NAMES].calls);
	assert_int_equal(ada_stats_compute_pieces(&stats, selection, 2, piece, &error), 0);
	for (size_t i = 0; i < stats.functions.count; i++) {
		const struct ada_function_stats *function = stats.functions.items[i];

		assert_int_equal(function->calls, sums[function->function_id].calls);
		assert_int_equal(function->unknown, sums[function->function_id].unknown);
		assert_int_equal(function->self_ns, sums[function->function_id].self_ns);
		sums[NAMES].calls -= function->calls;
	}
	assert_int_equal(sums[NAMES].calls, 0);
	ada_stats_free(&stats);
}

static void test_parts(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct random random = { seed };
		const struct ada_thread *thread;
		struct fixture *fixture;
		struct truth *truth;

		fixture_setup(state);
		fixture = *state;
		make_thread(fixture, seed);
		fixture_open(fixture, false, NULL, NULL, NULL);
		thread = &fixture->session->threads.items[0];
		truth = find_truth(thread);
		for (unsigned int i = 0; i < 60; i++) {
			uint64_t from = below(&random, thread->count), to = from + 1 + below(&random, i % 2 ? 20 : EVENTS);

			fixture->selection.from_ns = atf_thread_get(thread->events, from)->timestamp_ns;
			fixture->selection.to_ns = to < thread->count ? atf_thread_get(thread->events, to)->timestamp_ns : UINT64_MAX;
			check_part(truth, &fixture->selection, 1 + below(&random, 80));
		}
		free(truth);
		fixture_teardown(state);
	}
}

static void test_sql(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct random random = { seed };
		struct fixture *fixture;
		struct sql *sql;

		fixture_setup(state);
		fixture = *state;
		make_thread(fixture, seed);
		sql = sql_open(fixture, false);
		for (unsigned int i = 0; i < 60; i++) {
			uint64_t from = below(&random, EVENTS), to = from + 1 + below(&random, i % 2 ? 8 : 80);
			uint64_t function = below(&random, NAMES + 3);
			char wanted[64] = "", part[500], whole[500];

			if (function < NAMES)
				snprintf(wanted, sizeof wanted, " AND function = 'f%lu'", function);
			snprintf(part, sizeof part, "SELECT * FROM calls WHERE index_seq >= %lu AND index_seq < %lu%s ORDER BY index_seq",
				 from, to, wanted);
			snprintf(whole, sizeof whole,
				 "SELECT * FROM calls WHERE +index_seq >= %lu AND +index_seq < %lu%s ORDER BY index_seq", from, to, wanted);
			sql_same(sql, part, whole);
		}
		sql_close(sql);
		fixture_teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_calls),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_sql),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
