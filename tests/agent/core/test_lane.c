/* The detail lane's chunks: taken and sealed with their index chunks, recycled oldest first, never while a pin holds them. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "agent/record/lane.h"
#include "fake.h"
#include "../../test.h"

#define THREADS 4

HOOKED static long leaf(long x)
{
	BARRIER;
	return x + 1;
}

static struct ada_shm *shm;

static void begin(uint32_t index_chunks, uint32_t detail_chunks, uint32_t mode)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	static bool hooked;

	fake_detail = (struct fake_detail){ detail_chunks, 0, mode, false };
	fake_detail_checked = false;
	shm = fake_begin(index_chunks, ADA_INDEX_CIRCULAR, ADA_ON_FULL_DROP);
	if (!hooked)
		assert_int_equal(fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries), 1);
	hooked = true;
}

static struct ada_shm_thread *entry(uint32_t number)
{
	return (struct ada_shm_thread *)((char *)shm + shm->threads_offset) + number;
}

static uint32_t status_of(uint32_t number)
{
	return __atomic_load_n(&fake_detail_chunk(number)->status, __ATOMIC_ACQUIRE);
}

/* Fills so many chunks, and begins the next. */
static void fill(uint32_t chunks)
{
	for (uint32_t i = 0; i < chunks * ADA_CHUNK_EVENTS / 2; i++)
		leaf(i);
	leaf(0);
}

/* As the recorder does for its own marks, so that all of the pin is wanted; then one interval, by one instruction. */
static void pin_set(uint64_t start, uint64_t end)
{
	uint64_t own = start == ADA_PIN_NONE ? UINT64_MAX : start >> ADA_PIN_EPOCH_BITS << ADA_PIN_GRAIN;
	uint64_t low = shm->detail.pin.start, high = shm->detail.pin.end;

	__atomic_store_n(&shm->detail.own_end, end, __ATOMIC_RELAXED);
	__atomic_store_n(&shm->detail.own_start, own, __ATOMIC_RELEASE);
	start |= (low + 1) & ((1u << ADA_PIN_EPOCH_BITS) - 1);
	__asm__ volatile("1: lock cmpxchg16b %0; jnz 1b"
			 : "+m"(shm->detail.pin), "+a"(low), "+d"(high)
			 : "b"(start), "c"(end)
			 : "memory", "cc");
}

static void pin_clear(void)
{
	pin_set(ADA_PIN_NONE, 0);
}

/* --- one thread ---------------------------------------------------------------------------------------------------------- */

static void chunks_go_together(void **state)
{
	struct ada_chunk *index;
	struct ada_detail_chunk *open;

	begin(16, 16, ADA_DETAIL_CIRCULAR);
	fill(5);
	assert_int_equal(shm->detail.sealed_head, 5);
	assert_int_equal(shm->sealed_head, 5);
	for (uint32_t i = 0; i < 5; i++) {
		struct ada_detail_chunk *chunk = fake_detail_chunk(i);

		assert_int_equal(chunk->status, ADA_DETAIL_SEALED);
		assert_int_equal(chunk->thread, 0);
		assert_int_equal(chunk->records, ADA_CHUNK_EVENTS);
		assert_int_equal(chunk->first_seq, i * ADA_CHUNK_EVENTS);
		assert_int_equal(chunk->previous_counter, i ? fake_detail_chunk(i - 1)->last_counter : 0);
		assert_true(chunk->previous_counter < chunk->first_counter && chunk->first_counter < chunk->last_counter);
	}
	open = fake_detail_chunk(5);
	assert_int_equal(open->status, ADA_DETAIL_OPEN);
	index = (struct ada_chunk *)((char *)shm + shm->index_offset + (uint64_t)open->index_chunk * ADA_CHUNK_BYTES);
	assert_int_equal(index->status, ADA_CHUNK_OPEN);
	assert_int_equal(index->detail, 5);
	assert_int_equal(index->first_seq, open->first_seq);
	assert_int_equal(entry(0)->chunk, open->index_chunk);
	assert_int_equal(entry(0)->writing, 0);
	assert_int_equal(entry(0)->detail_dropped + shm->detail.starved, 0);
}

