/* Signals that a rule names, and those that say that the program is broken, where it has a handler of its own: each delivery marks, or is
 * noted for the case that the handler ends the process (crash.c), then the handler runs as it would without us.
 *
 * The kernel gets a thunk in the handler's place, one a handler. The thunk marks and jumps on, with the arguments, the stack and the
 * return address that the kernel made. So mask, flags and stack are the kernel's business as ever, nothing has to agree with the
 * disposition of the moment, and unwinders see the program's handler. libc's sigaction hides the thunks (intercept.c).
 *
 * SA_RESETHAND leaves the default in place, unseen by sigaction: then the thunk installs the handler of fatal signals (crash.c).
 */
#include <signal.h>
#include "agent/judge/judge.h"
#include "agent/life/life.h"

#define THUNK_BYTES 16
#define THUNKS 64 /* thunks a class: further handlers are left alone */
#define CLASSES 4 /* bit 0: takes siginfo; bit 1: SA_RESETHAND */

typedef void handler_function(int);
extern uint8_t ada_signal_thunks[CLASSES][THUNKS][THUNK_BYTES] __attribute__((visibility("hidden")));
static handler_function *handlers[CLASSES][THUNKS]; /* each set once */

/* At a handler's entry rsp is 8 below a multiple of 16, rax is 0. */
__asm__(".text\n"
	".p2align 4\n"
	".globl ada_signal_thunks\n"
	".hidden ada_signal_thunks\n"
	"ada_signal_thunks:\n"
	".set thunk,0\n"
	".rept 256\n"
	"	mov $thunk,%eax\n"
	"	jmp ada_signal_deliver\n"
	"	.p2align 4\n"
	".set thunk,thunk+1\n"
	".endr\n"
	".type ada_signal_deliver,@function\n"
	"ada_signal_deliver:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rdx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rsi,%rcx\n"
	"	mov %eax,%esi\n"
	"	call ada_signal_seen\n"
	"	mov %rax,%r11\n"
	"	pop %rdx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	xor %eax,%eax\n"
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size ada_signal_deliver,.-ada_signal_deliver\n");
static_assert(CLASSES * THUNKS == 256, "thunks");

/* Returns the handler to go on into. */
ADA_HIDDEN handler_function *ada_signal_seen(int number, uint32_t thunk, const void *context, const void *info);
__attribute__((used)) handler_function *ada_signal_seen(int number, uint32_t thunk, const void *context, const void *info)
{
	uint64_t seq;
	uint32_t thread;

	if (!ada_base_moved() && ada_process_is_own()) {
		if (ada_signal_named(number)) {
			ada_core_here(&thread, &seq);
			ada_judge_signal(number, false, ada_sys_counter(), thread, seq);
		}
		if (ada_crash_signal(number))
			ada_crash_hold(info, context);
		if (thunk / THUNKS & 2)
			ada_crash_rewatch(number);
	}
	return handlers[thunk / THUNKS][thunk % THUNKS];
}

void ada_deliver_dress(struct sigaction *action)
{
	uint32_t class = (action->sa_flags & SA_SIGINFO ? 1 : 0) + (action->sa_flags & SA_RESETHAND ? 2 : 0);

	for (uint32_t i = 0; i < THUNKS; i++) {
		handler_function *there = NULL, *handler = action->sa_handler;

		if (!__atomic_compare_exchange_n(&handlers[class][i], &there, handler, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
		    there != handler)
			continue;
		action->sa_handler = (handler_function *)ada_signal_thunks[class][i];
		action->sa_flags |= SA_SIGINFO;
		return;
	}
}

void ada_deliver_undress(struct sigaction *action)
{
	uint64_t offset = (uint64_t)action->sa_handler - (uint64_t)ada_signal_thunks, thunk = offset / THUNK_BYTES;

	if (offset >= sizeof ada_signal_thunks)
		return;
	action->sa_handler = handlers[thunk / THUNKS][thunk % THUNKS];
	if (!(thunk / THUNKS & 1))
		action->sa_flags &= ~SA_SIGINFO;
}
