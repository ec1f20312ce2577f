/* The detail lane in shared memory: registers and stack of each event, kept for the moments that matter (files: abi/file.h).
 *
 * Lockstep. A thread takes a detail chunk together with its index chunk, and the record of the event at offset o of the
 * index chunk lies at detail_scale * o of the detail chunk. So the index lane's commit word commits both, and the record needs
 * no number of its own. detail_scale * 32 bytes are a multiple of 64: a record shares no cache line.
 *
 *   detail chunk   0        64       scale * 64                                        scale * 32768
 *                  +--------+--------+-----------+-----------+--         --+-----------+
 *                  | header | unused | record 0  | record 1  |             | record    |
 *                  +--------+--------+-----------+-----------+--         --+-----------+
 *
 * A small index chunk has a small detail chunk. As its events begin at ADA_SMALL_BEHIND + 64, offsets are reckoned from detail_scale *
 * ADA_SMALL_BEHIND before the detail chunk's start. Where no small one is free, an ordinary one takes its place, filled as far as a small
 * one would be.
 *
 *   record         0         8            16   24   32   40     44           46      48    112           112 + room
 *                  +---------+------------+----+----+----+------+------------+-------+-----+-------------+--------------+
 *                  | counter | function   | lr | fp | sp | kind | stack_size | flags | x[8]| stack, room | vectors[8]   |
 *                  +---------+------------+----+----+----+------+------------+-------+-----+-------------+--------------+
 *   room = detail_stack_bytes. kind 0: this event (LOST, a frame closed out of order) has no detail; nothing else is valid.
 *   CALL:   x = rdi rsi rdx rcx r8 r9 rax r10; vectors = low halves of xmm0 to 7 (flag)
 *   RETURN: x[0..3] = rax rdx xmm0 xmm1 (low halves); x[4..7] and vectors are not written, whatever lies there
 *   lr = return address, fp = rbp, sp = address of the return slot; the stack's bytes begin behind the slot (sp + 8)
 *
 * The event in the index ring has detail_seq ADA_NO_DETAIL where its record has kind 0 or there is no detail chunk.
 *
 * States of a detail chunk (status, atomic). Each class has a ring of its own. The ring of sealed chunks is a queue in the order of
 * sealing, so its tail is the chunk whose newest event is oldest. Agents append, agents and the recorder take out (compare-and-swap of
 * sealed_tail).
 *
 *   FREE --- agent takes its bit ---> OPEN ---- with its index chunk ----> SEALED, in the ring
 *     ^                                ^                                      |  agent in need of a chunk
 *     |                                +--- no pin: recycled --- CLAIMED <----+  takes it out of the ring
 *     |                                                            |
 *     +---- recorder, once nothing needs it any more ------------ HELD: a pin holds it; the recorder's from now on
 *
 * The claim that no history is lost to a race: a marker widens the pin before it goes on; a recycler looks at the pin after it has
 * CLAIMED (full barrier between). Whoever reads "CLAIMED" waits until it is OPEN or HELD, or its process is dead (then the chunk is
 * whole, as SEALED). A recycler raises `horizon` before OPEN. The pin is one interval around all windows that the recorder has not
 * finished; only the recorder narrows it. A recycler looks once more at a chunk that the pin holds: it keeps the chunk only where a mark
 * that isn't settled wants it (by the mark's own bounds, abi/policy.h).
 */
#ifndef ADA_ABI_DETAIL_H
#define ADA_ABI_DETAIL_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ADA_DETAIL_STACK_MAX 256u
#define ADA_DETAIL_BUFFER_MIN (4u << 20)
#define ADA_DETAIL_BUFFER_MAX (64ull << 30)
#define ADA_DETAIL_FLAG_VECTORS 1u /* in the file, too: abi/file.h */

enum ada_detail_mode { ADA_DETAIL_CIRCULAR = 0, ADA_DETAIL_ONESHOT = 1, ADA_DETAIL_STREAMING = 2 };

struct ada_detail {
	uint64_t counter;
	uint64_t function_id;
	uint64_t lr, fp, sp;
	uint32_t kind;	     /* enum ada_event_kind: CALL or RETURN; 0: none */
	uint16_t stack_size; /* bytes captured: at most room; less where the stack's end is near */
	uint16_t flags;	     /* ADA_DETAIL_FLAG_* */
	uint64_t x[8];
	uint8_t stack[]; /* room, then uint64_t vectors[8] */
};
static_assert(sizeof(struct ada_detail) == 112, "detail record");
static_assert(offsetof(struct ada_detail, kind) == 40, "kind, stack_size and flags are one word");

