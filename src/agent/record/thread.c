/* Threads: attach at the first event, a place in the private table and an entry in the shared one, and the end of both.
 *
 * A thread's place holds its cursors and its room (room.c), and is used again when it ends. Its entry in the shared table is the
 * recorder's to give away once its events are drained: a thread that records again after its end (destructors of thread-specific
 * data) goes on with the entry that it had, or is a new thread. A thread that can't attach is counted, and no reason for others to end.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "agent/record/lane.h"

#define NO_ENTRY UINT32_MAX
#define REFUSALS_A_TRY 256	  /* events of a thread that could not attach until it tries again */
#define EXTEND_BYTES (256u << 10) /* of a pool: memory is made faster in larger pieces */

#pragma weak pthread_key_create
#pragma weak pthread_setspecific

static uint64_t no_policy; /* as a segment's policy_flags */

static __thread uint32_t entry_number = NO_ENTRY, entry_id;
static __thread uint32_t refusals;	   /* how often this thread found that it can't attach */
static __thread uint32_t entries_returned; /* what had been given back when the table was full, the last time */
static __thread bool entries_are_full;

static pthread_key_t end_key;
static bool end_key_present;

/* --- the process ------------------------------------------------------------------------------------------------------- */

/* Without a segment: before the first one, and in a fork's child until it has its own. */
static void setup_clear(void)
{
	no_policy = (uint64_t)ada_no_flags - (uint64_t)&no_policy;
	ada_setup.policy = &no_policy;
	ada_setup.detail_limit = 0;
}

/* What an event adds to the commit word beside its detail record. */
#define PUSH (((uint64_t)ADA_FRAME_BYTES << ADA_COMMIT_FRAMES) + ADA_EVENT_BYTES)
#define POP (ADA_EVENT_BYTES - ((uint64_t)ADA_FRAME_BYTES << ADA_COMMIT_FRAMES))

static uint64_t detail_step(uint64_t bytes)
{
	return bytes / ADA_DETAIL_UNIT << ADA_COMMIT_DETAIL;
}

static void setup_detail(uint64_t stack, bool at_return)
{
	const uint64_t plain = ADA_DETAIL_CALL_BYTES + stack, call = ADA_DETAIL_LARGEST(stack), back = ADA_DETAIL_RETURN_BYTES + stack;

	ada_setup.detail_stack = stack;
	ada_setup.detail_reach = at_return ? UINT64_MAX : stack + 7;
	ada_setup.meta_call = ADA_DETAIL_META(ADA_EVENT_CALL, call) | ADA_DETAIL_VECTORS;
	ada_setup.meta_call_plain = ADA_DETAIL_META(ADA_EVENT_CALL, plain);
	ada_setup.meta_return = ADA_DETAIL_META(ADA_EVENT_RETURN, ADA_DETAIL_RETURN_BYTES);
	ada_setup.meta_return_stack = ADA_DETAIL_META(ADA_EVENT_RETURN, back);
	ada_setup.commit_call = PUSH + detail_step(call);
	ada_setup.commit_call_plain = PUSH + detail_step(plain);
	ada_setup.commit_return = POP + detail_step(ADA_DETAIL_RETURN_BYTES);
	ada_setup.commit_return_stack = POP + detail_step(back);
}

static void setup_fill(const struct ada_shm *shm)
{
	uint32_t stack = shm->detail_stack_bytes, left = ADA_DETAIL_LARGEST(stack) + ADA_DETAIL_NONE_BYTES + shm->detail_capture_bytes;

	ada_setup.policy = &shm->policy_flags;
	setup_detail(stack, shm->detail_return_stack_bytes);
	ada_setup.detail_limit = shm->detail_chunks ? (shm->detail_chunk_bytes - left) / ADA_DETAIL_UNIT : 0;
	ada_setup.poison = shm->poison;
}

