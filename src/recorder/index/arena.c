/* The arena, as the recorder writes it: see arena.h. */
#include "recorder/index/arena.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include "base/array.h"
#include "recorder/index/arena_parts.h"

#define SPACE_SHARE 8	       /* of the addresses, where they are limited: one part in ... */
#define BLOCKS_LEAST 16u       /* with fewer it isn't worth it */
#define TABLE_STEP (64u << 10) /* memory that a table gets at a time */
#define BLOCK_LEAST (4u << 10) /* what a thread with few events costs */
#define SIZES 7		       /* of blocks: 4 to 256 KiB */
#define RUN_BLOCKS 4u	       /* of the largest run of events: one behind the other */
#define IDLE_BYTES (32u << 20) /* memory that free blocks may keep */
#define NO_BLOCK UINT32_MAX

struct table {
	uint8_t *start;
	uint64_t ready; /* bytes that have memory */
};

struct ada_arena_writer {
	struct ada_arena_map map;
	int fd;
	struct table providers, lanes, anchors, blocks;
	ADA_ARRAY(uint32_t) free_lanes; /* notes that were a thread's and are free */
	uint32_t *next;			/* of a free block, in its list */
	uint8_t *sizes;			/* of each block's memory: 0 none, else BLOCK_LEAST << size - 1 */
	uint32_t heads[SIZES + 1];	/* lists of free blocks, by size */
	uint32_t runs;			/* list of free runs: their first blocks. They are never taken apart */
	uint64_t idle_bytes;
};

/* --- memory ------------------------------------------------------------------------------------------------------------- */

