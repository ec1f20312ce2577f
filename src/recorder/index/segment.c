#include "recorder/index/segment.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/index/segment_parts.h"

#define CHUNKS_AT_START 64u /* 2 MiB: what a program records until the first growth */
#define DETAIL_LEAST 2u	    /* at the start, which is a huge page's worth; DETAIL_AT_ONCE where nothing recycles */
#define DETAIL_AT_ONCE 32u

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + ADA_PAGE_BYTES - 1) & ~(ADA_PAGE_BYTES - 1);
}

static void lay_out_detail(struct ada_segment *segment, struct ada_shm *shm, const struct ada_segment_options *options)
{
	shm->detail_stack_bytes = ADA_DETAIL_ROOM(options->detail_stack_bytes);
	shm->detail_return_stack_bytes = options->stack_at_return ? shm->detail_stack_bytes : 0;
	shm->detail_capture_bytes = options->captures ? ADA_DETAIL_CAPTURED_ROOM : 0;
	shm->detail_chunk_bytes = ADA_DETAIL_CHUNK_BYTES(shm->detail_stack_bytes, shm->detail_return_stack_bytes);
	shm->detail_mode = options->detail_mode;
	shm->detail.history = options->detail_history;
	segment->detail_room = shm->detail_stack_bytes;
	segment->stack_bytes = options->detail_stack_bytes;
	segment->detail_chunk_bytes = shm->detail_chunk_bytes;
	segment->detail_mode = options->detail_mode;
	segment->detail_chunks = shm->detail_chunks = (uint32_t)(options->detail_buffer_bytes / shm->detail_chunk_bytes);
}

