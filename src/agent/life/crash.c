/* Fatal signals: a record of the crash in the segment, a mark, then the death that the program would have died without us.
 *
 * Where the program leaves a fatal signal at its default, our handler is installed and libc's sigaction hides it (see intercept.c): the
 * program reads SIG_DFL and sets SIG_DFL. The handler writes struct ada_crash once, puts the default back and queues the very same signal
 * again, so that exit status, core dump and siginfo are as without us: the signal is blocked while the handler runs, and is delivered
 * where it struck. A handler of the program's own, or SIG_IGN, is the program's. A tracer that has attached meanwhile would see that
 * signal twice: so there a thread that nobody traces dies of it. The same holds for signals that a rule names and whose default is the
 * process's end: they mark, without a record.
 *
 * Most servers have a handler of their own that prints something, then raises the signal anew or aborts. What they crashed of is what
 * that handler was called for, and not its raise(). So deliver.c has each such fault noted, in the thread's own memory; that costs a system
 * call only where an earlier handler's frame lies above, for there are programs that live with thousands of faults a second. Whether the handler is still at work when the process ends
 * nobody tells us: it is where the call that the fault came in is still open, and the handler's frame, which the kernel has made, lies on the
 * stack that the thread is on, further up, and still holds what the fault was; or where the signal has come to the very instruction of that fault.
 * A handler may also end the process by _exit, or by exit, which comes to that: then the fault that it is about is the crash, though no
 * signal ends the process.
 */
#include <sched.h>
#include <signal.h>
#include <ucontext.h>
#include "abi/page.h"
#include "abi/rules.h"
#include "agent/hook/hook.h"
#include "agent/judge/judge.h"
#include "agent/life/life.h"

#define SA_RESTORER 0x04000000

struct kernel_action {
	void *handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#define RIP_PLACE 16	    /* of struct ada_crash.registers */
#define DEPTH_MOST 8388608u /* of a handler's calls on a stack that isn't known */
#define BIT ADA_SIGNAL_BIT
#define LAST_SIGNAL 64

/* Signals whose default is not the process's end, those that can't be caught, and libc's own two. */
static const uint64_t harmless = BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGCONT) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) |
				 BIT(SIGSTOP) | BIT(SIGKILL) | BIT(32) | BIT(33);

/* What the kernel returns to from a handler; debuggers know it by these bytes. */
__attribute__((naked, used)) static void signal_return(void)
{
	__asm__("mov $15, %eax; syscall");
}

static bool watching;

bool ada_crash_signal(int number)
{
	return number > 0 && ada_signals_have(ADA_CRASH_SIGNALS, (uint64_t)number);
}

bool ada_signal_named(int number)
{
	return ada_judge_signals() >> (number - 1) & 1;
}

bool ada_crash_watches(int number)
{
	return watching &&
	       (ada_crash_signal(number) || (number > 0 && number <= LAST_SIGNAL && !(harmless & BIT(number)) && ada_signal_named(number)));
}

/* Of these three signals it is an instruction's, which may be one in a copy: then the original's. */
static uint64_t fault_address(const siginfo_t *info)
{
	bool executes = info->si_signo == SIGFPE || info->si_signo == SIGILL || info->si_signo == SIGTRAP;
	uint64_t address = (uint64_t)info->si_addr, original = executes ? ada_region_original(address) : 0;

	return original ? original : address;
}

/* A signal, and what it struck. */
struct fault {
	int signal, code;
	uint32_t process, thread; /* a child that was forked in a handler isn't its parent */
	uint64_t seq, counter, address, rip, rsp;
	struct ada_open_call call;
	const gregset_t *registers; /* in the frame of its handler */
};
static __thread struct fault held; /* the latest one that a handler of the program's was called for; no registers: none was */
static bool any_held; /* of any thread. Without it nobody looks at `held`: a thread of the program's own making may have no such data */

static struct fault fault_of(const siginfo_t *info, const ucontext_t *context)
{
	uint64_t seq;
	uint32_t thread;

