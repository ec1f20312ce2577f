#include "recorder/late/late.h"
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <time.h>
#include "abi/wire.h"
#include "base/clock.h"
#include "recorder/late/late_stacks.h"

#define STOP_NS 500000000ull  /* for all threads to stop, in one attempt */
#define RUN_NS 30000000000ull /* the agent's own waits end before */
#define TRY_NS 3000000000ull  /* attempts, all together */
#define PAUSE_NS 2000000
#define LOOK_NS 100000 /* whether the agent is done */
#define XSTATE_MAX 32768
#define FLAGS_OFF 0x40500ull /* alignment check, direction, trap */

/* What a borrowed thread gets back. */
struct loan {
	struct ada_held *thread;
	uint64_t frame; /* in its memory: struct ada_late_frame */
	uint64_t mask;
	size_t xstate_bytes;
	uint8_t xstate[XSTATE_MAX] __attribute__((aligned(64)));
};

struct attempt {
	const struct ada_late *late;
	struct ada_error error;
	int status;
};

/* All threads are stopped: what is mapped now stays mapped. */
static bool is_same_image(const struct ada_late *late)
{
	char path[40], *line = NULL;
	size_t room = 0;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/maps", late->pid);
	file = fopen(path, "re");
	while (file && !found && getline(&line, &room, file) > 0) {
		unsigned int major_number, minor_number;
		unsigned long inode;

		found = sscanf(line, "%*s %*s %*s %x:%x %lu", &major_number, &minor_number, &inode) == 3 && inode == late->inode &&
			makedev(major_number, minor_number) == late->device;
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* If the process ignores SIGTRAP, that would not survive our traps. */
static bool ignores_traps(pid_t pid)
{
	char path[40], *line = NULL;
	size_t room = 0;
	unsigned long long mask = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0)
		if (sscanf(line, "SigIgn: %llx", &mask) == 1)
			break;
	free(line);
	if (file)
		fclose(file);
	return mask >> (SIGTRAP - 1) & 1;
}

static bool restarts(const struct ada_held *thread)
{
	long result = (long)thread->registers.rax;

	return (long)thread->registers.orig_rax >= 0 && result <= -512 && result >= -516;
}

/* How badly the thread suits, from 0 on; -1: not at all. *abort_at: where the thread must go on afterwards if not where it is; else 0. */
static int unfitness(const struct ada_held *thread, const struct ada_late *late, uint64_t *abort_at)
{
	uint64_t at = thread->registers.rip;
	bool inside = at >= late->text_start && at < late->text_end;

	if (!thread->stopped || thread->signal)
		return -1;
	if (ada_hold_in_rseq(thread, abort_at))
		return *abort_at ? 3 : -1;
	*abort_at = 0;
	return inside ? 2 : restarts(thread); /* its system call begins anew, or goes on, with the registers that the thread gets back */
}

/* Chooses a thread outside the agent, if there is one. Else one inside: the threads of a program that was stopped (SIGSTOP) stay where
 * they are. A late patch is safe while other threads are anywhere in the agent, and therefore also on a thread that is there. A thread in
 * an rseq critical section begins that section anew, as after any preemption. */
static struct ada_held *choose(struct ada_hold *hold, const struct ada_late *late)
{
	struct ada_held *best = NULL;
	uint64_t abort_at, best_abort_at = 0;
	int least = INT_MAX;

	for (size_t i = 0; i < hold->threads.count && least; i++) {
		int unfit = unfitness(&hold->threads.items[i], late, &abort_at);

		if (unfit < 0 || unfit >= least)
			continue;
		best = &hold->threads.items[i];
		best_abort_at = abort_at;
		least = unfit;
	}
	if (best_abort_at)
		best->registers.rip = best_abort_at;
	return best;
}

/* What the thread needs to go on without us. Its system call begins anew, as the kernel would have it. */
static int leave_frame(const struct loan *loan)
{
	const struct user_regs_struct *from = &loan->thread->registers;
	struct ada_late_frame frame = { .mask = loan->mask,
					.r15 = from->r15,
					.r14 = from->r14,
					.r13 = from->r13,
					.r12 = from->r12,
					.rbp = from->rbp,
					.rbx = from->rbx,
					.r11 = from->r11,
					.r10 = from->r10,
					.r9 = from->r9,
					.r8 = from->r8,
					.rax = from->rax,
					.rcx = from->rcx,
					.rdx = from->rdx,
					.rsi = from->rsi,
					.rdi = from->rdi,
					.rip = from->rip,
					.cs = from->cs,
					.eflags = from->eflags,
					.rsp = from->rsp,
					.ss = from->ss };
	struct iovec mine = { &frame, sizeof frame }, its = { (void *)loan->frame, sizeof frame };

	if (restarts(loan->thread)) {
		frame.rip -= 2; /* the syscall instruction */
		frame.rax = (long)from->rax == -516 ? SYS_restart_syscall : from->orig_rax;
	}
	return process_vm_writev(loan->thread->tid, &mine, 1, &its, 1, 0) == sizeof frame ? 0 : -EFAULT;
}

/* Here, and where the thread is given back, the order of steps is such that being killed between two of them does no harm. */
static int thread_take(struct loan *loan, const struct ada_late *late)
{
	struct user_regs_struct registers = loan->thread->registers;
	struct iovec xstate = { loan->xstate, sizeof loan->xstate };
	uint64_t mask = ADA_HOLD_MASK;
	pid_t tid = loan->thread->tid;
	int status;

	registers.rip = late->entry;
	registers.rsp = loan->frame = late->stack - sizeof(struct ada_late_frame);
	registers.rbp = 0;
	registers.orig_rax = UINT64_MAX; /* in no system call */
	registers.eflags &= ~FLAGS_OFF;
	if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &xstate) || ptrace(PTRACE_GETSIGMASK, tid, 8, &loan->mask))
		return -errno;
	loan->xstate_bytes = xstate.iov_len;
	status = leave_frame(loan);
	if (status)
		return status;
	if (ptrace(PTRACE_SETREGS, tid, 0, &registers))
		return -errno;
	return ptrace(PTRACE_SETSIGMASK, tid, 8, &mask) ? -errno : 0;
}

