/* Chunks of the index lane: taken from the shared pool, filled by one thread, sealed. And the events that C code writes.
 *
 * What orders what, besides the pool's own (abi/ring.h): a chunk's status is OPEN after its header is whole (release), SEALED after
 * its last event (release).
 */
#include <sys/mman.h>
#include "agent/record/lane.h"

#define HELD_NS 1000000000ull /* no chunk sealed or given back for so long: whoever has the chunks keeps them */
#define FAST_TICKS (1u << 18) /* who fills a chunk in less does ten million events a second, where the counter counts 2.6 in a nanosecond */
#define LAP_CHUNKS 512u	      /* 16 MiB: more than a CPU keeps to itself */

static __thread uint64_t waited_ticks; /* that this thread has waited, and no RECORDER event has told yet */
static __thread uint64_t opened_ticks; /* the counter as this thread opened its last chunk */
static __thread uint64_t took_ticks;   /* how long it had had the one before */

static struct ada_chunk *chunk_at(const struct ada_core *core, uint32_t number)
{
	if (number < core->index.count)
		return (struct ada_chunk *)(core->index.chunks + (uint64_t)number * ADA_CHUNK_BYTES);
	return (struct ada_chunk *)(core->small.chunks + (uint64_t)(number - ada_small_first(core->index.count)) * ADA_SMALL_BYTES);
}

uint32_t ada_chunk_events(const struct ada_thread *thread)
{
	return (ada_state_event(ada_state(thread)) - ada_chunk_begin(ada_core->index.count, thread->chunk)) / ADA_EVENT_BYTES;
}

struct ada_chunk *ada_chunk_of(const struct ada_thread *thread)
{
	return thread->index == (uint64_t)&thread->parked ? NULL : (struct ada_chunk *)thread->index;
}

static void free_return(struct ada_core *core, uint32_t number)
{
	__atomic_store_n(&chunk_at(core, number)->status, ADA_CHUNK_FREE, __ATOMIC_RELAXED);
	if (number < core->index.count)
		ada_map_give(core->index.free_words, number);
	else
		ada_map_give(core->small.free_words, number - ada_small_first(core->index.count));
}

/* Circular mode: the oldest sealed chunk, of either class. */
static bool sealed_take(struct ada_core *core, uint32_t *number)
{
	if (!ada_ring_take_oldest(&core->ring, number))
		return false;
	__atomic_store_n(&chunk_at(core, *number)->status, ADA_CHUNK_FREE, __ATOMIC_RELEASE);
	return true;
}

/* Changes whenever a chunk may have become free. */
static uint64_t chunk_news(const struct ada_core *core)
{
	uint64_t news = __atomic_load_n(&core->shm->returned, __ATOMIC_ACQUIRE);

	if (core->shm->index_mode == ADA_INDEX_CIRCULAR)
		news += __atomic_load_n(&core->shm->sealed_head, __ATOMIC_ACQUIRE);
	return news;
}

static bool blocks(const struct ada_shm *shm)
{
	return shm->on_full == ADA_ON_FULL_BLOCK && shm->index_mode == ADA_INDEX_STREAMING;
}

/* Only a full buffer is worth waiting for: memory may never come, and idle threads may keep what they hold. */
static bool waits(const struct ada_thread *thread, const struct ada_shm *shm)
{
	return blocks(shm) && thread->dropping < ADA_LACK_MEMORY;
}

bool ada_chunk_hopeless(const struct ada_thread *thread)
{
	return thread->dropping && thread->index == (uint64_t)&thread->parked && !waits(thread, ada_core->shm) &&
	       thread->news == chunk_news(ada_core);
}

/* Where many threads live, each begins with small chunks, as long as there are any. */
static bool small_take(struct ada_core *core, struct ada_thread *thread, uint32_t *number)
{
	if (thread->small_taken >= ADA_SMALL_A_THREAD || thread->entry < core->entries + ADA_THREADS_LARGE)
		return false;
	if (!ada_pool_take(&core->small, 0, number) && ada_pool_extend(&core->small, core->shm, number))
		return false;
	*number += ada_small_first(core->index.count);
	thread->small_taken++;
	return true;
}

