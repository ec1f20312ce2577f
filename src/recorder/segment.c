#include "recorder/segment.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHUNKS_AT_START 64u		/* 2 MiB: what a program records until the first growth */
#define CHUNKS_AHEAD 768u		/* 24 MiB: about 8 ms of the fastest producer */
#define CHUNKS_STEP 128u
#define DETAIL_AT_START 8u		/* 320 KiB each where the stack's 128 bytes are kept; DETAIL_STEP_MAX where nothing recycles */
#define DETAIL_AHEAD 32u
#define DETAIL_STEP 16u
#define DETAIL_STEP_MAX 64u		/* 20 MiB: a few ms */
#define SPARED 8			/* detail leaves this share of /dev/shm alone */
#define THREADS_STEP 1024u		/* 64 KiB */
#define MODULES_STEP 128u		/* 64 KiB */
#define PAGE 4096ull
#define HUGE_PAGE (2ull << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + PAGE - 1) & ~(PAGE - 1);
}

static uint64_t huge_up(uint64_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

static void lay_out_detail(struct ada_segment *segment, struct ada_shm *shm, const struct ada_segment_options *options)
{
	shm->detail_stack_bytes = ADA_DETAIL_ROOM(options->detail_stack_bytes);
	shm->detail_scale = ADA_DETAIL_SCALE(shm->detail_stack_bytes);
	shm->detail_chunk_bytes = ADA_CHUNK_BYTES * shm->detail_scale;
	shm->detail_mode = options->detail_mode;
	segment->detail_scale = shm->detail_scale;
	segment->detail_room = shm->detail_stack_bytes;
	segment->stack_bytes = options->detail_stack_bytes;
	segment->detail_chunk_bytes = shm->detail_chunk_bytes;
	segment->detail_mode = options->detail_mode;
	segment->detail_chunks = shm->detail_chunks = (uint32_t)(options->detail_buffer_bytes / shm->detail_chunk_bytes);
}

static void lay_out(struct ada_segment *segment, struct ada_shm *shm, const struct ada_segment_options *options)
{
	segment->chunks = (uint32_t)(options->index_buffer_bytes / ADA_CHUNK_BYTES);
	lay_out_detail(segment, shm, options);
	memcpy(shm->magic, ADA_SHM_MAGIC, sizeof(shm->magic));
	shm->version = ADA_WIRE_VERSION;
	shm->header_bytes = sizeof(*shm);
	shm->free_offset = PAGE;
	shm->sealed_offset = shm->free_offset + page_up((segment->chunks + 63) / 64 * 8);
	shm->heirs_offset = shm->sealed_offset + page_up(segment->chunks * sizeof(uint64_t));
	shm->modules_offset = shm->heirs_offset + page_up(ADA_HEIRS * sizeof(struct ada_shm_heir));
	shm->threads_offset = shm->modules_offset + page_up(ADA_MODULES_MAX * sizeof(struct ada_shm_module));
	shm->marks_offset = shm->threads_offset + page_up(ADA_THREADS_MAX * sizeof(struct ada_shm_thread));
	shm->policy_offset = shm->marks_offset + ADA_MARKS * sizeof(struct ada_mark);
	shm->detail_free_offset = shm->policy_offset + ADA_POLICY_BYTES;
	shm->detail_sealed_offset = shm->detail_free_offset + page_up((segment->detail_chunks + 63) / 64 * 8);
	segment->maps_end = shm->detail_sealed_offset + page_up(segment->detail_chunks * sizeof(uint64_t));
	shm->index_offset = huge_up(segment->maps_end);
	shm->detail_offset = shm->index_offset + (uint64_t)segment->chunks * ADA_CHUNK_BYTES;
	if (segment->detail_chunks)
		shm->detail_offset = huge_up(shm->detail_offset);
	shm->total_bytes = shm->detail_offset + (uint64_t)segment->detail_chunks * shm->detail_chunk_bytes;
	shm->index_chunks = segment->chunks;
	shm->chunk_bytes = ADA_CHUNK_BYTES;
	segment->total_bytes = shm->total_bytes;
}

static void point(struct ada_segment *segment, void *memory, const struct ada_shm *layout)
{
	uint8_t *base = memory;
	segment->shm = memory;
	segment->free_map = (uint64_t *)(base + layout->free_offset);
	segment->sealed_ring = (uint64_t *)(base + layout->sealed_offset);
	segment->heirs = (struct ada_shm_heir *)(base + layout->heirs_offset);
	segment->modules = (struct ada_shm_module *)(base + layout->modules_offset);
	segment->threads = (struct ada_shm_thread *)(base + layout->threads_offset);
	segment->pool = base + layout->index_offset;
	segment->marks = (struct ada_mark *)(base + layout->marks_offset);
	segment->policy = base + layout->policy_offset;
	segment->detail_free_map = (uint64_t *)(base + layout->detail_free_offset);
	segment->detail_sealed_ring = (uint64_t *)(base + layout->detail_sealed_offset);
	segment->detail_pool = base + layout->detail_offset;
}

static int allocate(struct ada_segment *segment, const void *from, uint64_t bytes)
{
	off_t offset = (const uint8_t *)from - (const uint8_t *)segment->shm;
	while (fallocate(segment->fd, 0, offset, (off_t)bytes))
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Of a pool, in huge pages where the kernel has some to give: events fill it faster than its pages could be looked up, and both
 * making them and the program's first touch take a fraction of the time. MADV_COLLAPSE wants one page of the 512, adds the
 * others, and asks no setting of the system. Where it can't, the pages are small. */
static void collapse(struct ada_segment *segment, const uint8_t *from, uint64_t bytes)
{
	uint8_t *base = (uint8_t *)segment->shm;
	uint64_t start = (uint64_t)(from - base), end = start + bytes;
	for (uint64_t at = huge_up(start); !segment->small_pages && at + HUGE_PAGE <= end; at += HUGE_PAGE)
		if (allocate(segment, base + at, PAGE) || madvise(base + at, HUGE_PAGE, MADV_COLLAPSE))
			segment->small_pages = true;
}

static int grow_chunks(struct ada_segment *segment, uint32_t step)
{
	uint32_t left = segment->chunks - segment->chunks_ready;
	uint32_t count = step < left ? step : left;
	uint64_t from = (uint64_t)segment->chunks_ready * ADA_CHUNK_BYTES;
	uint64_t bytes = (uint64_t)count * ADA_CHUNK_BYTES;
	collapse(segment, segment->pool + from, bytes);
	int rc = allocate(segment, segment->pool + from, bytes);
	if (rc)
		return rc;
	uint32_t first = segment->chunks_ready;
	/* Before the bits: whoever sees a chunk in use finds it below. */
	__atomic_store_n(&segment->chunks_ready, first + count, __ATOMIC_RELEASE);
	for (uint32_t chunk = first; chunk < first + count; chunk++)
		__atomic_fetch_or(&segment->free_map[chunk / 64], 1ull << chunk % 64, __ATOMIC_RELEASE);
	return 0;
}

/* Else what is not there yet when it is wanted is a hole. */
static bool recycles_detail(const struct ada_segment *segment)
{
	return segment->shm->detail_mode == ADA_DETAIL_CIRCULAR &&
	       __atomic_load_n(&segment->shm->detail.pin.start, __ATOMIC_RELAXED) >= ADA_PIN_NONE;
}

/* Several threads may come here at once: memory that is there already is allocated again for nothing. */
static int detail_allocate(struct ada_segment *segment, uint32_t end, bool huge)
{
	uint32_t ready = __atomic_load_n(&segment->detail_ready, __ATOMIC_ACQUIRE);
	uint64_t from = (uint64_t)ready * segment->detail_chunk_bytes, to = (uint64_t)end * segment->detail_chunk_bytes;
	/* No chunk size divides a huge page: up to the end of the last one that is begun. */
	uint64_t all = (uint64_t)segment->detail_chunks * segment->detail_chunk_bytes, up = huge_up(to) < all ? huge_up(to) : all;
	if (huge && end > ready)
		collapse(segment, segment->detail_pool + from, up - from);
	int rc = end > ready ? allocate(segment, segment->detail_pool + from, to - from) : 0;
	while (!rc && ready < end && !__atomic_compare_exchange_n(&segment->detail_ready, &ready, end, true, __ATOMIC_RELEASE,
								   __ATOMIC_ACQUIRE))
		;
	return rc;
}

/* Memory for what the agent took by itself, which as a rule has it. */
static uint32_t detail_catch_up(struct ada_segment *segment)
{
	if (!__atomic_load_n(&segment->detail_exhausted, __ATOMIC_ACQUIRE))
		detail_allocate(segment, ada_segment_detail_count(segment), false);
	return __atomic_load_n(&segment->detail_ready, __ATOMIC_ACQUIRE);
}

bool ada_segment_detail_is_resident(const struct ada_segment *segment, uint32_t chunk)
{
	unsigned char pages[ADA_CHUNK_BYTES * ADA_DETAIL_SCALE(ADA_DETAIL_STACK_MAX) / PAGE];
	uint8_t *start = segment->detail_pool + (uint64_t)chunk * segment->detail_chunk_bytes;
	size_t count = segment->detail_chunk_bytes / PAGE;
	/* The last one first: pages are made in order, and there may be many chunks without any. */
	if (count > sizeof(pages) || mincore(start + (count - 1) * PAGE, PAGE, pages) || !(*pages & 1) ||
	    mincore(start, segment->detail_chunk_bytes, pages))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!(pages[i] & 1))
			return false;
	/* Next time without asking. */
	__atomic_compare_exchange_n((uint32_t *)&segment->detail_ready, &chunk, chunk + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return true;
}

bool ada_segment_detail_reach(const struct ada_segment *segment, uint32_t chunk)
{
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

static void grow_detail(struct ada_segment *segment, uint32_t step)
{
	uint32_t first = detail_catch_up(segment), left = segment->detail_chunks - first;
	uint32_t count = step < left ? step : left, front = __atomic_load_n(&segment->shm->detail_front, __ATOMIC_ACQUIRE);
	uint64_t bytes = (uint64_t)count * segment->detail_chunk_bytes;
	struct statvfs room;
	bool spare = !fstatvfs(segment->fd, &room) && (!room.f_blocks || (room.f_bavail > room.f_blocks / SPARED &&
		     (room.f_bavail - room.f_blocks / SPARED) * room.f_frsize >= bytes));
	if (!count)
		return;
	if (!spare || detail_allocate(segment, first + count, true)) {
		detail_end(segment);
		return;
	}
	/* What the agent has taken of it meanwhile is the agent's. */
	while (front < first + count && !__atomic_compare_exchange_n(&segment->shm->detail_front, &front, first + count, true,
								      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	for (uint32_t chunk = front; chunk < first + count; chunk++)
		__atomic_fetch_or(&segment->detail_free_map[chunk / 64], 1ull << chunk % 64, __ATOMIC_RELEASE);
	/* An agent that found none looks again when this changes. */
	__atomic_fetch_add(&segment->shm->detail_returned, 1, __ATOMIC_RELEASE);
}

static int grow_threads(struct ada_segment *segment)
{
	int rc = allocate(segment, &segment->threads[segment->threads_ready], THREADS_STEP * sizeof(*segment->threads));
	if (!rc)
		segment->threads_ready += THREADS_STEP;
	return rc;
}

static int grow_modules(struct ada_segment *segment)
{
	int rc = allocate(segment, &segment->modules[segment->modules_ready], MODULES_STEP * sizeof(*segment->modules));
	if (!rc)
		segment->modules_ready += MODULES_STEP;
	return rc;
}

int ada_segment_policy_room(struct ada_segment *segment, uint64_t offset, uint64_t bytes)
{
	uint64_t first = offset & ~(PAGE - 1), length = page_up(offset + bytes - first);
	/* As faults: an fallocate would wait until the grower's, of the same file, has all its memory. */
	if (!madvise(segment->policy + first, length, MADV_POPULATE_WRITE))
		return 0;
	return allocate(segment, segment->policy + first, length);
}

/* What every hook reads: marks, the empty table 0 with the flags of function 0, the states. */
static int policy_begin(struct ada_segment *segment)
{
	return allocate(segment, segment->marks, ADA_MARKS * sizeof(struct ada_mark)) ?:
	       ada_segment_policy_room(segment, 0, ADA_POLICY_MASKS + PAGE) ?:
	       ada_segment_policy_room(segment, ADA_POLICY_CLASSES, PAGE) ?:
	       ada_segment_policy_room(segment, ADA_POLICY_FLAGS, PAGE) ?:
	       ada_segment_policy_room(segment, ADA_POLICY_STATES, ADA_RULES_MAX * sizeof(struct ada_rule_state));
}

static int create_file(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd, struct ada_error *error)
{
	char path[96];
	snprintf(segment->name, sizeof(segment->name), "/ada-%u-%u-%u", options->session, options->pid, options->provider);
	snprintf(path, sizeof(path), "/dev/shm%s", segment->name);
	unlink(path);			/* of a recorder that had our pid and is gone */
	segment->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (segment->fd < 0)
		return ada_error_system(error, errno, "%s: no shared memory", path);
	/* Not a dup: ada_segment_in_use counts open files. */
	*agent_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return *agent_fd < 0 ? ada_error_system(error, errno, "%s", path) : 0;
}

/* At a multiple of a huge page's size: the kernel itself sees to that only where a setting lets all of /dev/shm have them. */
static void *map_aligned(const struct ada_segment *segment)
{
	uint64_t bytes = page_up(segment->total_bytes);
	uint8_t *room = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return mmap(NULL, segment->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, segment->fd, 0);
	uint8_t *start = (uint8_t *)huge_up((uintptr_t)room), *room_end = room + bytes + HUGE_PAGE;
	void *memory = mmap(start, segment->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, segment->fd, 0);
	if (memory == MAP_FAILED) {
		munmap(room, bytes + HUGE_PAGE);
		return memory;
	}
	if (start > room)
		munmap(room, (size_t)(start - room));
	munmap(start + bytes, (size_t)(room_end - start) - bytes);
	return memory;
}

int ada_segment_create(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd, struct ada_error *error)
{
	struct ada_shm layout = { 0 };
	*segment = (struct ada_segment){ .fd = -1 };
	*agent_fd = -1;
	lay_out(segment, &layout, options);
	int rc = create_file(segment, options, agent_fd, error);
	if (rc)
		goto fail;
	if (ftruncate(segment->fd, (off_t)segment->total_bytes)) {
		rc = ada_error_system(error, errno, "/dev/shm");
		goto fail;
	}
	void *memory = map_aligned(segment);
	if (memory == MAP_FAILED) {
		rc = ada_error_system(error, errno, "/dev/shm");
		goto fail;
	}
	point(segment, memory, &layout);
	rc = allocate(segment, memory, layout.modules_offset) ?: grow_modules(segment) ?: grow_threads(segment) ?:
	     policy_begin(segment) ?:
	     (segment->detail_chunks ? allocate(segment, segment->detail_free_map, segment->maps_end - layout.detail_free_offset) : 0) ?:
	     grow_chunks(segment, CHUNKS_AT_START);
	if (rc) {
		rc = ada_error_system(error, -rc, "no room in /dev/shm for a buffer (df /dev/shm)");
		goto fail;
	}
	layout.index_mode = options->index_mode;
	layout.on_full = options->on_full;
	layout.pid = options->pid;
	layout.provider = options->provider;
	layout.recorder_pid = (uint32_t)getpid();
	layout.policy_flags = layout.policy_offset + ADA_POLICY_FLAGS - offsetof(struct ada_shm, policy_flags);
	layout.detail.pin.start = ADA_PIN_NONE;
	layout.detail.own_start = UINT64_MAX;
	*segment->shm = layout;
	grow_detail(segment, recycles_detail(segment) ? DETAIL_AT_START : DETAIL_AHEAD);
	return 0;
fail:
	if (*agent_fd >= 0)
		close(*agent_fd);
	ada_segment_destroy(segment);
	return rc;
}

void ada_segment_destroy(struct ada_segment *segment)
{
	if (segment->shm)
		munmap(segment->shm, segment->total_bytes);
	if (segment->fd >= 0) {
		close(segment->fd);
		shm_unlink(segment->name);
	}
	*segment = (struct ada_segment){ .fd = -1 };
}

static uint32_t bits_set(const uint64_t *map, uint32_t bits)
{
	uint32_t count = 0;
	for (uint32_t word = 0; word < (bits + 63) / 64; word++)
		count += (uint32_t)__builtin_popcountll(__atomic_load_n(&map[word], __ATOMIC_RELAXED));
	return count;
}

/* Most processes are small; one that fills chunks soon wants many: as many again as it has. 0: enough for now. */
static uint32_t detail_wanted(struct ada_segment *segment)
{
	uint32_t ready = detail_catch_up(segment), free = bits_set(segment->detail_free_map, segment->detail_chunks);
	uint32_t used = free < ready ? ready - free : 0;
	uint32_t ahead = used < 2 ? DETAIL_AT_START : used < DETAIL_AHEAD ? DETAIL_AHEAD : 2 * DETAIL_AHEAD;
	if (ready == segment->detail_chunks || segment->detail_exhausted || free >= ahead)
		return 0;
	return used < DETAIL_STEP ? DETAIL_STEP : used < DETAIL_STEP_MAX ? used : DETAIL_STEP_MAX;
}

/* Each process gets as much ahead as a fast one needs, while there is plenty; a crowd would take all the machine's memory, so
 * beyond half of /dev/shm only those get it that have begun to fill what they have. */
static bool chunks_wanted(const struct ada_segment *segment)
{
	struct statvfs room;
	uint32_t free = bits_set(segment->free_map, segment->chunks);
	if (segment->chunks_ready == segment->chunks || free >= CHUNKS_AHEAD)
		return false;
	if (segment->chunks_ready - free > 1)
		return true;
	return fstatvfs(segment->fd, &room) || !room.f_blocks || room.f_bavail > room.f_blocks / 2;
}

bool ada_segment_grow(struct ada_segment *segment)
{
	if (segment->exhausted)
		return false;
	int rc = 0;
	bool again = false;
	if (segment->threads_ready < ADA_THREADS_MAX &&
	    __atomic_load_n(&segment->shm->thread_count, __ATOMIC_RELAXED) + THREADS_STEP / 2 > segment->threads_ready)
		rc = grow_threads(segment);
	if (!rc && segment->modules_ready < ADA_MODULES_MAX &&
	    __atomic_load_n(&segment->shm->module_count, __ATOMIC_RELAXED) + MODULES_STEP / 2 > segment->modules_ready)
		rc = grow_modules(segment);
	if (!rc && chunks_wanted(segment)) {
		rc = grow_chunks(segment, CHUNKS_STEP);
		again = true;
	}
	if (rc)
		segment->exhausted = true;
	/* The index comes first. An agent that finds no free chunk of detail makes one itself, which takes it longer. */
	uint32_t detail = rc ? 0 : detail_wanted(segment);
	if (detail) {
		grow_detail(segment, detail);
		again = true;
	}
	return again && !rc;
}

bool ada_segment_in_use(const struct ada_segment *segment)
{
	/* A write lease is granted only where no other open file of the inode exists; a mapping holds one. */
	if (fcntl(segment->fd, F_SETLEASE, F_WRLCK))
		return errno == EAGAIN;
	fcntl(segment->fd, F_SETLEASE, F_UNLCK);
	return false;
}

void ada_segment_leave(struct ada_segment *segment)
{
	__atomic_store_n(&segment->shm->stop, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&segment->shm->recorder_pid, 0, __ATOMIC_RELEASE);
	__atomic_fetch_add(&segment->shm->returned, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &segment->shm->returned, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ada_segment_chunk_return(struct ada_segment *segment, uint32_t chunk)
{
	__atomic_store_n(&ada_segment_chunk(segment, chunk)->status, ADA_CHUNK_FREE, __ATOMIC_RELAXED);
	/* Orders all reads of the chunk, and its status, before the agent may take it. */
	__atomic_fetch_or(&segment->free_map[chunk / 64], 1ull << chunk % 64, __ATOMIC_RELEASE);
	__atomic_fetch_add(&segment->shm->returned, 1, __ATOMIC_RELEASE);
	if (segment->shm->on_full == ADA_ON_FULL_BLOCK)
		syscall(SYS_futex, &segment->shm->returned, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void ada_segment_detail_return(struct ada_segment *segment, uint32_t chunk)
{
	__atomic_store_n(&ada_segment_detail_chunk(segment, chunk)->status, ADA_DETAIL_FREE, __ATOMIC_RELAXED);
	/* Orders all reads of the chunk, and its status, before the agent may take it. */
	__atomic_fetch_or(&segment->detail_free_map[chunk / 64], 1ull << chunk % 64, __ATOMIC_RELEASE);
	__atomic_fetch_add(&segment->shm->detail_returned, 1, __ATOMIC_RELEASE);
}
