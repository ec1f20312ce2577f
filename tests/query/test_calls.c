/* Pairing: events in, calls out. A script is a string of events; what comes out is written back as one.
 *
 * In:  c F D  call of F at depth D        Out: F:D start-end and how it ended: r x o(pen) u(nknown); a where set aside,
 *      r F D  return      x F D  exception     /N: children took N. The time is the event's number.
 *      ? across a loss
 *      l N D  loss of N    o A D  object A    w N D  waited N for ada: the duration comes behind the end then, as -N
 */
#include <stdio.h>
#include <string.h>
#include "../test.h"
#include "query/calls/calls.h"

#define KINDS " crxlow?"

static char out[4096];

static void write_call(void *context, const struct ada_call *call)
{
	size_t length = strlen(out);

	if (call->outcome == ADA_OUTCOME_UNKNOWN)
		snprintf(out + length, sizeof out - length, "%lu:%u %lu u ", call->function_id, call->depth, call->start_ns);
	else
		snprintf(out + length, sizeof out - length, "%lu:%u %lu-%lu%c%s%s/%lu ", call->function_id, call->depth, call->start_ns,
			 call->end_ns, "rxo"[call->outcome], call -> aside ? "a" : "", call->across_loss ? "?" : "", call->children_ns);
	if (call->waited_ns)
		snprintf(out + strlen(out) - 1, sizeof out - strlen(out), "=%lu,%lu ", ada_call_duration(call), ada_call_self(call));
}

static struct ada_calls feed(const char *script)
{
	struct ada_calls calls;
	unsigned long function;
	unsigned int depth;
	uint64_t now = 0;
	int used;
	char kind;

	out[0] = 0;
	ada_calls_open(&calls, &(struct ada_calls_receiver){ .ended = write_call });
	for (; sscanf(script, " %c %lu %u%n", &kind, &function, &depth, &used) == 3; script += used, now++) {
		struct ada_event event = { .timestamp_ns = now, .function_id = function, .call_depth = depth };

		event.event_kind = strchr(KINDS, kind) - KINDS;
		assert_int_equal(ada_calls_feed(&calls, &event, now), 0);
	}
	ada_calls_end(&calls, 0);
	ada_calls_close(&calls);
	return calls;
}

static void expect(const char *script, const char *expected)
{
	feed(script);
	assert_string_equal(out, expected);
}

static void test_nested(void **state)
{
	expect("c 1 0  c 2 1  c 3 2  r 3 2  r 2 1  c 2 1  r 2 1  r 1 0", "3:2 2-3r/0 2:1 1-4r/1 2:1 5-6r/0 1:0 0-7r/4 ");
}

static void test_recursion(void **state)
{
	expect("c 1 0  c 1 1  c 1 2  r 1 2  r 1 1  r 1 0", "1:2 2-3r/0 1:1 1-4r/1 1:0 0-5r/3 ");
}

static void test_exception_ends_a_call(void **state)
{
	expect("c 1 0  c 2 1  c 3 2  x 3 2  x 2 1  r 1 0", "3:2 2-3x/0 2:1 1-4x/1 1:0 0-5r/3 ");
}

static void test_open_at_the_end(void **state)
{
	expect("c 1 0  c 2 1  c 3 2  r 3 2", "3:2 2-3r/0 2:1 1-3o/1 1:0 0-3o/2 ");
}

static void test_start_in_the_middle(void **state)
{
	struct ada_calls calls = feed("r 9 4  c 2 3  r 2 3  r 8 3");

	assert_string_equal(out, "2:3 1-2r/0 ");
	assert_int_equal(calls.orphans, 2);
}

static void test_loss_cuts_what_is_gone(void **state)
{
	struct ada_calls calls = feed("c 1 0  c 2 1  c 3 2  l 5 0  c 4 1  r 4 1  r 1 0");

	/* Not 1's own: 1 to 2 was 2's, 2 to 4 the gap's, 4 to 5 was 4's. */
	assert_string_equal(out, "3:2 2 u 2:1 1 u 4:1 4-5r/0 1:0 0-6r?/4 ");
	assert_int_equal(calls.lost, 5);
	assert_int_equal(calls.losses, 1);
}