/* The drain has read what lies in a free chunk. Where the drain's CPU has other caches, the lines come back from there one after the other,
 * each in some 110 ns, however early they are asked for; from memory they come side by side. So a thread that is fast takes the chunk behind
 * its last one, and comes to none again before the drain's CPU has dropped it. Other threads keep few chunks in use. One chunk that takes long
 * is no sign: the thread may have lost its CPU. */
static uint32_t least_wanted(const struct ada_thread *thread)
{
	uint32_t next = thread->chunk + 1; /* 0: it had none */

	return next < LAP_CHUNKS && (ada_sys_counter() - opened_ticks < FAST_TICKS || took_ticks < FAST_TICKS) ? next : 0;
}

static enum ada_lack chunk_take(struct ada_thread *thread, uint32_t *number)
{
	struct ada_core *core = ada_core;
	uint64_t news = chunk_news(core);
	enum ada_lack lack = ADA_LACK_NONE;

	if (!small_take(core, thread, number) && !ada_pool_take(&core->index, least_wanted(thread), number))
		lack = ada_pool_extend(&core->index, core->shm, number);
	if (lack && core->shm->index_mode == ADA_INDEX_CIRCULAR && sealed_take(core, number))
		lack = ADA_LACK_NONE;
	if (!lack)
		return lack;
	thread->news = news;
	if (core->shm->index_mode == ADA_INDEX_ONESHOT) {
		if (lack == ADA_LACK_FULL)
			ada_core_disable(ADA_DISABLE_ONESHOT_FULL);
		else if (__atomic_load_n(&core->shm->memory_ends, __ATOMIC_RELAXED))
			ada_core_disable(ADA_DISABLE_MEMORY_LIMIT);
	}
	return lack;
}

/* --- one thread's chunk ----------------------------------------------------------------------------------------------- */

static void event_put(struct ada_thread *thread, struct ada_event event, const struct ada_moment *moment, struct ada_written *written)
{
	struct ada_chunk *chunk = ada_chunk_of(thread);
	uint64_t state = ada_state(thread);
	uint32_t at = ada_state_event(state);
	uint64_t detail = 0;

	/* A full barrier: whoever sees 0 has seen all that was committed at an earlier time. */
	__atomic_exchange_n(&thread->entry->writing, 1, __ATOMIC_SEQ_CST);
	event.timestamp_ns = ada_sys_counter();
	if (thread->detail)
		detail = ada_detail_write(thread, state, &event, moment);
	event.detail_seq = detail > ADA_DETAIL_NONE_BYTES ? 0 : ADA_NO_DETAIL;
	*(struct ada_event *)((char *)chunk + at) = event;
	ada_state_set(thread, state + ADA_EVENT_BYTES + (detail / ADA_DETAIL_UNIT << ADA_COMMIT_DETAIL));
	__atomic_store_n(&thread->entry->writing, 0, __ATOMIC_RELEASE);
	*written = (struct ada_written){ event.timestamp_ns, chunk->first_seq + at / ADA_EVENT_BYTES - ADA_EVENT_FIRST };
}

static void lost_tell(struct ada_thread *thread)
{
	uint64_t lost = thread->entry->lost;
	struct ada_written unused;

	if (lost == ada_lost_told)
		return;
	event_put(thread,
		  (struct ada_event){ .event_kind = ADA_EVENT_LOST,
				      .function_id = lost - ada_lost_told,
				      .call_depth = ada_frames(thread) * ADA_EVENT_DEPTH_UNIT },
		  &(struct ada_moment){ NULL, 0 }, &unused);
	ada_lost_told = lost;
}

/* A wait for the recorder is over: a RECORDER event, and calls in progress began so much later, for rules of latency. */
static void wait_tell(struct ada_thread *thread)
{
	uint64_t ticks = waited_ticks;
	struct ada_written unused;

	if (!ticks)
		return;
	waited_ticks = 0;
	for (int64_t i = 0; i < ada_frames(thread); i++)
		if (!ada_frame_is_unreturned(ada_frame_at(thread, i)))
			ada_frame_at(thread, i)->counter += ticks;
	event_put(thread,
		  (struct ada_event){
			  .event_kind = ADA_EVENT_RECORDER, .function_id = ticks, .call_depth = ada_frames(thread) * ADA_EVENT_DEPTH_UNIT },
		  &(struct ada_moment){ NULL, 0 }, &unused);
}

