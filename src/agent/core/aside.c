/* Slow paths: begin and end, and the stack of their own that they run on.
 *
 * The program may have little stack left where a hook comes: a thread's last bytes, or an alternate stack that is just large enough for
 * its handler. So a slow path works in its thread's room (room.c), between ada_slow_begin and ada_slow_end. Signals are blocked
 * meanwhile, those too that an instruction may raise: a handler of the program would find no room there. And a handler with an alternate
 * stack that this thread is on just now would overwrite that stack, for the kernel looks at the stack pointer.
 *
 * A slow path that finds this stack in use, or none, runs where it is: on a thread without a room, in a handler for SIGSYS, on one of two
 * threads that share their thread-local data. Work that isn't an event (life.h) then tries the process's spare stack.
 *
 * A wait with signals open (--on-full=block) goes back to the program's stack for its time. Handlers in between have slow paths, too:
 * these begin below what the wait has left here, and where too little is left they run where they are. A handler may also fork: the child
 * has neither what the slow path was at work on nor what it left here, so in the child the slow path ends with the wait.
 */
#include <sys/mman.h>
#include "abi/page.h"
#include "agent/core/state.h"

#define LEAST_BYTES 16384 /* so much of a stack must be free for a slow path to begin there */
#define SPARE_BYTES 65536
#define OPEN ~0ull /* instead of a mask: signals are and stay open */

/* The slow path that this thread is in: its thread, the program's signal mask, where its frame is, the lock that it holds. */
static __thread struct {
	struct ada_thread *thread;
	uint64_t mask, sp;
	uint32_t *lock;
} slow;
/* This thread's stack: from `bottom` up to `end`, in use from `top` up, by waits whose frame on the program's stack is at
 * `wait_sp`; `program` is where the program's stack was left. */
static __thread struct {
	uint64_t bottom, end, top, wait_sp, program;
	uint32_t busy, given_up;
} stack;
static __thread struct ada_thread *hidden; /* ada_self before a vfork child restrained itself; NULL: none has */
/* The thread, if its hooks may not write by themselves (rseq.c): then ada_self is no one. NULL: they may. */
static __thread struct ada_thread *unseen;
static uint64_t spare; /* the process's stack for threads that have none; 0: there is none */
static uint32_t spare_busy;
static enum { LEAN_UNKNOWN, LEAN_NONE, LEAN_INDEX, LEAN_DETAIL } lean;
static uint32_t forks; /* how many forks this process is away from the first one */

/* --- who hooks write for ---------------------------------------------------------------------------------------------- */

static void lean_hide(void)
{
	ada_lean.index = (uint64_t)&ada_parked;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* A handler's hooks may come in between: `index` is the last to lead to the thread, and the first to lead away. */
static void self_is(struct ada_thread *thread)
{
	lean_hide();
	ada_self = thread;
	if (!thread->index || (lean == LEAN_DETAIL && !thread->detail))
		return;
	ada_lean.shadow = thread->shadow;
	ada_lean.shadow_end = thread->shadow_end;
	ada_lean.detail = thread->detail;
	ada_lean.stack_low = thread->stack_low;
	ada_lean.stack_high = thread->stack_high;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ada_lean.index = thread->index;
}

void ada_lean_attach(void)
{
	bool detail = ada_setup.detail_limit;

	if (lean == LEAN_UNKNOWN && ada_sys_failed(ada_sys_advise(&ada_limit, ADA_PAGE_BYTES, MADV_WIPEONFORK)))
		lean = LEAN_NONE;
	else if (lean == LEAN_UNKNOWN)
		lean = detail ? LEAN_DETAIL : LEAN_INDEX;
	ada_limit = lean == (detail ? LEAN_DETAIL : LEAN_INDEX) ? ADA_CHUNK_BYTES : 0;
}

bool ada_lean_has_detail(void)
{
	return lean == LEAN_DETAIL;
}

/* --- begin and end ----------------------------------------------------------------------------------------------------- */

bool ada_lock(uint32_t *lock)
{
	for (uint32_t spins = 0; __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); spins++) {
		if (spins == ADA_SPINS_MAX)
			return false;
		if (spins % 1024 == 1023)
			ada_sys4(SYS_sched_yield, 0, 0, 0, 0);
		__builtin_ia32_pause();
	}
	slow.lock = lock;
	return true;
}

