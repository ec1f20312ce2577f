/* A lane's pool in the shared segment: the bitmap of free chunks and the ring of sealed ones. Any thread, any time; no locks.
 *
 *   ada_pool_take     clears a bit of the bitmap (acquire: whoever set it has read what was in the chunk). The lowest free chunk
 *                     comes first, so that as few as possible are in use and these stay in the caches
 *   ada_pool_return   sets it again (release)
 *   ada_pool_seal     fetch-and-add of the ring's head reserves a place, a store (release) of chunk + 1 fills it
 *   ada_pool_recycle  compare-and-swap of the ring's tail takes the oldest; then its place is cleared
 *
 * Whoever took a chunk out may be preempted before it has cleared the place, for as long as the others need for a whole lap of
 * the ring. A place may thus be reserved anew with an old number still in it. So each chunk says in its own header for which
 * place it was sealed last, and a number counts only where the chunk agrees; and who comes to clear its place at last finds the
 * newer number there, and leaves it alone.
 */
#include "agent/core.h"

#define TRIES_MAX 100				/* for a place that is reserved and not filled yet: two instructions */

bool ada_pool_take(const struct ada_pool *pool, uint32_t *number)
{
	for (uint32_t word = 0; word < (pool->count + 63) / 64; word++) {
		uint64_t bits = __atomic_load_n(&pool->free_words[word], __ATOMIC_RELAXED);

		while (bits) {
			if (__atomic_compare_exchange_n(&pool->free_words[word], &bits, bits & (bits - 1), true,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
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

static uint64_t *place_of(const struct ada_pool *pool, uint32_t number)
{
	return (uint64_t *)(pool->chunks + (uint64_t)number * pool->chunk_bytes + pool->place_offset);
}

void ada_pool_seal(const struct ada_pool *pool, uint32_t number)
{
	uint64_t place = __atomic_fetch_add(pool->head, 1, __ATOMIC_RELAXED);

	__atomic_store_n(place_of(pool, number), place, __ATOMIC_RELAXED);
	__atomic_store_n(&pool->sealed[place % pool->count], number + 1, __ATOMIC_RELEASE);
}

bool ada_pool_recycle(const struct ada_pool *pool, uint32_t *number)
{
	uint64_t tail = __atomic_load_n(pool->tail, __ATOMIC_RELAXED);
	uint32_t tries = 0;

	while (tail < __atomic_load_n(pool->head, __ATOMIC_RELAXED)) {
		uint32_t *place = &pool->sealed[tail % pool->count];
		uint32_t chunk = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		if (!chunk || __atomic_load_n(place_of(pool, chunk - 1), __ATOMIC_RELAXED) != tail) {
			if (++tries == TRIES_MAX)
				return false;
			if (tries % 16 == 0)
				ada_sys4(SYS_sched_yield, 0, 0, 0, 0);
			tail = __atomic_load_n(pool->tail, __ATOMIC_RELAXED);
			continue;
		}
		if (__atomic_compare_exchange_n(pool->tail, &tail, tail + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			*number = chunk - 1;
			__atomic_compare_exchange_n(place, &chunk, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}
