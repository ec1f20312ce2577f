/* The CPU time of calls, for CPU rules: the thread's clock at the call, kept until its return.
 *
 * Each thread has a small table, by return slot and function, of calls that are in progress. On one stack a call further down is over,
 * however it ended, when one further up begins or ends: where there is no room such entries go first. The clock is a system call: once
 * the program has put filters of seccomp on itself nothing can be measured any more.
 */
#include <time.h>
#include "agent/ground/sys.h"
#include "agent/judge/parts.h"

#define CALLS 32 /* calls in progress that one thread measures at once: the outer ones */

struct call {
	uint64_t slot; /* 0: free. Set last, so that a handler's hooks may come in between */
	uint64_t ns;
	uint32_t number;
};
static __thread struct call calls[CALLS];

static uint64_t clock_now(void)
{
	struct timespec now;

	if (ada_quiet_filtered() || ada_quiet() || ada_sys_failed(ada_sys4(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&now, 0, 0)))
		return 0;
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static struct call *place_find(uint64_t slot, uint32_t number)
{
	for (uint32_t i = 0; i < CALLS; i++)
		if (calls[i].slot == slot && calls[i].number == number)
			return &calls[i];
	return NULL;
}

static struct call *find_room(uint64_t slot)
{
	struct call *lowest = &calls[0];

	for (uint32_t i = 0; i < CALLS; i++) {
		if (!calls[i].slot)
			return &calls[i];
		if (calls[i].slot < lowest->slot)
			lowest = &calls[i];
	}
	return lowest->slot < slot ? lowest : NULL;
}

void ada_cpu_begin(uint64_t slot, uint32_t number)
{
	uint64_t now = clock_now();
	struct call *call = place_find(slot, number);

	if (!call)
		call = find_room(slot);
	if (!call || !now)
		return;
	call->slot = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	call->ns = now;
	call->number = number;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	call->slot = slot;
}

bool ada_cpu_end(uint64_t slot, uint32_t number, uint64_t *ns)
{
	struct call *call = place_find(slot, number);
	uint64_t now = call ? clock_now() : 0;

	if (!call)
		return false;
	*ns = now - call->ns;
	call->slot = 0;
	return now >= call->ns; /* a fork's child has a new clock */
}
