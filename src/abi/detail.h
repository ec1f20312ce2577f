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
#include "abi/atomic.h"

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

/* The states by name; each says what it orders. */
static inline uint32_t ada_detail_status(const struct ada_detail_chunk *chunk) /* acquire: the header is that state's */
{
	return __atomic_load_n(&chunk->status, __ATOMIC_ACQUIRE);
}

static inline void ada_detail_status_set(struct ada_detail_chunk *chunk, enum ada_detail_status status) /* release: what it says is there */
{
	__atomic_store_n(&chunk->status, status, __ATOMIC_RELEASE);
}

/* Full barrier: the pin is read behind it. A marker that widens the pin after that meets CLAIMED, and waits. */
static inline void ada_detail_claim(struct ada_detail_chunk *chunk)
{
	__atomic_exchange_n(&chunk->status, ADA_DETAIL_CLAIMED, __ATOMIC_SEQ_CST);
}

/* The recorder's way to HELD, of a chunk that it took out of the ring. False: it wasn't SEALED. */
static inline bool ada_detail_hold(struct ada_detail_chunk *chunk)
{
	uint32_t sealed = ADA_DETAIL_SEALED;

	return __atomic_compare_exchange_n(&chunk->status, &sealed, ADA_DETAIL_HELD, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* One interval of counters.
 *
 *   ada_pin_read    `start` first (acquire), then `end`: no narrower than what was there
 *   ada_pin_widen   whoever marks. Adds 1 to the epoch even where nothing else changes, so the recorder's swap fails, and the recorder
 *                   looks for new marks
 *   ada_pin_swap    full barrier. The recorder's, which alone narrows it: only what it saw before it read the marks
 */
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

static inline struct ada_pin ada_pin_read(const struct ada_pin *pin)
{
	struct ada_pin seen;

	seen.start = __atomic_load_n(&pin->start, __ATOMIC_ACQUIRE);
	seen.end = __atomic_load_n(&pin->end, __ATOMIC_ACQUIRE);
	return seen;
}

/* False: *seen is what was there. */
static inline bool ada_pin_swap(struct ada_pin *pin, struct ada_pin *seen, struct ada_pin wanted)
{
	uint64_t old[2] = { seen->start, seen->end };
	bool done = ada_pair_swap(pin, old, wanted.start, wanted.end);

	seen->start = old[0];
	seen->end = old[1];
	return done;
}

static inline uint64_t ada_pin_bound(struct ada_pin pin) /* its start without the epoch: ADA_PIN_NONE or ada_pin_start */
{
	return pin.start >> ADA_PIN_EPOCH_BITS << ADA_PIN_EPOCH_BITS;
}

static inline uint16_t ada_pin_epoch(struct ada_pin pin)
{
	return (uint16_t)pin.start;
}

/* Agents do it now and then, and each try that fails is another one's success: only a hostile one takes more than `tries`. */
static inline void ada_pin_widen(struct ada_pin *pin, uint64_t start, uint64_t end, uint32_t tries)
{
	struct ada_pin seen = ada_pin_read(pin), wanted;

	do {
		uint64_t bound = ada_pin_bound(seen), first = ada_pin_start(start);

		wanted.start = (bound < first ? bound : first) | (uint16_t)(ada_pin_epoch(seen) + 1);
		wanted.end = bound != ADA_PIN_NONE && seen.end > end ? seen.end : end;
	} while (!ada_pin_swap(pin, &seen, wanted) && --tries);
}

/* Written by the agent unless said otherwise; all atomic. */
struct ada_detail_control {
	struct ada_pin pin __attribute__((aligned(16)));
	uint64_t sealed_head; /* chunks sealed so far: the ring's next place (abi/ring.h) */
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

/* Before the chunk is OPEN or FREE: whoever finds the old records gone finds why. */
static inline void ada_horizon_raise(struct ada_detail_control *control, uint64_t counter)
{
	ada_word_raise(&control->horizon, counter);
}
#endif