static void small_attach(struct ada_core *core, struct ada_shm *shm)
{
	uint64_t detail_bytes = ADA_DETAIL_SMALL(shm->detail_chunk_bytes);

	core->small = (struct ada_pool){ .chunks = (char *)shm + shm->small_offset,
					 .chunk_bytes = ADA_SMALL_BYTES,
					 .behind = ADA_SMALL_BEHIND,
					 .count = shm->small_chunks,
					 .free_words = core->index.free_words + ada_small_first(shm->index_chunks) / 64,
					 .front = &shm->small_front,
					 .step = EXTEND_BYTES / ADA_SMALL_BYTES,
					 .share = 2,
					 .touched = core->small_touched };
	core->detail_small = (struct ada_pool){ .chunks = (char *)shm + shm->detail_small_offset,
						.chunk_bytes = detail_bytes,
						.count = shm->detail_small_chunks,
						.free_words = core->detail.free_words + ada_small_first(shm->detail_chunks) / 64,
						.ring = { .entries = (uint64_t *)((char *)shm + shm->detail_small_sealed_offset),
							  .head = &shm->detail.small_head,
							  .tail = &shm->detail.small_tail,
							  .count = shm->detail_small_chunks },
						.front = &shm->detail_small_front,
						.share = 2,
						.step = shm->detail_small_chunks ? (EXTEND_BYTES + detail_bytes - 1) / detail_bytes : 1,
						.touched = core->detail_small_touched };
}

void ada_core_attach(struct ada_shm *shm)
{
	struct ada_core *core = ada_core;

	if (!core) {
		if (!ada_state_open())
			return;
		setup_clear();
		ada_rseq_choose();
		ada_errno_choose();
		core = ada_sys_map(sizeof *core);
		if (!core)
			return;
		ada_sys_advise(core, sizeof *core, MADV_WIPEONFORK);
		core->present = 1;
		ada_core = core;
	}
	core->entries = (struct ada_shm_thread *)((char *)shm + shm->threads_offset);
	core->entries_free = (uint64_t *)(core->entries + ADA_THREADS_MAX);
	core->index = (struct ada_pool){ .chunks = (char *)shm + shm->index_offset,
					 .chunk_bytes = ADA_CHUNK_BYTES,
					 .count = shm->index_chunks,
					 .free_words = (uint64_t *)((char *)shm + shm->free_offset),
					 .front = &shm->index_front,
					 .step = EXTEND_BYTES / ADA_CHUNK_BYTES,
					 .share = 1,
					 .touched = core->touched };
	core->detail = (struct ada_pool){ .chunks = (char *)shm + shm->detail_offset,
					  .chunk_bytes = shm->detail_chunk_bytes,
					  .count = shm->detail_chunks,
					  .free_words = (uint64_t *)((char *)shm + shm->detail_free_offset),
					  .ring = { .entries = (uint64_t *)((char *)shm + shm->detail_sealed_offset),
						    .head = &shm->detail.sealed_head,
						    .tail = &shm->detail.sealed_tail,
						    .count = shm->detail_chunks },
					  .front = &shm->detail_front,
					  .share = 2,
					  .touched = core->detail_touched,
					  .step = shm->detail_chunks ?
							  (EXTEND_BYTES + shm->detail_chunk_bytes - 1) / shm->detail_chunk_bytes :
							  1 };
	core->ring = (struct ada_ring){ .entries = (uint64_t *)((char *)shm + shm->sealed_offset),
					.head = &shm->sealed_head,
					.tail = &shm->sealed_tail,
					.count = ada_chunk_numbers(shm->index_chunks, shm->small_chunks) };
	small_attach(core, shm);
	core->detail_scanned = core->held = 0;
	setup_fill(shm);
	ada_lean_attach();
	__atomic_store_n(&core->shm, shm, __ATOMIC_RELEASE);
}

void ada_core_forked(void)
{
	struct ada_core *core = ada_core;

	ada_slow_forked();
	ada_room_forked();
	entry_number = NO_ENTRY;
	refusals = 0;
	setup_clear();
	ada_judge_forked();
	if (!core)
		return;
	if (core->present) { /* a kernel too old to wipe */
		core->shm = NULL;
		core->threads_lock = core->sites_lock = 0;
		core->threads_used = core->threads_free = 0;
		memset(core->touched, 0, sizeof core->touched);
		memset(core->detail_touched, 0, sizeof core->detail_touched);
		memset(core->small_touched, 0, sizeof core->small_touched);
		memset(core->detail_small_touched, 0, sizeof core->detail_small_touched);
	}
	core->present = 1;
}

/* --- a thread ---------------------------------------------------------------------------------------------------------- */

static void end_registered(void *unused)
{
	ada_core_thread_end();
}

void ada_core_thread_start_hook(void)
{
	if (pthread_key_create && pthread_setspecific)
		end_key_present = pthread_key_create(&end_key, end_registered) == 0;
}

