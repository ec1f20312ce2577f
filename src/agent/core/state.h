/* The core's inside, for the rooms that record and hook: what a slow path works with, lowest first.
 *
 * Who excludes whom
 *   every slow path            blocks signals: a handler's hook on this thread never sees half a change. For SIGSYS, which is
 *                              open, ada_slow_begin hides the thread as well
 *   threads' free list, sites  a spin lock each, taken with signals blocked, tried a limited number of times: its holder may have been killed (vfork child), and then the caller goes on without
 *   free bitmap, sealed ring   atomic operations on the shared segment (abi/ring.h)
 *   readers of sites           take no lock: a site is immutable, and published by one store
 */
#ifndef ADA_AGENT_STATE_H
#define ADA_AGENT_STATE_H
#include "agent/core/core.h"
#include "agent/core/layout.h"
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"

#define ADA_SPINS_MAX 1000000

/* A lane's chunks in the segment: what is done with them, abi/ring.h and record/extend.c. */
struct ada_pool {
	char *chunks;
	uint64_t chunk_bytes;
	uint64_t behind; /* bytes of a chunk that lie so far behind its place */
	uint32_t count;
	uint64_t *free_words; /* bitmap, 1: free */
	struct ada_ring ring; /* of sealed ones */
	uint32_t *front;      /* no one had the chunks from here on yet: none of them is free */
	uint32_t step;	      /* taken of them at a time */
	uint32_t share;	      /* share of what the agent may make: one part in so many */
	uint32_t no_advice;   /* 1: this kernel can't make memory without the risk of a SIGBUS */
	uint64_t *touched;    /* bitmap: chunks this process has page tables for */
};
/* Why there is no chunk: all are in use; there is no memory for more; or (--on-full=block) threads have them that did nothing for so long
 * that they may be waiting for this one. */
enum ada_lack { ADA_LACK_NONE = 0, ADA_LACK_FULL = 1, ADA_LACK_MEMORY = 2, ADA_LACK_HELD = 3 };

/* All that a fork's child must not take over, in memory that reads as zero there (MADV_WIPEONFORK). */
struct ada_core {
	uint64_t present;    /* 0: a child that ada_core_forked() has not seen yet */
	struct ada_shm *shm; /* NULL: not attached */
	struct ada_pool index, detail;
	struct ada_pool small, detail_small; /* numbered from 0 */
	struct ada_ring ring;		     /* of all sealed index chunks, and nothing else */
	struct ada_shm_thread *entries;
	uint64_t *entries_free;	 /* bitmap of entries whose threads are over and drained */
	uint64_t detail_scanned; /* detail_returned + 1 at the last look that found no free detail chunk; 0: look */
	uint64_t small_touched[ADA_SMALL_MAX / 64], detail_small_touched[ADA_SMALL_MAX / 64];
	uint64_t held; /* `returned` + 1 when a thread gave up waiting for what others hold */
	uint32_t threads_lock, sites_lock;
	uint32_t threads_used; /* places in `threads` ever used */
	uint32_t threads_free; /* number + 1 of the first free place, linked by `number` */
	uint64_t touched[ADA_INDEX_BUFFER_MAX / ADA_CHUNK_BYTES / 64];
	uint64_t detail_touched[ADA_DETAIL_BUFFER_MAX / ADA_DETAIL_CHUNK_BYTES(0, 0) / 64 + 1];
	struct ada_thread threads[ADA_THREADS_MAX];
};

extern struct ada_core *ada_core;	     /* NULL before the first segment */
extern __thread struct ada_thread *ada_self; /* never NULL */
extern __thread struct ada_lean ada_lean;
extern const uint64_t ada_parked;	/* a commit word that says full */
extern __thread uint64_t ada_sequence;	/* events of this thread in sealed chunks */
extern __thread uint64_t ada_lost_told; /* how much of its entry's `lost` LOST events have told so far */
extern struct ada_thread ada_no_thread;
extern struct ada_setup ada_setup;

/* --- aside.c */
/* Lean hooks may record from now on, as the segment wants it; but not where a fork would wipe no memory, nor where the process has
 * hooks that were made for a segment with detail and now has one without, or the other way round. */
void ada_lean_attach(void);
bool ada_lean_has_detail(void); /* what lean hooks of this process are for, once it has or had a segment */
bool ada_lock(uint32_t *lock);	/* false: gave up */
void ada_unlock(uint32_t *lock);
/* Begins a slow path: blocks signals, and keeps `ada_self` out of reach of hooks until ada_slow_end. NULL: this is a handler in the midst
 * of another slow path, or no system call may be made; do nothing. Else a thread, perhaps not attached (index 0). `sp`: any address in
 * the caller's frame. */
struct ada_thread *ada_slow_begin(uint64_t sp);
bool ada_slow_forbidden(void); /* no system call may be made: no slow path begins, the event is lost */
void ada_slow_end(struct ada_thread *thread);
void ada_slow_abandoned(void);	     /* a jump leaves this thread's slow path, if the thread was in one */
void ada_slow_lost(uint64_t events); /* for the thread whose slow path it is, or for the calling one */
/* In the slow path of `thread`: calls work(argument) on our stack of this thread, or on the present one. Returns the thread whose slow
 * path it is now: another where a fork's child has given up the work. */
struct ada_thread *ada_slow_run(struct ada_thread *thread, void (*work)(void *), void *argument);
bool ada_slow_has_stack(void); /* ada_slow_run will find it */
/* Anywhere in a slow path: calls wait(argument) as if the slow path had ended, on the program's stack. In the child of a fork in between,
 * control goes on behind ada_slow_run or, where there was no such call, this returns false. */
