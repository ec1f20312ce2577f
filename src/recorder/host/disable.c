#include "recorder/host/disable.h"

const char *ada_disable_text(enum ada_disable reason)
{
	switch (reason) {
	case ADA_DISABLE_NONE: return "";
	case ADA_DISABLE_ONESHOT_FULL: return "the oneshot buffer is full";
	case ADA_DISABLE_STOPPED: return "the recorder stopped it";
	case ADA_DISABLE_NO_MEMORY: return "it had no memory left for the agent";
	case ADA_DISABLE_NO_RECORDER: return "the agent lost its connection to the recorder";
	case ADA_DISABLE_PROTOCOL: return "agent and recorder are of different versions";
	case ADA_DISABLE_CONFINED: return "it confined itself by seccomp, under which the agent may not make its system calls";
	case ADA_DISABLE_NO_COUNTER: return "it forbade itself the time stamp counter (PR_SET_TSC)";
	case ADA_DISABLE_TRACED: return "it asked its parent to trace it, which would see the agent (PTRACE_TRACEME)";
	case ADA_DISABLE_NO_FILES: return "it had no file descriptor left for the agent";
	case ADA_DISABLE_NO_ANSWER: return "the recorder did not answer its agent in time: the machine is too busy";
	case ADA_DISABLE_NOT_READY: return "it ended, or was ended, before its agent was ready";
	case ADA_DISABLE_MOVED_BASE: return "it has a thread pointer of its own (arch_prctl, wrfsbase), where the agent finds nothing";
	case ADA_DISABLE_MEMORY_LIMIT: return "memory limit: there was no memory for the rest of the oneshot buffer";
	case ADA_DISABLE_INTERNAL: return "the agent met a broken invariant and switched itself off";
	}
	return "the agent gave a reason that this recorder does not know";
}

/* Why an announced image was not recorded. */
const char *ada_heir_text(uint32_t kind)
{
	switch ((enum ada_heir_kind)kind) {
	case ADA_HEIR_EXEC:
		return "its agent never reported: it ended before that, or had no memory or file descriptor left for it, or its "
		       "loader did not take the agent in, or it could not reach the recorder from where it is";
	case ADA_HEIR_STATIC: return "it is static: nothing can be loaded into it";
	case ADA_HEIR_SETID: return "it is setuid or setgid, or runs for another user than who started it: the loader lets nothing into it";
	case ADA_HEIR_MACHINE: return "it is a program of another architecture";
	case ADA_HEIR_LIBC: return "its C library is not glibc";
	case ADA_HEIR_CONFINED: return "a process that confined itself by seccomp started it";
	case ADA_HEIR_TRACED: return "a tracer of the program's own has it, which would see the agent";
	case ADA_HEIR_DISPATCHED: return "a process whose system calls are dispatched to user space started it";
	case ADA_HEIR_COUNTER: return "its process may not read the time stamp counter (PR_SET_TSC)";
	case ADA_HEIR_ROOT: return "its root (chroot, container) holds neither the agent nor /proc, by which it could be handed over";
	case ADA_HEIR_NO_MEMORY: return "it was executed where no memory or file descriptor was left to take the agent along";
	case ADA_HEIR_FORK: return "it could not reach the recorder: it had no memory or file descriptor left for that";
	case ADA_HEIR_FORK_UNREACHED: return "it could not reach the recorder from its root, network namespace and user";
	case ADA_HEIR_FORK_DISABLED: return "its parent was no longer recorded";
	}
	return "the agent gave a reason that this recorder does not know";
}