void ada_unlock(uint32_t *lock)
{
	slow.lock = NULL;
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

static bool own_stack(const struct ada_thread *thread, uint64_t low, uint64_t high)
{
	return thread->stack_high && high < thread->stack_high && low >= thread->stack_low;
}

void ada_core_hide(void)
{
	hidden = ada_self;
	self_is(&ada_no_thread);
}

void ada_core_show(void)
{
	if (hidden)
		self_is(hidden);
	hidden = NULL;
}

/* Changes the thread itself, not ada_self: a hook that this handler interrupted goes on with the pointer that it has. */
void ada_core_leave(void)
{
	ada_slow_thread()->index = 0;
	lean_hide();
}

bool ada_slow_forbidden(void)
{
	if (ada_core_is_forked())
		ada_quiet_forked();
	if (ada_quiet())
		return true;
	ada_core_show();
	return false;
}

struct ada_thread *ada_slow_begin(uint64_t sp)
{
	uint64_t mask;

	if (ada_slow_forbidden())
		return NULL;
	/* We are above the slow path on the same stack, so it can't be going on: a jump has left it that we weren't told of. */
	if (slow.thread && sp > slow.sp && own_stack(slow.thread, slow.sp, sp))
		ada_slow_abandoned();
	if (slow.thread || !ada_quiet_enter())
		return NULL;
	mask = ada_sys_signals_block();
	slow.thread = unseen ? unseen : ada_self;
	slow.mask = mask;
	slow.sp = (uint64_t)__builtin_frame_address(0);
	self_is(&ada_no_thread);
	return slow.thread;
}

/* Sets both in an order that lets a handler's hooks come in between. */
static void self_set(struct ada_thread *thread)
{
	if (thread == &ada_no_thread || ada_rseq_usable()) {
		self_is(thread);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		unseen = NULL;
	} else {
		unseen = thread;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		self_is(&ada_no_thread);
	}
}

void ada_slow_settle(void)
{
	if (!slow.thread)
		self_set(unseen ? unseen : ada_self);
}

void ada_slow_end(struct ada_thread *thread)
{
	uint64_t mask = slow.mask;

	self_set(thread);
	slow.thread = NULL;
	if (mask != OPEN) {
		ada_sys_signals_restore(mask);
		ada_quiet_leave();
	}
}

void ada_slow_abandoned(void)
{
	if (!slow.thread)
		return;
	if (slow.lock)
		ada_unlock(slow.lock);
	stack.busy = 0;
	ada_slow_end(slow.thread);
}

void ada_slow_lost(uint64_t events)
{
	struct ada_thread *thread = hidden && !unseen ? hidden : ada_slow_thread();

	if (thread->entry)
		ada_event_lost(thread, events);
}

struct ada_thread *ada_slow_thread(void)
{
	return slow.thread ? slow.thread : unseen ? unseen : ada_self;
}

void ada_slow_forked(void)
{
	forks++;
	self_is(&ada_no_thread);
	hidden = unseen = NULL;
	if (slow.thread) /* the slow path that found out has no thread any more */
		slow.thread = &ada_no_thread;
	if ((uint64_t)__builtin_frame_address(0) - spare >= SPARE_BYTES)
		spare_busy = 0; /* another thread of the parent's was on the spare stack */
}

/* --- the stack ---------------------------------------------------------------------------------------------------------- */

void ada_slow_stack(uint64_t bottom, uint64_t end)
{
	stack.bottom = bottom;
	stack.top = stack.end = end;
	stack.wait_sp = 0;
}

bool ada_slow_has_stack(void)
{
	return stack.top - stack.bottom >= LEAST_BYTES && !stack.busy;
}

/* False: `work` has not been called. */
static bool run_on_own(void (*work)(void *), void *argument)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0), top, wait_sp;

	/* As in ada_slow_begin: a jump has left the wait. */
	if (stack.wait_sp && here > stack.wait_sp && own_stack(ada_slow_thread(), stack.wait_sp, here))
		ada_slow_stack(stack.bottom, stack.end);
	if (stack.top - stack.bottom < LEAST_BYTES || __atomic_exchange_n(&stack.busy, 1, __ATOMIC_ACQUIRE))
		return false;
	top = stack.top;
	wait_sp = stack.wait_sp;
	stack.given_up = 0;
	ada_switch(argument, work, top, &stack.program);
	if (stack.given_up) {
		stack.top = top;
		stack.wait_sp = wait_sp;
	}
	__atomic_store_n(&stack.busy, 0, __ATOMIC_RELEASE);
	return true;
}

