/* The detail lane: its chunks, taken and sealed together with the index chunks (chunk.c), and the records of events that C code
 * writes. Layouts, states and who waits for whom: abi/detail.h.
 *
 * What orders what, besides the pool's own (abi/ring.h)
 *   OPEN       after the header is whole (release)
 *   SEALED     after the last record and the header's last fields (release); the detail chunk first, so that no one who finds it
 *              OPEN looks up its length in an index chunk that is another thread's by now
 *   CLAIMED    before the pin is read (full barrier): a marker that widens the pin after that meets CLAIMED, and waits
 *   horizon    before OPEN of what was recycled: whoever finds the old records gone finds why
 */
#include "abi/page.h"
#include "agent/record/lane.h"

static struct ada_detail_chunk *chunk_at(const struct ada_core *core, uint32_t number)
{
	if (number < core->detail.count)
		return (struct ada_detail_chunk *)(core->detail.chunks + (uint64_t)number * core->detail.chunk_bytes);
	number -= ada_small_first(core->detail.count);
	return (struct ada_detail_chunk *)(core->detail_small.chunks + (uint64_t)number * core->detail_small.chunk_bytes);
}

/* The pool of a chunk; *number becomes the chunk's number there. */
static struct ada_pool *pool_of(struct ada_core *core, uint32_t *number)
{
	if (*number < core->detail.count)
		return &core->detail;
	*number -= ada_small_first(core->detail.count);
	return &core->detail_small;
}

/* An empty bitmap is not searched again before a chunk has come back. */
static bool free_take(struct ada_core *core, uint32_t *number)
{
	uint64_t returned = __atomic_load_n(&core->shm->detail_returned, __ATOMIC_ACQUIRE) + 1ull;

	if (__atomic_load_n(&core->detail_scanned, __ATOMIC_RELAXED) == returned)
		return false;
	if (ada_pool_take(&core->detail, 0, number))
		return true;
	__atomic_store_n(&core->detail_scanned, returned, __ATOMIC_RELAXED);
	return false;
}

/* No history is recycled while there is room for it. */
static bool front_take(struct ada_core *core, uint32_t *number)
{
	if (ada_pool_extend(&core->detail, core->shm, number))
		return false;
	if (core->detail.step > 1)
		__atomic_fetch_add(&core->shm->detail_returned, 1, __ATOMIC_RELEASE);
	return true;
}

static void free_return(struct ada_core *core, uint32_t number)
{
	struct ada_pool *pool;

	ada_detail_status_set(chunk_at(core, number), ADA_DETAIL_FREE);
	pool = pool_of(core, &number);
	ada_map_give(pool->free_words, number);
	__atomic_fetch_add(&core->shm->detail_returned, 1, __ATOMIC_RELEASE);
}

/* Takes the oldest chunk that no pin holds; hands those that a pin holds over to the recorder. `first`: number of the pool's first. */
static bool recycle(struct ada_core *core, const struct ada_pool *pool, uint32_t first, uint32_t *number)
{
	struct ada_detail_control *control = &core->shm->detail;

	while (ada_ring_take_oldest(&pool->ring, number)) {
		struct ada_detail_chunk *chunk = chunk_at(core, *number += first);
		struct ada_pin pin;

		ada_detail_claim(chunk);
		pin = ada_pin_read(&control->pin);
		if (!ada_pin_holds(pin.start, pin.end, chunk->first_counter, chunk->last_counter) ||
		    !ada_judge_wants(core->shm, chunk->first_counter, chunk->last_counter)) {
			ada_horizon_raise(control, chunk->last_counter);
			__atomic_fetch_add(&control->discarded, 1, __ATOMIC_RELAXED);
			return true;
		}
		ada_detail_status_set(chunk, ADA_DETAIL_HELD);
	}
	return false;
}

/* A quarter of the pool stays free where it can: a mark may pin all sealed chunks at once, and events after the mark need room
 * until the recorder has seen the mark. The recorder may say that less history is enough. */
