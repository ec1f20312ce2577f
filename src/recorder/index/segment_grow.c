/* Memory for a segment, ahead of use. The kernel zeroes a tmpfs page that is only allocated (fallocate) at the page's first touch. The
 * program would make that touch, so we populate pools, too. Populating comes second, because it holds the recorder's address space:
 * whoever waits for the address space must not wait for memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include "base/clock.h"
#include "recorder/index/segment_parts.h"

#define CHUNKS_SMALL 8u /* 256 KiB: what a segment begins with that may never be filled, and what it has ahead while it fills little */
#define DETAIL_SMALL 2u
#define SMALL_BYTES ADA_HUGE_PAGE_BYTES /* of the pool: so far it grows by what it fills, in small pages; and of the pool of detail, */
#define DETAIL_SMALL_BYTES (2 * ADA_HUGE_PAGE_BYTES) /* which has room for what a budget keeps of history */
#define CHUNKS_AT_FIRST 256u			     /* 8 MiB; with less a program that begins at full speed is ahead of the memory */
#define CHUNKS_AHEAD 256u			     /* 8 MiB: some ms of the fastest producer; and what a producer fills in so many ms: */
#define AHEAD_MS 3u /* a few turns of the grower; more would only take CPU from the drain, which gives chunks back sooner */
#define CHUNKS_AHEAD_MAX 4096u
#define CHUNKS_STEP 128u
#define RATE_NS 1000000ull
#define DETAIL_AT_START 8u
#define DETAIL_AHEAD 64u
#define DETAIL_STEP 8u
#define DETAIL_STEP_MAX 64u /* 20 MiB: a few ms */
#define SPARED 8	    /* detail leaves this share of the memory for buffers alone */
#define THREADS_STEP 1024u  /* 128 KiB */
#define MODULES_STEP 128u   /* 64 KiB */
#define STIRS_CHUNKS 8u	    /* little of what lies ready; of index and, as a rule, of detail. A thread takes a chunk of each */
#define STIRS_THREADS 64u
#define STIRS_MODULES 16u
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static int allocate(struct ada_segment *segment, const void *from, uint64_t bytes)
{
	off_t offset = (const uint8_t *)from - (const uint8_t *)segment->shm;

	while (fallocate(segment->fd, 0, offset, (off_t)bytes))
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Turns a piece of a pool into huge pages where the kernel has some to give: events then wait less for page look-ups, and both making the
 * pages and the program's first touch take a fraction of the time. MADV_COLLAPSE wants one page of the 512, adds the others, and asks no
 * setting of the system. Where that fails, the pages are small. */
static void collapse(struct ada_segment *segment, const uint8_t *from, uint64_t bytes)
{
	uint8_t *base = (uint8_t *)segment->shm;
	uint64_t start = (uint64_t)(from - base), end = start + bytes;

	for (uint64_t at = ada_huge_up(start); segment->collapses && !segment->begun_small && at + ADA_HUGE_PAGE_BYTES <= end;
	     at += ADA_HUGE_PAGE_BYTES)
		if (allocate(segment, base + at, ADA_PAGE_BYTES) || madvise(base + at, ADA_HUGE_PAGE_BYTES, MADV_COLLAPSE))
			segment->collapses = false;
}

int ada_segment_pool_room(struct ada_segment *segment, uint8_t *from, uint64_t bytes)
{
	int status = allocate(segment, from, bytes);

	for (uint64_t at = 0; !status && at < bytes; at += ADA_HUGE_PAGE_BYTES)
		madvise(from + at, bytes - at < ADA_HUGE_PAGE_BYTES ? bytes - at : ADA_HUGE_PAGE_BYTES, MADV_POPULATE_WRITE);
	return status;
}

/* The same, counted against room_bytes. */
static int pool_room_new(struct ada_segment *segment, uint8_t *from, uint64_t bytes)
{
	int status;

	if (bytes > segment->room_bytes)
		return -ENOMEM;
	status = ada_segment_pool_room(segment, from, bytes);
	if (!status && segment->room_bytes != UINT64_MAX)
		segment->room_bytes -= bytes;
	return status;
}

int ada_segment_room(struct ada_segment *segment, const void *from, uint64_t bytes)
{
	/* Faults make the memory: faults keep to small pages where asked to, and an fallocate would wait until the grower's fallocate of
	 * the same file has all its memory. */
	if (!madvise((void *)from, bytes, MADV_POPULATE_WRITE))
		return 0;
	return allocate(segment, from, bytes);
}

/* Whether there is memory where the agent says that it has made some. */
static bool is_resident(const void *start, size_t bytes)
{
	unsigned char pages[ADA_DETAIL_CHUNK_BYTES(ADA_DETAIL_STACK_MAX, ADA_DETAIL_STACK_MAX) / ADA_PAGE_BYTES];
	size_t count = bytes / ADA_PAGE_BYTES;

	/* The last one first: pages are made in order, and there may be many chunks without any. */
	if (count > sizeof pages || mincore((uint8_t *)start + (count - 1) * ADA_PAGE_BYTES, ADA_PAGE_BYTES, pages) || !(*pages & 1) ||
	    mincore((void *)start, bytes, pages))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!(pages[i] & 1))
			return false;
	return true;
}