static void chunk_open(struct ada_thread *thread, uint32_t number)
{
	struct ada_core *core = ada_core;
	struct ada_chunk *chunk = chunk_at(core, number);
	uint32_t begin = ada_chunk_begin(core->index.count, number);
	uint64_t now;

	if (number < core->index.count)
		ada_pool_touch(&core->index, number);
	else
		ada_pool_touch(&core->small, number - ada_small_first(core->index.count));
	chunk->first_seq = ada_sequence + ADA_EVENT_FIRST - begin / ADA_EVENT_BYTES;
	chunk->thread = thread->id;
	chunk->entry = thread->entry - core->entries;
	chunk->commit = ada_state_at(ada_state(thread), begin);
	thread->chunk = number;
	now = ada_sys_counter();
	took_ticks = now - opened_ticks;
	opened_ticks = now;
	ada_judge_chunk(ada_sequence, now);
	ada_detail_open(thread, chunk, begin);
	__atomic_store_n(&chunk->status, ADA_CHUNK_OPEN, __ATOMIC_RELEASE);
	thread->dropping = ADA_LACK_NONE;
	thread->index = (uint64_t)chunk;
	__atomic_store_n(&thread->entry->chunk, number, __ATOMIC_RELEASE);
	lost_tell(thread);
	wait_tell(thread);
	ada_shadow_arm(thread);
}

/* The newest event's counter. */
static uint64_t last_counter(const struct ada_thread *thread)
{
	const char *end = (const char *)ada_chunk_of(thread) + ada_state_event(ada_state(thread));

	return ((const struct ada_event *)end)[-1].timestamp_ns;
}

void ada_chunk_close(struct ada_thread *thread)
{
	struct ada_core *core = ada_core;
	struct ada_chunk *chunk = ada_chunk_of(thread);
	uint64_t events;

	if (!chunk)
		return;
	if (ada_state_event(ada_state(thread)) < ADA_CHUNK_BYTES)
		lost_tell(thread);
	events = ada_chunk_events(thread);
	ada_detail_close(thread, events, events ? last_counter(thread) : 0);
	thread->parked = ada_state_at(ada_state(thread), ADA_CHUNK_BYTES);
	thread->index = (uint64_t)&thread->parked;
	ada_sequence += events;
	__atomic_store_n(&thread->entry->sealed_events, ada_sequence, __ATOMIC_RELEASE);
	if (events) {
		__atomic_store_n(&chunk->status, ADA_CHUNK_SEALED, __ATOMIC_RELEASE);
		ada_ring_put(&core->ring, thread->chunk);
	} else {
		free_return(core, thread->chunk);
	}
	/* This comes last: wherever we are preempted, the recorder finds the chunk that this thread filled here or in the ring. */
	__atomic_store_n(&thread->entry->chunk, UINT32_MAX, __ATOMIC_RELEASE);
}

/* A sealed chunk comes back once it is in the file. */
static bool some_sealed(const struct ada_shm *shm)
{
	uint64_t tail = __atomic_load_n(&shm->sealed_tail, __ATOMIC_ACQUIRE);

	return __atomic_load_n(&shm->sealed_head, __ATOMIC_ACQUIRE) != tail;
}

/* True where threads that may be waiting for this one hold all chunks, and no chunk is on its way back, nor was for long; or where the
 * recorder, who gives chunks back, stands still. */
bool ada_core_held(uint32_t returned)
{
	return ada_presence_stands_yet() || (ada_core->held == returned + 1ull && !some_sealed(ada_core->shm));
}

struct wait {
	uint32_t *word, value;
};
static __thread uint64_t pause_ticks; /* that the last wait took; UINT64_MAX: no signal ended it before its time */

/* Reads nothing itself: what a handler forks has another segment by now, and perhaps no `argument`. */
static void wait_open(void *argument)
{
	const struct wait *wait = argument;
	uint64_t start = ada_sys_counter();

	pause_ticks = 0;
	if (!ada_quiet_enter())
		return;
	if (ada_sys_futex_wait(wait->word, wait->value, ADA_WAIT_NS) == -ETIMEDOUT)
		pause_ticks = UINT64_MAX;
	else
		pause_ticks = ada_sys_counter() - start;
	ada_quiet_leave();
}

