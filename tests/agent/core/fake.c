/* A recorder inside the test: fake.h. */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "abi/plan.h"
#include "agent/hook/hook.h"
#include "agent/record/lane.h"
#include "fake.h"

#define THREADS 131072
#define HUGE_PAGE (2ull << 20)
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

struct open_call {
	uint64_t function;
	uint32_t depth;
};
struct follow {
	struct fake_counts counts;
	uint64_t next_seq, last;
	uint32_t tid;
	struct open_call *open;
	uint64_t open_room;
};

static struct ada_shm *shm;
static uint8_t *detail_done;
static struct follow *follows;
static pthread_mutex_t drain_lock = PTHREAD_MUTEX_INITIALIZER;
void (*fake_see_detail)(const struct ada_event *event, const struct ada_detail *record, const struct ada_detail_view *view);
bool fake_detail_checked;
void (*fake_see)(uint32_t thread, const struct ada_event *event);
bool (*fake_hookable)(uint64_t return_address);
void (*fake_forked)(void);
void (*fake_judge)(const struct ada_judged *event);
struct fake_detail fake_detail;
uint32_t fake_small;
bool fake_poison, fake_no_vectors, fake_red_zone;

static bool text_is_hookable(uint64_t return_address)
{
	return !fake_hookable || fake_hookable(return_address);
}

/* Linked with --wrap=ada_judge. */
void __wrap_ada_judge(const struct ada_judged *event);
void __real_ada_judge(const struct ada_judged *event);

void __wrap_ada_judge(const struct ada_judged *event)
{
	if (fake_judge)
		fake_judge(event);
	else
		__real_ada_judge(event);
}

ADA_SLOW static void forked_slow(void)
{
	if (fake_forked)
		fake_forked();
}

