/* Functions of libc whose entry the agent takes over, in every process. So recording goes on across exec, the agent sees crashes and
 * non-local jumps, and an end by a crash handler, survives the program's own seccomp filters, tracers and thread pointers, and keeps out of limits of memory. All calls
 * come through here, libc's own too (system, popen, posix_spawn). The planner plans a hook for each name that a module exports, even in
 * modules that are not traced; the agent replaces the function (it may go on into the hook's body, the original).
 */
#ifndef ADA_ABI_INTERCEPT_H
#define ADA_ABI_INTERCEPT_H

#define ADA_INTERCEPTS(X)                                                                                                                  \
	X(execve)                                                                                                                          \
	X(execveat)                                                                                                                        \
	X(fexecve)                                                                                                                         \
	X(sigaction)                                                                                                                       \
	X(arch_prctl)                                                                                                                      \
	X(prctl)                                                                                                                           \
	X(ptrace)                                                                                                                          \
	X(syscall)                                                                                                                         \
	X(setrlimit)                                                                                                                       \
	X(getrlimit)                                                                                                                       \
	X(prlimit)                                                                                                                         \
	X(mlockall)                                                                                                                        \
	X(longjmp)                                                                                                                         \
	X(__longjmp_chk)                                                                                                                   \
	X(_exit)

enum ada_intercept {
#define X(name) ADA_INTERCEPT_##name,
	ADA_INTERCEPTS(X)
#undef X
		ADA_INTERCEPT_COUNT
};
#endif