/* How long the last wait was. A program that was stopped meanwhile, or whose handler ran for long, waited no longer than one wait takes. */
static uint64_t pause_ns(const struct ada_shm *shm)
{
	return pause_ticks < shm->ticks_a_wait		      ? pause_ticks * ADA_WAIT_NS / shm->ticks_a_wait :
	       shm->ticks_a_wait || pause_ticks == UINT64_MAX ? ADA_WAIT_NS :
								0;
}

bool ada_core_wait(struct ada_thread *thread, uint32_t returned, enum ada_lack lack)
{
	struct ada_shm *shm = ada_core->shm;
	uint64_t start = ada_sys_counter();
	struct wait wait = { &shm->returned, returned };
	uint64_t head = 0, held_ns = 0;
	struct ada_stand stand = { 0 };
	bool stands = false, waiting = lack == ADA_LACK_MEMORY || !ada_core_held(returned);

	if (!waiting) /* some thread has waited that long for nothing */
		return false;
	__atomic_fetch_add(&shm->waits, 1, __ATOMIC_RELAXED);
	if (lack == ADA_LACK_MEMORY)
		__atomic_fetch_add(&shm->memory_waits, 1, __ATOMIC_RELAXED);
	for (uint32_t waits = 1; waiting && __atomic_load_n(&shm->returned, __ATOMIC_ACQUIRE) == returned; waits++) {
		if (some_sealed(shm) || head != __atomic_load_n(&shm->sealed_head, __ATOMIC_ACQUIRE))
			held_ns = 0;
		head = __atomic_load_n(&shm->sealed_head, __ATOMIC_ACQUIRE);
		if (held_ns >= HELD_NS)
			__atomic_store_n(&ada_core->held, returned + 1ull, __ATOMIC_RELAXED);
		waiting = ada_core_recording() && !ada_quiet() && !stands && held_ns < HELD_NS &&
			  (lack == ADA_LACK_FULL || waits == 1 || some_sealed(shm));
		if (waiting && !ada_slow_pause(thread, wait_open, &wait))
			return false;
		/* What a signal ended counts, too: a timer's may end each of them. */
		held_ns += pause_ns(shm);
		stands = ada_presence_stands(&stand, pause_ns(shm));
	}
	if (stands && !waiting)
		__atomic_fetch_add(&shm->waits_given_up, 1, __ATOMIC_RELAXED);
	start = ada_sys_counter() - start;
	__atomic_fetch_add(&shm->wait_ticks, start, __ATOMIC_RELAXED);
	waited_ticks += start;
	return waiting;
}

bool ada_chunk_room(struct ada_thread *thread)
{
	uint32_t number;

	for (;;) {
		enum ada_lack lack;

		if (ada_state_has_room(ada_state(thread)))
			return true;
		ada_chunk_close(thread);
		if (!ada_core_recording() || (thread->dropping >= ADA_LACK_MEMORY && ada_chunk_hopeless(thread)))
			return false;
		lack = chunk_take(thread, &number);
		if (!lack) {
			chunk_open(thread, number);
			return true;
		}
		if (!blocks(ada_core->shm)) {
			thread->dropping = lack;
			return false;
		}
		if (!ada_core_wait(thread, thread->news, lack)) {
			thread->dropping = lack == ADA_LACK_FULL ? ADA_LACK_HELD : lack;
			return false;
		}
	}
}

/* Room for an event; false: it is dropped, and counted. */
static bool event_room(struct ada_thread *thread)
{
	bool room = ada_chunk_room(thread);

	if (!room && ada_core_recording())
		ada_event_lost(thread, 1);
	return room;
}

bool ada_event_write(struct ada_thread *thread, enum ada_event_kind kind, const struct ada_frame *frame, const struct ada_moment *moment,
		     struct ada_written *written)
{
	if (!event_room(thread))
		return false;
	event_put(thread,
		  (struct ada_event){ .event_kind = kind, .function_id = ada_frame_hook(frame)->function_id, .call_depth = frame->depth },
		  moment, written);
	return true;
}

void ada_event_write_other(struct ada_thread *thread, enum ada_event_kind kind, uint64_t value, uint32_t depth)
{
	struct ada_written unused;

	if (event_room(thread))
		event_put(thread, (struct ada_event){ .event_kind = kind, .function_id = value, .call_depth = depth },
			  &(struct ada_moment){ NULL, 0 }, &unused);
}