/* Gives memory, or an error where there is none: nobody touches the bytes before. */
static int populate(struct ada_arena_writer *arena, uint8_t *from, uint64_t bytes)
{
	off_t offset = from - (uint8_t *)arena->map.header;

	if (!madvise(from, bytes, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	while (fallocate(arena->fd, 0, offset, (off_t)bytes)) /* a kernel without */
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Makes sure that entry `number` of a table has memory. */
static bool has_entry(struct ada_arena_writer *arena, struct table *table, uint64_t number, size_t entry_bytes)
{
	uint64_t wanted = (number + 1) * entry_bytes;

	while (table->ready < wanted) {
		if (populate(arena, table->start + table->ready, TABLE_STEP))
			return false;
		table->ready += TABLE_STEP;
	}
	return true;
}

static uint32_t least_of(uint64_t wanted, uint64_t most)
{
	return (uint32_t)(wanted < most ? wanted : most);
}

/* How many entries the tables have. */
static void size_up(struct ada_arena *header, uint64_t space_bytes)
{
	uint64_t share = space_bytes / SPACE_SHARE;

	header->providers = least_of(share / 64 / sizeof(struct ada_arena_provider), ADA_ARENA_PROVIDERS_MAX);
	header->lanes = least_of(share / 8 / sizeof(struct ada_arena_lane), ADA_ARENA_LANES_MAX);
	header->anchors = least_of(share / 32 / sizeof(struct ada_arena_anchor), ADA_ARENA_ANCHORS_MAX);
	header->blocks = least_of(share / 4 * 3 / ADA_ARENA_BLOCK_BYTES, ADA_ARENA_BLOCKS_MAX);
}

/* --- open and close ----------------------------------------------------------------------------------------------------- */

static int arena_make(struct ada_arena_writer *arena, const struct ada_shared *shared, struct ada_arena *header, struct ada_error *error)
{
	int status = ada_shared_file(shared, ADA_SHARED_ARENA, header->total_bytes, &arena->fd, NULL, error);

	if (status)
		return status;
	flock(arena->fd, LOCK_EX | LOCK_NB); /* from here on it is alive */
	status = ada_arena_map(&arena->map, header, arena->fd);
	if (status)
		return ada_error_system(error, -status, "%s: no addresses", ada_shared_text(shared));
	status = populate(arena, (uint8_t *)arena->map.header, ADA_ARENA_HEADER_BYTES);
	if (status)
		return ada_error_system(error, -status, "no room in %s", ada_shared_text(shared));
	*arena->map.header = *header;
	memcpy(arena->map.header->magic, ADA_ARENA_MAGIC, sizeof header->magic); /* last: whoever finds it finds all */
	return 0;
}

int ada_arena_open(struct ada_arena_writer **result, const struct ada_shared *shared, const struct ada_arena_options *options,
		   struct ada_error *error)
{
	struct ada_arena header = { .version = ADA_ARENA_VERSION,
				    .header_bytes = sizeof header,
				    .start_ns = options->start_ns,
				    .recorder_pid = (uint32_t)getpid(),
				    .index_mode = options->index_mode,
				    .segment_events = options->segment_events,
				    .state = ADA_ARENA_RECORDING };
	struct ada_arena_writer *arena;
	int status;

	*result = NULL;
	size_up(&header, options->space_bytes);
	if (header.blocks < BLOCKS_LEAST)
		return ada_error_set(error, ENOMEM, "the limit of address space (RLIMIT_AS) leaves no room for it");
	ada_arena_lay_out(&header);
	arena = calloc(1, sizeof *arena);
	if (!arena)
		return ada_error_system(error, ENOMEM, "memory");
	arena->fd = -1;
	arena->next = calloc(header.blocks, sizeof *arena->next);
	arena->sizes = calloc(header.blocks, sizeof *arena->sizes);
	status = arena->next && arena->sizes ? arena_make(arena, shared, &header, error) : ada_error_system(error, ENOMEM, "memory");
	if (status) {
		ada_arena_close(arena);
		ada_shared_unlink(shared, ADA_SHARED_ARENA);
		return status;
	}
	for (size_t i = 0; i <= SIZES; i++)
		arena->heads[i] = NO_BLOCK;
	arena->runs = NO_BLOCK;
	arena->providers.start = (uint8_t *)arena->map.providers;
	arena->lanes.start = (uint8_t *)arena->map.lanes;
	arena->anchors.start = (uint8_t *)arena->map.anchors;
	arena->blocks.start = (uint8_t *)arena->map.blocks;
	*result = arena;
	return 0;
}

int ada_arena_fd(const struct ada_arena_writer *arena)
{
	return arena ? arena->fd : -1;
}

void ada_arena_end(struct ada_arena_writer *arena)
{
	if (arena)
		__atomic_store_n(&arena->map.header->state, ADA_ARENA_ENDED, __ATOMIC_RELEASE);
}

void ada_arena_close(struct ada_arena_writer *arena)
{
	if (!arena)
		return;
	ada_arena_detach(&arena->map);
	if (arena->fd >= 0)
		close(arena->fd);
	ada_array_free(&arena->free_lanes);
	free(arena->next);
	free(arena->sizes);
	free(arena);
}

/* --- notes -------------------------------------------------------------------------------------------------------------- */

void ada_arena_note_clock(struct ada_arena_writer *arena, const struct ada_clock *clock)
{
	const struct ada_clock_anchor *anchors;
	struct ada_clock_state state;
	struct ada_arena *header;
	const struct ada_arena_clock *before;
	size_t count, noted;

	if (!arena)
		return;
	header = arena->map.header;
	before = &header->clocks[header->clock_current];
	count = ada_clock_anchors(clock, &anchors);
	noted = before->anchors;
	ada_clock_state(clock, &state);
	if (count > noted && (count > header->anchors || !has_entry(arena, &arena->anchors, count - 1, sizeof *anchors)))
		return; /* what was noted goes on */
	if (count > noted)
		memcpy(arena->map.anchors + noted, anchors + noted, (count - noted) * sizeof *anchors);
	header->clocks[!header->clock_current] = (struct ada_arena_clock){ .anchors = count,
									   .fell = state.fell,
									   .before = state.before,
									   .young_until = state.young_until,
									   .resolution_ns = state.resolution_ns };
	__atomic_store_n(&header->clock_current, !header->clock_current, __ATOMIC_RELEASE);
}

void ada_arena_note_ready(struct ada_arena_writer *arena, const struct ada_arena_provider *note)
{
	if (!arena)
		return;
	arena->map.header->ready = *note;
	__atomic_store_n(&arena->map.header->ready.state, ADA_ARENA_STARTING, __ATOMIC_RELEASE);
}

void ada_arena_note_provider(struct ada_arena_writer *arena, uint32_t number, const struct ada_arena_provider *note)
{
	struct ada_arena_provider *entry;

	if (!arena || number >= arena->map.header->providers || !has_entry(arena, &arena->providers, number, sizeof *note))
		return;
	entry = &arena->map.providers[number];
	*entry = *note;
	entry->state = ADA_ARENA_NO_PROVIDER;
	__atomic_store_n(&entry->state, ADA_ARENA_STARTING, __ATOMIC_RELEASE);
	__atomic_store_n(&arena->map.header->providers_used, number + 1, __ATOMIC_RELEASE);
}

void ada_arena_note_provider_state(struct ada_arena_writer *arena, uint32_t number, enum ada_arena_provider_state state)
{
	/* Acquire: with it the entry has memory. */
	if (arena && number < __atomic_load_n(&arena->map.header->providers_used, __ATOMIC_ACQUIRE))
		__atomic_store_n(&arena->map.providers[number].state, state, __ATOMIC_RELEASE);
}

uint32_t ada_arena_lane_take(struct ada_arena_writer *arena, uint32_t provider, uint32_t id)
{
	struct ada_arena *header;
	struct ada_arena_lane *lane;
	uint32_t number;

	if (!arena)
		return 0;
	header = arena->map.header;
	number = header->lanes_used;
	if (arena->free_lanes.count) {
		number = arena->free_lanes.items[--arena->free_lanes.count];
	} else if (number >= header->lanes || !has_entry(arena, &arena->lanes, number, sizeof(struct ada_arena_lane))) {
		header->lanes_refused++;
		return 0;
	}
	lane = &arena->map.lanes[number];
	*lane = (struct ada_arena_lane){ .provider = provider, .id = id, .slots[0].segment = ADA_NONE };
	__atomic_store_n(&lane->used, 1, __ATOMIC_RELEASE);
	if (number == header->lanes_used)
		__atomic_store_n(&header->lanes_used, number + 1, __ATOMIC_RELEASE);
	return number + 1;
}

void ada_arena_lane_note(struct ada_arena_writer *arena, uint32_t note, const struct ada_arena_lane_state *state)
{
	struct ada_arena_lane *lane;
	uint32_t other;

	if (!arena || !note)
		return;
	lane = &arena->map.lanes[note - 1];
	other = !lane->current;
	lane->slots[other] = *state;
	__atomic_store_n(&lane->current, other, __ATOMIC_RELEASE);
}

void ada_arena_lane_last(struct ada_arena_writer *arena, uint32_t note, const struct ada_shm_thread *last)
{
	if (arena && note)
		arena->map.lanes[note - 1].last = *last;
}

void ada_arena_lane_free(struct ada_arena_writer *arena, uint32_t note)
{
	if (!arena || !note)
		return;
	__atomic_store_n(&arena->map.lanes[note - 1].used, 0, __ATOMIC_RELEASE);
	ada_array_push(&arena->free_lanes, note - 1); /* without memory: it stays unused */
}

/* --- blocks ------------------------------------------------------------------------------------------------------------- */

static uint8_t *place_of(const struct ada_arena_writer *arena, uint32_t block)
{
	return ada_arena_bytes(&arena->map, block);
}

static uint32_t number_of(const struct ada_arena_writer *arena, const uint8_t *bytes)
{
	return (uint32_t)((uint64_t)(bytes - arena->map.memory) / ADA_ARENA_BLOCK_BYTES);
}

static size_t bytes_of(unsigned size)
{
	return size ? (size_t)BLOCK_LEAST << (size - 1) : 0;
}

/* As much as the file has already, so that a file costs at most twice what it holds. */
static unsigned size_for(uint64_t offset, size_t most)
{
	unsigned size = 1;

	while (size < SIZES && bytes_of(size + 1) <= offset && bytes_of(size + 1) <= most)
		size++;
	return size;
}

static void list_add(struct ada_arena_writer *arena, uint32_t block)
{
	arena->next[block] = arena->heads[arena->sizes[block]];
	arena->heads[arena->sizes[block]] = block;
	arena->idle_bytes += bytes_of(arena->sizes[block]);
}

static uint32_t list_take(struct ada_arena_writer *arena, unsigned size)
{
	uint32_t block = arena->heads[size];

	if (block == NO_BLOCK)
		return block;
	arena->heads[size] = arena->next[block];
	arena->idle_bytes -= bytes_of(size);
	return block;
}

/* The smallest free block that is large enough, else the largest, else one that was never used. */
static uint32_t block_find(struct ada_arena_writer *arena, unsigned size)
{
	uint32_t block = NO_BLOCK, used = arena->map.header->blocks_used;

	for (unsigned enough = size; enough <= SIZES && block == NO_BLOCK; enough++)
		block = list_take(arena, enough);
	for (unsigned less = size; less-- && block == NO_BLOCK;)
		block = list_take(arena, less);
	if (block == NO_BLOCK && used < arena->map.header->blocks &&
	    has_entry(arena, &arena->blocks, used, sizeof(struct ada_arena_block))) {
		block = used;
		__atomic_store_n(&arena->map.header->blocks_used, used + 1, __ATOMIC_RELEASE);
	}
	return block;
}

/* A block with so much memory; NO_BLOCK: there is none. */
static uint32_t block_have(struct ada_arena_writer *arena, unsigned size)
{
	uint32_t block = block_find(arena, size);

	if (block != NO_BLOCK && arena->sizes[block] < size) {
		size_t has = bytes_of(arena->sizes[block]);

		if (populate(arena, place_of(arena, block) + has, bytes_of(size) - has)) {
			list_add(arena, block);
			block = NO_BLOCK;
		} else {
			arena->sizes[block] = (uint8_t)size;
		}
	}
	if (block == NO_BLOCK)
		arena->map.header->blocks_refused++;
	return block;
}

static void entry_set(struct ada_arena_writer *arena, uint32_t block, const struct ada_arena_block *what)
{
	struct ada_arena_block *entry = &arena->map.blocks[block];

	entry->kind = what->kind;
	entry->lane = what->lane;
	entry->segment = what->segment;
	entry->offset = what->offset;
	entry->bytes = what->bytes;
	__atomic_store_n(&entry->taken, 1, __ATOMIC_RELEASE);
}

uint8_t *ada_arena_block_take(struct ada_arena_writer *arena, uint32_t note, uint32_t segment, uint64_t offset, size_t *bytes)
{
	unsigned size;
	uint32_t block;

	if (!arena || !note || *bytes < BLOCK_LEAST)
		return NULL;
	size = size_for(offset, *bytes);
	block = block_have(arena, size);
	if (block == NO_BLOCK)
		return NULL;
	*bytes = bytes_of(size);
	entry_set(arena, block,
		  &(struct ada_arena_block){
			  .kind = ADA_ARENA_PLAIN, .lane = note - 1, .segment = segment, .offset = offset, .bytes = (uint32_t)*bytes });
	return place_of(arena, block);
}

void ada_arena_block_give(struct ada_arena_writer *arena, uint8_t *bytes)
{
	uint32_t block = number_of(arena, bytes);

	__atomic_store_n(&arena->map.blocks[block].taken, 0, __ATOMIC_RELEASE);
	if (arena->idle_bytes + bytes_of(arena->sizes[block]) > IDLE_BYTES && !madvise(bytes, bytes_of(arena->sizes[block]), MADV_REMOVE))
		arena->sizes[block] = 0;
	list_add(arena, block);
}

/* --- runs of events ------------------------------------------------------------------------------------------------------ */

static uint32_t run_find(struct ada_arena_writer *arena)
{
	struct ada_arena *header = arena->map.header;
	uint32_t first = arena->runs, used = header->blocks_used;

	if (first != NO_BLOCK) {
		arena->runs = arena->next[first];
		arena->idle_bytes -= RUN_BLOCKS * bytes_of(arena->sizes[first]);
	} else if (used + RUN_BLOCKS <= header->blocks &&
		   has_entry(arena, &arena->blocks, used + RUN_BLOCKS - 1, sizeof(struct ada_arena_block))) {
		first = used;
		__atomic_store_n(&header->blocks_used, used + RUN_BLOCKS, __ATOMIC_RELEASE);
	}
	return first;
}

static void run_add(struct ada_arena_writer *arena, uint32_t first)
{
	arena->next[first] = arena->runs;
	arena->runs = first;
	arena->idle_bytes += RUN_BLOCKS * bytes_of(arena->sizes[first]);
}

/* The memory of all its blocks is its first one's. */
static uint32_t run_have(struct ada_arena_writer *arena)
{
	uint32_t first = run_find(arena);

	if (first != NO_BLOCK && !arena->sizes[first]) {
		if (!populate(arena, place_of(arena, first), RUN_BLOCKS * ADA_ARENA_BLOCK_BYTES)) {
			arena->sizes[first] = SIZES;
		} else {
			run_add(arena, first);
			first = NO_BLOCK;
		}
	}
	if (first == NO_BLOCK)
		arena->map.header->blocks_refused++;
	return first;
}

static bool is_long_run(size_t bytes)
{
	return bytes > ADA_ARENA_BLOCK_BYTES;
}

uint8_t *ada_arena_run_take(struct ada_arena_writer *arena, uint32_t note, uint32_t segment, uint64_t offset, size_t bytes)
{
	struct ada_arena_block entry = { .kind = ADA_ARENA_EVENTS, .lane = note - 1, .segment = segment, .offset = offset };
	unsigned size = 1;
	uint32_t first;

	if (!arena || !note)
		return NULL;
	assert(bytes <= RUN_BLOCKS * ADA_ARENA_BLOCK_BYTES);
	while (size < SIZES && bytes_of(size) < bytes)
		size++;
	first = is_long_run(bytes) ? run_have(arena) : block_have(arena, size);
	if (first == NO_BLOCK)
		return NULL;
	for (uint32_t i = 0; i < (is_long_run(bytes) ? RUN_BLOCKS : 1); i++) { /* those of half a run are empty at the end */
		uint64_t left = offset + bytes - entry.offset;

		entry.bytes = (uint32_t)(left < ADA_ARENA_BLOCK_BYTES ? left : ADA_ARENA_BLOCK_BYTES);
		entry_set(arena, first + i, &entry);
		entry.offset += entry.bytes;
	}
	return place_of(arena, first);
}

/* What lies behind the end is from who had the memory before. */
void ada_arena_run_end(struct ada_arena_writer *arena, uint8_t *run, size_t bytes, size_t filled)
{
	struct ada_arena_block *entry = &arena->map.blocks[number_of(arena, run)];

	for (; bytes; entry++) {
		size_t has = bytes < ADA_ARENA_BLOCK_BYTES ? bytes : ADA_ARENA_BLOCK_BYTES, used = filled < has ? filled : has;

		__atomic_store_n(&entry->bytes, (uint32_t)used, __ATOMIC_RELEASE);
		bytes -= has;
		filled -= used;
	}
}

void ada_arena_run_give(struct ada_arena_writer *arena, uint8_t *run, size_t bytes)
{
	uint32_t first = number_of(arena, run);

	if (!is_long_run(bytes)) {
		ada_arena_block_give(arena, run);
		return;
	}
	for (uint32_t i = 0; i < RUN_BLOCKS; i++)
		__atomic_store_n(&arena->map.blocks[first + i].taken, 0, __ATOMIC_RELEASE);
	if (arena->idle_bytes + RUN_BLOCKS * ADA_ARENA_BLOCK_BYTES > IDLE_BYTES &&
	    !madvise(run, RUN_BLOCKS * ADA_ARENA_BLOCK_BYTES, MADV_REMOVE))
		arena->sizes[first] = 0;
	run_add(arena, first);
}