	ada_core_here(&thread, &seq);
	return (struct fault){
		.signal = info->si_signo,
		.code = info->si_code,
		.process = ada_process_pid(),
		.thread = thread,
		.seq = seq,
		.counter = ada_sys_counter(),
		.address = info->si_code > 0 ? fault_address(info) : 0,
		.rip = (uint64_t)context->uc_mcontext.gregs[REG_RIP],
		.rsp = (uint64_t)context->uc_mcontext.gregs[REG_RSP],
		.call = ada_core_open_call(),
		.registers = &context->uc_mcontext.gregs,
	};
}

static_assert(REG_RIP == REG_RSP + 1, "is_handled reads both at once");

static bool is_on(const stack_t *stack, uint64_t address)
{
	return !(stack->ss_flags & SS_DISABLE) && address - (uint64_t)stack->ss_sp < stack->ss_size;
}

/* Whether any is held, and this process may still be about it. */
static bool is_held(void)
{
	return held.registers && held.process == ada_process_pid() && ada_core_call_lasts(held.call);
}

/* Whether the handler that was called for what is held still runs, with the stack pointer there. `other`: the stack for signals. */
static bool is_within(uint64_t rsp, const stack_t *other)
{
	uint64_t frame = (uint64_t)held.registers, kept[2];

	if (is_on(other, rsp) != is_on(other, frame) || frame - rsp > DEPTH_MOST)
		return false;
	return ada_sys_peek(kept, frame + REG_RSP * sizeof(greg_t), sizeof kept) == sizeof kept && kept[0] == held.rsp &&
	       kept[1] == held.rip;
}

/* The same, now that another signal has struck. */
static bool is_handled(const siginfo_t *info, const ucontext_t *now)
{
	uint64_t rip = (uint64_t)now->uc_mcontext.gregs[REG_RIP], rsp = (uint64_t)now->uc_mcontext.gregs[REG_RSP];

	if (!is_held())
		return false;
	if (rip == held.rip && rsp == held.rsp) /* an instruction's fault; it raised that signal, which was blocked until it returned */
		return info->si_signo == held.signal && info->si_code <= 0 && held.code > 0;
	return is_within(rsp, &now->uc_stack);
}

void ada_crash_hold(const void *info, const void *context)
{
	if (!watching || is_handled(info, context)) /* else it is the handler that has crashed */
		return;
	held = fault_of(info, context);
	__atomic_store_n(&any_held, true, __ATOMIC_RELAXED);
}

static void crash_write(struct ada_crash *crash, const struct fault *fault, int end)
{
	static const uint8_t order[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
					 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL };
	uint64_t sp = fault->rsp, original = ada_region_original(fault->rip);
	long bytes = ada_sys_peek(crash->stack, sp, sizeof crash->stack);

	/* A read that ends in a missing page tells only by pages how far it came; less is better than nothing. */
	if (ada_sys_failed(bytes)) {
		uint64_t left = ADA_PAGE_BYTES - sp % ADA_PAGE_BYTES;

		bytes = left < sizeof crash->stack ? ada_sys_peek(crash->stack, sp, left) : 0;
	}
	crash->stack_bytes = ada_sys_failed(bytes) ? 0 : bytes;
	crash->signal = fault->signal;
	crash->end = end;
	crash->code = fault->code;
	crash->thread_id = ada_sys_tid();
	crash->fault_address = fault->address;
	crash->counter = fault->counter;
	for (size_t i = 0; i < sizeof order; i++)
		crash->registers[i] = (*fault->registers)[order[i]];
	if (original)
		crash->registers[RIP_PLACE] = original;
	__atomic_store_n(&crash->present, 1, __ATOMIC_RELEASE);
}