static void the_oldest_is_recycled_first(void **state)
{
	uint64_t last[5];

	begin(16, 8, ADA_DETAIL_CIRCULAR); /* of which 2 are kept free, for what follows a mark */
	fill(5);			   /* 5 sealed, 1 open */
	assert_int_equal(shm->detail.discarded, 0);
	for (uint32_t i = 0; i < 5; i++)
		last[i] = fake_detail_chunk(i)->last_counter;
	for (uint32_t i = 0; i < 5; i++) {
		fill(1);
		assert_int_equal(shm->detail.discarded, i + 1);
		assert_int_equal(shm->detail.horizon, last[i]);
		assert_int_equal(shm->detail.sealed_tail, i + 1);
		assert_int_equal(status_of(i), ADA_DETAIL_OPEN);
	}
	assert_int_equal(shm->detail.starved, 0);
}

static void enough_history_is_recycled_before_the_pool_grows(void **state)
{
	begin(16, 8, ADA_DETAIL_CIRCULAR);
	shm->detail.history = 2;
	fill(1);
	assert_int_equal(shm->detail.discarded, 0);
	for (uint32_t i = 0; i < 5; i++) {
		fill(1); /* two are sealed: the older one begins anew */
		assert_int_equal(shm->detail.discarded, i + 1);
		assert_int_equal(status_of(i % 2), ADA_DETAIL_OPEN);
	}
	assert_int_equal(status_of(2), ADA_DETAIL_FREE);
	shm->detail.history = 0;
	fill(1);
	assert_int_equal(shm->detail.discarded, 5);
	assert_int_equal(status_of(2), ADA_DETAIL_OPEN);
	assert_int_equal(shm->detail.starved, 0);
}

static void oneshot_takes_each_chunk_once(void **state)
{
	begin(16, 3, ADA_DETAIL_ONESHOT);
	fill(10);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(status_of(i), ADA_DETAIL_SEALED);
		assert_int_equal(fake_detail_chunk(i)->first_seq, i * ADA_CHUNK_EVENTS);
	}
	assert_int_equal(shm->detail.sealed_head, 3);
	assert_int_equal(shm->detail.discarded + shm->detail.horizon, 0);
	assert_int_equal(shm->detail.starved, 8); /* for chunks 3 to 10 */
	assert_int_equal(entry(0)->detail_dropped, 7 * ADA_CHUNK_EVENTS);
}

static void what_a_pin_holds_is_handed_over(void **state)
{
	begin(16, 8, ADA_DETAIL_CIRCULAR);
	fill(5);
	pin_set(ada_pin_start(fake_detail_chunk(0)->first_counter), UINT64_MAX);
	fill(1);
	for (uint32_t i = 0; i < 6; i++) /* the last of them was open when the pin was set */
		assert_int_equal(status_of(i), ADA_DETAIL_HELD);
	assert_int_equal(status_of(6), ADA_DETAIL_OPEN); /* there is room for what follows */
	assert_int_equal(shm->detail.starved, 0);
	fill(2);
	assert_int_equal(status_of(6), ADA_DETAIL_HELD);
	assert_int_equal(status_of(7), ADA_DETAIL_HELD);
	assert_int_equal(shm->detail.starved, 1);
	assert_int_equal(shm->detail.discarded, 0);
	fill(2);
	assert_int_equal(shm->detail.starved, 3);
	assert_int_equal(entry(0)->detail_dropped, 2 * ADA_CHUNK_EVENTS);
	/* The recorder gives one back. */
	pin_clear();
	fake_detail_give_back(3);
	fill(1);
	assert_int_equal(status_of(3), ADA_DETAIL_OPEN);
	assert_int_equal(fake_detail_chunk(3)->index_chunk, entry(0)->chunk);
	/* Its thread's history before it is known, though the chunks between had no detail. */
	assert_true(fake_detail_chunk(3)->previous_counter > fake_detail_chunk(7)->last_counter);
}

static void a_pin_of_the_past_holds_the_past(void **state)
{
	begin(16, 8, ADA_DETAIL_CIRCULAR);
	fill(7);
	pin_set(ada_pin_start(fake_detail_chunk(2)->first_counter), fake_detail_chunk(3)->last_counter);
	fill(5);
	for (uint32_t i = 0; i < 7; i++) {
		bool held = status_of(i) == ADA_DETAIL_HELD;

		if (i == 2 || i == 3)
			assert_true(held);
		if (i == 0 || i > 4) /* 1 and 4 touch it, as far as a grain of the pin goes */
			assert_false(held);
	}
	assert_int_equal(shm->detail.starved, 0);
	pin_clear();
}

