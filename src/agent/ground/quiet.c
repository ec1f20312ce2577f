/* Where the agent must not make a system call: the call would end the program, or the program, or its tracer, would see the call.
 *
 *   the process    while its program installs a filter that forbids what we need, and from then on; once its parent traces it
 *   a vfork child  that has restrained itself: it lives in our memory and on its parent's thread, which is to record again when
 *                  it is gone. The kernel says so: it clears the word that set_tid_address names
 *   a thread       whose system calls are dispatched to user space, as long as its selector says so
 *
 * A filter may be for all threads at once (SECCOMP_FILTER_FLAG_TSYNC), some of which may be in the midst of a slow path. So a thread that
 * makes system calls is counted from before the first until behind the last; a thread that installs a filter first forbids new slow paths
 * (held), then waits until none is left. One of the two always sees the other.
 *
 * Nothing here makes a system call but ada_quiet_guest_begin, ada_quiet_settle, and ada_quiet_guest_end where the child was refused.
 */
#include <linux/prctl.h>
#include "agent/ground/sys.h"

#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif
#define SELECTOR_ALLOWS 0 /* SYSCALL_DISPATCH_FILTER_ALLOW */
#define SETTLE_NS 100000
#define SETTLES_MAX 20000 /* longer than any slow path except a conversation while the recorder makes a large plan */

static uint32_t held, filtered, at_work;
static __thread uint32_t own_work; /* this thread's part of at_work; that of a handler which was left by a jump may stay */
static __thread uint32_t guest;	   /* pid of the child; the kernel's word */
static __thread struct ada_dispatch dispatch;

bool ada_quiet(void)
{
	return __atomic_load_n(&held, __ATOMIC_RELAXED) || ada_quiet_guest() || ada_quiet_dispatched();
}

void ada_quiet_hold(int by)
{
	__atomic_add_fetch(&held, by, __ATOMIC_SEQ_CST);
}

bool ada_quiet_enter(void)
{
	own_work++;
	__atomic_add_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
	if (!ada_quiet())
		return true;
	ada_quiet_leave();
	return false;
}

void ada_quiet_leave(void)
{
	__atomic_sub_fetch(&at_work, 1, __ATOMIC_SEQ_CST);
	own_work--;
}

void ada_quiet_settle(void)
{
	for (int waits = 0; waits < SETTLES_MAX; waits++) {
		uint32_t now = __atomic_load_n(&at_work, __ATOMIC_SEQ_CST);

		if (now == own_work)
			return;
		ada_sys_futex_wait(&at_work, now, SETTLE_NS);
	}
}

bool ada_quiet_filtered(void)
{
	return __atomic_load_n(&filtered, __ATOMIC_RELAXED);
}

void ada_quiet_filter(int by)
{
	__atomic_add_fetch(&filtered, by, __ATOMIC_SEQ_CST);
}

uint32_t ada_quiet_guest(void)
{
	return __atomic_load_n(&guest, __ATOMIC_ACQUIRE);
}

void ada_quiet_guest_begin(void)
{
	uint64_t others = 0;

	guest = ada_sys_pid();
	/* Where the program waits on a word of its own we leave that alone, and the parent's thread stays quiet. */
	if (ada_sys_failed(ada_sys4(SYS_prctl, PR_GET_TID_ADDRESS, (long)&others, 0, 0)) || !others)
		ada_sys4(SYS_set_tid_address, (long)&guest, 0, 0, 0);
}

void ada_quiet_guest_end(void)
{
	ada_sys4(SYS_set_tid_address, 0, 0, 0, 0);
	guest = 0;
}

bool ada_quiet_dispatched(void)
{
	return dispatch.on && !(dispatch.selector && *dispatch.selector == SELECTOR_ALLOWS);
}

struct ada_dispatch ada_quiet_dispatch(struct ada_dispatch next)
{
	struct ada_dispatch last = dispatch;

	dispatch = next;
	return last;
}

void ada_quiet_forked(void)
{
	dispatch.on = false;
	__atomic_store_n(&at_work, own_work, __ATOMIC_RELAXED);
}