bool ada_slow_pause(struct ada_thread *thread, void (*wait)(void *), void *argument);
struct ada_thread *ada_slow_thread(void);	    /* whose slow path it is, or ada_self */
void ada_slow_stack(uint64_t bottom, uint64_t end); /* this thread's stack from now on; both 0: it has none */
void ada_slow_forked(void);

void ada_switch(void *argument, void (*work)(void *), uint64_t stack, uint64_t *left) __asm__("__morestack") ADA_HIDDEN;
_Noreturn void ada_switch_back(uint64_t left) ADA_HIDDEN;
void ada_call_libc(const void *function, long a, long b); /* all three: switch.S */

/* --- room.c */
bool ada_room_take(struct ada_thread *thread); /* for its place: shadow stack and stack. False: no memory */
void ada_room_leave(void);		       /* the thread ends */
void ada_room_forked(void);		       /* in a fork's child */
/* Makes room for so many frames; addresses of frames change. False: too deep, or no memory. */
bool ada_room_grow(struct ada_thread *thread, uint64_t frames);

/* --- rseq.c */
void ada_rseq_choose(void);
void ada_errno_choose(void);  /* settles where a thread's errno lies */
bool ada_rseq_usable(void);   /* hooks on this thread may commit by themselves */
bool ada_rseq_is_fixed(void); /* ada_setup.rseq_offset stays as it is */

/* --- core.c */
void ada_event_lost(struct ada_thread *thread, uint64_t events);

static inline uint64_t ada_state(const struct ada_thread *thread)
{
	return __atomic_load_n((uint64_t *)thread->index, __ATOMIC_RELAXED);
}

static inline void ada_state_set(struct ada_thread *thread, uint64_t state)
{
	__atomic_store_n((uint64_t *)thread->index, state, __ATOMIC_RELEASE); /* after the event, for the recorder */
}

/* Offset of the next event. */
static inline uint32_t ada_state_event(uint64_t state)
{
	return (uint16_t)state;
}

/* Room for an event, and for any record of its detail. */
static inline bool ada_state_has_room(uint64_t state)
{
	return ada_state_event(state) < ADA_CHUNK_BYTES && state >> ADA_COMMIT_DETAIL <= ada_setup.detail_limit;
}

/* The frames as in `state`, and that next event; no detail chunk. */
static inline uint64_t ada_state_at(uint64_t state, uint32_t event)
{
	return (uint64_t)(uint32_t)(state >> ADA_COMMIT_FRAMES) << ADA_COMMIT_FRAMES | event;
}

static inline uint32_t ada_frames(const struct ada_thread *thread)
{
	return (uint32_t)(ada_state(thread) >> ADA_COMMIT_FRAMES) / ADA_FRAME_BYTES;
}

static inline struct ada_frame *ada_frame_at(const struct ada_thread *thread, int64_t number)
{
	return (struct ada_frame *)thread->shadow + number;
}

/* The address of a frame's slot, marked or not, with a stub or without. */
static inline uint64_t ada_frame_slot(const struct ada_frame *frame)
{
	return ((frame->slot & ~ADA_FRAME_UNRETURNED) + ADA_FRAME_MARKS) & ~(uint64_t)ADA_FRAME_MARKS;
}

static inline const struct ada_hook *ada_frame_hook(const struct ada_frame *frame)
{
	return (const struct ada_hook *)(frame->hook + ADA_HOOK_BEHIND);
}

/* Whether nobody will see the call's return. Don't ask it below frame 0. */
static inline bool ada_frame_is_unreturned(const struct ada_frame *frame)
{
	return frame->slot & ADA_FRAME_UNRETURNED;
}

/* --- stack.c */
void ada_stack_begin(struct ada_thread *thread);	      /* of the calling thread, which begins: finds its stack where that is cheap */
bool ada_stack_own(struct ada_thread *thread, uint64_t slot); /* known to lie on the thread's own stack */
bool ada_stack_readable(uint64_t address);		      /* whether there is memory */

/* --- site.c */
extern struct ada_site ada_no_site;		       /* in a hook's cache until that knows a caller: fits no call */
uint64_t ada_site_return_address(uint64_t slot_value); /* the caller's, where a slot holds a stub */
extern uint32_t ada_site_limit;			       /* to be used at most: ADA_SITES_MAX, but for tests */
struct ada_site *ada_site_find(uint64_t return_address, uint64_t function_id); /* NULL: not interned */
/* How many events a call from that address has: 2, or 1 where its return isn't recorded. */
uint64_t ada_site_events(const struct ada_hook *hook, uint64_t return_address);
/* Called with signals blocked. NULL: there is no stub. */
struct ada_site *ada_site_intern(struct ada_hook *hook, uint64_t return_address);
/* For a call of the agent's own; while there is one thread. NULL likewise. */
struct ada_site *ada_site_own(struct ada_hook *hook, uint64_t return_address);

/* --- ground/state.S */
extern struct ada_site ada_sites[ADA_STUB_COUNT], *ada_site_hash[1 << ADA_SITE_HASH_BITS];
/* ADA_CHUNK_BYTES: events that begin before it have room. In the child of a fork it reads as zero until ada_core_forked(). */
extern uint32_t ada_limit;
extern uint64_t ada_sites_refused[ADA_REFUSED];	      /* by hash; a newer address displaces an older */
extern uint64_t ada_rooms[ADA_THREADS_MAX];	      /* of each place (room.c); 0: none yet */
extern const uint8_t ada_no_flags[ADA_FUNCTIONS_MAX]; /* flags as a policy has them, where no rule names anything */
#endif