static uint64_t history_of(const struct ada_core *core)
{
	uint64_t most = core->detail.count - core->detail.count / 4, enough = __atomic_load_n(&core->shm->detail.history, __ATOMIC_RELAXED);

	return enough && enough < most ? enough : most;
}

static bool history_suffices(const struct ada_pool *pool, uint64_t history)
{
	uint64_t tail = __atomic_load_n(pool->ring.tail, __ATOMIC_RELAXED);

	return __atomic_load_n(pool->ring.head, __ATOMIC_RELAXED) - tail >= history;
}

/* There are as many small chunks as threads may want at once; their history takes at most a quarter of the ordinary chunks' room. */
static bool small_take(struct ada_core *core, uint32_t *number)
{
	const uint32_t first = ada_small_first(core->detail.count);
	const uint64_t history = core->detail.count * core->detail.chunk_bytes / core->detail_small.chunk_bytes / 4;
	bool circular = core->shm->detail_mode == ADA_DETAIL_CIRCULAR;

	if (circular && history_suffices(&core->detail_small, history) && recycle(core, &core->detail_small, first, number))
		return true;
	if (ada_pool_take(&core->detail_small, 0, number) || !ada_pool_extend(&core->detail_small, core->shm, number)) {
		*number += first;
		return true;
	}
	return circular && recycle(core, &core->detail_small, first, number);
}

static bool chunk_take(struct ada_core *core, bool small, uint32_t *number)
{
	bool circular = core->shm->detail_mode == ADA_DETAIL_CIRCULAR;

	if (small && small_take(core, number))
		return true;
	if (circular && history_suffices(&core->detail, history_of(core)) && recycle(core, &core->detail, 0, number))
		return true;
	if (free_take(core, number) || front_take(core, number))
		return true;
	if (circular && recycle(core, &core->detail, 0, number))
		return true;
	__atomic_fetch_add(&core->shm->detail.starved, 1, __ATOMIC_RELAXED);
	return false;
}

void ada_detail_open(struct ada_thread *thread, struct ada_chunk *index, uint32_t begin)
{
	uint64_t shift = begin - ADA_CHUNK_HEADER_BYTES;
	struct ada_core *core = ada_core;
	struct ada_detail_chunk *chunk;
	struct ada_pool *pool;
	uint32_t number;

	thread->detail = 0;
	index->detail = ADA_NONE;
	if (!ada_setup.detail_limit || !chunk_take(core, shift, &number))
		return;
	chunk = chunk_at(core, number);
	index->detail = thread->detail_chunk = number;
	pool = pool_of(core, &number);
	ada_pool_touch(pool, number);
	chunk->thread = index->thread;
	chunk->first_seq = index->first_seq + shift / ADA_EVENT_BYTES;
	chunk->first_counter = ada_sys_counter();
	chunk->last_counter = 0;
	chunk->previous_counter = thread->last_counter;
	chunk->records = 0;
	chunk->index_chunk = thread->chunk;
	ada_detail_status_set(chunk, ADA_DETAIL_OPEN);
	shift = shift ? core->detail.chunk_bytes - core->detail_small.chunk_bytes : 0;
	thread->detail = (uint64_t)chunk - shift;
	index->commit += (shift + ADA_DETAIL_RECORDS_BEGIN) / ADA_DETAIL_UNIT << ADA_COMMIT_DETAIL;
}

void ada_detail_close(struct ada_thread *thread, uint32_t events, uint64_t last_counter)
{
	struct ada_core *core = ada_core;
	struct ada_detail_chunk *chunk = chunk_at(core, thread->detail_chunk);
	uint32_t number = thread->detail_chunk;
	struct ada_pool *pool = pool_of(core, &number);

	if (events)
		thread->last_counter = last_counter;
	if (!thread->detail) {
		if (ada_setup.detail_limit)
			__atomic_fetch_add(&thread->entry->detail_dropped, events, __ATOMIC_RELAXED);
		return;
	}
	thread->detail = 0;
	if (!events) {
		free_return(core, thread->detail_chunk);
		return;
	}
	chunk->last_counter = last_counter;
	chunk->records = events;
	ada_detail_status_set(chunk, ADA_DETAIL_SEALED);
	ada_ring_put(&pool->ring, number);
}

