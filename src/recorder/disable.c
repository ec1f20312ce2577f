#include "recorder/recorder.h"

const char *ada_disable_text(enum ada_disable reason)
{
	switch (reason) {
	case ADA_DISABLE_NONE: return "";
	case ADA_DISABLE_ONESHOT_FULL: return "the oneshot buffer is full";
	case ADA_DISABLE_STOPPED: return "the recorder stopped it";
	case ADA_DISABLE_THREADS_FULL: return "it had more threads than can be recorded";
	case ADA_DISABLE_MODULES_FULL: return "it loaded more modules than can be recorded";
	case ADA_DISABLE_NO_MEMORY: return "it had no memory left for the agent";
	case ADA_DISABLE_NO_RECORDER: return "the agent lost its connection to the recorder";
	case ADA_DISABLE_PROTOCOL: return "agent and recorder are of different versions";
	case ADA_DISABLE_NO_RSEQ: return "the kernel or the C library gives no restartable sequences (rseq)";
	case ADA_DISABLE_CONFINED: return "it confined itself by seccomp, under which the agent may not make its system calls";
	case ADA_DISABLE_NO_COUNTER: return "it forbade itself the time stamp counter (PR_SET_TSC)";
	case ADA_DISABLE_INTERNAL: return "the agent met a broken invariant and switched itself off";
	}
	return "the agent gave a reason that this recorder does not know";
}
