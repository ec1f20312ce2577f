/* Which chunk a thread takes, where the recorder has given back all that it filled: one that is fast goes through 16 MiB first, another takes
 * the lowest. */
#include <x86intrin.h>
#include "agent/record/lane.h"
#include "fake.h"
#include "../../test.h"

#define CHUNKS 600u
#define LAP 512u
#define FAST_TICKS (1u << 18)
#define TRIES 1000000u

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

static struct ada_shm *shm;
static uint64_t opened_before; /* the counter, before the open chunk was opened */

static void begin(void)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	static bool hooked;

	shm = fake_begin(CHUNKS, ADA_INDEX_STREAMING, ADA_ON_FULL_DROP);
	if (!hooked)
		assert_int_equal(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries), 1);
	hooked = true;
	leaf(0);
}

static uint32_t open_chunk(void)
{
	return ((struct ada_shm_thread *)((char *)shm + shm->threads_offset))->chunk;
}

/* What became of it is in no ring of the test's. */
static void give_back(uint32_t number)
{
	fake_chunk(number)->status = ADA_CHUNK_FREE;
	ada_map_give((uint64_t *)((char *)shm + shm->free_offset), number);
}

/* Fills the open chunk, gives it back, and says which one comes next. *ticks: it was filled in less. */
static uint32_t next_chunk(uint64_t *ticks)
{
	uint32_t filled = open_chunk(), next;
	uint64_t opened = opened_before;

	do {
		opened_before = __rdtsc();
		leaf(0);
		next = open_chunk();
	} while (next == filled);
	*ticks = __rdtsc() - opened;
	give_back(filled);
	return next;
}

static void who_is_fast_goes_through_a_lap(void **unused)
{
	uint64_t ticks;
	unsigned certain = 0, laps = 0;

	begin();
	opened_before = 0;
	/* A chunk's first time takes long here, for its pages are made: it isn't certain, then, how fast it was. */
	for (unsigned i = 0; i < TRIES && !laps; i++) {
		uint32_t filled = open_chunk(), next = next_chunk(&ticks);

		if (ticks >= FAST_TICKS) /* it lost its CPU, perhaps while its chunk was open */
			continue;
		certain++;
		laps += filled + 1 == LAP;
		assert_int_equal(next, (filled + 1) % LAP);
	}
	assert_true(certain > LAP / 2 && laps);
}

static void take_long(void)
{
	for (uint64_t start = __rdtsc(); __rdtsc() - start < FAST_TICKS;)
		;
}

/* As if it had lost its CPU. */
static void one_that_takes_long_is_no_sign(void **unused)
{
	uint64_t ticks;
	unsigned certain = 0;

	begin();
	while (certain < 20) {
		uint32_t filled;

		next_chunk(&ticks);
		filled = open_chunk();
		if (ticks >= FAST_TICKS || filled + 1 == LAP)
			continue;
		take_long();
		certain++;
		assert_int_equal(next_chunk(&ticks), filled + 1);
	}
}

static void who_is_slow_takes_the_lowest(void **unused)
{
	uint64_t ticks;

	begin();
	for (unsigned i = 0; i < 20; i++) {
		uint32_t filled = open_chunk();

		take_long();
		assert_int_equal(next_chunk(&ticks), filled ? 0 : 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_fast_goes_through_a_lap),
		cmocka_unit_test(one_that_takes_long_is_no_sign),
		cmocka_unit_test(who_is_slow_takes_the_lowest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
