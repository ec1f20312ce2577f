/* Memory for a lane's pool, from inside the program. The recorder makes memory ahead of use (recorder/index/segment_grow.c). Where the
 * program is faster, or the machine busy, the thread that needs a chunk makes the next chunks itself: nothing is lost, recycled or waited
 * for before the buffer is used up.
 *
 * A compare-and-swap of the front takes chunks that nobody had; their memory is there before any of them is used.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/record/lane.h"

/* Where two chunks share a page, this begins with that page. */
static long populate(const struct ada_pool *pool, uint32_t first, uint32_t count)
{
	char *start = pool->chunks + first * pool->chunk_bytes;
	uint64_t before = (uint64_t)start % ADA_PAGE_BYTES;

	return ada_sys_advise(start - before, before + count * pool->chunk_bytes + pool->behind, MADV_POPULATE_WRITE);
}

void ada_pool_touch(const struct ada_pool *pool, uint32_t number)
{
	uint64_t bit = 1ull << number % 64;

	if (!(__atomic_fetch_or(&pool->touched[number / 64], bit, __ATOMIC_RELAXED) & bit))
		populate(pool, number, 1);
}

/* Fails where no memory is left, instead of a SIGBUS at the first touch. */
static bool memory_make(struct ada_pool *pool, uint32_t first, uint32_t count)
{
	long result = populate(pool, first, count);

	if (result == -EINVAL)
		__atomic_store_n(&pool->no_advice, 1, __ATOMIC_RELAXED);
	return !result;
}

/* False: the recorder, who knows the limits that the program lives under, allows no more. */
static bool memory_claim(struct ada_shm *shm, uint64_t bytes, uint32_t share)
{
	uint64_t allowed = __atomic_load_n(&shm->allowed_bytes, __ATOMIC_RELAXED);

	if (__atomic_add_fetch(&shm->taken_bytes, bytes, __ATOMIC_RELAXED) <= allowed / share)
		return true;
	__atomic_sub_fetch(&shm->taken_bytes, bytes, __ATOMIC_RELAXED);
	return false;
}

enum ada_lack ada_pool_extend(struct ada_pool *pool, struct ada_shm *shm, uint32_t *number)
{
	uint32_t first = __atomic_load_n(pool->front, __ATOMIC_RELAXED), end;
	uint64_t bytes = pool->step * pool->chunk_bytes + pool->behind;

	if (first >= pool->count)
		return ADA_LACK_FULL;
	if (__atomic_load_n(&pool->no_advice, __ATOMIC_RELAXED) || !memory_claim(shm, bytes, pool->share))
		return ADA_LACK_MEMORY;
	do {
		end = pool->count - first < pool->step ? pool->count : first + pool->step;
	} while (first < pool->count && !__atomic_compare_exchange_n(pool->front, &first, end, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	if (first >= pool->count || !memory_make(pool, first, end - first)) {
		__atomic_sub_fetch(&shm->taken_bytes, bytes, __ATOMIC_RELAXED);
		if (first >= pool->count)
			return ADA_LACK_FULL;
		/* Gives the chunks back where nobody has moved the front on; else no one gets them. */
		__atomic_compare_exchange_n(pool->front, &end, first, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
		return ADA_LACK_MEMORY;
	}
	for (uint32_t chunk = first; chunk < end; chunk++) {
		__atomic_fetch_or(&pool->touched[chunk / 64], 1ull << chunk % 64, __ATOMIC_RELAXED);
		if (chunk > first)
			ada_map_give(pool->free_words, chunk);
	}
	*number = first;
	return ADA_LACK_NONE;
}
