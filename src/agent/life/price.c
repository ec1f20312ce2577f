/* What an event costs on this machine: calls of a scratch function through the agent's own hooks, into a chunk, frames and detail records
 * that nobody reads. Once a session, before the program's first constructor: there is one thread, no signal comes, no event is on its way.
 * Two prices: of a call and its return by the hook that most functions have, and of the OBJECT event (abi/object.h) that some have between.
 *
 * The shortest of TURNS times ROUNDS rounds counts: who was interrupted took longer. What is compared is measured in turns, for a neighbour
 * may slow all rounds of a turn. While it is measured the process has no segment as far as slow paths
 * know, so that whatever isn't plain (a debugger's steps) records nothing; such a round has too few events, and doesn't count.
 */
#include "abi/plan.h"
#include "abi/policy.h"
#include "agent/core/state.h"
#include "agent/hook/hook.h"
#include "agent/life/life.h"

#define PAIRS 16u /* a round */
#define ROUNDS 4u
#define TURNS 4u
#define FREE_AT_ENTRY (1u << ADA_REGISTER_RAX | 1u << ADA_REGISTER_FLAGS)
#define FREE_AT_EXIT (1u << ADA_REGISTER_FLAGS)
#define MODULE 0xfffu	  /* of the scratch function's id, as records of detail have room for: no such module has so many symbols */
#define NUMBER 1u	  /* of the one with OBJECT events, in a policy of this file's own */
#define STACK_BYTES 1024u /* that the process's stack surely has on either side */

/* As hooks see a thread. */
struct scratch {
	uint64_t chunk[(ADA_CHUNK_HEADER_BYTES + 3 * PAIRS * ADA_EVENT_BYTES) / sizeof(uint64_t)];
	struct ada_frame frames[ADA_TAIL_CALLS_MAX + 4];
	struct ada_thread thread;
	uint64_t policy; /* as a segment's policy_flags */
	uint8_t flags[8];
	char detail[PAIRS * (ADA_DETAIL_LARGEST(ADA_DETAIL_STACK_MAX) * 2 + ADA_DETAIL_NONE_BYTES)];
};

static uint64_t returns_to; /* the one place from which the scratch function is called */

static __attribute__((noinline)) void scratch_function(const void *object)
{
	__atomic_store_n(&returns_to, (uint64_t)__builtin_return_address(0), __ATOMIC_RELAXED);
}

/* Ticks of PAIRS calls. */
static __attribute__((noinline, noclone)) uint64_t calls(void (*volatile *function)(const void *), const void *object)
{
	uint64_t start = ada_sys_counter();

#pragma GCC unroll 1
	for (uint32_t i = 0; i < PAIRS; i++)
		(*function)(object);
	return ada_sys_counter() - start;
}

/* The shortest of some rounds of as many events; 0: there is none. */
static uint64_t ticks_of(struct scratch *scratch, uint64_t entry, uint32_t events)
{
	void (*volatile function)(const void *) = (void (*)(const void *))entry;
	uint64_t least = 0;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t ticks;

		scratch->chunk[0] = ADA_CHUNK_HEADER_BYTES;
		ticks = calls(&function, scratch);
		if (ada_state_event(scratch->chunk[0]) == ADA_CHUNK_HEADER_BYTES + events * ADA_EVENT_BYTES && (!least || ticks < least))
			least = ticks;
	}
	return least;
}

/* The trampoline's address; 0: there is none. */
static uint64_t hook_make(struct ada_region *region, uint32_t number)
{
	struct ada_hook_spec spec = { .function_id = ADA_FUNCTION_ID(MODULE, UINT32_MAX - number),
				      .target = (uint64_t)scratch_function,
				      .number = number,
				      .free_at_entry = FREE_AT_ENTRY,
				      .free_at_exit = FREE_AT_EXIT };
	uint64_t entry;
	uint8_t *body;

	return !ada_region_hook(region, &spec, &entry, &body) && ada_region_own_call(entry, returns_to) ? entry : 0;
}

static void scratch_fill(struct scratch *scratch)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0), shadow = (uint64_t)&scratch->frames[ADA_TAIL_CALLS_MAX + 1];

	for (uint32_t i = 0; i <= ADA_TAIL_CALLS_MAX; i++)
		scratch->frames[i].slot = here + STACK_BYTES;
	scratch->flags[NUMBER] = ADA_POLICY_OBJECT;
	scratch->policy = (uint64_t)scratch->flags - (uint64_t)&scratch->policy;
	scratch->thread = (struct ada_thread){ .index = (uint64_t)scratch->chunk,
					       .shadow = shadow,
					       .shadow_end = (uint64_t)(scratch->frames + ADA_TAIL_CALLS_MAX + 4),
					       .detail = ada_setup.detail_limit ? (uint64_t)scratch->detail : 0,
					       .stack_low = here - STACK_BYTES,
					       .stack_high = here + STACK_BYTES };
}

static uint32_t price_of(uint64_t ticks, uint64_t plain, uint32_t events)
{
	return ticks > plain ? (uint32_t)((ticks - plain) * ADA_PRICE_UNIT / events) : 0;
}

static void keep_least(uint64_t *least, uint64_t ticks)
{
	if (ticks && (!*least || ticks < *least))
		*least = ticks;
}

static void hooks_measure(struct ada_shm *shm, struct scratch *scratch, const uint64_t entries[2])
{
	const struct ada_lean lean = ada_lean;
	const uint64_t *policy = ada_setup.policy;
	struct ada_thread *self = ada_self;
	uint64_t plain = 0, pair = 0, object = 0;

	ada_core->shm = NULL;
	ada_self = &scratch->thread;
	ada_lean = (struct ada_lean){ scratch->thread.index,  scratch->thread.shadow,	 scratch->thread.shadow_end,
				      scratch->thread.detail, scratch->thread.stack_low, scratch->thread.stack_high };
	ada_setup.policy = &scratch->policy;
	for (uint32_t i = 0; i < TURNS; i++) {
		keep_least(&pair, ticks_of(scratch, entries[0], 2 * PAIRS));
		keep_least(&object, ticks_of(scratch, entries[1], 3 * PAIRS));
		keep_least(&plain, ticks_of(scratch, (uint64_t)scratch_function, 0));
	}
	ada_setup.policy = policy;
	ada_lean = lean;
	ada_self = self;
	ada_core->shm = shm;
	shm->price_object = pair && object ? price_of(object, pair, PAIRS) : 0;
	__atomic_store_n(&shm->price_event, pair ? price_of(pair, plain, 2 * PAIRS) : 0, __ATOMIC_RELEASE);
}

void ada_price_take(struct ada_shm *shm)
{
	struct scratch *scratch = shm->price_wanted && ada_rseq_usable() ? ada_sys_map(sizeof *scratch) : NULL;
	uint64_t near = (uint64_t)scratch_function, entries[2] = { 0 };
	struct ada_region *region;

	if (!scratch)
		return;
	scratch_fill(scratch);
	ticks_of(scratch, (uint64_t)scratch_function, 0); /* now it is known where the calls come from */
	if (!ada_region_reserve(&region, near, near, 2)) {
		entries[0] = hook_make(region, 0);
		entries[1] = hook_make(region, NUMBER);
		if (!ada_region_seal(region) && entries[0] && entries[1])
			hooks_measure(shm, scratch, entries);
	}
	ada_sys_unmap(scratch, sizeof *scratch);
}