static uint32_t least_of(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* There are as many small chunks as a quarter of the buffer holds, and as many of detail, but no more than four times the detail buffer's
 * bytes: each living thread has one. */
static void count_small(struct ada_segment *segment, const struct ada_segment_options *options)
{
	uint64_t small = options->no_small ? 0 : options->index_buffer_bytes / 4 / ADA_SMALL_BYTES;
	uint64_t detail = (uint64_t)segment->detail_chunks * segment->detail_chunk_bytes * 4 / ada_segment_detail_small_bytes(segment);

	segment->small_chunks = least_of(small, ADA_SMALL_MAX);
	segment->detail_small_chunks = least_of(segment->small_chunks, detail);
	segment->numbers = ada_chunk_numbers(segment->chunks, segment->small_chunks);
	segment->detail_numbers = ada_chunk_numbers(segment->detail_chunks, segment->detail_small_chunks);
}

/* The small chunks lie behind all others: most programs touch none of them. */
static void lay_out_small(const struct ada_segment *segment, struct ada_shm *shm, uint64_t end)
{
	shm->small_offset = page_up(end);
	shm->detail_small_offset = page_up(shm->small_offset + (uint64_t)segment->small_chunks * ADA_SMALL_BYTES + ADA_SMALL_BEHIND);
	shm->total_bytes = !segment->small_chunks ? end :
						    shm->detail_small_offset + (uint64_t)segment->detail_small_chunks *
										       ada_segment_detail_small_bytes(segment);
	shm->small_chunks = segment->small_chunks;
	shm->detail_small_chunks = segment->detail_small_chunks;
}

static void lay_out(struct ada_segment *segment, struct ada_shm *shm, const struct ada_segment_options *options)
{
	segment->chunks = (uint32_t)(options->index_buffer_bytes / ADA_CHUNK_BYTES);
	lay_out_detail(segment, shm, options);
	count_small(segment, options);
	memcpy(shm->magic, ADA_SHM_MAGIC, sizeof shm->magic);
	shm->version = ADA_WIRE_VERSION;
	shm->header_bytes = sizeof *shm;
	shm->free_offset = ADA_PAGE_BYTES;
	shm->sealed_offset = shm->free_offset + page_up((segment->numbers + 63) / 64 * 8);
	shm->heirs_offset = shm->sealed_offset + page_up(segment->numbers * sizeof(uint64_t));
	shm->modules_offset = shm->heirs_offset + page_up(ADA_HEIRS * sizeof(struct ada_shm_heir));
	shm->threads_offset = shm->modules_offset + page_up(ADA_MODULES_MAX * sizeof(struct ada_shm_module));
	shm->marks_offset = shm->threads_offset + page_up(ADA_THREADS_BYTES);
	shm->policy_offset = shm->marks_offset + ADA_MARKS * sizeof(struct ada_mark);
	shm->detail_free_offset = shm->policy_offset + ADA_POLICY_BYTES;
	shm->detail_sealed_offset = shm->detail_free_offset + page_up((segment->detail_numbers + 63) / 64 * 8);
	shm->detail_small_sealed_offset = shm->detail_sealed_offset + page_up(segment->detail_chunks * sizeof(uint64_t));
	segment->maps_end = shm->detail_small_sealed_offset + page_up(segment->detail_small_chunks * sizeof(uint64_t));
	shm->index_offset = ada_huge_up(segment->maps_end);
	shm->detail_offset = shm->index_offset + (uint64_t)segment->chunks * ADA_CHUNK_BYTES;
	if (segment->detail_chunks)
		shm->detail_offset = ada_huge_up(shm->detail_offset);
	lay_out_small(segment, shm, shm->detail_offset + (uint64_t)segment->detail_chunks * shm->detail_chunk_bytes);
	shm->index_chunks = segment->chunks;
	shm->chunk_bytes = ADA_CHUNK_BYTES;
	segment->total_bytes = shm->total_bytes;
}

uint64_t ada_segment_bytes(const struct ada_segment_options *options)
{
	struct ada_segment segment;
	struct ada_shm layout;

	lay_out(&segment, &layout, options);
	return layout.total_bytes;
}

static void point(struct ada_segment *segment, void *memory, const struct ada_shm *layout)
{
	uint8_t *base = memory;

	segment->shm = memory;
	segment->free_map = (uint64_t *)(base + layout->free_offset);
	segment->ring = (struct ada_ring){ .entries = (uint64_t *)(base + layout->sealed_offset),
					   .head = &segment->shm->sealed_head,
					   .tail = &segment->shm->sealed_tail,
					   .count = segment->numbers };
	segment->heirs = (struct ada_shm_heir *)(base + layout->heirs_offset);
	segment->modules = (struct ada_shm_module *)(base + layout->modules_offset);
	segment->threads = (struct ada_shm_thread *)(base + layout->threads_offset);
	segment->threads_free = (uint64_t *)(segment->threads + ADA_THREADS_MAX);
	segment->pool = base + layout->index_offset;
	segment->marks = (struct ada_mark *)(base + layout->marks_offset);
	segment->policy = base + layout->policy_offset;
	segment->detail_free_map = (uint64_t *)(base + layout->detail_free_offset);
	segment->detail_ring = (struct ada_ring){ .entries = (uint64_t *)(base + layout->detail_sealed_offset),
						  .head = &segment->shm->detail.sealed_head,
						  .tail = &segment->shm->detail.sealed_tail,
						  .count = segment->detail_chunks };
	segment->detail_pool = base + layout->detail_offset;
	segment->detail_small_ring = (struct ada_ring){ .entries = (uint64_t *)(base + layout->detail_small_sealed_offset),
							.head = &segment->shm->detail.small_head,
							.tail = &segment->shm->detail.small_tail,
							.count = segment->detail_small_chunks };
	segment->small_pool = base + layout->small_offset;
	segment->detail_small_pool = base + layout->detail_small_offset;
}

/* What every hook reads: marks, the empty table 0 with the flags of function 0, the states. */
static int policy_begin(struct ada_segment *segment)
{
	return ada_segment_room(segment, segment->marks, ADA_MARKS * sizeof(struct ada_mark)) ?:
		       ada_segment_policy_room(segment, 0, ADA_POLICY_MASKS + ADA_PAGE_BYTES) ?:
		       ada_segment_policy_room(segment, ADA_POLICY_CLASSES, ADA_PAGE_BYTES)   ?:
		       ada_segment_policy_room(segment, ADA_POLICY_FLAGS, ADA_PAGE_BYTES)     ?:
		       ada_segment_policy_room(segment, ADA_POLICY_STATES, ADA_RULES_MAX * sizeof(struct ada_rule_state));
}

/* Maps at a multiple of a huge page's size: the kernel itself does so only where a setting lets all of /dev/shm have huge pages. */
static void *map_aligned(const struct ada_segment *segment)
{
	uint64_t bytes = page_up(segment->total_bytes);
	uint8_t *room = mmap(NULL, bytes + ADA_HUGE_PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *start, *room_end;
	void *memory;

	if (room == MAP_FAILED)
		return mmap(NULL, segment->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
	start = (uint8_t *)ada_huge_up((uintptr_t)room);
	room_end = room + bytes + ADA_HUGE_PAGE_BYTES;
	memory = mmap(start, segment->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, segment->fd, 0);
	if (memory == MAP_FAILED) {
		munmap(room, bytes + ADA_HUGE_PAGE_BYTES);
		return memory;
	}
	if (start > room)
		munmap(room, (size_t)(start - room));
	munmap(start + bytes, (size_t)(room_end - start) - bytes);
	return memory;
}

/* No part of a page is made that isn't given out: where processes come and go, it is clearing that takes the time. */
static uint32_t detail_at_start(const struct ada_segment *segment)
{
	uint32_t fit = segment->detail_chunks ? (uint32_t)(ADA_HUGE_PAGE_BYTES / segment->detail_chunk_bytes) : 0;

	return !ada_segment_recycles_detail(segment) ? DETAIL_AT_ONCE : fit < DETAIL_LEAST ? DETAIL_LEAST : fit;
}

/* The memory before the pools is used only here and there: each touch would make a huge page. */
static int prepare(struct ada_segment *segment, const struct ada_shm *layout, bool small)
{
	madvise(segment->shm, layout->index_offset, MADV_NOHUGEPAGE);
	madvise(segment->shm, segment->total_bytes, MADV_DONTDUMP); /* a recorder that crashes is dead at once, not when that is written */
	if (segment->small_chunks)
		madvise(segment->small_pool, layout->total_bytes - layout->small_offset, MADV_NOHUGEPAGE);
	return ada_segment_room(segment, segment->shm, layout->modules_offset)		     ?:
		       ada_segment_grow_tables(segment)					     ?:
		       ada_segment_room(segment, segment->threads_free, ADA_THREADS_MAX / 8) ?:
		       policy_begin(segment)						     ?:
		       (segment->detail_chunks ? ada_segment_room(segment, segment->detail_free_map, segment->maps_end - layout->detail_free_offset) : 0) ?:
		       (small ? ada_segment_begin_small(segment) : ada_segment_grow_chunks(segment, CHUNKS_AT_START));
}

static void name_of(char name[ADA_SHARED_NAME_BYTES], const struct ada_segment_options *options)
{
	if (options->ready)
		ada_shared_ready_name(name, options->ready);
	else
		ada_shared_segment_name(name, options->provider);
}

/* Memory and header of a segment that is mapped, and empty. */
static int begin(struct ada_segment *segment, struct ada_shm *layout, const struct ada_segment_options *options)
{
	int status = prepare(segment, layout, options->scarce || options->brief);

	if (status)
		return status;
	layout->index_mode = options->index_mode;
	layout->on_full = options->on_full;
	layout->ticks_a_wait = options->ticks_a_wait;
	layout->poison = options->poison;
	layout->unbound = options->unbound;
	layout->price_wanted = options->price_wanted;
	layout->filters_wanted = options->filters_wanted;
	layout->pid = options->pid;
	layout->provider = options->provider;
	layout->ready = (struct ada_ready_part){ .number = options->ready, .children = options->children };
	layout->recorder_pid = (uint32_t)getpid();
	layout->index_front = segment->chunks_ready;
	layout->allowed_bytes = options->allowed_bytes;
	layout->policy_flags = layout->policy_offset + ADA_POLICY_FLAGS - offsetof(struct ada_shm, policy_flags);
	layout->detail.pin.start = ADA_PIN_NONE;
	layout->detail.own_start = UINT64_MAX;
	*segment->shm = *layout;
	segment->looked_ns = ada_clock_boottime_ns();
	if (options->scarce)
		segment->room_bytes = 0; /* until more is allowed */
	else if (options->brief && ada_segment_recycles_detail(segment))
		ada_segment_begin_small_detail(segment);
	else
		ada_segment_grow_detail(segment, detail_at_start(segment));
	return 0;
}

int ada_segment_create(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd, struct ada_error *error)
{
	struct ada_shm layout = { 0 };
	char name[ADA_SHARED_NAME_BYTES];
	int status;
	void *memory;

	*segment = (struct ada_segment){ .fd = -1, .collapses = !options->shared->own, .room_bytes = UINT64_MAX };
	*agent_fd = -1;
	lay_out(segment, &layout, options);
	name_of(name, options);
	status = ada_shared_file(options->shared, options->named ? name : NULL, segment->total_bytes, &segment->fd, agent_fd, error);
	if (status)
		goto fail;
	memory = map_aligned(segment);
	if (memory == MAP_FAILED) {
		status = ada_error_system(error, errno, "%s", ada_shared_text(options->shared));
		goto fail;
	}
	point(segment, memory, &layout);
	status = begin(segment, &layout, options);
	if (!status)
		return 0;
	status = ada_error_system(error, -status, "no room in %s for a buffer", ada_shared_text(options->shared));
fail:
	if (*agent_fd >= 0)
		close(*agent_fd);
	*agent_fd = -1;
	ada_segment_destroy(segment);
	if (options->named)
		ada_shared_unlink(options->shared, name);
	return status;
}

/* Whatever was written becomes what a hole reads as. */
static int clear(const struct ada_segment *segment)
{
	off_t from = 0, to = 0;

	while ((from = lseek(segment->fd, to, SEEK_DATA)) >= 0) {
		to = lseek(segment->fd, from, SEEK_HOLE);
		if (to < 0)
			break;
		memset((uint8_t *)segment->shm + from, 0, (size_t)(to - from));
	}
	return errno == ENXIO ? 0 : -errno; /* behind the last piece */
}

int ada_segment_renew(struct ada_segment *segment, const struct ada_segment_options *options, uint32_t provider, int *agent_fd)
{
	struct ada_segment renewed = { .fd = segment->fd, .room_bytes = UINT64_MAX };
	char from[ADA_SHARED_NAME_BYTES], to[ADA_SHARED_NAME_BYTES];
	struct ada_shm layout = { 0 };
	int status;

	lay_out(&renewed, &layout, options);
	if (renewed.total_bytes != segment->total_bytes || renewed.chunks != segment->chunks ||
	    renewed.detail_chunks != segment->detail_chunks || renewed.small_chunks != segment->small_chunks)
		return -EINVAL;
	status = clear(segment);
	if (status)
		return status;
	point(&renewed, segment->shm, &layout);
	*segment = renewed;
	ada_shared_segment_name(from, provider);
	name_of(to, options);
	*agent_fd = ada_shared_again(segment->fd);
	status = *agent_fd < 0 ? -errno : begin(segment, &layout, options) ?: ada_shared_rename(options->shared, from, to);
	if (status && *agent_fd >= 0) {
		close(*agent_fd);
		*agent_fd = -1;
	}
	return status;
}

int ada_segment_assign(struct ada_segment *segment, const struct ada_segment_options *options)
{
	char from[ADA_SHARED_NAME_BYTES], to[ADA_SHARED_NAME_BYTES];

	segment->shm->pid = options->pid;
	__atomic_store_n(&segment->shm->provider, options->provider, __ATOMIC_RELAXED);
	__atomic_store_n(&segment->shm->allowed_bytes, options->allowed_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&segment->shm->ready.children, options->children, __ATOMIC_RELEASE);
	segment->looked_ns = ada_clock_boottime_ns();
	ada_shared_ready_name(from, options->ready);
	ada_shared_segment_name(to, options->provider);
	return options->named ? ada_shared_rename(options->shared, from, to) : 0;
}

void ada_segment_unname(const struct ada_segment_options *options)
{
	char name[ADA_SHARED_NAME_BYTES];

	name_of(name, options);
	ada_shared_unlink(options->shared, name);
}

static bool makes_sense(const struct ada_segment_options *options)
{
	return options->index_buffer_bytes >= ADA_CHUNK_BYTES && options->index_buffer_bytes <= ADA_INDEX_BUFFER_MAX &&
	       options->detail_buffer_bytes <= ADA_DETAIL_BUFFER_MAX && options->detail_stack_bytes <= ADA_DETAIL_STACK_MAX &&
	       options->detail_mode <= ADA_DETAIL_STREAMING;
}

int ada_segment_attach(struct ada_segment *segment, const struct ada_segment_options *options, struct ada_error *error)
{
	struct ada_shm layout = { 0 };
	struct stat info;
	char name[ADA_SHARED_NAME_BYTES];
	void *memory;

	*segment = (struct ada_segment){ .fd = -1 };
	if (!makes_sense(options))
		return ada_error_set(error, EINVAL, "the note of process %u makes no sense", options->pid);
	lay_out(segment, &layout, options);
	name_of(name, options);
	segment->fd = openat(options->shared->directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (segment->fd < 0 || fstat(segment->fd, &info))
		return ada_error_system(error, errno, "the memory of process %u", options->pid);
	if ((uint64_t)info.st_size < segment->total_bytes) {
		ada_segment_destroy(segment);
		return ada_error_set(error, EINVAL, "the memory of process %u was cut", options->pid);
	}
	memory = map_aligned(segment);
	if (memory == MAP_FAILED) {
		int status = ada_error_system(error, errno, "the memory of process %u", options->pid);

		ada_segment_destroy(segment);
		return status;
	}
	point(segment, memory, &layout);
	return 0;
}

void ada_segment_destroy(struct ada_segment *segment)
{
	if (segment->shm)
		munmap(segment->shm, segment->total_bytes);
	if (segment->fd >= 0)
		close(segment->fd);
	*segment = (struct ada_segment){ .fd = -1 };
}

bool ada_segment_in_use(const struct ada_segment *segment)
{
	/* A write lease is granted only where no other open file of the inode exists; a mapping holds one. */
	if (fcntl(segment->fd, F_SETLEASE, F_WRLCK))
		return errno == EAGAIN;
	fcntl(segment->fd, F_SETLEASE, F_UNLCK);
	return false;
}

void ada_segment_tell(struct ada_segment *segment)
{
	__atomic_fetch_add(&segment->shm->returned, 1, __ATOMIC_RELEASE);
	if (segment->shm->on_full == ADA_ON_FULL_BLOCK)
		syscall(SYS_futex, &segment->shm->returned, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ada_segment_leave(struct ada_segment *segment)
{
	__atomic_store_n(&segment->shm->stop, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&segment->shm->recorder_pid, 0, __ATOMIC_RELEASE);
	ada_segment_tell(segment);
}

void ada_segment_chunk_return(struct ada_segment *segment, uint32_t chunk)
{
	__atomic_store_n(&ada_segment_chunk(segment, chunk)->status, ADA_CHUNK_FREE, __ATOMIC_RELAXED);
	/* Orders all reads of the chunk, and its status, before the agent may take it. */
	ada_map_give(segment->free_map, chunk);
	ada_segment_tell(segment);
}

bool ada_segment_thread_free(struct ada_segment *segment, uint32_t entry, uint32_t status, struct ada_shm_thread *copy)
{
	struct ada_shm_thread *thread = &segment->threads[entry];

	if (!__atomic_compare_exchange_n(&thread->status, &status, ADA_THREAD_UNUSED, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	*copy = *thread;
	ada_map_give(segment->threads_free, entry);
	ada_segment_tell(segment);
	return true;
}

void ada_segment_detail_return(struct ada_segment *segment, uint32_t chunk)
{
	__atomic_store_n(&ada_segment_detail_chunk(segment, chunk)->status, ADA_DETAIL_FREE, __ATOMIC_RELAXED);
	/* Orders all reads of the chunk, and its status, before the agent may take it. */
	ada_map_give(segment->detail_free_map, chunk);
	__atomic_fetch_add(&segment->shm->detail_returned, 1, __ATOMIC_RELEASE);
}
