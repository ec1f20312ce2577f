/* Filters: what leads calls of a mutex's functions past their trampolines while they have nobody to wait for, and nobody waits for them.
 *
 * The recorder lets the patch of such a function lead to its filter in place of its trampoline, where calls cost too much (--budget).
 * glibc's futex word, a mutex's first, is 0 where the mutex is free, 1 where it is held and nobody waits, else 2; or it has the holder's tid
 * and more (robust, priority inheritance). So a filter is
 *
 *       cmpl $0,(%rdi)        to lock; of unlock $1
 *       jne trampoline        of a twin of the function's hook
 *       jmp body
 *
 * It jumps as the patch does, and leaves all as it was but the flags, which the plan must say are free. Nothing holds the mutex still between
 * the look and the call: a lock that was free a moment ago may wait all the same, and nothing is recorded of that. To unwinders a filter is
 * the body of a trampoline that nobody enters by its head, all of it a copy of the function's very beginning.
 *
 * The twin differs in one thing: whoever wants the mutex says who holds the mutex (tells_holder). The filter has just read the mutex's first word, so the
 * holder's tid, 8 bytes further in the same page, is there to be read, too; the function itself reads what is still further on. */
#include "abi/plan.h"
#include "agent/hook/parts.h"

#define FREE 0
#define HELD 1
#define TO_TWIN 5 /* offsets of distances */
#define TO_BODY 10
#define BUSY 16 /* EBUSY */

static const uint8_t code[ADA_FILTER_BYTES] = { 0x83, 0x3f, FREE, 0x0f, 0x85, 0, 0, 0, 0, 0xe9 };
static const struct ada_plan_origin origins[] = { { 0, 0, 0, 0 }, { 3, 0, 0, 0 }, { 9, 0, 0, 0 }, { .body = ADA_ORIGIN_END } };

static void put_distance(uint8_t *field, uint64_t target)
{
	int32_t distance = (int32_t)(target - ((uint64_t)field + sizeof distance));

	memcpy(field, &distance, sizeof distance);
}

int ada_filter_build(struct ada_region *region, uint64_t entry, uint64_t twin, uint16_t does, uint64_t *filter)
{
	const struct ada_hook *hook = ada_hook_of((uint8_t *)entry);
	struct ada_hook_spec spec = { .function_id = hook->function_id,
				      .body = code,
				      .body_bytes = sizeof code,
				      .original = hook->original,
				      .origins = (const uint8_t *)origins,
				      .number = hook->number,
				      .reads_vectors = true };
	uint64_t unused;
	uint8_t *body;
	int status = ada_region_hook(region, &spec, &unused, &body);

	if (status)
		return status;
	body[2] = does & ADA_FUNCTION_UNLOCK ? HELD : FREE;
	put_distance(body + TO_TWIN, twin);
	put_distance(body + TO_BODY, ada_region_body(entry));
	ada_hook_of((uint8_t *)twin)->tells_holder = !(does & ADA_FUNCTION_UNLOCK);
	*filter = (uint64_t)body;
	return 0;
}

/* As glibc lays it out. */
struct mutex {
	uint32_t word;
	uint32_t count, holder;
	uint32_t rest[13];
};

static int call(uint64_t function, volatile struct mutex *mutex)
{
	return ((int (*)(volatile struct mutex *))function)(mutex);
}

bool ada_filter_holds(uint64_t lock, uint64_t try_lock, uint64_t unlock)
{
	volatile struct mutex mutex = { 0 };
	uint32_t self = (uint32_t)ada_sys_tid();

	return !call(lock, &mutex) && mutex.word == HELD && mutex.holder == self && call(try_lock, &mutex) == BUSY && mutex.word == HELD &&
	       !call(unlock, &mutex) && mutex.word == FREE && !mutex.holder && !call(try_lock, &mutex) && mutex.word == HELD &&
	       mutex.holder == self && !call(unlock, &mutex) && mutex.word == FREE && !mutex.holder;
}

void ada_filter_offer(uint64_t entry, uint64_t filter)
{
	__atomic_store_n(&ada_hook_of((uint8_t *)entry)->target, filter, __ATOMIC_RELEASE);
}
