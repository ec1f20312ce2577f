/* The agent's own replacements of functions of libc: abi/intercept.h.
 *
 * Each goes on into the original, whose first instructions lie in a trampoline, so that errno, restarts and checks remain libc's
 * business. The replacements run anywhere: in signal handlers, and in vfork children, which share our memory. So they keep no state of
 * their own.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <linux/rseq.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <unistd.h>
#include "agent/ground/space.h"
#include "agent/life/life.h"

#define JUMP_STACK_POINTER 6 /* in glibc's jmp_buf for x86-64: rbx rbp r12 r13 r14 r15 rsp rip */

void *ada_intercept_originals[ADA_INTERCEPT_COUNT];

/* --- exec: the agent comes along ---------------------------------------------------------------------------------------- */

static int replace_execve(const char *path, char *const *arguments, char *const *environment)
{
	return ada_exec_follow(ADA_INTERCEPT_execve, AT_FDCWD, path, arguments, environment, 0);
}

static int replace_execveat(int directory, const char *path, char *const *arguments, char *const *environment, int flags)
{
	return ada_exec_follow(ADA_INTERCEPT_execveat, directory, path, arguments, environment, flags);
}

static int replace_fexecve(int file, char *const *arguments, char *const *environment)
{
	return ada_exec_follow(ADA_INTERCEPT_fexecve, file, "", arguments, environment, AT_EMPTY_PATH);
}

/* --- sigaction: our handlers are nobody's business ------------------------------------------------------------------------ */

typedef int sigaction_function(int, const struct sigaction *, struct sigaction *);

/* What to tell the kernel instead of `action`. False: the very same. */
static bool dress(int number, const struct sigaction *action, struct sigaction *ours)
{
	bool own = action->sa_handler != SIG_DFL;

	if (action->sa_handler == SIG_IGN || ada_base_moved() || !ada_process_is_own())
		return false;
	if (own ? !ada_signal_named(number) && !ada_crash_signal(number) : !ada_crash_watches(number))
		return false;
	*ours = *action;
	if (own)
		ada_deliver_dress(ours);
	else
		ada_crash_dress(ours);
	return true;
}

static int replace_sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	sigaction_function *original = ada_intercept_originals[ADA_INTERCEPT_sigaction];
	struct sigaction ours;
	int result;

	if (number <= 0 || number > 64)
		return original(number, action, old);
	if (action && dress(number, action, &ours))
		action = &ours;
	result = original(number, action, old);
	if (!result && old) {
		ada_crash_undress(old);
		ada_deliver_undress(old);
	}
	return result;
}

/* --- what the program forbids itself, the agent has to live with ------------------------------------------------------------ */

static enum ada_restraint_kind prctl_kind(int option, long two)
{
	if (option == PR_SET_SECCOMP)
		return two == SECCOMP_MODE_STRICT ? ADA_RESTRAINT_STRICT :
		       two == SECCOMP_MODE_FILTER ? ADA_RESTRAINT_FILTER :
						    ADA_RESTRAINT_NONE;
	if (option == PR_SET_TSC && two == PR_TSC_SIGSEGV)
		return ADA_RESTRAINT_COUNTER;
	return option == PR_SET_SYSCALL_USER_DISPATCH && two != PR_SYS_DISPATCH_OFF ? ADA_RESTRAINT_DISPATCH : ADA_RESTRAINT_NONE;
}

static void prctl_done(int option, long two, bool kept)
{
	if (kept && option == PR_SET_SYSCALL_USER_DISPATCH && two == PR_SYS_DISPATCH_OFF && !ada_base_moved())
		ada_quiet_dispatch((struct ada_dispatch){ false, NULL });
}

typedef int prctl_function(int, long, long, long, long);

static int replace_prctl(int option, long two, long three, long four, long five)
{
	struct ada_restraint restraint;
	enum ada_restraint_kind kind = prctl_kind(option, two);
	int result;

	ada_restraint_begin(&restraint, kind, kind == ADA_RESTRAINT_DISPATCH ? five : three);
	result = ((prctl_function *)ada_intercept_originals[ADA_INTERCEPT_prctl])(option, two, three, four, five);
	ada_restraint_end(&restraint, !result);
	prctl_done(option, two, !result);
	return result;
}