struct ada_thread *ada_slow_run(struct ada_thread *thread, void (*work)(void *), void *argument)
{
	if (!run_on_own(work, argument))
		work(argument);
	else if (stack.given_up)
		return ada_slow_thread();
	return thread;
}

void ada_aside(void (*work)(void *), void *argument)
{
	uint64_t left;

	if (run_on_own(work, argument))
		return;
	if (!spare || __atomic_exchange_n(&spare_busy, 1, __ATOMIC_ACQUIRE)) {
		work(argument);
		return;
	}
	ada_switch(argument, work, spare + SPARE_BYTES, &left);
	__atomic_store_n(&spare_busy, 0, __ATOMIC_RELEASE);
}

void ada_aside_start(void)
{
	if (!spare)
		spare = (uint64_t)ada_sys_map(SPARE_BYTES);
}

/* --- waits ---------------------------------------------------------------------------------------------------------------- */

struct pause {
	struct ada_thread *thread;
	void (*wait)(void *);
	void *argument;
	uint64_t program;
};

static bool is_child(uint32_t forks_before)
{
	return forks != forks_before || !ada_core->present;
}

/* False: this is a child of the process that began to wait. */
static bool pause_run(const struct pause *pause)
{
	uint32_t before = forks;

	ada_slow_end(pause->thread);
	pause->wait(pause->argument);
	if (!ada_slow_begin(0)) {
		slow.thread = is_child(before) ? ada_self : pause->thread;
		slow.mask = OPEN;
		self_is(&ada_no_thread);
	}
	return !is_child(before);
}

/* Runs on the program's stack. In a child nothing on the other stack counts. */
static void pause_run_apart(void *argument)
{
	const struct pause pause = *(const struct pause *)argument;
	bool same;

	stack.wait_sp = (uint64_t)__builtin_frame_address(0);
	__atomic_store_n(&stack.busy, 0, __ATOMIC_RELEASE);
	same = pause_run(&pause);
	stack.busy = 1;
	if (!same) {
		stack.given_up = 1;
		ada_switch_back(pause.program);
	}
}

bool ada_slow_pause(struct ada_thread *thread, void (*wait)(void *), void *argument)
{
	struct pause pause = { thread, wait, argument, stack.program };
	uint64_t top = stack.top, wait_sp = stack.wait_sp;

	if ((uint64_t)&pause - stack.bottom >= stack.end - stack.bottom) {
		if (!thread->index) /* at work on nothing yet */
			return pause_run(&pause);
		wait(argument); /* with signals blocked: there is no way to give up from here */
		return true;
	}
	ada_switch(&pause, pause_run_apart, pause.program, &stack.top);
	stack.top = top;
	stack.program = pause.program;
	stack.wait_sp = wait_sp;
	return true;
}
