#include "wild.h"

uint64_t wild_draw(uint64_t *state)
{
	uint64_t value = *state += 0x9e3779b97f4a7c15u;

	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	return value ^ value >> 27;
}

void wild_compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, uint64_t piece)
{
	struct ada_error error = {};

	if (ada_stats_compute_pieces(stats, selection, workers, piece, &error))
		fail_msg("%s", error.text);
}

/* What one thread may do: stacks that it changes between, each with its own depths; `odd` of 10,000 events are odd. */
struct wild {
	struct synth_thread *thread;
	uint64_t state, odd;
	uint64_t open[4][64];
	uint32_t depth[4], fiber;
};

static uint64_t below(struct wild *wild, uint64_t limit)
{
	return wild_draw(&wild->state) % limit;
}

static void call(struct wild *wild)
{
	uint32_t *depth = &wild->depth[wild->fiber];
	uint64_t id = ADA_FUNCTION_ID(0, below(wild, 6));

	if (*depth == 64)
		return;
	wild->open[wild->fiber][*depth] = id;
	synth_event(wild->thread, ADA_EVENT_CALL, id, (*depth)++);
}

static void leave(struct wild *wild)
{
	uint32_t *depth = &wild->depth[wild->fiber];

	if (!*depth)
		return;
	--*depth;
	synth_event(wild->thread, below(wild, 9) ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION, wild->open[wild->fiber][*depth], *depth);
}

static void do_odd(struct wild *wild)
{
	uint32_t *depth = &wild->depth[wild->fiber];

	switch (below(wild, 8)) {
	case 0: /* another stack */ wild->fiber = below(wild, 4); break;
	case 1: /* frames that left without a word */ *depth -= *depth ? below(wild, *depth) : 0; break;
	case 2:
		synth_lost(wild->thread, below(wild, 50), 0);
		if (below(wild, 2))
			*depth -= *depth ? below(wild, *depth) : 0;
		break;
	case 3: /* an end of nothing */
		synth_event(wild->thread, ADA_EVENT_RETURN, ADA_FUNCTION_ID(0, below(wild, 8)), below(wild, 70));
		break;
	case 4: /* a kind from the future */ synth_event(wild->thread, 9, below(wild, 8), below(wild, 70)); break;
	case 5: /* of no module */ synth_event(wild->thread, ADA_EVENT_CALL, ADA_FUNCTION_ID(3, below(wild, 2)), *depth); break;
	case 6: /* it waited for ada */ synth_event(wild->thread, ADA_EVENT_RECORDER, below(wild, 300), *depth); break;
	default: /* depths with holes */
		synth_event(wild->thread, ADA_EVENT_CALL, ADA_FUNCTION_ID(0, below(wild, 6)), *depth + below(wild, 3));
	}
}

void wild_make(struct synth *synth, uint64_t seed, uint64_t odd, uint64_t events)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "never" };
	uint32_t lean = 2;

	synth_process(synth, 5);
	synth_module(synth, "/bin/wild", names, 7);
	for (uint32_t i = 0; i < 2; i++) {
		struct wild wild = { .thread = synth_thread(synth, 5 + i, "wild"), .state = seed + i, .odd = odd };

		for (uint64_t j = 0; j < events; j++) {
			synth_pass(wild.thread, below(&wild, 4) ? below(&wild, 200) : 0);
			if (j % 32 == 0)
				lean = 1 + (uint32_t)below(&wild, 4);
			if (j % (events / 3) == events / 6 && j < events * 2 / 3)
				synth_roll(wild.thread);
			if (below(&wild, 10000) < odd)
				do_odd(&wild);
			else if (below(&wild, 5) < lean)
				call(&wild);
			else
				leave(&wild);
		}
	}
}

void assert_same_stats(const struct ada_stats *a, const struct ada_stats *b)
{
	assert_int_equal(a->functions.count, b->functions.count);
	for (size_t i = 0; i < a->functions.count; i++) {
		const struct ada_function_stats *x = a->functions.items[i], *y = b->functions.items[i];

		assert_int_equal(x->key, y->key);
		assert_true(!x->module == !y->module);
		assert_int_equal(x->function_id, y->function_id);
		assert_int_equal(x->calls, y->calls);
		assert_int_equal(x->unknown, y->unknown);
		assert_int_equal(x->total_ns, y->total_ns);
		assert_int_equal(x->self_ns, y->self_ns);
		assert_memory_equal(&x->durations, &y->durations, offsetof(struct ada_histogram, few));
		for (unsigned int j = 0; j < ADA_HISTOGRAM_OCTAVES * ADA_HISTOGRAM_BUCKETS; j++)
			assert_int_equal(ada_histogram_bucket(&x->durations, j), ada_histogram_bucket(&y->durations, j));
	}
	assert_int_equal(a->completeness.events, b->completeness.events);
	assert_int_equal(a->completeness.lost, b->completeness.lost);
	assert_int_equal(a->completeness.complete, b->completeness.complete);
}
