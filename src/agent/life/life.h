/* The process's life: start, forks, what it executes, signals, crashes, seccomp, limits. Each has a file; intercept.c, whose functions
 * stand in place of libc's, leads into them.
 */
#ifndef ADA_AGENT_LIFE_H
#define ADA_AGENT_LIFE_H
#include "abi/intercept.h"
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/patch/patch.h"
#include "agent/record/record.h"

/* --- fork.c, image.c --- */
void ada_process_attach(struct ada_shm *shm, uint64_t bytes, uint32_t flags);
void ada_process_watch_forks(void);
ADA_SLOW void ada_process_forked_slow(void); /* in a fork's child: ada_above.forked_slow */
/* ADA_HEIR_EXEC: the image may get our environment; else why not. */
enum ada_heir_kind ada_image_kind(int directory, const char *path, int flags);

/* --- restraint.c, confine.c: what the program forbids itself, or lets its parent see --- */
enum ada_restraint_kind {
	ADA_RESTRAINT_NONE = 0,
	ADA_RESTRAINT_FILTER,	/* this struct sock_fprog, by seccomp */
	ADA_RESTRAINT_STRICT,	/* strict seccomp */
	ADA_RESTRAINT_COUNTER,	/* the calling thread reads no TSC */
	ADA_RESTRAINT_DISPATCH, /* the calling thread's system calls are dispatched to user space */
	ADA_RESTRAINT_TRACED,	/* PTRACE_TRACEME */
};
struct ada_restraint {
	enum ada_restraint_kind kind;
	bool guest, held, forbids, watched;
	struct ada_dispatch dispatch; /* as it was */
};
/* Called around the program's own call. `kept`: the kernel obeyed. argument: a filter's address, or a dispatch's selector's. */
void ada_restraint_begin(struct ada_restraint *restraint, enum ada_restraint_kind kind, uint64_t argument);
void ada_restraint_end(const struct ada_restraint *restraint, bool kept);
enum ada_filter_verdict { ADA_FILTER_ALLOWS, ADA_FILTER_FORBIDS, ADA_FILTER_REFUSED }; /* REFUSED: by the kernel, it is none */
enum ada_filter_verdict ada_filter_try(uint64_t program);

/* --- price.c --- */
void ada_price_take(struct ada_shm *shm); /* where the recorder wants it: before any event of this process */

/* --- unwinder.c --- */
void ada_unwinder_start(void); /* finds the real dl_iterate_phdr */

/* --- lock.c */
/* mlockall without our memory. `call`: mlockall as the program has called it, 0 or else errno is set. */
long ada_lock_all(long flags, long (*call)(long flags));

/* --- base.c: a thread pointer of the program's own --- */
void ada_base_follow(void);		       /* some module's code may set the FS base */
void ada_base_moves(long code, uint64_t base); /* arch_prctl with these is about to be called */
bool ada_base_moved(void);		       /* the calling thread has no thread-local data of ours, as it seems */

/* --- intercept.c --- */
void *ada_intercept_replacement(const struct ada_module *module, uint64_t address, void ***original,
				uint64_t **recorded); /* ada_apply_replacement */
bool ada_intercept_is_active(enum ada_intercept which);
extern void *ada_intercept_originals[ADA_INTERCEPT_COUNT];
typedef long ada_syscall_function(long, long, long, long, long, long, long); /* the original of syscall */

/* --- seize.c --- */
typedef long ada_ptrace_function(long, long, long, long);
/* The program's own ptrace, which the recorder is in the way of for a moment at most. */
long ada_seize(ada_ptrace_function *original, long request, long tid, long address, long data);

/* --- exec.c --- */
/* Goes on into the original of this function, by which the program executes. */
int ada_exec_follow(enum ada_intercept which, int directory, const char *path, char *const *arguments, char *const *environment, int flags);

/* --- crash.c, deliver.c --- */
struct sigaction;
void ada_crash_watch(void);	    /* where sigaction is intercepted: else the program would see the handler */
bool ada_crash_unwatch(void);	    /* fatal signals are as without us from now on; false: they were */
bool ada_crash_signal(int number);  /* one that says that the program is broken */
bool ada_crash_watches(int number); /* one that we handle where the program does not */
void ada_crash_rewatch(int number); /* the signal may have become SIG_DFL without sigaction */
/* What a handler of the program's own is called for, now: the crash, should the handler end the process. `info`: a
 * siginfo_t, `context`: a ucontext_t, as the kernel gave them to the handler. */
void ada_crash_hold(const void *info, const void *context);
void ada_crash_exit(int status);		  /* the process is about to end with it: by a handler, of what that was called for? */
void ada_crash_dress(struct sigaction *action);	  /* SIG_DFL becomes our handler */
void ada_crash_undress(struct sigaction *action); /* our handler becomes SIG_DFL */
bool ada_signal_named(int number);		  /* by a rule of the policy in force */
void ada_deliver_dress(struct sigaction *action); /* replaces the program's handler by one that marks and goes on into it */
void ada_deliver_undress(struct sigaction *action);
#endif