static void give_back(struct loan *loan)
{
	struct iovec xstate = { loan->xstate, loan->xstate_bytes };
	pid_t tid = loan->thread->tid;

	ptrace(PTRACE_SETSIGMASK, tid, 8, &loan->mask);
	ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &xstate);
	ptrace(PTRACE_SETREGS, tid, 0, &loan->thread->registers);
}

/* True where the agent is done, or gone; *status is how. */
static bool is_done(const struct loan *loan, int *status)
{
	uint64_t ended = 0;
	struct iovec mine = { &ended, sizeof ended };
	struct iovec its = { (void *)(loan->frame + offsetof(struct ada_late_frame, ended)), sizeof ended };
	bool read = process_vm_readv(loan->thread->tid, &mine, 1, &its, 1, 0) == sizeof ended;

	*status = read ? (int)(1 - (int64_t)ended) : -ESRCH;
	return !read || ended;
}

/* True where the stop is a fault of the agent's. A signal that someone sent is delivered when the thread goes on as itself. */
static bool is_fault(struct loan *loan, int signal)
{
	siginfo_t info = { 0 };

	if (ptrace(PTRACE_GETSIGINFO, loan->thread->tid, 0, &info) || info.si_code > 0)
		return true;
	loan->thread->signal = signal;
	return false;
}

/* Stops the thread where it waits to be stopped. */
static int stop(struct ada_hold *hold, struct loan *loan, int result)
{
	int signal, event, status;

	hold->deadline_ns = ada_clock_boottime_ns() + STOP_NS;
	ptrace(PTRACE_INTERRUPT, loan->thread->tid, 0, 0);
	while (!(status = ada_hold_wait(hold, loan->thread, &signal, &event)) && event != PTRACE_EVENT_STOP)
		if (is_fault(loan, signal) || ptrace(PTRACE_CONT, loan->thread->tid, 0, 0))
			break;
	return status ? status : result;
}

static int thread_run(struct ada_hold *hold, struct loan *loan)
{
	uint64_t end_ns = ada_clock_boottime_ns() + RUN_NS;
	int signal, event, status = 0;

	if (ptrace(PTRACE_CONT, loan->thread->tid, 0, 0))
		return -ESRCH;
	for (;;) {
		int waited;

		hold->deadline_ns = ada_clock_boottime_ns() + LOOK_NS;
		waited = ada_hold_wait(hold, loan->thread, &signal, &event);
		if (!waited && !event && is_fault(loan, signal))
			return -EFAULT;
		if (!waited && ptrace(PTRACE_CONT, loan->thread->tid, 0, 0))
			return -ESRCH;
		if (waited && waited != -ETIMEDOUT)
			return waited;
		if (is_done(loan, &status))
			return stop(hold, loan, status);
		if (ada_clock_boottime_ns() > end_ns)
			return stop(hold, loan, -ETIME);
	}
}

