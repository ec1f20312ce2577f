/* One provider without processes: a segment, a fake agent that writes into it, a drain and the detail store. Time is the
 * fake agent's: TICK counter ticks an event, whatever the thread. So is the counter, for the recorder too (its reads of it and of
 * CLOCK_BOOTTIME are wrapped, meson.build): the machine's has no say, and every test runs at several frequencies. */
#ifndef ADA_TESTS_RECORDER_DETAIL_WORLD_H
#define ADA_TESTS_RECORDER_DETAIL_WORLD_H
#include "../test.h"

#include "agent.h"
#include "recorder/detail/detail.h"
#include "recorder/index/drain.h"

extern uint64_t world_tick; /* 1 us */
#define TICK world_tick
#define THREADS_MAX 8

struct world_options {
	uint64_t detail_bytes, segment_events;
	uint32_t stack_bytes, threads;
	enum ada_index_mode index_mode;
	enum ada_detail_mode detail_mode;
	struct atf_sink *detail_sink; /* NULL: pwrite */
};

struct world {
	char directory[64];
	struct ada_clock *clock;
	struct ada_segment segment;
	struct ada_drain drain;
	struct ada_details *details;
	struct fake fake;
	struct fake_thread threads[THREADS_MAX];
	uint32_t thread_count;
	bool finished;
	/* Of the last check */
	uint64_t persisted;
	uint64_t first_seq[THREADS_MAX], last_seq[THREADS_MAX]; /* persisted index_seqs, over all segments; UINT64_MAX: none */
};

/* cmocka_run_group_tests of each at each frequency: what failed. */
#define world_run_tests(name, tests) world_run_group(name, tests, sizeof tests / sizeof *(tests))
int world_run_group(const char *name, const struct CMUnitTest *tests, size_t count);
void world_make(struct world *world, const struct world_options *options);
void world_end(struct world *world);	       /* removes everything */
uint64_t world_now(const struct world *world); /* ns */
void world_wait(const struct world *world); /* until it is that late for the recorder as well, which takes no mark of a time yet to come */
/* Events of one thread, at most a chunk at a time, with a turn after each. */
void world_run(struct world *world, uint32_t thread, uint64_t events);
void world_turn(struct world *world);
/* Events of one thread from the time of an earlier counter on, committed only now. */
void world_late(struct world *world, uint32_t thread, uint64_t counter, uint64_t events);
/* Time goes by in which nothing happens; then a turn. */
void world_pass(struct world *world, uint64_t ns);
void world_finish(struct world *world);
/* The files against the index: each event inside a window has its record, right in every byte, and no other has. */
void world_check(struct world *world);
size_t world_windows(const struct world *world);
const struct ada_window *world_window(const struct world *world, size_t i);
#endif