static long replace_ptrace(long request, long pid, long address, long data)
{
	struct ada_restraint restraint;
	long result;

	ada_restraint_begin(&restraint, request == PTRACE_TRACEME ? ADA_RESTRAINT_TRACED : ADA_RESTRAINT_NONE, 0);
	result = ada_seize(ada_intercept_originals[ADA_INTERCEPT_ptrace], request, pid, address, data);
	ada_restraint_end(&restraint, !result);
	return result;
}

typedef int arch_prctl_function(int, unsigned long);

static int replace_arch_prctl(int code, unsigned long base)
{
	ada_base_moves(code, base);
	return ((arch_prctl_function *)ada_intercept_originals[ADA_INTERCEPT_arch_prctl])(code, base);
}

/* --- limits of memory, which are for the program's own ----------------------------------------------------------------------- */

typedef int setrlimit_function(unsigned, const struct rlimit *);
typedef int getrlimit_function(unsigned, struct rlimit *);
typedef int prlimit_function(int, unsigned, const struct rlimit *, struct rlimit *);
typedef int mlockall_function(int);

/* Not in a vfork child, which has limits of its own that we don't know. */
static bool limit_is_own(int pid, unsigned resource)
{
	return resource == RLIMIT_AS && !ada_base_moved() && !ada_quiet() && !ada_quiet_filtered() && ada_process_is_own() &&
	       (!pid || (uint32_t)pid == ada_process_pid());
}

struct limit_change {
	bool own, dressed;
	struct rlimit asked, kernel;
};

/* What to hand to the kernel instead of `asked`. */
static const struct rlimit *limit_begin(struct limit_change *change, int pid, unsigned resource, const struct rlimit *asked)
{
	change->own = limit_is_own(pid, resource);
	change->dressed = change->own && asked && ada_sys_peek(&change->asked, (uint64_t)asked, sizeof *asked) == sizeof *asked &&
			  ada_space_limit_dress(&change->asked, &change->kernel);
	return change->dressed ? &change->kernel : asked;
}

/* `old`: the former limit, as the kernel says. */
static void limit_end(const struct limit_change *change, bool kept, struct rlimit *old)
{
	if (kept && change->own && old)
		ada_space_limit_undress(old);
	if (kept && change->dressed)
		ada_space_limit_is(&change->asked);
}

static int replace_setrlimit(unsigned resource, const struct rlimit *asked)
{
	struct limit_change change;
	const struct rlimit *limit = limit_begin(&change, 0, resource, asked);
	int result = ((setrlimit_function *)ada_intercept_originals[ADA_INTERCEPT_setrlimit])(resource, limit);

	limit_end(&change, !result, NULL);
	return result;
}

static int replace_getrlimit(unsigned resource, struct rlimit *limit)
{
	int result = ((getrlimit_function *)ada_intercept_originals[ADA_INTERCEPT_getrlimit])(resource, limit);

	if (!result && limit_is_own(0, resource))
		ada_space_limit_undress(limit);
	return result;
}

static int replace_prlimit(int pid, unsigned resource, const struct rlimit *asked, struct rlimit *old)
{
	struct limit_change change;
	const struct rlimit *limit = limit_begin(&change, pid, resource, asked);
	int result = ((prlimit_function *)ada_intercept_originals[ADA_INTERCEPT_prlimit])(pid, resource, limit, old);

	limit_end(&change, !result, old);
	return result;
}

static long mlockall_call(long flags)
{
	return ((mlockall_function *)ada_intercept_originals[ADA_INTERCEPT_mlockall])(flags);
}

static int replace_mlockall(int flags)
{
	return ada_lock_all(flags, mlockall_call);
}

static long syscall_mlockall(long flags)
{
	return ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(SYS_mlockall, flags, 0, 0, 0, 0, 0);
}