/* Once in a process: two threads may crash together. */
static bool claim(uint32_t *claimed)
{
	uint32_t unclaimed = 0;

	return __atomic_compare_exchange_n(claimed, &unclaimed, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void end_note(struct ada_shm *shm, int number, const siginfo_t *info, const ucontext_t *context)
{
	bool crashes = ada_crash_signal(number);
	struct fault fault;

	if (crashes && !claim(&shm->crash.claimed))
		return;
	fault = fault_of(info, context);
	if (crashes && is_handled(info, context)) {
		const gregset_t *registers = held.rip == fault.rip && held.rsp == fault.rsp ? fault.registers : held.registers;

		fault = held; /* its frame may be gone where its handler has returned */
		fault.registers = registers;
	}
	if (crashes)
		crash_write(&shm->crash, &fault, number);
	ada_judge_signal(number, crashes, fault.counter, fault.thread, fault.seq);
}

/* With status 0 behind a signal that was sent it ends as it was asked to. */
void ada_crash_exit(int status)
{
	struct ada_shm *shm = __atomic_load_n(&any_held, __ATOMIC_RELAXED) && watching ? ada_core_shm() : NULL;
	stack_t other;

	if (!shm || !ada_process_is_own() || !is_held() || (held.code <= 0 && !status))
		return;
	if (ada_sys_failed(ada_sys4(SYS_sigaltstack, 0, (long)&other, 0, 0)) || !is_within((uint64_t)__builtin_frame_address(0), &other))
		return;
	if (!claim(&shm->crash.claimed))
		return;
	crash_write(&shm->crash, &held, 0);
	ada_judge_signal(held.signal, true, held.counter, held.thread, held.seq);
}

/* Where this fails a fault recurs by itself, but a sent signal must not get lost. */
static void send_again(int number, const siginfo_t *info)
{
	if (ada_sys_failed(ada_sys4(SYS_rt_tgsigqueueinfo, ada_sys_pid(), ada_sys_tid(), number, (long)info)))
		ada_sys4(SYS_tgkill, ada_sys_pid(), ada_sys_tid(), number, 0);
}

/* The tracer has seen the signal and let it come here. A thread that it does not trace takes the signal, which ends the process as ever.
 * Meanwhile this thread waits, and the other one uses the stack below here. Returns where that was not the end: there is no such thread,
 * or the program has changed what the signal does.
 */
static __attribute__((noinline)) void die_unseen(int number, const siginfo_t *info)
{
	const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD | CLONE_VFORK | CLONE_UNTRACED;
	uint64_t all_but_it = ~BIT(number);

	if (ada_sys4(SYS_clone, flags, 0, 0, 0))
		return;
	send_again(number, info);
	ada_sys4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all_but_it, 0, sizeof all_but_it);
	ada_sys4(SYS_exit, 0, 0, 0, 0);
	__builtin_unreachable();
}

static void handle_crash(int number, siginfo_t *info, void *context)
{
	struct kernel_action defaults = { .handler = (void *)SIG_DFL };
	struct ada_shm *shm = ada_core_shm();

	if (shm && ada_process_is_own())
		end_note(shm, number, info, context);
	ada_sys4(SYS_rt_sigaction, number, (long)&defaults, 0, sizeof defaults.mask);
	if (!ada_quiet_filtered() && ada_process_tracer())
		die_unseen(number, info);
	send_again(number, info);
}

void ada_crash_dress(struct sigaction *action)
{
	action->sa_sigaction = handle_crash;
	action->sa_flags = (action->sa_flags & ~(SA_NODEFER | SA_RESETHAND)) | SA_SIGINFO | SA_ONSTACK;
}

void ada_crash_undress(struct sigaction *action)
{
	if (action->sa_sigaction != handle_crash)
		return;
	action->sa_handler = SIG_DFL;
	action->sa_flags &= ~(SA_SIGINFO | SA_ONSTACK | SA_RESTORER);
}

static void swap_action(int number, void *from, const struct kernel_action *to)
{
	struct kernel_action old;

	if (!ada_sys4(SYS_rt_sigaction, number, 0, (long)&old, sizeof old.mask) && old.handler == from)
		ada_sys4(SYS_rt_sigaction, number, (long)to, 0, sizeof to->mask);
}

bool ada_crash_unwatch(void)
{
	const struct kernel_action defaults = { .handler = (void *)SIG_DFL };

	bool watched = watching;

	watching = false;
	for (int number = 1; number <= LAST_SIGNAL; number++)
		swap_action(number, (void *)handle_crash, &defaults);
	return watched;
}

void ada_crash_rewatch(int number)
{
	const struct kernel_action ours = { .handler = handle_crash,
					    .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTORER,
					    .restorer = signal_return };

	if (ada_crash_watches(number))
		swap_action(number, (void *)SIG_DFL, &ours);
}

void ada_crash_watch(void)
{
	watching = true;
	for (int number = 1; number <= LAST_SIGNAL; number++)
		ada_crash_rewatch(number);
}