static uint64_t huge_up(uint64_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

/* As the recorder and the agent do it: pools and mapping at multiples of a huge page. */
static void *map_aligned(int fd, uint64_t bytes)
{
	char *room = mmap(NULL, bytes + 2 * HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (room == MAP_FAILED)
		abort();
	return mmap((void *)huge_up((uintptr_t)room), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
}

/* Policy and detail lane, from `offset` on; returns their end. */
static uint64_t detail_lay_out(struct ada_shm *made, uint64_t offset)
{
	made->marks_offset = offset;
	made->policy_offset = offset += ADA_MARKS * sizeof(struct ada_mark);
	made->policy_flags = made->policy_offset + ADA_POLICY_FLAGS - offsetof(struct ada_shm, policy_flags);
	offset += ADA_POLICY_BYTES;
	made->detail.pin.start = ADA_PIN_NONE;
	made->detail.own_start = UINT64_MAX;
	made->detail_free_offset = made->detail_sealed_offset = made->detail_offset = offset;
	if (!fake_detail.chunks)
		return offset;
	made->detail_chunks = fake_detail.chunks;
	made->detail_front = fake_detail.chunks; /* all there is lies in the bitmap */
	made->detail_stack_bytes = fake_detail.stack;
	made->detail_return_stack_bytes = fake_detail.at_call ? 0 : fake_detail.stack;
	made->detail_mode = fake_detail.mode;
	made->detail_chunk_bytes = ADA_DETAIL_CHUNK_BYTES(fake_detail.stack, made->detail_return_stack_bytes);
	made->detail_small_chunks = made->detail_small_front = fake_small;
	made->detail_sealed_offset = offset += (ada_chunk_numbers(fake_detail.chunks, fake_small) + 63) / 64 * 8;
	made->detail_small_sealed_offset = offset += fake_detail.chunks * 8ull;
	made->detail_offset = offset = huge_up(offset + fake_small * 8ull);
	return offset + (uint64_t)fake_detail.chunks * made->detail_chunk_bytes;
}

static void free_set(uint64_t *words, uint32_t chunks, uint32_t small)
{
	for (uint32_t i = 0; i < chunks; i++)
		words[i / 64] |= 1ull << i % 64;
	for (uint32_t i = ada_small_first(chunks); i < ada_small_first(chunks) + small; i++)
		words[i / 64] |= 1ull << i % 64;
}

struct ada_shm *fake_begin(uint32_t chunks, uint32_t mode, uint32_t on_full)
{
	uint32_t numbers = ada_chunk_numbers(chunks, fake_small);
	uint64_t free_bytes = (numbers + 63) / 64 * 8, sealed_bytes = numbers * 8ull;
	uint64_t threads_bytes = ADA_THREADS_BYTES, offset = 4096, total;
	struct ada_shm made = { .magic = ADA_SHM_MAGIC,
				.version = ADA_WIRE_VERSION,
				.header_bytes = sizeof made,
				.index_chunks = chunks,
				.chunk_bytes = ADA_CHUNK_BYTES,
				.index_mode = mode,
				.on_full = on_full,
				.poison = fake_poison,
				.pid = getpid(),
				.recorder_pid = getpid(),
				.index_front = chunks,
				.small_chunks = fake_small,
				.small_front = fake_small };
	uint64_t *words;
	int fd = memfd_create("ada", MFD_CLOEXEC);

	made.free_offset = offset;
	offset += (free_bytes + 63) & ~63ull;
	made.sealed_offset = offset;
	offset += (sealed_bytes + 4095) & ~4095ull;
	made.threads_offset = offset;
	offset += threads_bytes;
	made.index_offset = offset = huge_up(offset);
	offset = detail_lay_out(&made, offset + (uint64_t)chunks * ADA_CHUNK_BYTES);
	made.small_offset = offset;
	made.detail_small_offset = offset += (uint64_t)fake_small * ADA_SMALL_BYTES + ADA_SMALL_BEHIND;
	offset += (uint64_t)made.detail_small_chunks * ADA_DETAIL_SMALL(made.detail_chunk_bytes);
	made.total_bytes = total = offset;
	if (fd < 0 || ftruncate(fd, total))
		abort();
	shm = map_aligned(fd, total);
	if (shm == MAP_FAILED)
		abort();
	close(fd);
	*shm = made;
	words = (uint64_t *)((char *)shm + made.free_offset);
	free_set(words, chunks, fake_small);
	words = (uint64_t *)((char *)shm + made.detail_free_offset);
	free_set(words, made.detail_chunks, made.detail_small_chunks);
	free(detail_done);
	detail_done = calloc(ada_chunk_numbers(made.detail_chunks, made.detail_small_chunks) + 1, 1);
	follows = mmap(NULL, THREADS * sizeof *follows, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ada_above = (struct ada_above){ ada_stubs, ada_region_pass_calls, ada_region_near_known, text_is_hookable, forked_slow, NULL };
	if (ada_core_shm())
		ada_core_forked(); /* all threads but the caller must be gone */
	else
		ada_core_thread_start_hook();
	ada_core_attach(shm);
	return shm;
}

void fake_use(struct ada_shm *used)
{
	ada_core_thread_end();
	ada_core_forked();
	shm = used;
	ada_core_attach(shm);
	/* This process has the pages of every segment that it used. */
	madvise(shm, shm->total_bytes, MADV_POPULATE_WRITE);
	madvise((char *)shm + shm->index_offset, (shm->total_bytes - shm->index_offset) & ~(HUGE_PAGE - 1), MADV_COLLAPSE);
	memset(ada_core->touched, 0xff, sizeof ada_core->touched);
	memset(ada_core->detail_touched, 0xff, sizeof ada_core->detail_touched);
}

/* --- hooks ------------------------------------------------------------------------------------------------------------- */

static uint32_t functions_used = 1;
uint16_t fake_free_at_entry, fake_free_at_exit;

__attribute__((constructor)) static void free_registers(void)
{
	const uint16_t values = 1 << ADA_REGISTER_R10 | 1 << ADA_REGISTER_R11 | 1 << ADA_REGISTER_FLAGS;
	const char *name = getenv("FAKE_FREE");

	fake_no_vectors = getenv("FAKE_PLAIN");
	if (!name)
		return;
	fake_free_at_entry = fake_free_at_exit = 1 << ADA_REGISTER_FLAGS;
	if (strcmp(name, "flags")) {
		fake_free_at_entry = values | 1 << ADA_REGISTER_RAX;
		fake_free_at_exit = values | 1 << ADA_REGISTER_RSI | 1 << ADA_REGISTER_R8;
	}
	if (!strcmp(name, "all"))
		fake_free_at_entry |= 1 << ADA_REGISTER_RCX | 1 << ADA_REGISTER_RDX;
}

static bool hook_one(struct ada_region *region, uint8_t *function)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa }, nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90 };
	static const uint8_t nop5[] = { 0x0f, 0x1f, 0x44, 0x00 };
	uint8_t body[5] = { 0xe9 }, jump[5] = { 0xe9 }, *copy;
	struct ada_hook_spec spec = { .function_id = ADA_FUNCTION_ID(1, functions_used),
				      .number = functions_used,
				      .body = body,
				      .body_bytes = 5,
				      .free_at_entry = fake_free_at_entry,
				      .free_at_exit = fake_free_at_exit,
				      .reads_vectors = !fake_no_vectors,
				      .red_zone = fake_red_zone };
	uint64_t entry;
	int32_t distance;

	if (!memcmp(function, endbr64, 4))
		function += 4;
	spec.original = (uint64_t)function;
	if (memcmp(function, nops, 5) && memcmp(function, nop5, 4))
		return false;
	if (ada_region_hook(region, &spec, &entry, &copy))
		abort();
	distance = function + 5 - (copy + 5);
	memcpy(copy + 1, &distance, 4);
	distance = entry - ((uint64_t)function + 5);
	memcpy(jump + 1, &distance, 4);
	if (mprotect((void *)((uint64_t)function & ~4095ull), 8192, PROT_READ | PROT_WRITE | PROT_EXEC))
		abort();
	memcpy(function, jump, 5);
	functions_used++;
	return true;
}

int fake_hook(void *const *begin, void *const *end)
{
	struct ada_region *region;
	int hooked = 0;

	if (begin == end)
		return 0;
	if (!ada_find_object_start((uint64_t)dlsym(RTLD_NEXT, "_dl_find_object")))
		abort();
	if (ada_region_reserve(&region, (uint64_t)*begin, (uint64_t)end[-1], (end - begin) * ada_region_cells(5, fake_red_zone)))
		abort();
	for (; begin < end; begin++)
		hooked += hook_one(region, *begin);
	if (ada_region_seal(region))
		abort();
	return hooked;
}

struct ada_detail_chunk *fake_detail_chunk(uint32_t number)
{
	if (number < shm->detail_chunks)
		return (struct ada_detail_chunk *)((char *)shm + shm->detail_offset + (uint64_t)number * shm->detail_chunk_bytes);
	number -= ada_small_first(shm->detail_chunks);
	return (struct ada_detail_chunk *)((char *)shm + shm->detail_small_offset +
					   (uint64_t)number * ADA_DETAIL_SMALL(shm->detail_chunk_bytes));
}

struct ada_chunk *fake_chunk(uint32_t number)
{
	if (number < shm->index_chunks)
		return (struct ada_chunk *)((char *)shm + shm->index_offset + (uint64_t)number * ADA_CHUNK_BYTES);
	return (struct ada_chunk *)((char *)shm + shm->small_offset +
				    (uint64_t)(number - ada_small_first(shm->index_chunks)) * ADA_SMALL_BYTES);
}

uint32_t fake_frames(void)
{
	return ada_self->index ? ada_frames(ada_self) : 0;
}

uint32_t fake_tid(void)
{
	return ada_sys_tid();
}

/* --- drain ------------------------------------------------------------------------------------------------------------- */

static void opened(struct follow *follow, const struct ada_event *event)
{
	if (follow->counts.open == follow->open_room) {
		follow->open_room = follow->open_room ? 2 * follow->open_room : 64;
		follow->open = realloc(follow->open, follow->open_room * sizeof *follow->open);
	}
	follow->open[follow->counts.open++] = (struct open_call){ event->function_id, event->call_depth };
}

static void closed(struct follow *follow, const struct ada_event *event)
{
	uint64_t at = follow->counts.open;

	while (at && (follow->open[at - 1].function != event->function_id || follow->open[at - 1].depth != event->call_depth))
		at--;
	if (!at) {
		follow->counts.errors++;
		return;
	}
	memmove(&follow->open[at - 1], &follow->open[at], (follow->counts.open - at) * sizeof *follow->open);
	follow->counts.open--;
}

/* Whether the record of an event that is in the chunk at offset `at` is as far as can be known here what it should be. *record_at: where it
 * begins in the detail chunk; goes on to the next one.
 * `seen`: it was looked at before. */
static bool detail_agrees(const struct ada_chunk *chunk, uint32_t at, uint32_t *record_at, bool seen)
{
	const struct ada_event *event = (const struct ada_event *)((const char *)chunk + at);
	uint32_t bytes = chunk->detail < shm->detail_chunks ? shm->detail_chunk_bytes : ADA_DETAIL_SMALL(shm->detail_chunk_bytes);
	const struct ada_detail *record;
	struct ada_detail_view view;

	if (chunk->detail == ADA_NONE)
		return true;
	record = (const struct ada_detail *)((const char *)fake_detail_chunk(chunk->detail) + *record_at);
	view = ada_detail_read(record, bytes - *record_at);
	*record_at += view.bytes;
	if (seen)
		return view.bytes;
	if (event->detail_seq == ADA_NO_DETAIL)
		return view.bytes == ADA_DETAIL_NONE_BYTES;
	if (fake_see_detail)
		fake_see_detail(event, record, &view);
	return view.kind == event->event_kind && record->counter == event->timestamp_ns && view.function_id == event->function_id &&
	       view.stack_size <= shm->detail_stack_bytes &&
	       (!view.vectors == (view.kind != ADA_EVENT_CALL) || (fake_no_vectors && !view.vectors));
}

static struct ada_event event_of(const struct ada_chunk *chunk, uint32_t at)
{
	const struct ada_shm_thread *entries = (const struct ada_shm_thread *)((char *)shm + shm->threads_offset);
	struct ada_event event = *(const struct ada_event *)((const char *)chunk + at);

	event.thread_id = entries[chunk->entry].thread_id;
	event.call_depth /= ADA_EVENT_DEPTH_UNIT;
	event.detail_seq = chunk->detail == ADA_NONE ? ADA_NO_DETAIL : event.detail_seq;
	return event;
}

static void event_take(uint32_t thread, const struct ada_event *event)
{
	struct follow *follow = &follows[thread];

	if (follow->tid == 0)
		follow->tid = event->thread_id;
	follow->counts.errors += event->timestamp_ns < follow->last || event->thread_id != follow->tid;
	follow->counts.detailed += event->detail_seq != ADA_NO_DETAIL;
	follow->last = event->timestamp_ns;
	follow->next_seq++;
	follow->counts.events++;
	if (event->event_kind == ADA_EVENT_CALL) {
		follow->counts.calls++;
		opened(follow, event);
	} else if (event->event_kind == ADA_EVENT_RETURN || event->event_kind == ADA_EVENT_EXCEPTION) {
		*(event->event_kind == ADA_EVENT_RETURN ? &follow->counts.returns : &follow->counts.exceptions) += 1;
		closed(follow, event);
	} else if (event->event_kind == ADA_EVENT_RECORDER) {
		follow->counts.waits++;
		follow->counts.errors += !event->function_id;
	} else if (event->event_kind == ADA_EVENT_LOST) {
		follow->counts.lost_events++;
		follow->counts.lost += event->function_id;
		while (follow->counts.open && follow->open[follow->counts.open - 1].depth >= event->call_depth)
			follow->counts.open--;
	} else {
		follow->counts.errors++;
	}
	if (fake_see)
		fake_see(thread, event);
}

static void chunk_take(uint32_t number)
{
	struct ada_chunk *chunk = fake_chunk(number);
	uint32_t end = ada_chunk_end(chunk), begin = ada_chunk_begin(shm->index_chunks, number);
	struct follow *follow = &follows[chunk->thread];
	uint64_t seq = chunk->first_seq + (begin - ADA_CHUNK_HEADER_BYTES) / 32;
	uint32_t record_at = ADA_DETAIL_RECORDS_BEGIN;

	for (uint32_t at = begin; at < end; at += 32, seq++) {
		bool seen = seq < follow->next_seq;
		struct ada_event event;

		if (fake_detail_checked)
			follow->counts.errors += !detail_agrees(chunk, at, &record_at, seen);
		if (seen)
			continue;
		event = event_of(chunk, at);
		event_take(chunk->thread, &event);
	}
}

/* Streaming: a detail chunk goes back when both it has been taken out of its ring and its index chunk has been read. */
void fake_detail_give_back(uint32_t number)
{
	uint64_t *words = (uint64_t *)((char *)shm + shm->detail_free_offset);

	fake_detail_chunk(number)->status = ADA_DETAIL_FREE;
	ada_map_give(words, number);
	__atomic_fetch_add(&shm->detail_returned, 1, __ATOMIC_RELEASE);
}

static void detail_half_done(uint32_t number)
{
	if (number == ADA_NONE || shm->detail_mode != ADA_DETAIL_STREAMING || ++detail_done[number] < 2)
		return;
	detail_done[number] = 0;
	fake_detail_give_back(number);
}

static void drain_details(void)
{
	struct ada_ring ring = { .entries = (uint64_t *)((char *)shm + shm->detail_sealed_offset),
				 .head = &shm->detail.sealed_head,
				 .tail = &shm->detail.sealed_tail,
				 .count = shm->detail_chunks };
	uint32_t number;

	while (shm->detail_mode == ADA_DETAIL_STREAMING && ada_ring_take_oldest(&ring, &number))
		detail_half_done(number);
}

static bool drain_sealed(void)
{
	struct ada_ring ring = { .entries = (uint64_t *)((char *)shm + shm->sealed_offset),
				 .head = &shm->sealed_head,
				 .tail = &shm->sealed_tail,
				 .count = ada_chunk_numbers(shm->index_chunks, shm->small_chunks) };
	uint64_t *words = (uint64_t *)((char *)shm + shm->free_offset), tail;
	uint32_t chunk;
	bool any = false;

	while (ada_ring_oldest(&ring, &tail, &chunk)) {
		struct ada_chunk *at = fake_chunk(chunk);

		chunk_take(chunk);
		detail_half_done(at->detail);
		drain_details(); /* its detail chunk is there already, and goes back first: as many suffice */
		shm->sealed_tail++;
		at->status = ADA_CHUNK_FREE;
		ada_map_give(words, chunk);
		__atomic_fetch_add(&shm->returned, 1, __ATOMIC_RELEASE);
		ada_sys4(SYS_futex, (long)&shm->returned, FUTEX_WAKE, 1000, 0);
		any = true;
	}
	drain_details();
	return any;
}

void fake_drain(void)
{
	struct ada_shm_thread *entries = (struct ada_shm_thread *)((char *)shm + shm->threads_offset);

	pthread_mutex_lock(&drain_lock);
	drain_sealed();
	for (uint32_t i = 0; i < shm->thread_count; i++) {
		uint32_t chunk = __atomic_load_n(&entries[i].chunk, __ATOMIC_ACQUIRE);

		if (chunk != UINT32_MAX && entries[i].status)
			chunk_take(chunk);
	}
	pthread_mutex_unlock(&drain_lock);
}

static pthread_t drainer;
static bool draining;

static void *drain_loop(void *unused)
{
	while (__atomic_load_n(&draining, __ATOMIC_ACQUIRE)) {
		bool any;

		pthread_mutex_lock(&drain_lock);
		any = drain_sealed();
		pthread_mutex_unlock(&drain_lock);
		if (!any)
			usleep(500);
	}
	return NULL;
}

void fake_drain_start(void)
{
	sigset_t all, old;

	draining = true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&drainer, NULL, drain_loop, NULL))
		abort();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void fake_drain_stop(void)
{
	__atomic_store_n(&draining, false, __ATOMIC_RELEASE);
	pthread_join(drainer, NULL);
}

struct fake_counts fake_count_tid(uint32_t tid)
{
	struct fake_counts sum = { 0 };

	for (uint32_t i = 0; i < shm->threads_seen; i++) {
		const struct fake_counts *one = &follows[i].counts;

		if (tid && follows[i].tid != tid)
			continue;
		sum.events += one->events;
		sum.detailed += one->detailed;
		sum.waits += one->waits;
		sum.calls += one->calls;
		sum.returns += one->returns;
		sum.exceptions += one->exceptions;
		sum.lost_events += one->lost_events;
		sum.lost += one->lost;
		sum.open += one->open;
		sum.errors += one->errors;
	}
	return sum;
}

struct fake_counts fake_count(void)
{
	return fake_count_tid(0);
}