/* prlimit64(pid, resource, asked, old), or setrlimit(resource, asked), or getrlimit(resource, old) */
static long syscall_limit(long number, long a, long b, long c, long d)
{
	const bool both = number == SYS_prlimit64;
	const struct rlimit *asked = both ? (void *)c : number == SYS_setrlimit ? (void *)b : NULL;
	struct rlimit *old = both ? (void *)d : number == SYS_getrlimit ? (void *)b : NULL;
	struct limit_change change;
	const struct rlimit *limit = limit_begin(&change, both ? a : 0, both ? b : a, asked);
	long result;

	if (both)
		c = (long)limit;
	else if (asked)
		b = (long)limit;
	result = ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(number, a, b, c, d, 0, 0);
	limit_end(&change, !result, old);
	return result;
}

/* --- system calls by number ------------------------------------------------------------------------------------------------- */

/* exec by syscall(): the agent comes along all the same. Under seccomp the call stays the very one that it was. */
static long syscall_exec(long number, long a, long b, long c, long d, long e)
{
	enum ada_heir_kind reason = ada_restraint_reason();

	if (reason != ADA_HEIR_EXEC) {
		struct ada_shm *shm = ada_process_follows() ? ada_core_shm() : NULL;
		struct ada_heir_ticket ticket = ada_heir_announce(shm, reason, AT_FDCWD, NULL, 0);
		long result = ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(number, a, b, c, d, e, 0);

		ada_heir_withdraw(shm, &ticket);
		return result;
	}
	if (number == SYS_execve)
		return ada_exec_follow(ADA_INTERCEPT_syscall, AT_FDCWD, (const char *)a, (char *const *)b, (char *const *)c, 0);
	return ada_exec_follow(ADA_INTERCEPT_syscall, a, (const char *)b, (char *const *)c, (char *const *)d, e);
}

static enum ada_restraint_kind syscall_kind(long number, long a, long b)
{
	switch (number) {
	case SYS_prctl: return prctl_kind(a, b);
	case SYS_seccomp:
		return a == SECCOMP_SET_MODE_STRICT ? ADA_RESTRAINT_STRICT :
		       a == SECCOMP_SET_MODE_FILTER ? ADA_RESTRAINT_FILTER :
						      ADA_RESTRAINT_NONE;
	case SYS_ptrace: return a == PTRACE_TRACEME ? ADA_RESTRAINT_TRACED : ADA_RESTRAINT_NONE;
	}
	return ADA_RESTRAINT_NONE;
}

/* Whether the kernel took the filter: a listener's descriptor is no error, the number of a thread that could not be synchronised is
 * one. */
static bool syscall_kept(long number, long a, long b, long result)
{
	if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER && (b & SECCOMP_FILTER_FLAG_NEW_LISTENER))
		return result >= 0;
	return !result;
}

static long syscall_rseq(long area, long bytes, long flags, long signature)
{
	bool ends = flags & RSEQ_FLAG_UNREGISTER;
	uint64_t before = ends ? ada_rseq_unregister() : 0;
	long result;

	if (ends)
		ada_slow_settle();
	result = ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(SYS_rseq, area, bytes, flags, signature, 0, 0);
	if (!result == ends) /* no other than it was */
		return result;
	if (ends)
		ada_rseq_restore(before);
	else
		ada_rseq_registered(area, signature);
	ada_slow_settle();
	return result;
}

static long syscall_ptrace(long request, long tid, long address, long data)
{
	return ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(SYS_ptrace, request, tid, address, data, 0, 0);
}