/* For a lane that captures `stack` bytes: ROOM rounds them up to 16, SCALE is detail_scale: 0 -> 6, 128 -> 10, 256 -> 14. */
#define ADA_DETAIL_ROOM(stack) (((stack) + 15u) & ~15u)
#define ADA_DETAIL_SCALE(room) (((uint32_t)sizeof(struct ada_detail) + (room) + 64u + 63u) / 64u * 2u)
static_assert(ADA_DETAIL_SCALE(0) == 6 && ADA_DETAIL_SCALE(128) == 10 && ADA_DETAIL_SCALE(256) == 14, "scale");

enum ada_detail_status { ADA_DETAIL_FREE = 0, ADA_DETAIL_OPEN = 1, ADA_DETAIL_SEALED = 2, ADA_DETAIL_CLAIMED = 3, ADA_DETAIL_HELD = 4 };

struct ada_detail_chunk {	   /* header, at the chunk's start; written by the agent */
	uint32_t status;	   /* enum ada_detail_status (atomic); the recorder's where HELD -> FREE */
	uint32_t thread;	   /* its id */
	uint64_t first_seq;	   /* as its index chunk's first_seq: number of the record at offset detail_scale * 64 */
	uint64_t first_counter;	   /* when it was opened */
	uint64_t last_counter;	   /* set at sealing: of its last event */
	uint64_t previous_counter; /* of this thread's last event before the chunk; 0: there was none */
	uint32_t records;	   /* set at sealing: slots in use, with or without detail. While OPEN: see the index chunk's commit word */
	uint32_t index_chunk;	   /* the one that this goes with while OPEN */
	uint8_t reserved[16];
};
static_assert(sizeof(struct ada_detail_chunk) == 64, "detail chunk header");

/* One interval of counters, changed by cmpxchg16b only. A reader loads `start` first (acquire), then `end`. Whoever widens it adds 1 to
 * the epoch even where nothing else changes, so the recorder's compare fails, and the recorder looks for new marks. */
#define ADA_PIN_GRAIN 12 /* counters are kept in units of 4096 ticks, rounded so that the interval only grows */
#define ADA_PIN_EPOCH_BITS 16
#define ADA_PIN_NONE (UINT64_MAX >> ADA_PIN_EPOCH_BITS << ADA_PIN_EPOCH_BITS) /* start: nothing is pinned */
struct ada_pin {
	uint64_t start; /* counter >> GRAIN << EPOCH_BITS | epoch */
	uint64_t end;	/* counter; UINT64_MAX: not known yet (a post-roll counted in events) */
};

static inline uint64_t ada_pin_start(uint64_t counter) /* without epoch */
{
	return counter >> ADA_PIN_GRAIN << ADA_PIN_EPOCH_BITS;
}

/* Windows end at a ns, and a ns has several ticks: a counter this near to a bound may be of the same ns. */
#define ADA_PIN_SLACK 64u
static inline int ada_ticks_overlap(uint64_t start, uint64_t end, uint64_t first_counter, uint64_t last_counter)
{
	return last_counter + ADA_PIN_SLACK >= start && (first_counter < ADA_PIN_SLACK || first_counter - ADA_PIN_SLACK <= end);
}

static inline int ada_pin_holds(uint64_t start, uint64_t end, uint64_t first_counter, uint64_t last_counter)
{
	return ada_ticks_overlap(start >> ADA_PIN_EPOCH_BITS << ADA_PIN_GRAIN, end, first_counter, last_counter);
}

/* Written by the agent unless said otherwise; all atomic. */
struct ada_detail_control {
	struct ada_pin pin __attribute__((aligned(16)));
	uint64_t sealed_head; /* chunks sealed so far: the ring's next place (abi/wire.h, "Rings") */
	uint64_t sealed_tail; /* agents and recorder */
	uint64_t horizon;     /* highest last_counter of a chunk that was recycled: before it, history has holes */
	uint64_t discarded;   /* full chunks recycled because no window wanted them: windows_discarded */
	uint64_t starved;     /* times a chunk was wanted and none was to be had */
	uint64_t reserved;
	/* Written by the recorder. These say what the pin stands for, so that a chunk between two windows isn't kept: marks from place
	 * `settled` on (abi/policy.h), and one interval of the recorder's own, in counters (own_start UINT64_MAX: none). */
	uint64_t settled;
	uint64_t own_start, own_end;
	uint64_t reserved1[5];
	uint64_t small_head, small_tail; /* of the ring of small chunks, whose entries count from the first of them */
	uint64_t reserved2[6];
};
static_assert(sizeof(struct ada_detail_control) == 192, "detail control");
static_assert(offsetof(struct ada_detail_control, settled) == 64, "a line of the recorder's own");
#endif