/* --- threads ------------------------------------------------------------------------------------------------------------- */

static volatile bool working;

static void *work(void *unused)
{
	while (__atomic_load_n(&working, __ATOMIC_RELAXED))
		leaf(1);
	return NULL;
}

static void workers(pthread_t *threads, bool start)
{
	__atomic_store_n(&working, start, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		if (start)
			assert_int_equal(pthread_create(&threads[i], NULL, work, NULL), 0);
		else
			pthread_join(threads[i], NULL);
}

/* Until so many more chunks have been recycled, or found none. */
static void recycled_await(uint64_t more)
{
	uint64_t *discarded = &shm->detail.discarded, *starved = &shm->detail.starved;
	uint64_t before = __atomic_load_n(discarded, __ATOMIC_RELAXED) + __atomic_load_n(starved, __ATOMIC_RELAXED);

	while (__atomic_load_n(discarded, __ATOMIC_RELAXED) + __atomic_load_n(starved, __ATOMIC_RELAXED) < before + more)
		sched_yield();
}

/* What a marker relies on: whatever overlaps its pin once it is set stays as it is, though all threads are recycling. */
static void no_history_is_lost_to_a_race(void **state)
{
	enum { CHUNKS = 24, PINS = 300 };
	pthread_t threads[THREADS];
	uint64_t held = 0;

	begin(64, CHUNKS, ADA_DETAIL_CIRCULAR);
	workers(threads, true);
	recycled_await(CHUNKS);
	for (int pin = 0; pin < PINS || held < PINS; pin++) {
		uint64_t first[CHUNKS] = { 0 }, start = ada_sys_counter() - 2000000 * (pin % 3), end = ada_sys_counter();

		pin_set(ada_pin_start(start), pin & 1 ? end : UINT64_MAX);
		for (uint32_t i = 0; i < CHUNKS; i++) {
			const struct ada_detail_chunk *chunk = fake_detail_chunk(i);
			uint32_t status;

			while ((status = status_of(i)) == ADA_DETAIL_CLAIMED)
				sched_yield();
			if ((status == ADA_DETAIL_SEALED || status == ADA_DETAIL_HELD) &&
			    ada_pin_holds(ada_pin_start(start), pin & 1 ? end : UINT64_MAX, chunk->first_counter, chunk->last_counter))
				first[i] = chunk->first_counter;
		}
		recycled_await(THREADS);
		for (uint32_t i = 0; i < CHUNKS; i++) {
			if (!first[i])
				continue;
			assert_int_equal(fake_detail_chunk(i)->first_counter, first[i]);
			assert_true(status_of(i) == ADA_DETAIL_SEALED || status_of(i) == ADA_DETAIL_HELD);
			held++;
		}
		pin_clear();
		for (uint32_t i = 0; i < CHUNKS; i++)
			if (status_of(i) == ADA_DETAIL_HELD)
				fake_detail_give_back(i);
	}
	workers(threads, false);
	assert_true(shm->detail.discarded > PINS);
}

static void threads_end_and_give_back(void **state)
{
	pthread_t threads[THREADS];

	begin(64, 16, ADA_DETAIL_STREAMING);
	for (int round = 0; round < 3; round++) {
		workers(threads, true);
		while (__atomic_load_n(&shm->thread_count, __ATOMIC_ACQUIRE) < (round + 1u) * THREADS)
			sched_yield();
		workers(threads, false);
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_true(status_of(i) != ADA_DETAIL_OPEN);
}

static void a_forks_child_has_its_own(void **state)
{
	int status = -1;
	pid_t pid;

	begin(16, 8, ADA_DETAIL_CIRCULAR);
	fill(2);
	fake_forked = NULL;
	pid = fork();
	if (pid == 0) {
		ada_core_forked();
		begin(16, 8, ADA_DETAIL_CIRCULAR);
		fill(1);
		_exit(status_of(0) == ADA_DETAIL_SEALED && status_of(1) == ADA_DETAIL_OPEN && shm->detail.sealed_head == 1 &&
				      fake_detail_chunk(0)->first_seq == 0 && fake_detail_chunk(0)->previous_counter == 0 ?
			      0 :
			      1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fill(1);
	assert_int_equal(shm->detail.sealed_head, 3);
	assert_int_equal(status_of(3), ADA_DETAIL_OPEN);
}

/* As the thread that comes after so many others. */
static void begin_among_many(uint32_t small, uint32_t mode)
{
	fake_small = small;
	begin(16, 16, mode);
	fake_small = 0;
	shm->thread_count = ADA_THREADS_LARGE;
	fake_detail_checked = true;
}

/* Among many a thread begins with small chunks of each lane, which end where others do. Detail fills them. */
static void a_thread_among_many_begins_small(void **state)
{
	const uint32_t first = ada_small_first(16);
	uint64_t calls = 0, seq = 0;

	begin_among_many(ADA_SMALL_A_THREAD + 1, ADA_DETAIL_CIRCULAR);
	while (!shm->detail.sealed_head && calls < ADA_CHUNK_EVENTS)
		leaf(calls++);
	fake_drain();
	assert_int_equal(fake_count().events, 2 * calls);
	assert_int_equal(fake_count().detailed, 2 * calls);
	assert_int_equal(fake_count().errors, 0);
	for (uint32_t i = 0; i < ADA_SMALL_A_THREAD; i++) {
		const struct ada_detail_chunk *chunk = fake_detail_chunk(first + i);

		assert_int_equal(fake_chunk(first + i)->detail, first + i);
		assert_int_equal(status_of(first + i), ADA_DETAIL_SEALED);
		assert_int_equal(chunk->first_seq, seq);
		assert_in_range(chunk->records, ADA_DETAIL_SMALL_EVENTS, ADA_SMALL_EVENTS);
		assert_int_equal(ada_chunk_end(fake_chunk(first + i)), ada_chunk_begin(16, first + i) + chunk->records * 32);
		seq += chunk->records;
	}
	assert_int_equal(status_of(0), ADA_DETAIL_SEALED);
	assert_int_equal(fake_detail_chunk(0)->first_seq, seq);
	assert_int_equal(status_of(1), ADA_DETAIL_OPEN);
	assert_int_equal(shm->detail.small_head, ADA_SMALL_A_THREAD);
	assert_int_equal(shm->detail.sealed_head, 1);
	assert_int_equal(entry(ADA_THREADS_LARGE)->detail_dropped + shm->detail.starved, 0);
}

/* Where there are none left, it begins with ordinary ones. */
static void small_chunks_run_out(void **state)
{
	begin_among_many(1, ADA_DETAIL_CIRCULAR);
	for (uint32_t i = 0; i < ADA_CHUNK_EVENTS / 2; i++)
		leaf(i);
	fake_drain();
	assert_int_equal(fake_count().events, ADA_CHUNK_EVENTS);
	assert_int_equal(fake_count().detailed, ADA_CHUNK_EVENTS);
	assert_int_equal(fake_count().errors, 0);
	assert_int_equal(status_of(0), ADA_DETAIL_OPEN);
	assert_int_equal(fake_detail_chunk(0)->first_seq, fake_detail_chunk(ada_small_first(16))->records);
}

/* A small index chunk whose detail finds no small chunk goes with an ordinary one. */
static void small_goes_with_large(void **state)
{
	const uint32_t first = ada_small_first(16);
	uint64_t *words;

	begin_among_many(2, ADA_DETAIL_CIRCULAR);
	words = (uint64_t *)((char *)shm + shm->detail_free_offset);
	words[first / 64] = 0;
	for (uint32_t i = 0; i < ADA_SMALL_EVENTS / 2; i++)
		leaf(i);
	fake_drain();
	assert_int_equal(fake_count().detailed, ADA_SMALL_EVENTS);
	assert_int_equal(fake_count().errors, 0);
	assert_int_equal(fake_chunk(first)->detail, 0);
	assert_int_equal(status_of(0), ADA_DETAIL_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_go_together),
		cmocka_unit_test(the_oldest_is_recycled_first),
		cmocka_unit_test(oneshot_takes_each_chunk_once),
		cmocka_unit_test(what_a_pin_holds_is_handed_over),
		cmocka_unit_test(a_pin_of_the_past_holds_the_past),
		cmocka_unit_test(enough_history_is_recycled_before_the_pool_grows),
		cmocka_unit_test(no_history_is_lost_to_a_race),
		cmocka_unit_test(threads_end_and_give_back),
		cmocka_unit_test(a_forks_child_has_its_own),
		cmocka_unit_test(a_thread_among_many_begins_small),
		cmocka_unit_test(small_chunks_run_out),
		cmocka_unit_test(small_goes_with_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