static void test_loss_hides_a_call(void **state)
{
	struct ada_calls calls = feed("c 1 0  l 3 0  r 7 2  r 6 1  r 1 0");

	assert_string_equal(out, "1:0 0-4r?/2 ");
	assert_int_equal(calls.orphans, 2);
}

static void test_loss_replaces_a_call(void **state)
{
	/* At depth 1 now 5 returns: 2 and what it called are gone. */
	expect("c 1 0  c 2 1  c 3 2  l 9 0  r 5 1  c 2 1  r 2 1  r 1 0", "3:2 2 u 2:1 1 u 2:1 5-6r/0 1:0 0-7r?/4 ");
}

static void test_loss_at_the_end(void **state)
{
	expect("c 1 0  l 9 0  l 9 0", "1:0 0-2o?/2 ");
}

static void test_call_without_return(void **state)
{
	/* 2 has no stub: the next call at its depth, or its caller's return, shows that it is over. */
	expect("c 1 0  c 2 1  c 2 1  c 3 1  r 3 1  r 1 0", "3:1 3-4r/0 1:0 0-5r/1 2:1 1 u 2:1 2 u ");
}

static void test_fibers(void **state)
{
	/* 1 switches to a fiber that is in 2 and 3; 1 returns first, the fiber's calls later. */
	expect("c 1 0  c 2 1  c 3 2  r 1 0  c 4 0  r 3 2  r 2 1  r 4 0", "1:0 0-3r/0 3:2 2-5ra/0 2:1 1-6ra/0 4:0 4-7r/0 ");
}

static void test_loss_forgets_fibers(void **state)
{
	/* After the loss 3 may be another call of the same function. */
	struct ada_calls calls = feed("c 1 0  c 3 1  r 1 0  l 9 0  r 3 1");

	assert_string_equal(out, "1:0 0-2r/0 3:1 1 u ");
	assert_int_equal(calls.orphans, 1);
}

static void test_unknown_kinds_are_skipped(void **state)
{
	expect("c 1 0  ? 5 7  r 1 0", "1:0 0-2r/0 ");
}

static void test_objects_are_no_calls(void **state)
{
	expect("c 1 0  o 77 0  c 2 1  o 78 1  o 79 1  r 2 1  r 1 0", "2:1 2-5r/0 1:0 0-6r/3 ");
}

/* What the program waited for ada is no time of any call, and no call's own. */
static void test_waits_for_ada_are_left_out(void **state)
{
	expect("c 1 0  c 2 1  c 3 2  w 2 3  r 3 2  r 2 1  c 2 1  r 2 1  r 1 0", "3:2 2-4r/0=0,0 2:1 1-5r/0=2,2 2:1 6-7r/0 1:0 0-8r/3=6,3 ");
	expect("c 1 0  c 2 1  r 2 1  w 1 1", "2:1 1-2r/0 1:0 0-3o/1=2,1 ");
}

static void test_many_without_return_stay_bounded(void **state)
{
	struct ada_event event = { .event_kind = ADA_EVENT_CALL, .function_id = 1 };
	struct ada_calls calls;

	ada_calls_open(&calls, &(struct ada_calls_receiver){});
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(ada_calls_feed(&calls, &event, i), 0);
	assert_true(calls.aside.count <= 16384);
	assert_int_equal(calls.stack.count, 1);
	ada_calls_end(&calls, 0);
	ada_calls_close(&calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_exception_ends_a_call),
		cmocka_unit_test(test_open_at_the_end),
		cmocka_unit_test(test_start_in_the_middle),
		cmocka_unit_test(test_loss_cuts_what_is_gone),
		cmocka_unit_test(test_loss_hides_a_call),
		cmocka_unit_test(test_loss_replaces_a_call),
		cmocka_unit_test(test_loss_at_the_end),
		cmocka_unit_test(test_call_without_return),
		cmocka_unit_test(test_fibers),
		cmocka_unit_test(test_loss_forgets_fibers),
		cmocka_unit_test(test_unknown_kinds_are_skipped),
		cmocka_unit_test(test_objects_are_no_calls),
		cmocka_unit_test(test_waits_for_ada_are_left_out),
		cmocka_unit_test(test_many_without_return_stay_bounded),
	};

	return cmocka_run_group_tests_name("calls", tests, NULL, NULL);
}
