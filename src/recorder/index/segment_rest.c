/* Memory that comes back from a process at rest. Growth makes memory ahead of use; where nothing is used, the free chunks at the end of a
 * pool go back to what they were before growth: nobody's, without memory, behind the front.
 *
 * We are an agent that takes chunks and gives them back, so agents need not know. In this order:
 *   1. their bits are cleared: no agent can take one of them any more. Agents take the lowest, we take the highest
 *   2. the front moves to the end of the huge page: no agent makes a chunk there while that page goes
 *   3. `ready` goes back: to the recorder they have no memory
 *   4. the memory goes
 *   5. the front goes back to the first of them: agents may make them again
 * Where an agent has moved the front on between 2 and 5, the chunks get new memory and their bits instead.
 *
 * Nobody else of the recorder looks at chunks meanwhile: only the main thread does that, and it is the one that comes here, under the lock
 * that keeps the grower out.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include "recorder/index/segment_parts.h"

#define LOOK_NS 300000000ull
#define FEW_CHUNKS 8u	   /* taken or sealed between two looks: it rests */
#define CHUNKS_AT_REST 32u /* 1 MiB, and what is left of the huge page behind */
#define DETAIL_AT_REST 4u
#define WAKES_PART 2u /* a pool that has less than this part of what it had at rest grows again */

struct pool {
	uint64_t *map;
	uint8_t *memory;
	uint64_t chunk_bytes;
	uint32_t count, at_rest;
	uint32_t *front, *ready;
};

/* Takes free chunks out of the map, from the one before `end` down to `least`, up to the first that isn't free. The lowest that was taken;
 * `end`: none was. */
static uint32_t take_last(uint64_t *map, uint32_t least, uint32_t end)
{
	while (end > least) {
		uint64_t *word = &map[(end - 1) / 64], bits = __atomic_load_n(word, __ATOMIC_RELAXED), run, all;
		uint32_t first = (end - 1) / 64 * 64;

		all = UINT64_MAX >> (63 - (end - 1) % 64) & (first < least ? UINT64_MAX << least % 64 : UINT64_MAX);
		do {
			uint64_t others = all & ~bits;

			run = others ? all & (UINT64_MAX << (63 - __builtin_clzll(others)) << 1) : all;
		} while (run && !__atomic_compare_exchange_n(word, &bits, bits & ~run, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
		end -= (uint32_t)__builtin_popcountll(run);
		if (run != all)
			break;
	}
	return end;
}

static void give(const struct pool *pool, uint32_t first, uint32_t end)
{
	for (uint32_t chunk = first; chunk < end; chunk++)
		ada_map_give(pool->map, chunk);
}

static bool punch(const struct ada_segment *segment, const uint8_t *from, uint64_t bytes)
{
	off_t offset = from - (const uint8_t *)segment->shm;

	while (fallocate(segment->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, (off_t)bytes))
		if (errno != EINTR)
			return false;
	return true;
}

/* How far the memory goes for which `bytes` of the pool were asked: no part of a huge page is made or let go. */
static uint64_t memory_up(const struct pool *pool, uint64_t bytes)
{
	uint64_t all = pool->count * pool->chunk_bytes, up = ada_huge_up(bytes);

	return up < all ? up : all;
}

/* Chunks from `first` on are the caller's, up to the front; `from` lies in the first of them, or is where it begins. */
static void let_go(struct ada_segment *segment, const struct pool *pool, uint32_t first, uint32_t front, uint64_t from)
{
	uint64_t to = memory_up(pool, front * pool->chunk_bytes);
	uint32_t end = (uint32_t)((to + pool->chunk_bytes - 1) / pool->chunk_bytes), seen = front;
	bool gone;

	if (!__atomic_compare_exchange_n(pool->front, &seen, end, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		give(pool, first, front);
		return;
	}
	__atomic_store_n(pool->ready, first, __ATOMIC_RELEASE);
	gone = punch(segment, pool->memory + from, to - from);
	if (gone && segment->room_bytes < UINT64_MAX - (to - from))
		segment->room_bytes += to - from;
	seen = end;
	if (gone && __atomic_compare_exchange_n(pool->front, &seen, first, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	/* An agent found nothing free just now, and took the chunks behind. Without memory these stay nobody's. */
	if (!ada_segment_pool_room(segment, pool->memory + first * pool->chunk_bytes, (end - first) * pool->chunk_bytes)) {
		__atomic_store_n(pool->ready, end, __ATOMIC_RELEASE);
		give(pool, first, end);
	}
}

/* How few free chunks wake it; 0: it has not been put to rest. */
static uint32_t put_to_rest(struct ada_segment *segment, const struct pool *pool)
{
	uint32_t ready = *pool->ready, free = ada_segment_bits(pool->map, pool->count), taken, first;
	uint64_t from;

	if (free <= pool->at_rest || ready != __atomic_load_n(pool->front, __ATOMIC_ACQUIRE))
		return 0;
	taken = take_last(pool->map, ready - (free - pool->at_rest), ready);
	from = memory_up(pool, taken * pool->chunk_bytes);
	first = (uint32_t)(from / pool->chunk_bytes);
	first = first < ready ? first : ready;
	give(pool, taken, first);
	if (first < ready)
		let_go(segment, pool, first, ready, from);
	return pool->at_rest / WAKES_PART;
}

/* Grows with what is taken and sealed of the pools. */
static uint64_t pulse(const struct ada_segment *segment)
{
	const struct ada_shm *shm = segment->shm;

	return segment->sealed + __atomic_load_n(&shm->index_front, __ATOMIC_RELAXED) +
	       __atomic_load_n(&shm->detail.sealed_head, __ATOMIC_RELAXED) + __atomic_load_n(&shm->detail_front, __ATOMIC_RELAXED);
}

bool ada_segment_rest_due(const struct ada_segment *segment, uint64_t now_ns)
{
	return now_ns - segment->rest_looked_ns >= LOOK_NS;
}

bool ada_segment_rest(struct ada_segment *segment, uint64_t now_ns)
{
	const struct pool index = { .map = segment->free_map,
				    .memory = segment->pool,
				    .chunk_bytes = ADA_CHUNK_BYTES,
				    .count = segment->chunks,
				    .at_rest = CHUNKS_AT_REST,
				    .front = &segment->shm->index_front,
				    .ready = &segment->chunks_ready };
	const struct pool detail = { .map = segment->detail_free_map,
				     .memory = segment->detail_pool,
				     .chunk_bytes = segment->detail_chunk_bytes,
				     .count = segment->detail_chunks,
				     .at_rest = DETAIL_AT_REST,
				     .front = &segment->shm->detail_front,
				     .ready = &segment->detail_ready };
	uint64_t then = segment->rest_pulse, now = pulse(segment);

	segment->rest_looked_ns = now_ns;
	segment->rest_pulse = now;
	if (now - then >= FEW_CHUNKS)
		return false;
	/* Where memory has run out, it is not given away. An agent that can't make any must find enough. */
	if (segment->exhausted || segment->detail_exhausted || madvise(segment->shm, ADA_PAGE_BYTES, MADV_POPULATE_WRITE))
		return true;
	if (!segment->index_rests)
		segment->index_rests = put_to_rest(segment, &index);
	if (!segment->detail_rests && ada_segment_recycles_detail(segment))
		segment->detail_rests = put_to_rest(segment, &detail);
	segment->rest_pulse = pulse(segment);
	return true;
}
