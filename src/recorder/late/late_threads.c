#include "recorder/late/late_threads.h"
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"

#define POLL_NS 50000
#define POLLS_AWAKE 300	    /* a thread that runs stops within microseconds; who sleeps may get a CPU much later */
#define POLL_FIRST_NS 20000 /* of who goes before others */
#define POLLS_FIRST 4
#define POLLS_A_LOOK 16 /* whether the thread is a zombie by now */
#define STEPS_MAX 64

static bool is_dead(pid_t pid, pid_t tid)
{
	char path[64], text[512], *after;
	FILE *file;
	size_t got;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
	file = fopen(path, "re");
	got = file ? fread(text, 1, sizeof text - 1, file) : 0;
	if (file)
		fclose(file);
	text[got] = 0;
	after = strrchr(text, ')'); /* the name may hold anything */
	return !after || !after[1] || after[2] == 'Z' || after[2] == 'X';
}

int ada_hold_wait(struct ada_hold *hold, struct ada_held *thread, int *signal, int *event)
{
	const unsigned awake = hold->precedes ? POLLS_FIRST : POLLS_AWAKE;
	const struct timespec pause = { .tv_nsec = hold->precedes ? POLL_FIRST_NS : POLL_NS };

	for (unsigned polls = 1;; polls++) {
		siginfo_t info = { 0 };
		/* Only stops: a status that someone else waits for is left to them. */
		int status = waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL);

		if (!status && info.si_pid == thread->tid) {
			*signal = info.si_status & 0xff;
			*event = info.si_status >> 8;
			return 0;
		}
		if ((status && errno == ECHILD) || (polls >= awake && polls % POLLS_A_LOOK == 0 && is_dead(hold->pid, thread->tid))) {
			thread->gone = true;
			return -ESRCH;
		}
		if (ada_clock_boottime_ns() > hold->deadline_ns)
			return -ETIMEDOUT;
		if (polls < awake)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

static bool known(const struct ada_hold *hold, pid_t tid)
{
	for (size_t i = 0; i < hold->threads.count; i++)
		if (hold->threads.items[i].tid == tid)
			return true;
	return false;
}

static int seize(struct ada_hold *hold, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, 0)) {
		int code = errno;

		if (code == ESRCH || is_dead(hold->pid, tid))
			return 0;
		return ada_error_system(hold->error, code,
					"it can't be stopped (is a debugger attached? see also kernel.yama.ptrace_scope)");
	}
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	return ada_array_push(&hold->threads, (struct ada_held){ .tid = tid });
}

/* Seizes the threads in /proc that are not held yet. *found: how many. */
static int seize_new(struct ada_hold *hold, unsigned *found)
{
	char path[40];
	struct dirent *entry;
	int status = 0;
	DIR *directory;

	*found = 0;
	snprintf(path, sizeof path, "/proc/%d/task", hold->pid);
	directory = opendir(path);
	if (!directory)
		return ada_error_set(hold->error, ESRCH, "it has ended");
	while (!status && (entry = readdir(directory))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		size_t before;

		if (tid <= 0 || known(hold, tid))
			continue;
		before = hold->threads.count;
		status = seize(hold, tid);
		*found += hold->threads.count > before;
	}
	closedir(directory);
	return status;
}

/* A signal that was on its way is delivered first, as it would be without us; the stop that we asked for follows. */
static int await_stop(struct ada_hold *hold, struct ada_held *thread)
{
	int signal, event, status;

	while (!(status = ada_hold_wait(hold, thread, &signal, &event)) && event != PTRACE_EVENT_STOP)
		ptrace(PTRACE_CONT, thread->tid, 0, (void *)(intptr_t)(event ? 0 : signal));
	if (status == -ESRCH)
		return 0;
	if (status)
		return ada_error_set(hold->error, -status, "thread %d can't be stopped: it waits in the kernel (vfork?)", thread->tid);
	thread->stopped = !ptrace(PTRACE_GETREGS, thread->tid, 0, &thread->registers);
	thread->gone = !thread->stopped;
	if (!hold->still_ns) {
		hold->still_ns = ada_clock_boottime_ns();
		hold->still_cpu_ns = ada_clock_thread_ns();
	}
	return 0;
}

/* A single thread that isn't stopped yet runs, or would if it had a CPU: only several wait for one another. */
static void limit_several(struct ada_hold *hold, uint64_t start_ns, uint64_t start_cpu_ns)
{
	if (hold->threads.count < 2 || hold->still_ns)
		return;
	hold->still_ns = start_ns;
	hold->still_cpu_ns = start_cpu_ns;
	if (hold->limit_ns && hold->deadline_ns > start_ns + hold->limit_ns)
		hold->deadline_ns = start_ns + hold->limit_ns;
}

int ada_hold_all(struct ada_hold *hold)
{
	uint64_t start_ns = ada_clock_boottime_ns(), start_cpu_ns = ada_clock_thread_ns();
	unsigned found;
	int status;

	do {
		status = seize_new(hold, &found);
		limit_several(hold, start_ns, start_cpu_ns);
		for (size_t i = 0; i < hold->threads.count && !status; i++)
			if (!hold->threads.items[i].stopped && !hold->threads.items[i].gone)
				status = await_stop(hold, &hold->threads.items[i]);
	} while (!status && found);
	return status;
}

