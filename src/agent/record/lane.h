/* What the files of this room, and of those that hook, call of one another. Lowest first: pools; chunks and detail, which are taken
 * from them; the shadow stack, whose calls write events; threads; the entry and exit slow paths (slow.c), which use them all.
 */
#ifndef ADA_AGENT_LANE_H
#define ADA_AGENT_LANE_H
#include "agent/core/state.h"
#include "agent/judge/judge.h"
#include "agent/record/record.h"

/* The lowest free chunk from `least` on; where there is none, the lowest of all. */
static inline bool ada_pool_take(const struct ada_pool *pool, uint32_t least, uint32_t *number)
{
	uint32_t front = __atomic_load_n(pool->front, __ATOMIC_RELAXED), count = front < pool->count ? front : pool->count;

	return (least && ada_map_take(pool->free_words, least, count, number)) || ada_map_take(pool->free_words, 0, count, number);
}

/* --- extend.c */
/* Takes a chunk that nobody had yet, and makes a few more free. Else says why not. */
enum ada_lack ada_pool_extend(struct ada_pool *pool, struct ada_shm *shm, uint32_t *number);
void ada_pool_touch(const struct ada_pool *pool, uint32_t number); /* page tables for a chunk that has memory */

/* --- chunk.c: all with signals blocked */
/* What is known of the moment of an event that C code writes. registers NULL: nothing is known, and the event has no detail. */
struct ada_moment {
	const struct ada_registers *registers;
	uint64_t slot;
};
struct ada_written {
	uint64_t counter, seq;
};								 /* of the event; seq as the ring counts */
struct ada_chunk *ada_chunk_of(const struct ada_thread *thread); /* NULL: none is open */
uint32_t ada_chunk_events(const struct ada_thread *thread);	 /* in the open chunk */
bool ada_chunk_room(struct ada_thread *thread);			 /* room for an event; opens a chunk. False: none is to be had, drop */
void ada_chunk_close(struct ada_thread *thread);		 /* seals the open chunk, or gives it back if it is empty */
/* True: nothing changed since the thread found no free chunk, and the thread needn't wait. Signals may be open. */
bool ada_chunk_hopeless(const struct ada_thread *thread);
/* One event of a frame; false: dropped and counted. */
bool ada_event_write(struct ada_thread *thread, enum ada_event_kind kind, const struct ada_frame *frame, const struct ada_moment *moment,
		     struct ada_written *written);
/* One event of no function; depth as in the ring. */
void ada_event_write_other(struct ada_thread *thread, enum ada_event_kind kind, uint64_t value, uint32_t depth);
/* --on-full=block: waits in the slow path of `thread`, with the program's signals open, until the recorder has given something back
 * since its count was `returned`. False: give up. Nobody empties the pool; or the recorder stands still; or no thread has sealed
 * anything for a second; or memory lacks, and the pool holds nothing that would be given back; or no system call may be made any
 * more; or this is a fork's child. */
bool ada_core_wait(struct ada_thread *thread, uint32_t returned, enum ada_lack lack);
bool ada_core_held(uint32_t returned); /* a thread gave up waiting at that count, and waiting is no use now */

/* --- detail.c: all with signals blocked */
/* Takes a detail chunk for the thread's new index chunk, whose header is whole and whose events begin at offset `begin`; adds to the index
 * chunk's commit word where its records begin. Where there is none, the thread and the index chunk say so. */
void ada_detail_open(struct ada_thread *thread, struct ada_chunk *chunk, uint32_t begin);
/* Seals the detail chunk before the index chunk is sealed, or gives it back where there are no events. */
void ada_detail_close(struct ada_thread *thread, uint32_t events, uint64_t last_counter);
/* Writes the record of the event that is to follow `state`, in the open detail chunk. Its bytes; ADA_DETAIL_NONE_BYTES where it says that
 * the event has no detail: without registers, or of another kind than a call or a return. */
uint32_t ada_detail_write(const struct ada_thread *thread, uint64_t state, const struct ada_event *event, const struct ada_moment *moment);

/* --- arm.c */
/* Lets the hook come here for the next call that is deeper than a global depth rule allows. */
void ada_shadow_arm(struct ada_thread *thread);
const uint8_t *ada_policy_flags(void); /* in force, by a function's number */

/* --- shadow.c: all with signals blocked */
/* A call at `slot` begins: closes the frames that this shows to be dead. */
void ada_shadow_enter(struct ada_thread *thread, uint64_t slot, bool tail_call);
/* False: too deep, or dropped. `returns`: there is a stub in the slot, or will be. */
bool ada_shadow_push(struct ada_thread *thread, const struct ada_hook *hook, const struct ada_moment *moment, bool returns);
/* Closes the frames at `slot` with `kind`, after those that this shows to be dead. False: there were none. */
bool ada_shadow_leave(struct ada_thread *thread, const struct ada_moment *moment, enum ada_event_kind kind);
void ada_shadow_close(struct ada_thread *thread, struct ada_frame *frame, enum ada_event_kind kind);
void ada_shadow_sweep(struct ada_thread *thread); /* sweep.c: closes dead frames of other stacks */

/* --- object.c */
#define ADA_OBJECTS_MAX 2 /* events of a call */
struct ada_said {
	enum ada_event_kind kind; /* OBJECT or HOLDER */
	uint64_t value;
};
/* Returns how many. In a slow path `thread` is another than ada_self. */
uint32_t ada_objects_of(const struct ada_thread *thread, const struct ada_judged *event, struct ada_said said[ADA_OBJECTS_MAX]);
/* In a slow path: where the call is the thread's innermost one, writes what it works on. */
void ada_object_write(struct ada_thread *thread, const struct ada_judged *call, const struct ada_said *said);

/* --- capture.c */
/* Behind the commit of a call that the policy's flags point at: what its arguments lead to. `alone`: no handler can come in between. */
void ada_capture(struct ada_thread *thread, const struct ada_judged *call, bool alone);

/* --- slow.c */
void ada_object_slow(const struct ada_judged *call, const struct ada_said *said); /* ada_object_write by a slow path of its own */

/* --- thread.c */
struct ada_thread *ada_thread_attach(void); /* the calling thread's, or NULL: not recorded */
/* Whether a refused attach may succeed later and is to be waited for (--on-full=block); *returned is the count to wait for. */
bool ada_thread_may_wait(uint32_t *returned);
#endif