static __attribute__((used)) long syscall_replaced(long number, long a, long b, long c, long d, long e, long f)
{
	enum ada_restraint_kind kind = syscall_kind(number, a, b);
	struct ada_restraint restraint;
	long result;

	if (number == SYS_arch_prctl)
		ada_base_moves(a, b);
	if (ada_base_moved())
		return ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(number, a, b, c, d, e, f);
	if (number == SYS_execve || number == SYS_execveat)
		return syscall_exec(number, a, b, c, d, e);
	if (number == SYS_mlockall)
		return ada_lock_all(a, syscall_mlockall);
	if (number == SYS_prlimit64 || number == SYS_setrlimit || number == SYS_getrlimit)
		return syscall_limit(number, a, b, c, d);
	if (number == SYS_ptrace && a != PTRACE_TRACEME)
		return ada_seize(syscall_ptrace, a, b, c, d);
	if (number == SYS_rseq && ada_process_is_own()) /* not in a vfork child, which has an area, or none, of its own */
		return syscall_rseq(a, b, c, d);
	ada_restraint_begin(&restraint, kind, kind == ADA_RESTRAINT_DISPATCH ? e : c);
	result = ((ada_syscall_function *)ada_intercept_originals[ADA_INTERCEPT_syscall])(number, a, b, c, d, e, f);
	ada_restraint_end(&restraint, syscall_kept(number, a, b, result));
	if (number == SYS_prctl)
		prctl_done(a, b, !result);
	return result;
}

/* Futexes are recorded, as all else that threads wait in: the call goes on through a hook. */
static uint64_t syscall_recorded __attribute__((used)); /* 0: it doesn't */

static __attribute__((naked)) void replace_syscall(void)
{
	__asm__("cmp %0,%%rdi\n"
		"\tjne 1f\n"
		"\tmov syscall_recorded(%%rip),%%rax\n"
		"\ttest %%rax,%%rax\n"
		"\tjz 1f\n"
		"\tjmp *%%rax\n"
		"1:\tjmp syscall_replaced" ::"i"(SYS_futex));
}

/* --- non-local jumps ------------------------------------------------------------------------------------------------------ */

typedef void longjmp_function(struct __jmp_buf_tag *, int);

/* glibc keeps the stack pointer mangled: xor with a secret of the thread's, then rotated left. */
static uint64_t jump_stack_pointer(const struct __jmp_buf_tag *buffer)
{
	uint64_t value = buffer->__jmpbuf[JUMP_STACK_POINTER], secret;

	__asm__("movq %%fs:0x30,%0" : "=r"(secret));
	return (value >> 17 | value << 47) ^ secret;
}

static void replace_longjmp(struct __jmp_buf_tag *buffer, int value)
{
	ada_core_longjmp(jump_stack_pointer(buffer));
	((longjmp_function *)ada_intercept_originals[ADA_INTERCEPT_longjmp])(buffer, value);
}

static void replace___longjmp_chk(struct __jmp_buf_tag *buffer, int value)
{
	ada_core_longjmp(jump_stack_pointer(buffer));
	((longjmp_function *)ada_intercept_originals[ADA_INTERCEPT___longjmp_chk])(buffer, value);
}

/* --- the end ---------------------------------------------------------------------------------------------------------------- */

static void replace__exit(int status)
{
	if (!ada_base_moved())
		ada_crash_exit(status);
	((void (*)(int))ada_intercept_originals[ADA_INTERCEPT__exit])(status);
}

/* --- which is which ------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void *replacement;
} intercepts[] = {
#define X(name) [ADA_INTERCEPT_##name] = { #name, replace_##name },
	ADA_INTERCEPTS(X)
#undef X
};

static bool is_libc(const struct ada_module *module)
{
	return ada_symbols_find(&module->symbols, "gnu_get_libc_version", "");
}

void *ada_intercept_replacement(const struct ada_module *module, uint64_t address, void ***original, uint64_t **recorded)
{
	if (!is_libc(module)) /* an interposer's function of the name calls libc's in the end */
		return NULL;
	for (uint32_t i = 0; i < ADA_INTERCEPT_COUNT; i++) {
		const Elf64_Sym *symbol = ada_symbols_find(&module->symbols, intercepts[i].name, "");

		if (!symbol || symbol->st_value != address || ada_intercept_originals[i])
			continue;
		*original = &ada_intercept_originals[i];
		*recorded = i == ADA_INTERCEPT_syscall ? &syscall_recorded : NULL;
		return intercepts[i].replacement;
	}
	return NULL;
}

bool ada_intercept_is_active(enum ada_intercept which)
{
	return ada_intercept_originals[which];
}