static const char *reason(int status)
{
	switch (-status) {
	case EAGAIN: return "it is in the midst of loading a library, or none of its threads can be borrowed";
	case ESHUTDOWN: return "its agent records no more";
	case EPERM: return "it is confined by seccomp";
	case EFAULT: return "its agent failed";
	case ESRCH: return "it has ended";
	case ETIME: return "its agent did not finish in time";
	default: return strerror(-status);
	}
}

struct returns {
	const struct ada_late *late;
	bool inside;
};

static void note_return(void *context, uint64_t word)
{
	struct returns *returns = context;

	for (size_t r = 0; r < returns->late->ranges.count; r++)
		returns->inside |= word >= returns->late->ranges.items[r].start && word < returns->late->ranges.items[r].end;
}

/* A handler that interrupted a function in the bytes to be patched would return into them: its frame holds the program counter. A word
 * that only looks like one counts, too. The ranges leave out the first byte, which pointers to functions hold. */
static int check_stacks(struct ada_hold *hold, const struct ada_held *thread, const struct ada_late *late)
{
	struct returns returns = { .late = late };
	struct ada_stacks_look look = { .span = { UINT64_MAX, 0 }, .met = note_return, .context = &returns };
	int status;

	for (size_t r = 0; r < late->ranges.count; r++) {
		look.span.start = late->ranges.items[r].start < look.span.start ? late->ranges.items[r].start : look.span.start;
		look.span.end = late->ranges.items[r].end > look.span.end ? late->ranges.items[r].end : look.span.end;
	}
	status = ada_stacks_look(hold, thread, &look);
	if (status)
		return ada_error_set(hold->error, -status, "thread %d has too many stacks to look at", thread->tid);
	return returns.inside ? ada_error_set(hold->error, EBUSY, "a handler of thread %d interrupted a function that is to be hooked",
					      thread->tid) :
				0;
}

static int patch(struct ada_hold *hold, const struct ada_late *late)
{
	int status = 0;
	struct loan *loan;

	if (!is_same_image(late))
		return ada_error_set(hold->error, ESRCH, "it is another program by now");
	for (size_t i = 0; i < hold->threads.count && !status; i++)
		status = ada_hold_step_out(hold, &hold->threads.items[i], late) ?: check_stacks(hold, &hold->threads.items[i], late);
	if (status)
		return ada_error_set(hold->error, -status, "%s", reason(status));
	loan = calloc(1, sizeof *loan);
	if (!loan)
		return ada_error_system(hold->error, ENOMEM, "late patch");
	loan->thread = choose(hold, late);
	status = loan->thread ? thread_take(loan, late) : -EAGAIN;
	if (!status) {
		status = thread_run(hold, loan);
		give_back(loan);
	}
	free(loan);
	return status ? ada_error_set(hold->error, -status, "%s", reason(status)) : 0;
}

/* A thread of its own: whatever is still held when it ends, the kernel lets go. */
static void *attempt_run(void *argument)
{
	struct attempt *attempt = argument;
	struct ada_hold hold = { .pid = attempt->late->pid, .deadline_ns = ada_clock_boottime_ns() + STOP_NS, .error = &attempt->error };

	attempt->status = ada_hold_all(&hold);
	if (!attempt->status)
		attempt->status = patch(&hold, attempt->late);
	ada_hold_release(&hold);
	return NULL;
}

int ada_late_run(const struct ada_late *late, struct ada_error *error)
{
	uint64_t end_ns = ada_clock_boottime_ns() + TRY_NS;
	struct attempt attempt;
	pthread_t thread;

	if (!late->entry || !late->stack)
		return ada_error_set(error, ENOTSUP, "its agent takes no late patches");
	if (ignores_traps(late->pid))
		return ada_error_set(error, ENOTSUP, "it ignores SIGTRAP");
	do {
		int status;

		attempt = (struct attempt){ .late = late };
		status = pthread_create(&thread, NULL, attempt_run, &attempt);
		if (status)
			return ada_error_system(error, status, "no thread");
		pthread_join(thread, NULL);
		if (attempt.status != -EAGAIN && attempt.status != -EBUSY && attempt.status != -ETIMEDOUT)
			break;
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	} while (ada_clock_boottime_ns() < end_ns);
	return attempt.status ? ada_error_set(error, -attempt.status, "%s", attempt.error.text) : 0;
}