static struct ada_thread *place_take(struct ada_core *core)
{
	struct ada_thread *thread = NULL;
	uint32_t number;

	if (!ada_lock(&core->threads_lock))
		return NULL;
	if (core->threads_free) {
		number = core->threads_free - 1;
		core->threads_free = core->threads[number].number;
	} else {
		number = core->threads_used < ADA_THREADS_MAX ? core->threads_used++ : ADA_THREADS_MAX;
	}
	ada_unlock(&core->threads_lock);
	if (number < ADA_THREADS_MAX) {
		thread = &core->threads[number];
		memset(thread, 0, sizeof *thread);
		thread->number = number;
	}
	return thread;
}

static void place_return(struct ada_core *core, struct ada_thread *thread)
{
	uint32_t number = thread->number;

	if (!ada_lock(&core->threads_lock))
		return;
	thread->number = core->threads_free;
	core->threads_free = number + 1;
	ada_unlock(&core->threads_lock);
}

/* Takes the calling thread's old entry up again. The recorder may be giving the entry away: whoever swaps first gets it. */
static bool entry_again(struct ada_core *core)
{
	struct ada_shm_thread *entry = &core->entries[entry_number];
	uint32_t status = ADA_THREAD_ENDED;

	if (entry_number == NO_ENTRY || __atomic_load_n(&entry->id, __ATOMIC_ACQUIRE) != entry_id)
		return false;
	if (!__atomic_compare_exchange_n(&entry->status, &status, ADA_THREAD_LIVE, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	if (__atomic_load_n(&entry->id, __ATOMIC_ACQUIRE) == entry_id) {
		entry->end_counter = 0;
		return true;
	}
	__atomic_store_n(&entry->status, ADA_THREAD_ENDED, __ATOMIC_RELEASE); /* another thread's by now, which has ended too */
	return false;
}

/* An entry whose thread is drained, or else one that no thread has had yet. */
static bool entry_free(struct ada_core *core, uint32_t *number)
{
	uint32_t count = __atomic_load_n(&core->shm->thread_count, __ATOMIC_RELAXED);

	if (ada_map_take(core->entries_free, 0, count < ADA_THREADS_MAX ? count : ADA_THREADS_MAX, number))
		return true;
	while (count < ADA_THREADS_MAX)
		if (__atomic_compare_exchange_n(&core->shm->thread_count, &count, count + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			*number = count;
			return true;
		}
	return false;
}

static bool entry_begin(struct ada_core *core, uint32_t tid)
{
	uint32_t id = __atomic_load_n(&core->shm->threads_seen, __ATOMIC_RELAXED);
	struct ada_shm_thread *entry;

	entries_returned = __atomic_load_n(&core->shm->returned, __ATOMIC_ACQUIRE);
	entries_are_full = id < ADA_THREADS_EVER && !entry_free(core, &entry_number);
	if (id >= ADA_THREADS_EVER || entries_are_full)
		return false;
	entry_id = id = __atomic_fetch_add(&core->shm->threads_seen, 1, __ATOMIC_RELAXED);
	ada_sequence = ada_lost_told = 0;
	entry = &core->entries[entry_number];
	*entry = (struct ada_shm_thread){ .thread_id = tid,
					  .chunk = UINT32_MAX,
					  .start_counter = ada_sys_counter(),
					  .id = id,
					  .pointer = (uint64_t)__builtin_thread_pointer() };
	ada_sys4(SYS_prctl, PR_GET_NAME, (long)entry->name, 0, 0);
	__atomic_store_n(&entry->status, ADA_THREAD_LIVE, __ATOMIC_RELEASE); /* after all the rest */
	return true;
}

static bool entry_take(struct ada_core *core, struct ada_thread *thread, uint32_t tid)
{
	if (!entry_again(core) && !entry_begin(core, tid)) {
		entry_number = NO_ENTRY;
		return false;
	}
	thread->entry = &core->entries[entry_number];
	thread->id = entry_id;
	__atomic_store_n(&thread->entry->chunk, UINT32_MAX, __ATOMIC_RELAXED);
	return true;
}

bool ada_thread_may_wait(uint32_t *returned)
{
	struct ada_shm *shm = ada_core->shm;

	*returned = entries_returned;
	return entries_are_full && shm->on_full == ADA_ON_FULL_BLOCK && shm->index_mode == ADA_INDEX_STREAMING &&
	       !ada_core_held(entries_returned);
}

static void thread_fill(void *argument)
{
	struct ada_thread *thread = argument;
	uint32_t tid = ada_sys_tid();

	if (!entry_take(ada_core, thread, tid))
		return;
	thread->tid = tid;
	thread->parked = ADA_CHUNK_BYTES;
	thread->index = (uint64_t)&thread->parked;
	thread->sweep_frames = 1024;
	ada_stack_begin(thread);
	if (end_key_present)
		ada_call_libc(pthread_setspecific, end_key, 1);
}

/* True: what kept this thread from attaching is as it was, and the thread needn't wait for a change. */
static bool is_hopeless(void)
{
	uint32_t returned;

	if (!refusals || ada_thread_may_wait(&returned))
		return false;
	return entries_are_full ? __atomic_load_n(&ada_core->shm->returned, __ATOMIC_RELAXED) == entries_returned :
				  refusals++ % REFUSALS_A_TRY != 0;
}

struct ada_thread *ada_thread_attach(void)
{
	struct ada_core *core = ada_core;
	struct ada_thread *thread;
	uint32_t unused;

	if (is_hopeless())
		return NULL;
	entries_are_full = false;
	thread = place_take(core);
	if (thread && ada_room_take(thread))
		ada_slow_run(thread, thread_fill, thread);
	if (thread && thread->entry) {
		refusals = 0;
		return thread;
	}
	if (!ada_thread_may_wait(&unused) && !refusals++)
		__atomic_fetch_add(&core->shm->threads_refused, 1, __ATOMIC_RELAXED);
	if (thread) {
		ada_room_leave();
		place_return(core, thread);
	}
	return NULL;
}

void ada_core_thread_begin(void)
{
	struct ada_thread *thread = ada_core_recording() ? ada_slow_begin(0) : NULL;

	if (!thread)
		return;
	if (!thread->index) {
		struct ada_thread *attached = ada_thread_attach();

		thread = attached ? attached : &ada_no_thread;
	}
	ada_slow_end(thread);
}

static bool has_events(const struct ada_thread *thread)
{
	return thread->index && !ada_core_is_forked();
}

void ada_core_here(uint32_t *number, uint64_t *seq)
{
	const struct ada_thread *thread = ada_slow_thread();
	uint64_t events = ada_sequence;

	*number = ADA_NONE;
	*seq = UINT64_MAX;
	if (!has_events(thread))
		return;
	if (ada_chunk_of(thread))
		events += ada_chunk_events(thread);
	*number = thread->id;
	*seq = events - 1;
}

struct ada_open_call ada_core_open_call(void)
{
	const struct ada_thread *thread = ada_slow_thread();
	uint32_t frames = has_events(thread) ? ada_frames(thread) : 0;

	return (struct ada_open_call){ frames ? ada_frame_at(thread, frames - 1)->counter : 0, frames };
}

bool ada_core_call_lasts(struct ada_open_call call)
{
	const struct ada_thread *thread = ada_slow_thread();

	return !call.frames ||
	       (has_events(thread) && ada_frames(thread) >= call.frames && ada_frame_at(thread, call.frames - 1)->counter == call.counter);
}

struct closing {
	struct ada_thread *thread;
	bool done;
};

/* The thread's end leaves all frames that are still open. */
static void thread_close(void *argument)
{
	struct closing *closing = argument;
	struct ada_thread *thread = closing->thread;

	while (ada_core_recording() && ada_frames(thread))
		ada_shadow_close(thread, ada_frame_at(thread, ada_frames(thread) - 1), ADA_EVENT_EXCEPTION);
	ada_chunk_close(thread);
	closing->done = true;
}

void ada_core_thread_end(void)
{
	struct ada_thread *thread = ada_core_is_silent() ? NULL : ada_slow_begin(0);

	if (!thread)
		return;
	if (has_events(thread)) {
		struct closing closing = { thread, false };
		struct ada_thread *now = ada_slow_run(thread, thread_close, &closing);

		if (closing.done) {
			ada_sys4(SYS_prctl, PR_GET_NAME, (long)thread->entry->name, 0, 0); /* it has named itself since its first call */
			thread->entry->end_counter = ada_sys_counter();
			__atomic_store_n(&thread->entry->status, ADA_THREAD_ENDED, __ATOMIC_RELEASE);
			ada_room_leave();
			place_return(ada_core, thread);
			now = &ada_no_thread;
		}
		thread = now;
	}
	ada_slow_end(thread);
}