/* --- records that C code writes ---------------------------------------------------------------------------------------- */

/* The bytes behind the slot that are surely there, as DETAIL_SNAPSHOT in hook.S counts them. */
static uint32_t stack_bytes(const struct ada_thread *thread, uint64_t slot, uint64_t bytes)
{
	const uint64_t start = slot + 8;
	uint64_t left;

	if (slot % ADA_PAGE_BYTES + 8 + bytes <= ADA_PAGE_BYTES)
		return bytes;
	if (start >= thread->stack_low && start <= thread->stack_high)
		left = thread->stack_high - start;
	else
		left = slot % ADA_PAGE_BYTES < ADA_PAGE_BYTES - 8 ? ADA_PAGE_BYTES - 8 - slot % ADA_PAGE_BYTES : 0;
	return left < bytes ? left & ~7ull : bytes;
}

static void call_write(struct ada_detail *record, const struct ada_registers *registers)
{
	record->x[0] = registers->rdi;
	record->x[1] = registers->rsi;
	record->x[2] = registers->rdx;
	record->x[3] = registers->rcx;
	record->x[4] = registers->r8;
	record->x[5] = registers->r9;
	record->x[6] = registers->rax;
	record->x[7] = registers->r10;
	/* These registers are the program's: no code of ours touches them. */
	__asm__ volatile(".irp n,0,1,2,3,4,5,6,7\n\tmovq %%xmm\\n,8*\\n(%0)\n\t.endr" ::"r"(&record->x[8]) : "memory");
}

static void return_write(struct ada_detail *record, const struct ada_registers *registers)
{
	record->x[0] = registers->rax;
	record->x[1] = registers->rdx;
	__asm__ volatile("movq %%xmm0,(%0)\n\tmovq %%xmm1,8(%0)" ::"r"(&record->x[2]) : "memory");
}

/* How many of the stack's bytes the event's record has where there are as many. */
static uint64_t stack_wanted(bool call, const struct ada_moment *moment)
{
	return call || moment->registers->rax - moment->slot <= ada_setup.detail_reach ? ada_setup.detail_stack : 0;
}

uint32_t ada_detail_write(const struct ada_thread *thread, uint64_t state, const struct ada_event *event, const struct ada_moment *moment)
{
	struct ada_detail *record = (struct ada_detail *)(thread->detail + (state >> ADA_COMMIT_DETAIL) * ADA_DETAIL_UNIT);
	const uint64_t *slot = (const uint64_t *)moment->slot;
	bool call = event->event_kind == ADA_EVENT_CALL;
	uint32_t stack, bytes = call ? ADA_DETAIL_LARGEST(0) : ADA_DETAIL_RETURN_BYTES;

	record->counter = event->timestamp_ns;
	record->meta = ADA_DETAIL_META(0, ADA_DETAIL_NONE_BYTES);
	if (!moment->registers || event->event_kind > ADA_EVENT_RETURN)
		return ADA_DETAIL_NONE_BYTES;
	stack = stack_bytes(thread, moment->slot, stack_wanted(call, moment));
	for (uint32_t at = 0; at < stack; at += 8)
		*(uint64_t *)((char *)record + bytes + at) = *(const uint64_t *)((const char *)(slot + 1) + at);
	bytes += ADA_DETAIL_ROOM(stack);
	record->meta = ADA_DETAIL_META(event->event_kind, bytes) | event->function_id | (call ? ADA_DETAIL_VECTORS : 0) |
		       (stack % ADA_DETAIL_UNIT ? ADA_DETAIL_HALF : 0);
	record->lr = ada_site_return_address(*slot);
	record->fp = moment->registers->rbp;
	record->sp = moment->slot;
	if (call)
		call_write(record, moment->registers);
	else
		return_write(record, moment->registers);
	return bytes;
}
