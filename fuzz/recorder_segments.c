/* Segments for recorder_world.h: as new at each execution, and never made anew. They are private mappings of one file that nobody
 * writes, of which what was written is put back from the file: tables at their beginnings, everything else by the page, where
 * somebody tells of it (fuzz_touch). From time to time all of it is compared, so that nothing is forgotten. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "memory.h"
#include "recorder/index/segment_parts.h"
#include "recorder_world.h"

#define SEGMENTS 4 /* at a time: more can't be made */
#define PAGES_MAX 16384u
#define HEIRS 8 /* entries of the tables that anybody writes into */
#define MODULES 16
#define THREADS 40
#define COMPARE_EVERY 16384u

void (*fuzz_segment_made)(struct ada_segment *segment);

static struct pool {
	struct ada_segment segment;
	bool used;
	bool noted[PAGES_MAX];
	uint16_t pages[PAGES_MAX]; /* those noted */
	size_t count;
} pool[SEGMENTS];
static const uint8_t *pristine;

int __real_ada_segment_create(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd,
			      struct ada_error *error);
int __wrap_ada_segment_create(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd,
			      struct ada_error *error);
void __real_ada_segment_destroy(struct ada_segment *segment);
void __wrap_ada_segment_destroy(struct ada_segment *segment);

static void make_pool(void)
{
	struct ada_shared shared = { .directory = open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .own = true };
	struct ada_segment_options options = { .shared = &shared,
					       .index_buffer_bytes = fuzz_options.index_buffer_bytes,
					       .detail_buffer_bytes = fuzz_options.detail_buffer_bytes,
					       .detail_stack_bytes = fuzz_options.detail_stack_bytes,
					       .pid = (uint32_t)getpid() };
	struct ada_error error = { "" };
	int agent_fd, fd;

	for (int i = 0; i < SEGMENTS; i++) {
		struct ada_segment *segment = &pool[i].segment;

		assert(!__real_ada_segment_create(segment, &options, &agent_fd, &error));
		assert(segment->total_bytes <= PAGES_MAX * ADA_PAGE_BYTES);
		close(agent_fd);
		if (!i) {
			fd = segment->fd;
			pristine = mmap(NULL, segment->total_bytes, PROT_READ, MAP_SHARED, fd, 0);
			assert(pristine != MAP_FAILED);
		} else {
			close(segment->fd);
		}
		segment->fd = fuzz_null();
		assert(mmap(segment->shm, segment->total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == segment->shm);
	}
	close(shared.directory);
}

/* --- What was written, and back ------------------------------------------------------------------------------------------- */

static struct pool *pool_of(const void *at)
{
	for (struct pool *one = pool; one < pool + SEGMENTS; one++)
		if ((uintptr_t)at - (uintptr_t)one->segment.shm < one->segment.total_bytes)
			return one;
	abort();
}

void fuzz_touch(const void *at, size_t bytes)
{
	struct pool *one = pool_of(at);
	size_t offset = (size_t)((uintptr_t)at - (uintptr_t)one->segment.shm);

	for (size_t page = offset / ADA_PAGE_BYTES; page <= (offset + bytes - 1) / ADA_PAGE_BYTES; page++)
		if (!one->noted[page]) {
			one->noted[page] = true;
			one->pages[one->count++] = (uint16_t)page;
		}
}

static void put_back(const struct pool *one, void *at, size_t bytes)
{
	memcpy(at, pristine + ((uintptr_t)at - (uintptr_t)one->segment.shm), bytes);
}

/* Only what the recorder has filled of them. */
static void put_back_policy(const struct pool *one)
{
	const struct ada_segment *segment = &one->segment;

	for (int i = 0; i < 2; i++) {
		struct ada_policy_table *table = ada_segment_policy_table(segment, i);
		uint64_t *masks = (uint64_t *)((uint8_t *)table + ADA_POLICY_MASKS);
		size_t numbers = table->functions + 1, classes = 1;

		if (!table->generation)
			continue;
		while (masks[classes])
			classes++;
		put_back(one, masks, classes * sizeof *masks);
		put_back(one, (uint8_t *)table + ADA_POLICY_CLASSES, numbers * sizeof(uint16_t));
		put_back(one, (uint8_t *)table + ADA_POLICY_FLAGS, numbers);
		put_back(one, table, sizeof *table);
	}
	put_back(one, segment->policy + ADA_POLICY_STATES, ADA_RULES_MAX * sizeof(struct ada_rule_state));
}

static void compare(const struct pool *one)
{
	const uint8_t *shm = (const uint8_t *)one->segment.shm;

	for (size_t at = 0; at < one->segment.total_bytes; at++) {
		if (!(at % ADA_PAGE_BYTES) && !memcmp(shm + at, pristine + at, ADA_PAGE_BYTES))
			at += ADA_PAGE_BYTES - 1;
		else if (shm[at] != pristine[at]) {
			fprintf(stderr, "what was written to the segment at 0x%zx was not told of\n", at);
			abort();
		}
	}
}

static void renew(struct pool *one)
{
	static unsigned int times;
	const struct ada_segment *segment = &one->segment;

	for (size_t i = 0; i < one->count; i++) {
		one->noted[one->pages[i]] = false;
		put_back(one, (uint8_t *)segment->shm + one->pages[i] * ADA_PAGE_BYTES, ADA_PAGE_BYTES);
	}
	one->count = 0;
	put_back_policy(one);
	put_back(one, segment->shm, sizeof *segment->shm);
	put_back(one, segment->free_map, (segment->numbers + 63) / 64 * 8);
	put_back(one, segment->ring.entries, segment->numbers * sizeof *segment->ring.entries);
	put_back(one, segment->heirs, HEIRS * sizeof *segment->heirs);
	put_back(one, segment->modules, MODULES * sizeof *segment->modules);
	put_back(one, segment->threads, THREADS * sizeof *segment->threads);
	put_back(one, segment->threads_free, (THREADS + 63) / 64 * 8);
	put_back(one, segment->detail_free_map, (segment->detail_numbers + 63) / 64 * 8);
	put_back(one, segment->detail_ring.entries, segment->detail_chunks * sizeof *segment->detail_ring.entries);
	times++;
	if (!(times % COMPARE_EVERY) || (times < COMPARE_EVERY && !(times & (times - 1))))
		compare(one);
}

/* --- In place of the recorder's own ---------------------------------------------------------------------------------------- */

int __wrap_ada_segment_create(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd,
			      struct ada_error *error)
{
	struct pool *free = pool;

	*segment = (struct ada_segment){ .fd = -1 };
	*agent_fd = -1;
	if (!pristine)
		make_pool();
	while (free < pool + SEGMENTS && free->used)
		free++;
	if (free == pool + SEGMENTS)
		return ada_error_set(error, ENOSPC, "no room for a buffer");
	*segment = free->segment;
	free->used = true;
	segment->shm->index_mode = options->index_mode;
	segment->shm->on_full = options->on_full;
	segment->shm->detail_mode = segment->detail_mode = options->detail_mode;
	if (!options->detail_buffer_bytes) {
		segment->shm->detail_chunks = segment->detail_chunks = segment->detail_numbers = segment->detail_ready = 0;
		segment->shm->detail_small_chunks = segment->detail_small_chunks = segment->shm->detail_front = 0;
	}
	segment->shm->provider = options->provider;
	*agent_fd = fuzz_null();
	if (fuzz_segment_made)
		fuzz_segment_made(segment);
	return 0;
}

void __wrap_ada_segment_destroy(struct ada_segment *segment)
{
	if (segment->shm) {
		struct pool *one = pool_of(segment->shm);

		one->used = false;
		renew(one);
	}
	*segment = (struct ada_segment){ .fd = -1 };
}

void __real_ada_segment_chunk_return(struct ada_segment *segment, uint32_t chunk);
void __wrap_ada_segment_chunk_return(struct ada_segment *segment, uint32_t chunk);
void __wrap_ada_segment_chunk_return(struct ada_segment *segment, uint32_t chunk)
{
	fuzz_touch(ada_segment_chunk(segment, chunk), sizeof(struct ada_chunk));
	__real_ada_segment_chunk_return(segment, chunk);
}

void __real_ada_segment_detail_return(struct ada_segment *segment, uint32_t chunk);
void __wrap_ada_segment_detail_return(struct ada_segment *segment, uint32_t chunk);
void __wrap_ada_segment_detail_return(struct ada_segment *segment, uint32_t chunk)
{
	fuzz_touch(ada_segment_detail_chunk(segment, chunk), sizeof(struct ada_detail_chunk));
	__real_ada_segment_detail_return(segment, chunk);
}

/* Rules that remember samples have room for them made first. */
int __real_ada_segment_policy_room(struct ada_segment *segment, uint64_t offset, uint64_t bytes);
int __wrap_ada_segment_policy_room(struct ada_segment *segment, uint64_t offset, uint64_t bytes);
int __wrap_ada_segment_policy_room(struct ada_segment *segment, uint64_t offset, uint64_t bytes)
{
	if (pristine && offset >= ADA_POLICY_SAMPLES)
		fuzz_touch(segment->policy + offset, bytes);
	return __real_ada_segment_policy_room(segment, offset, bytes);
}

/* Of memory that an agent says it has made: one half MiB in four is not there. */
int __wrap_mincore(void *start, size_t bytes, unsigned char *pages);
int __wrap_mincore(void *start, size_t bytes, unsigned char *pages)
{
	for (size_t i = 0; i < (bytes + ADA_PAGE_BYTES - 1) / ADA_PAGE_BYTES; i++)
		pages[i] = (((uintptr_t)start + i * ADA_PAGE_BYTES) >> 19) % 4 != 3;
	return 0;
}

int __wrap_fstatvfs64(int fd, struct statvfs64 *room);
int __wrap_fstatvfs64(int fd, struct statvfs64 *room)
{
	*room = (struct statvfs64){ .f_bsize = ADA_PAGE_BYTES }; /* without a limit */
	return 0;
}