/* Notes that all chunks up to this one have pages: next time nobody asks the kernel. */
static void seen_ready(const uint32_t *ready, uint32_t number)
{
	__atomic_compare_exchange_n((uint32_t *)ready, &number, number + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* A small chunk's header lies in one page, all its events in another. */
static const uint8_t *page_of(const uint8_t *piece)
{
	static_assert(ADA_PAGE_BYTES % ADA_SMALL_BYTES == 0, "no piece is in two pages");

	return (const uint8_t *)((uintptr_t)piece & ~(uintptr_t)(ADA_PAGE_BYTES - 1));
}

/* True: the chunk's header and events have pages. */
static bool small_is_there(const struct ada_segment *segment, uint32_t chunk)
{
	uint32_t small = chunk - ada_small_first(segment->chunks);
	const uint8_t *start = (const uint8_t *)ada_segment_chunk(segment, chunk);

	if (small >= ada_segment_small_count(segment))
		return false;
	if (small < __atomic_load_n(&segment->small_ready, __ATOMIC_ACQUIRE))
		return true;
	if (!is_resident(page_of(start), ADA_PAGE_BYTES) || !is_resident(page_of(start + ADA_SMALL_BEHIND), ADA_PAGE_BYTES))
		return false;
	seen_ready(&segment->small_ready, small);
	return true;
}

bool ada_segment_detail_small_is_there(const struct ada_segment *segment, uint32_t chunk)
{
	uint32_t small = chunk - ada_small_first(segment->detail_chunks);

	if (small >= ada_segment_detail_small_count(segment))
		return false;
	if (small < __atomic_load_n(&segment->detail_small_ready, __ATOMIC_ACQUIRE))
		return true;
	if (!is_resident(ada_segment_detail_chunk(segment, chunk), ada_segment_detail_small_bytes(segment)))
		return false;
	seen_ready(&segment->detail_small_ready, small);
	return true;
}

/* Memory for a small chunk that the agent says it has used. */
static bool small_reach(struct ada_segment *segment, uint32_t chunk)
{
	const uint8_t *start = (const uint8_t *)ada_segment_chunk(segment, chunk);

	return small_is_there(segment, chunk) || (chunk - ada_small_first(segment->chunks) < ada_segment_small_count(segment) &&
						  !ada_segment_room(segment, page_of(start), ADA_PAGE_BYTES) &&
						  !ada_segment_room(segment, page_of(start + ADA_SMALL_BEHIND), ADA_PAGE_BYTES));
}

static bool detail_small_reach(struct ada_segment *segment, uint32_t chunk)
{
	return ada_segment_detail_small_is_there(segment, chunk) ||
	       (chunk - ada_small_first(segment->detail_chunks) < ada_segment_detail_small_count(segment) &&
		!ada_segment_room(segment, ada_segment_detail_chunk(segment, chunk), ada_segment_detail_small_bytes(segment)));
}

bool ada_segment_chunk_is_there(const struct ada_segment *segment, uint32_t chunk)
{
	if (chunk >= segment->chunks)
		return small_is_there(segment, chunk);
	return chunk < __atomic_load_n(&segment->chunks_ready, __ATOMIC_ACQUIRE) ||
	       (chunk < ada_segment_chunk_count(segment) && is_resident(ada_segment_chunk(segment, chunk), ADA_PAGE_BYTES));
}

bool ada_segment_chunk_reach(const struct ada_segment *segment, uint32_t chunk)
{
	if (chunk >= segment->chunks)
		return small_reach((struct ada_segment *)segment, chunk);
	return chunk < __atomic_load_n(&segment->chunks_ready, __ATOMIC_ACQUIRE) ||
	       (chunk < ada_segment_chunk_count(segment) &&
		!ada_segment_room((struct ada_segment *)segment, ada_segment_chunk(segment, chunk), ADA_CHUNK_BYTES));
}

/* Counts chunks ready, those included that the agent made by itself. */
static uint32_t chunks_catch_up(struct ada_segment *segment)
{
	uint32_t ready = segment->chunks_ready, count = ada_segment_chunk_count(segment);

	if (count > ready &&
	    !ada_segment_pool_room(segment, (uint8_t *)ada_segment_chunk(segment, ready), (uint64_t)(count - ready) * ADA_CHUNK_BYTES))
		__atomic_store_n(&segment->chunks_ready, ready = count, __ATOMIC_RELEASE);
	return ready;
}

int ada_segment_grow_chunks(struct ada_segment *segment, uint32_t step)
{
	uint32_t first = chunks_catch_up(segment), left = segment->chunks - first;
	uint32_t end = first + (step < left ? step : left), front = __atomic_load_n(&segment->shm->index_front, __ATOMIC_ACQUIRE);
	uint64_t bytes = (uint64_t)(end - first) * ADA_CHUNK_BYTES;
	int status;

	if (bytes <= segment->room_bytes)
		collapse(segment, (uint8_t *)ada_segment_chunk(segment, first), bytes);
	status = pool_room_new(segment, (uint8_t *)ada_segment_chunk(segment, first), bytes);
	__atomic_store_n(&segment->shm->memory_ends, status != 0, __ATOMIC_RELAXED);
	if (status)
		return status;
	/* This precedes the bits: whoever sees a chunk in use finds its number below chunks_ready. */
	__atomic_store_n(&segment->chunks_ready, end, __ATOMIC_RELEASE);
	/* The agent keeps what it has taken meanwhile. */
	while (front < end &&
	       !__atomic_compare_exchange_n(&segment->shm->index_front, &front, end, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	for (uint32_t chunk = front; chunk < end; chunk++)
		ada_map_give(segment->free_map, chunk);
	ada_segment_tell(segment);
	return 0;
}

/* In small pages: no more of a huge page is made than is used. `all_bytes` of the pool may be so. */
static int begin_small(struct ada_segment *segment, uint8_t *pool, uint64_t bytes, uint64_t all_bytes)
{
	madvise(pool, all_bytes, MADV_NOHUGEPAGE);
	segment->begun_small = true;
	return ada_segment_room(segment, pool, bytes);
}

static uint64_t small_bytes(const struct ada_segment *segment)
{
	uint64_t bytes = (uint64_t)segment->chunks * ADA_CHUNK_BYTES;

	return bytes < SMALL_BYTES ? bytes : SMALL_BYTES;
}

static uint64_t detail_small_bytes(const struct ada_segment *segment)
{
	uint64_t bytes = (uint64_t)segment->detail_chunks * segment->detail_chunk_bytes;

	return bytes < DETAIL_SMALL_BYTES ? bytes : DETAIL_SMALL_BYTES;
}

int ada_segment_begin_small(struct ada_segment *segment)
{
	uint32_t count = CHUNKS_SMALL < segment->chunks ? CHUNKS_SMALL : segment->chunks;
	int status = begin_small(segment, segment->pool, (uint64_t)count * ADA_CHUNK_BYTES, small_bytes(segment));

	if (status)
		return status;
	__atomic_store_n(&segment->chunks_ready, count, __ATOMIC_RELEASE);
	for (uint32_t chunk = 0; chunk < count; chunk++)
		ada_map_give(segment->free_map, chunk);
	return 0;
}

void ada_segment_begin_small_detail(struct ada_segment *segment)
{
	uint32_t count = DETAIL_SMALL < segment->detail_chunks ? DETAIL_SMALL : segment->detail_chunks;

	if (count &&
	    !begin_small(segment, segment->detail_pool, (uint64_t)count * segment->detail_chunk_bytes, detail_small_bytes(segment)))
		ada_segment_grow_detail(segment, count);
}

static void unfold_pool(uint8_t *pool, uint64_t bytes, uint64_t used_bytes)
{
	if (!madvise(pool, bytes, MADV_HUGEPAGE))
		for (uint64_t at = 0; at + ADA_HUGE_PAGE_BYTES <= bytes && at < used_bytes; at += ADA_HUGE_PAGE_BYTES)
			madvise(pool + at, ADA_HUGE_PAGE_BYTES, MADV_COLLAPSE);
}

/* A process that grows stays: what it began with in small pages becomes huge pages, where the kernel has some. */
static void unfold(struct ada_segment *segment)
{
	if (!segment->begun_small || segment->room_bytes < SMALL_BYTES + DETAIL_SMALL_BYTES)
		return;
	segment->begun_small = false;
	unfold_pool(segment->pool, small_bytes(segment), (uint64_t)segment->chunks_ready * ADA_CHUNK_BYTES);
	unfold_pool(segment->detail_pool, detail_small_bytes(segment), (uint64_t)segment->detail_ready * segment->detail_chunk_bytes);
}

bool ada_segment_recycles_detail(const struct ada_segment *segment)
{
	return segment->shm->detail_mode == ADA_DETAIL_CIRCULAR &&
	       __atomic_load_n(&segment->shm->detail.pin.start, __ATOMIC_RELAXED) >= ADA_PIN_NONE;
}

/* Several threads may come here at once: memory that is there already is allocated again for nothing. */
static int detail_allocate(struct ada_segment *segment, uint32_t end, bool huge)
{
	uint32_t ready = __atomic_load_n(&segment->detail_ready, __ATOMIC_ACQUIRE);
	uint64_t from = (uint64_t)ready * segment->detail_chunk_bytes, to = (uint64_t)end * segment->detail_chunk_bytes;
	/* No chunk size divides a huge page: we go up to the end of the last huge page that is begun. */
	uint64_t all = (uint64_t)segment->detail_chunks * segment->detail_chunk_bytes, up = ada_huge_up(to) < all ? ada_huge_up(to) : all;
	int status;

	if (huge && end > ready)
		collapse(segment, segment->detail_pool + from, up - from);
	status = end <= ready ? 0 :
		 huge	      ? pool_room_new(segment, segment->detail_pool + from, to - from) :
				allocate(segment, segment->detail_pool + from, to - from);
	while (!status && ready < end &&
	       !__atomic_compare_exchange_n(&segment->detail_ready, &ready, end, true, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		;
	return status;
}

/* Makes memory for chunks that the agent took by itself; as a rule they have it. */
static uint32_t detail_catch_up(struct ada_segment *segment)
{
	if (!__atomic_load_n(&segment->detail_exhausted, __ATOMIC_ACQUIRE))
		detail_allocate(segment, ada_segment_detail_count(segment), false);
	return __atomic_load_n(&segment->detail_ready, __ATOMIC_ACQUIRE);
}

bool ada_segment_detail_is_resident(const struct ada_segment *segment, uint32_t chunk)
{
	if (!is_resident(ada_segment_detail_chunk(segment, chunk), segment->detail_chunk_bytes))
		return false;
	seen_ready(&segment->detail_ready, chunk);
	return true;
}

bool ada_segment_detail_reach(const struct ada_segment *segment, uint32_t chunk)
{
	if (chunk >= segment->detail_chunks)
		return detail_small_reach((struct ada_segment *)segment, chunk);
	return ada_segment_detail_is_there(segment, chunk) ||
	       (chunk < ada_segment_detail_count(segment) && chunk < detail_catch_up((struct ada_segment *)segment));
}

/* The agent takes no more by itself either. */
static void detail_end(struct ada_segment *segment)
{
	uint32_t all = segment->detail_chunks, front = __atomic_exchange_n(&segment->shm->detail_front, all, __ATOMIC_ACQ_REL);

	segment->detail_taken = front < all ? front : all;
	__atomic_store_n(&segment->detail_exhausted, true, __ATOMIC_RELEASE);
	detail_allocate(segment, segment->detail_taken, false);
}

void ada_segment_grow_detail(struct ada_segment *segment, uint32_t step)
{
	uint32_t first = detail_catch_up(segment), left = segment->detail_chunks - first;
	uint32_t count = step < left ? step : left, front = __atomic_load_n(&segment->shm->detail_front, __ATOMIC_ACQUIRE);
	uint64_t bytes = (uint64_t)count * segment->detail_chunk_bytes;
	struct statvfs room;
	bool spare = !fstatvfs(segment->fd, &room) &&
		     (!room.f_blocks ||
		      (room.f_bavail > room.f_blocks / SPARED && (room.f_bavail - room.f_blocks / SPARED) * room.f_frsize >= bytes));

	if (!count || bytes > segment->room_bytes / 2) /* the rest is for the index */
		return;
	if (!spare || detail_allocate(segment, first + count, true)) {
		detail_end(segment);
		return;
	}
	/* The agent keeps what it has taken meanwhile. */
	while (front < first + count &&
	       !__atomic_compare_exchange_n(&segment->shm->detail_front, &front, first + count, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	for (uint32_t chunk = front; chunk < first + count; chunk++)
		ada_map_give(segment->detail_free_map, chunk);
	/* An agent that found none looks again when this changes. */
	__atomic_fetch_add(&segment->shm->detail_returned, 1, __ATOMIC_RELEASE);
}

int ada_segment_grow_tables(struct ada_segment *segment)
{
	uint32_t threads = __atomic_load_n(&segment->shm->thread_count, __ATOMIC_RELAXED);
	uint32_t modules = __atomic_load_n(&segment->shm->module_count, __ATOMIC_RELAXED);
	int status = 0;

	if (segment->threads_ready < ADA_THREADS_MAX && threads + THREADS_STEP / 2 > segment->threads_ready) {
		status = ada_segment_room(segment, &segment->threads[segment->threads_ready], THREADS_STEP * sizeof *segment->threads);
		segment->threads_ready += status ? 0 : THREADS_STEP;
	}
	if (!status && segment->modules_ready < ADA_MODULES_MAX && modules + MODULES_STEP / 2 > segment->modules_ready) {
		status = ada_segment_room(segment, &segment->modules[segment->modules_ready], MODULES_STEP * sizeof *segment->modules);
		segment->modules_ready += status ? 0 : MODULES_STEP;
	}
	return status;
}

int ada_segment_policy_room(struct ada_segment *segment, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset & ~(ADA_PAGE_BYTES - 1), end = (offset + bytes + ADA_PAGE_BYTES - 1) & ~(ADA_PAGE_BYTES - 1);

	return ada_segment_room(segment, segment->policy + first, end - first);
}

int ada_segment_policy_ahead(struct ada_segment *segment, uint32_t functions)
{
	int status = 0;

	for (uint64_t table = 0; table < ADA_POLICY_STATES && !status; table += ADA_POLICY_TABLE_BYTES)
		status = ada_segment_policy_room(segment, table, ADA_POLICY_MASKS + ADA_PAGE_BYTES)		?:
				 ada_segment_policy_room(segment, table + ADA_POLICY_CLASSES, 2ull * functions) ?:
				 ada_segment_policy_room(segment, table + ADA_POLICY_FLAGS, functions)		?:
				 ada_segment_policy_room(segment, table + ADA_POLICY_CAPTURE_NUMBERS, functions);
	return status;
}

uint32_t ada_segment_bits(const uint64_t *map, uint32_t bits)
{
	uint32_t count = 0;

	for (uint32_t word = 0; word < (bits + 63) / 64; word++)
		count += (uint32_t)__builtin_popcountll(__atomic_load_n(&map[word], __ATOMIC_RELAXED));
	return count;
}

/* Less history is enough, and no window wants more. */
static bool is_limited(const struct ada_segment *segment)
{
	return __atomic_load_n(&segment->shm->detail.history, __ATOMIC_RELAXED) && ada_segment_recycles_detail(segment);
}

/* Most processes are small; one that fills chunks soon wants many: as many again as it has; where less history is enough, a few. 0: enough for
 * now. */
static uint32_t detail_wanted(struct ada_segment *segment)
{
	uint32_t ready = detail_catch_up(segment), free = ada_segment_bits(segment->detail_free_map, segment->detail_chunks);
	uint32_t used = free < ready ? ready - free : 0;
	bool limited = is_limited(segment);
	uint32_t ahead = limited || used < DETAIL_AT_START ? DETAIL_AT_START : used < DETAIL_AHEAD ? used : DETAIL_AHEAD;
	uint32_t little = limited || used < DETAIL_SMALL ? DETAIL_SMALL : used;
	bool small = segment->begun_small && (uint64_t)(ready + little) * segment->detail_chunk_bytes <= detail_small_bytes(segment);

	if (free >= segment->detail_rests && segment->detail_rests)
		return 0;
	segment->detail_rests = 0;
	if (ready == segment->detail_chunks || segment->detail_exhausted || free >= (small ? little : ahead) ||
	    (used < 2 && ada_clock_boottime_ns() < segment->young_until_ns))
		return 0;
	return small ? little : limited || used < DETAIL_STEP ? DETAIL_STEP : used < DETAIL_STEP_MAX ? used : DETAIL_STEP_MAX;
}

/* How many chunks of the pool were ever sealed. Small ones are in the same ring, and cost the pool nothing: a crowd of threads that begin
 * seals thousands of these. */
static uint64_t pool_sealed(struct ada_segment *segment)
{
	uint64_t head = __atomic_load_n(&segment->shm->sealed_head, __ATOMIC_ACQUIRE);

	if (head - segment->seen > segment->ring.count)
		segment->seen = head - segment->ring.count;
	for (; segment->seen != head; segment->seen++) {
		uint32_t number;

		segment->sealed += !ada_ring_at(&segment->ring, segment->seen, &number) || number < segment->chunks;
	}
	return segment->sealed;
}

/* So many free ones are wanted now; 0: there are enough, or all. A program that fills chunks gets what it filled lately in AHEAD_MS.
 * Each process gets a start, while there is plenty; a crowd would take all the memory that there is for buffers, so beyond half of it
 * only those get it that have begun to fill what they have. One that began small, and fills little, gets as much again as it fills. */
static uint32_t chunks_wanted(struct ada_segment *segment, uint32_t free)
{
	uint64_t now = ada_clock_boottime_ns(), sealed = pool_sealed(segment);
	uint64_t filled = sealed - segment->sealed_then, passed = now - segment->looked_ns + 1;
	uint32_t used = segment->chunks_ready - free;
	struct statvfs room;
	uint64_t soon, ahead;

	if (segment->chunks_ready == segment->chunks)
		return 0;
	if (used <= 1 && !sealed && now < segment->young_until_ns)
		return 0;
	if (segment->index_rests && free >= segment->index_rests)
		return 0;
	segment->index_rests = 0;
	if (used <= 1 && !sealed && segment->begun_small)
		return 0;
	if (used <= 1 && !sealed)
		return free < CHUNKS_AT_FIRST && (fstatvfs(segment->fd, &room) || !room.f_blocks || room.f_bavail > room.f_blocks / 2) ?
			       CHUNKS_AT_FIRST :
			       0;
	filled = filled < segment->chunks ? filled : segment->chunks;
	soon = filled * AHEAD_MS * 1000000 / passed;
	soon = soon < CHUNKS_AHEAD_MAX ? soon : CHUNKS_AHEAD_MAX;
	ahead = soon + (segment->begun_small && used + soon < CHUNKS_AHEAD ? CHUNKS_SMALL + used + soon : CHUNKS_AHEAD);
	if (passed > RATE_NS) {
		segment->looked_ns = now;
		segment->sealed_then = sealed;
	}
	return free < ahead ? (uint32_t)ahead : 0;
}

static void note_grown(struct ada_segment *segment)
{
	const struct ada_shm *shm = segment->shm;

	__atomic_store_n(&segment->grown_head, __atomic_load_n(&shm->sealed_head, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&segment->grown_threads, __atomic_load_n(&shm->thread_count, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
	__atomic_store_n(&segment->grown_modules, __atomic_load_n(&shm->module_count, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

bool ada_segment_stirs(const struct ada_segment *segment)
{
	const struct ada_shm *shm = segment->shm;
	uint64_t filled = __atomic_load_n(&shm->sealed_head, __ATOMIC_RELAXED) - __atomic_load_n(&segment->grown_head, __ATOMIC_RELAXED);
	uint32_t threads = __atomic_load_n(&shm->thread_count, __ATOMIC_RELAXED),
		 modules = __atomic_load_n(&shm->module_count, __ATOMIC_RELAXED);

	return filled > STIRS_CHUNKS || threads - __atomic_load_n(&segment->grown_threads, __ATOMIC_RELAXED) > STIRS_THREADS ||
	       modules - __atomic_load_n(&segment->grown_modules, __ATOMIC_RELAXED) > STIRS_MODULES;
}

enum ada_growth ada_segment_grow(struct ada_segment *segment)
{
	enum ada_growth growth = ADA_GROWTH_CALM;
	uint32_t detail, ready, free, wanted, step;
	int status;

	note_grown(segment);
	if (segment->exhausted)
		return ADA_GROWTH_CALM;
	ready = chunks_catch_up(segment);
	free = ada_segment_bits(segment->free_map, segment->chunks);
	wanted = chunks_wanted(segment, free);
	status = ada_segment_grow_tables(segment);
	if (!status && wanted) {
		step = wanted - free < CHUNKS_STEP && segment->begun_small ? wanted - free : CHUNKS_STEP;
		if ((uint64_t)(ready + step) * ADA_CHUNK_BYTES > small_bytes(segment))
			unfold(segment);
		status = ada_segment_grow_chunks(segment, step);
		growth = free + step < wanted / 2 && ready - free > 1 ? ADA_GROWTH_URGENT : ADA_GROWTH_MORE;
	}
	if (status)
		segment->exhausted = true;
	/* The index comes first. An agent that finds no free chunk of detail makes one itself, which takes it longer. */
	detail = status ? 0 : detail_wanted(segment);
	if (detail) {
		ada_segment_grow_detail(segment, detail);
		growth = growth || is_limited(segment) ? growth : ADA_GROWTH_MORE;
	}
	return status ? ADA_GROWTH_CALM : growth;
}

void ada_segment_allow(struct ada_segment *segment, uint64_t room_bytes, uint64_t agent_bytes)
{
	struct ada_shm *shm = segment->shm;
	uint64_t taken = __atomic_load_n(&shm->taken_bytes, __ATOMIC_RELAXED);
	uint64_t allowed = taken < UINT64_MAX - agent_bytes ? taken + agent_bytes : UINT64_MAX;
	bool more = allowed > __atomic_exchange_n(&shm->allowed_bytes, allowed, __ATOMIC_RELAXED);

	segment->room_bytes = room_bytes;
	segment->exhausted = false;
	if (more && ada_segment_chunk_count(segment) < segment->chunks)
		ada_segment_tell(segment);
}
