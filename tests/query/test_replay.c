/* `ada trigger test` says what the judge would have done: random rules over random sessions, each event given to both. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "atf.h"
#include "fixture.h"
#include "judged.h"
#include "query/replay/replay.h"
#include "query/session/windows.h"
#include "synth_random.h"

#define EVENTS 3000
#define RULES 400
#define DEPTHS 64

struct place {
	size_t thread;
	uint64_t index_seq;
};
struct places {
	struct place *items;
	size_t count, capacity;
};

static uint64_t below(uint64_t limit)
{
	return (uint64_t)rand() % limit;
}

/* --- rules ---------------------------------------------------------------------------------------------------------------- */

static const char *const ops[] = { "<", "<=", "==", "!=", ">=", ">" };
static const char *const orders[] = { "<", "<=", ">=", ">" };
static const char *const types[] = {
	"char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"
}; /* the last two: of results */

static const char *function(void)
{
	return below(4) ? known_name((uint32_t)below(KNOWN_FUNCTIONS)) : "*";
}

static void put(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(char *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text + strlen(text), 200 - strlen(text), format, arguments);
	va_end(arguments);
}

static void put_kind(char *text)
{
	const char *name = function();
	bool argument;

	switch (below(10)) {
	case 0: put(text, "symbol=%s", name); break;
	case 1: put(text, "latency=%s%s%luns", name, orders[below(4)], 1 + below(1ull << below(24))); break;
	case 2:
		put(text, "p%lu=%s%s%luns@over=%lu,", 50 + below(50), name, orders[2 + below(2)], 1 + below(1ull << below(24)),
		    100 + below(200));
		return;
	case 3: put(text, "rate=%s>%lu/%luns", name, 1 + below(1ull << below(7)), 1 + below(1ull << below(24))); break;
	case 4: put(text, "rate=%s>%lu/%lums", name, 1000 + below(1000), 1 + below(100)); break;
	case 5: put(text, "depth>%lu", 1 + below(40)); break;
	case 6: put(text, "depth=%s>%lu", name, 1 + below(40)); break;
	case 7: put(text, "new-caller=%s", name); break;
	case 9:
		put(text, "latency=%s:%lu..%s:%lu%s%luns@%s,", name, 1 + below(6), function(), 1 + below(6), orders[below(4)],
		    1 + below(1ull << below(24)), types[below(8)]);
		return;
	case 8:
		argument = below(2);
		if (argument)
			put(text, "arg=%s:%lu", name, 1 + below(6));
		else
			put(text, "return=%s", name);
		put(text, "%s%lu@%s,", ops[below(6)], below(1ull << below(17)), types[below(argument ? 8 : 10)]);
		return;
	}
	put(text, "@");
}

static struct ada_trigger *random_rule(char *text)
{
	struct ada_trigger *trigger = NULL;
	struct ada_error error = {};

	*text = 0;
	put_kind(text);
	if (!below(3))
		put(text, "after=%lu,", 1 + below(30));
	if (!below(3))
		put(text, "every=%lu,", 1 + below(9));
	if (!below(3))
		put(text, "limit=%lu/%lums,", 1 + below(5), 1 + below(50));
	text[strlen(text) - 1] = 0; /* what the next option would have come behind */
	if (ada_trigger_parse(&trigger, text, true, NULL, NULL, &error))
		fail_msg("%s: %s", text, error.text);
	return trigger;
}

/* --- both answers --------------------------------------------------------------------------------------------------------- */

static void note(void *context, const struct ada_replay_hit *hit)
{
	struct places *places = context;
	size_t thread = (size_t)(hit->thread - hit->process->session->threads.items);

	assert_int_equal(ada_array_push(places, (struct place){ thread, hit->index_seq }), 0);
}

static struct places replayed(const struct fixture *fixture, const struct ada_trigger *trigger)
{
	struct places places = {};
	struct ada_replay replay = { .selection = &fixture->selection, .trigger = trigger, .found = note, .context = &places };
	struct ada_error error = {};

	assert_int_equal(ada_replay_run(&replay, &error), 0);
	assert_int_equal(replay.marks, places.count);
	return places;
}

static void values_of(const struct ada_moment *moment, struct judged_event *event)
{
	struct atf_detail detail;

	event->captured = !ada_thread_detail(moment->thread, moment->position, &detail);
	if (!event->captured)
		return;
	memcpy(event->arguments, detail.x, sizeof event->arguments);
	event->rax = detail.x[0];
	event->xmm0 = event->kind == ADA_EVENT_CALL ? detail.vectors[0] : detail.x[2];
}