/* System calls without an end of their own that a stop ends with EINTR; the kernel resumes most others (signal(7)). */
static bool waits_forever(const struct user_regs_struct *registers)
{
	switch (registers->orig_rax) {
	case SYS_epoll_wait: return (int)registers->r10 == -1;
	case SYS_epoll_pwait: return (int)registers->r10 == -1 && !registers->r8;
	case SYS_rt_sigtimedwait: return !registers->rdx;
	case SYS_semop: return true;
	case SYS_semtimedop: return !registers->r10;
	case SYS_io_getevents: return !registers->r8;
	default: return false;
	}
}

/* A signal waits that the thread will handle at once. Not known: true. */
static bool is_signalled(pid_t pid, pid_t tid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	unsigned long long own = 0, shared = 0, blocked = 0;
	int known_masks = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
	file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0)
		known_masks += sscanf(line, "SigPnd: %llx", &own) == 1 || sscanf(line, "ShdPnd: %llx", &shared) == 1 ||
			       sscanf(line, "SigBlk: %llx", &blocked) == 1;
	free(line);
	if (file)
		fclose(file);
	return known_masks != 3 || ((own | shared) & ~blocked);
}

/* Our stop alone ended the thread's system call: the call begins anew. */
static void undo_interruption(const struct ada_hold *hold, const struct ada_held *thread)
{
	struct user_regs_struct registers;

	if (ptrace(PTRACE_GETREGS, thread->tid, 0, &registers) || (long)registers.orig_rax < 0 || (long)registers.rax != -EINTR ||
	    !waits_forever(&registers) || thread->signal || is_signalled(hold->pid, thread->tid))
		return;
	registers.rax = registers.orig_rax;
	registers.rip -= 2; /* the syscall instruction */
	ptrace(PTRACE_SETREGS, thread->tid, 0, &registers);
}

void ada_hold_release(struct ada_hold *hold)
{
	for (size_t i = 0; i < hold->threads.count; i++) {
		struct ada_held *thread = &hold->threads.items[i];

		if (!thread->stopped)
			continue;
		undo_interruption(hold, thread);
		ptrace(PTRACE_DETACH, thread->tid, 0, (void *)(intptr_t)thread->signal);
	}
	ada_array_free(&hold->threads);
}

static bool inside(const struct ada_late *late, uint64_t address)
{
	for (size_t i = 0; i < late->ranges.count; i++)
		if (address >= late->ranges.items[i].start && address < late->ranges.items[i].end)
			return true;
	return false;
}

/* Whether the thread stopped in a system call that goes on, or begins anew, with the thread; or is about to make a call. */
static bool in_system_call(const struct ada_held *thread)
{
	long result = (long)thread->registers.rax, code;

	errno = 0;
	code = ptrace(PTRACE_PEEKTEXT, thread->tid, (void *)thread->registers.rip, 0);
	return ((long)thread->registers.orig_rax >= 0 && result <= -512 && result >= -516) || errno || (code & 0xffff) == 0x050f ||
	       (code & 0xffff) == 0x80cd;
}

int ada_hold_step_out(struct ada_hold *hold, struct ada_held *thread, const struct ada_late *late)
{
	uint64_t kept, mask = ADA_HOLD_MASK;
	int signal, event, status = 0;
	bool masked;

	if (!thread->stopped || !inside(late, thread->registers.rip))
		return 0;
	/* Change the mask only where it matters: should we be killed meanwhile, nobody gives the thread its own mask back. A step that
	 * finds SIGTRAP blocked would cost the program its handler. */
	if (ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)8, &kept))
		return -ESRCH;
	masked = kept >> (SIGTRAP - 1) & 1;
	if (masked && ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)8, &mask))
		return -ESRCH;
	for (int steps = 0; !status && inside(late, thread->registers.rip); steps++) {
		if (steps == STEPS_MAX || in_system_call(thread)) {
			status = ada_error_set(hold->error, EBUSY, "thread %d stays in the first bytes of a function to be hooked",
					       thread->tid);
			break;
		}
		if (ptrace(PTRACE_SINGLESTEP, thread->tid, 0, 0) || (status = ada_hold_wait(hold, thread, &signal, &event)))
			return status ? status : -ESRCH;
		if (!event && signal != SIGTRAP) {
			thread->signal = signal;
			masked = !ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)8, &mask); /* no second one */
		}
		if (ptrace(PTRACE_GETREGS, thread->tid, 0, &thread->registers))
			return -ESRCH;
	}
	if (masked)
		ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)8, &kept);
	return status;
}

bool ada_hold_in_rseq(const struct ada_held *thread, uint64_t *abort_at)
{
	struct __ptrace_rseq_configuration where = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} section;
	struct iovec mine, its;
	uint64_t pointer = 0;

	*abort_at = 0;
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread->tid, (void *)sizeof where, &where) <= 0 || !where.rseq_abi_pointer)
		return false;
	mine = (struct iovec){ &pointer, sizeof pointer };
	its = (struct iovec){ (void *)(where.rseq_abi_pointer + 8), sizeof pointer };
	if (process_vm_readv(thread->tid, &mine, 1, &its, 1, 0) != sizeof pointer || !pointer)
		return false;
	mine = (struct iovec){ &section, sizeof section };
	its = (struct iovec){ (void *)pointer, sizeof section };
	if (process_vm_readv(thread->tid, &mine, 1, &its, 1, 0) != sizeof section)
		return true;
	*abort_at = section.abort;
	return thread->registers.rip - section.start < section.bytes;
}
