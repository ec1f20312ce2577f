/* The state of the process that all hooks share: whether and where it records, and what is lost. */
#include "agent/core/state.h"

struct ada_above ada_above = { .stubs = (const char *)(1ull << 63) }; /* where no code is: an unwinder may come before the start */
struct ada_core *ada_core;
const uint64_t ada_parked = ADA_CHUNK_BYTES;
struct ada_thread ada_no_thread; /* all zero: sends every hook into its slow path */
struct ada_setup ada_setup;

__thread struct ada_thread *ada_self = &ada_no_thread;
__thread struct ada_lean ada_lean = { .index = (uint64_t)&ada_parked };
__thread uint64_t ada_sequence, ada_lost_told;

static bool silent; /* see ada_core_is_silent; private memory, so a fork's child knows */

struct ada_shm *ada_core_shm(void)
{
	return ada_core ? ada_core->shm : NULL;
}

bool ada_core_is_forked(void)
{
	return ada_core && !ada_core->present && !silent;
}

bool ada_core_is_silent(void)
{
	return silent;
}

void ada_core_disable(enum ada_disable reason)
{
	struct ada_shm *shm = ada_core_shm();
	uint32_t none = ADA_DISABLE_NONE;

	if (reason == ADA_DISABLE_CONFINED || reason == ADA_DISABLE_TRACED || reason == ADA_DISABLE_NO_COUNTER)
		silent = true;
	if (!shm)
		return;
	if (reason == ADA_DISABLE_INTERNAL)
		__atomic_fetch_add(&shm->internal_errors, 1, __ATOMIC_RELAXED);
	__atomic_compare_exchange_n(&shm->disabled, &none, reason, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

bool ada_core_recording(void)
{
	struct ada_shm *shm = ada_core_shm();

	if (!shm || __atomic_load_n(&shm->disabled, __ATOMIC_RELAXED) || __atomic_load_n(&shm->stop, __ATOMIC_RELAXED))
		return false;
	if (!ada_presence_gone())
		return true;
	/* Nobody will ever empty the pool of this process, or of one that comes out of it. */
	ada_core_disable(ADA_DISABLE_NO_RECORDER);
	ada_above.pass_calls();
	return false;
}

/* One instruction: a handler in between adds its own. */
static void count(uint64_t *counter, uint64_t events)
{
	__asm__ volatile("addq %1,%0" : "+m"(*counter) : "r"(events) : "cc");
}

void ada_event_lost(struct ada_thread *thread, uint64_t events)
{
	count(&thread->entry->lost, events);
	if (thread->dropping == ADA_LACK_FULL || thread->dropping == ADA_LACK_HELD)
		count(&thread->entry->lost_full, events);
	else if (thread->dropping == ADA_LACK_MEMORY)
		count(&thread->entry->lost_memory, events);
}