/* Callers by function, as the replay has them: in the program they are told apart by return address. */
static struct judged_event event_of(const struct ada_trigger *trigger, const struct ada_moment *moment, uint64_t callers[DEPTHS])
{
	const struct ada_event *event = moment->event;
	struct ada_module *module = ada_process_module(moment->thread->process, event->function_id);
	struct judged_event judged = { .counter = event->timestamp_ns,
				       .start_counter = moment->duration_known ? event->timestamp_ns - moment->duration_ns : 0,
				       .caller = event->call_depth ? callers[event->call_depth - 1] + 1 : UINT64_MAX,
				       .kind = event->event_kind,
				       .depth = event->call_depth };
	struct ada_names names;

	ada_names_open(&names, ada_module_symbol(module, ADA_FUNCTION_SYMBOL(event->function_id))->mangled, NULL);
	judged.named = ada_trigger_sides(trigger, &names) & ADA_TRIGGER_ENDS;
	judged.begins = ada_trigger_sides(trigger, &names) & ADA_TRIGGER_BEGINS;
	ada_names_close(&names);
	callers[event->call_depth] = event->function_id;
	values_of(moment, &judged);
	return judged;
}

static struct places judged(const struct fixture *fixture, const struct ada_trigger *trigger)
{
	static uint64_t callers[SYNTH_THREADS_MAX][DEPTHS];
	static const struct ada_rolls none;
	struct judged *processes[2];
	struct places places = {};
	struct ada_timeline *timeline;
	struct ada_moment moment;
	struct ada_error error = {};
	struct ada_rule rule, begins;

	ada_trigger_rule(trigger, 1.0, &none, ADA_VALUE_I32, &rule);
	ada_trigger_begin_rule(trigger, &rule, ADA_VALUE_I32, 0, &begins);
	for (size_t i = 0; i < 2; i++)
		processes[i] = judged_open(&rule, trigger->kind == ADA_RULE_SPAN ? &begins : NULL);
	assert_int_equal(ada_timeline_open(&timeline, &fixture->selection, true, &error), 0);
	while (ada_timeline_next(timeline, &moment)) {
		size_t thread = (size_t)(moment.thread - fixture->session->threads.items);
		struct judged_event event = event_of(trigger, &moment, callers[thread]);

		event.thread = (uint32_t)thread;
		if (judged_marks(processes[moment.thread->process != fixture->session->processes.items[0]], &event))
			assert_int_equal(ada_array_push(&places, (struct place){ thread, moment.position }), 0);
	}
	ada_timeline_close(timeline);
	for (size_t i = 0; i < 2; i++)
		judged_close(processes[i]);
	return places;
}

/* How many marks the rules made. */
static size_t compare(const struct fixture *fixture, uint32_t rules)
{
	size_t marks = 0;

	for (uint32_t i = 0; i < rules; i++) {
		char text[200];
		struct ada_trigger *trigger = random_rule(text);
		struct places there = judged(fixture, trigger), here = replayed(fixture, trigger);

		for (size_t k = 0; k < there.count && k < here.count; k++)
			if (there.items[k].thread != here.items[k].thread || there.items[k].index_seq != here.items[k].index_seq)
				fail_msg("%s: mark %zu: thread %zu #%lu, replayed: thread %zu #%lu", text, k, there.items[k].thread,
					 there.items[k].index_seq, here.items[k].thread, here.items[k].index_seq);
		if (there.count != here.count)
			fail_msg("%s: %zu marks, replayed: %zu", text, there.count, here.count);
		marks += here.count;
		ada_array_free(&there);
		ada_array_free(&here);
		ada_trigger_free(trigger);
	}
	return marks;
}

static void random_events(void **state)
{
	struct fixture *fixture = *state;

	srand(1);
	known_free(synth_random(fixture->synth, 7, 4, EVENTS));
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_true(compare(fixture, RULES) > RULES);
}

/* Values are known within a window. */
static void captured_events(void **state)
{
	static const char *const names[] = { "run", "hash", "read" };
	struct fixture *fixture = *state;
	struct synth_thread *thread = fixture_thread(fixture, names, 3);

	srand(2);
	synth_capture(thread, true);
	for (uint32_t depth = 0, i = 0; i < EVENTS; i++) {
		bool begins = !depth || (depth < 50 && below(2));

		if (i == EVENTS / 4)
			synth_window(thread);
		if (i == EVENTS / 4 * 3)
			synth_window_end(thread);
		synth_pass(thread, below(3000));
		if (begins)
			synth_call(thread, below(3));
		else
			synth_return(thread);
		depth += begins ? 1 : -1u;
	}
	fixture_open(fixture, true, NULL, NULL, NULL);
	assert_true(compare(fixture, RULES) > RULES);
}

int main(void)
{
	const struct CMUnitTest tests[] = { FIXTURE_TEST(random_events), FIXTURE_TEST(captured_events) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
