/* System calls without libc: nothing here touches errno, and every call returns what the kernel returned, -errno included.
 * Only what the agent needs. A result between -4095 and -1 is an error (ada_sys_failed).
 */
#ifndef ADA_AGENT_SYS_H
#define ADA_AGENT_SYS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sys/syscall.h>

static inline long ada_sys6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline long ada_sys4(long number, long a, long b, long c, long d)
{
	return ada_sys6(number, a, b, c, d, 0, 0);
}

static inline bool ada_sys_failed(long result)
{
	return (unsigned long)result > -4096ul;
}

static inline uint64_t ada_sys_counter(void)
{
	return __builtin_ia32_rdtsc();
}

/* --- quiet.c: where no system call of ours may be made */
bool ada_quiet(void);	     /* no system calls on this thread now. Ask first wherever one may be forbidden */
void ada_quiet_hold(int by); /* 1: no system calls on any thread of this process, until -1 takes that back */
/* Called around system calls of ours on any thread. False: there may be none, and there is nothing to leave. */
bool ada_quiet_enter(void);
void ada_quiet_leave(void);
void ada_quiet_settle(void);	  /* while held: waits until no other thread is between enter and leave */
bool ada_quiet_filtered(void);	  /* the program has put filters of seccomp on itself */
void ada_quiet_filter(int by);	  /* one more, or -1: the kernel refused it */
uint32_t ada_quiet_guest(void);	  /* pid of a vfork child on this thread that has restrained itself; 0: none */
void ada_quiet_guest_begin(void); /* in the child, before it restrains itself; ends when the child is gone, ... */
void ada_quiet_guest_end(void);	  /* ... or by this, where the kernel refused it */
/* Whether system calls on this thread, ours among them, are dispatched to user space; `now`: by the selector, at present. */
struct ada_dispatch {
	bool on;
	const volatile uint8_t *selector;
};								  /* selector NULL: always */
struct ada_dispatch ada_quiet_dispatch(struct ada_dispatch next); /* what it was */
bool ada_quiet_dispatched(void);
void ada_quiet_forked(void); /* in a fork's child: no dispatch, and none of its parent's other threads */

/* --- presence.c: whether the recorder lives (abi/wire.h, struct ada_presence). No system call but in ada_presence_take */
bool ada_presence_take(int fd); /* its page, which a fork's child inherits; false: no memory */
struct ada_presence;
const struct ada_presence *ada_presence_page(void); /* NULL: none came */
bool ada_presence_gone(void);			    /* dead, or ended in order: for good */
/* Whether the recorder stands still, so that waiting makes no sense. The caller has waited `wait_ns` more since it asked last with this
 * struct, which begins as zero. */
struct ada_stand {
	uint64_t beats, ns;
};
bool ada_presence_stands(struct ada_stand *stand, uint64_t wait_ns);
bool ada_presence_stands_yet(void); /* no beat has come since somebody was told that the recorder stands */

/* Blocks all signals but SIGSYS, also the two that libc keeps for itself. A signal that an instruction of ours raised would kill. */
uint64_t ada_sys_signals_block(void); /* the mask before */
void ada_sys_signals_restore(uint64_t mask);

void *ada_sys_map(size_t bytes);					 /* private, anonymous, read and write; NULL: no memory */
void *ada_sys_map_whole(size_t bytes);					 /* the same, for whoever fills it: without a fault a page */
void *ada_sys_map_at(void *wish, size_t bytes, int protection);		 /* exactly there and only if nothing is; else NULL */
void *ada_sys_map_fd(int fd, size_t bytes, int protection, bool shared); /* NULL on failure */
long ada_sys_unmap(void *start, size_t bytes);				 /* of ours */
/* Says whether the kernel locks whatever is mapped from now on (mlockall): then ours is unlocked again. Returns what held before. */
bool ada_sys_future_locked(bool locked);
long ada_sys_protect(void *start, size_t bytes, int protection);
long ada_sys_advise(void *start, size_t bytes, int advice);

/* The tables of state.S may be written from now on. False: no memory. */
bool ada_state_open(void);

uint32_t ada_sys_pid(void); /* never cached: vfork children share our memory */
uint32_t ada_sys_tid(void);
long ada_sys_open(const char *path);					/* read-only, close-on-exec */
long ada_sys_read(int fd, void *buffer, size_t bytes, uint64_t offset); /* pread */
long ada_sys_read_file(const char *path, void *buffer, size_t bytes);	/* bytes read */
void ada_sys_close(int fd);
long ada_sys_read_link(const char *path, char *buffer, size_t bytes);
/* Reads this process's own memory where part of it may be missing: bytes read, or -errno. */
long ada_sys_peek(void *buffer, uint64_t address, size_t bytes);
/* Bytes that can be read from an address on for as long as the process lives, and that nobody writes; 0: none. life/start.c says who knows. */
extern uint64_t (*ada_sys_constants)(uint64_t address);

/* Sleeps until *word is no longer `value`, at most `timeout_ns`. Shared between processes. */
long ada_sys_futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
#endif
