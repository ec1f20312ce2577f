/* A lane's pool in the shared segment: the bitmap of free chunks and the ring of sealed ones. Any thread, any time; no locks.
 *
 *   ada_pool_take     clears a bit of the bitmap (acquire: whoever set it has read what was in the chunk). The lowest free chunk
 *                     comes first, so that as few as possible are in use and these stay in the caches
 *   ada_pool_return   sets it again (release)
 *   ada_pool_seal     compare-and-swap of the ring's next entry (release) puts the chunk in; then the head goes on
 *   ada_pool_recycle  compare-and-swap of the ring's tail takes the oldest
 *
 * No thread waits for another: each may be preempted anywhere, on a busy machine for longer than the others need for a whole lap
 * of the ring. So a place is reserved and filled by the same store, and whoever finds one filled that the head has not passed
 * moves the head. An entry has its lap in it (abi/wire.h): who comes back after a lap finds another one there, and a store that
 * comes too late fails. There is always room: a chunk is in the ring once at most.
 */
#include "agent/record/lane.h"

#define TRIES_MAX 1000 /* each means that another thread got a chunk; but the memory is the program's */

bool ada_pool_take(const struct ada_pool *pool, uint32_t *number)
{
	uint32_t front = __atomic_load_n(pool->front, __ATOMIC_RELAXED);

	for (uint32_t word = 0; word < ((front < pool->count ? front : pool->count) + 63) / 64; word++) {
		uint64_t bits = __atomic_load_n(&pool->free_words[word], __ATOMIC_RELAXED);

		while (bits) {
			if (__atomic_compare_exchange_n(&pool->free_words[word], &bits, bits & (bits - 1), true, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED)) {
				*number = word * 64 + __builtin_ctzll(bits);
				return true;
			}
		}
	}
	return false;
}

void ada_pool_return(const struct ada_pool *pool, uint32_t number)
{
	__atomic_fetch_or(&pool->free_words[number / 64], 1ull << number % 64, __ATOMIC_RELEASE);
}

/* Of a lap before the place's: neither filled yet nor, where `place` was read long ago, by a later lap. */
static bool is_open(uint64_t entry, uint64_t place, uint32_t count)
{
	return (int32_t)((uint32_t)(entry >> 32) - (uint32_t)(place / count + 1)) < 0;
}

void ada_pool_seal(const struct ada_pool *pool, uint32_t number)
{
	for (bool done = false; !done;) {
		uint64_t place = __atomic_load_n(pool->head, __ATOMIC_ACQUIRE);
		uint64_t *entry = &pool->sealed[place % pool->count];
		uint64_t found = __atomic_load_n(entry, __ATOMIC_ACQUIRE);

		if (is_open(found, place, pool->count))
			done = __atomic_compare_exchange_n(entry, &found, ada_sealed_entry(place, pool->count, number), false,
							   __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(pool->head, &place, place + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}

bool ada_pool_recycle(const struct ada_pool *pool, uint32_t *number)
{
	for (uint32_t tries = 0; tries < TRIES_MAX; tries++) {
		uint64_t tail = __atomic_load_n(pool->tail, __ATOMIC_ACQUIRE);
		uint64_t entry = __atomic_load_n(&pool->sealed[tail % pool->count], __ATOMIC_ACQUIRE);

		if (tail >= __atomic_load_n(pool->head, __ATOMIC_ACQUIRE))
			return false;
		if (ada_sealed_is_filled(entry, tail, pool->count) &&
		    __atomic_compare_exchange_n(pool->tail, &tail, tail + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			*number = (uint32_t)entry;
			return true;
		}
	}
	return false;
}
