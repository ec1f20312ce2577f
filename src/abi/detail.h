/* The detail lane in shared memory: registers and stack of each event, kept for the moments that matter (files: abi/file.h).
 *
 * A thread takes a detail chunk together with its index chunk, and seals both together, as soon as one of them is full. The chunk's nth
 * record is of the index chunk's nth event. Records lie one behind the other, each as long as its event needs. Where the next one goes is
 * part of the index lane's commit word (agent/core/layout.h), so one store commits both.
 *
 *   detail chunk   0        64
 *                  +--------+----------+-----+--------------------+----------+--      --+------+-------------------+
 *                  | header | record 0 | 1   | record 2           | record 3 |          |      | never a record's  |
 *                  +--------+----------+-----+--------------------+----------+--      --+------+-------------------+
 *
 * A small index chunk has a small detail chunk. Where no small one is free, an ordinary one takes its place, filled as far as a small one
 * would be.
 *
 *   record         0         8      16   24   32   40         48      (return: 80)  112            (176)
 *                  +---------+------+----+----+----+----------+-------+-------------+--------------+--------------------+
 *                  | counter | meta | lr | fp | sp | reserved | x[4]  | x[4..7]     | (vectors[8]) | (the stack's bytes)|
 *                  +---------+------+----+----+----+----------+-------+-------------+--------------+--------------------+
 *                                  calls and returns                 calls         flag VECTORS   as the size says
 *
 *   meta           63     56 55        49   48   47        46  44 43                              0
 *                  +--------+-----------+------+---------+------+----------------------------------+
 *                  | size   | 0         | HALF | VECTORS | kind | function_id                      |
 *                  +--------+-----------+------+---------+------+----------------------------------+
 *   size: of the whole record, in units of 16 bytes. HALF: the last 8 of the stack's bytes aren't there.
 *   kind 0: this event (LOST, a frame closed out of order) has no detail; the record ends behind meta, and only its size is valid.
 *   CALL:   x = rdi rsi rdx rcx r8 r9 rax r10; vectors = low halves of xmm0 to 7
 *   RETURN: x = rax rdx xmm0 xmm1 (low halves); the stack's bytes are there where all returns shall have them, or rax points to one of
 *           them: results in memory are there
 *   lr = return address, fp = rbp, sp = address of the return slot; the stack's bytes begin behind the slot (sp + 8)
 *
 * What arguments of a call pointed at is a record of its own behind the call's, committed by itself (agent/record/capture.c):
 *
 *   captured       0         8      16
 *                  +---------+------+-------------------------+-----+-----+
 *                  | counter | meta | AtfDetailCaptured, bytes| ... | 0   |    kind 7, and in place of function_id how many bytes of
 *                  +---------+------+-------------------------+-----+-----+    entries; counter: the call's, which names it
 *
 *   It is of no event, and belongs to the last call before it that has its counter. Events of a handler may lie between the two. Whoever
 *   writes it writes the counter last, so where that is right all is, committed or not.
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
#include "abi/file.h"
#include "abi/record.h"

#define ADA_DETAIL_STACK_MAX 256u
#define ADA_DETAIL_BUFFER_MIN (4u << 20)
#define ADA_DETAIL_BUFFER_MAX (64ull << 30)

enum ada_detail_mode { ADA_DETAIL_CIRCULAR = 0, ADA_DETAIL_ONESHOT = 1, ADA_DETAIL_STREAMING = 2 };

struct ada_detail {
	uint64_t counter;
	uint64_t meta;
	uint64_t lr, fp, sp; /* from here on only of a CALL or a RETURN */
	uint64_t reserved;
	uint64_t x[];
};
#define ADA_DETAIL_UNIT 16u
#define ADA_DETAIL_FUNCTION_BITS 44 /* 12 of the module, 32 of the symbol */
#define ADA_DETAIL_KIND_SHIFT 44
#define ADA_DETAIL_VECTORS (1ull << 47)
#define ADA_DETAIL_HALF (1ull << 48)
#define ADA_DETAIL_SIZE_SHIFT 56
#define ADA_DETAIL_VECTOR_BYTES 64u
#define ADA_DETAIL_NONE_BYTES 16u
#define ADA_DETAIL_CALL_BYTES 112u   /* without vectors and stack */
#define ADA_DETAIL_RETURN_BYTES 80u  /* without stack */
#define ADA_DETAIL_RECORDS_BEGIN 64u /* in a chunk */
#define ADA_DETAIL_CAPTURED 7u	     /* kind */
#define ADA_DETAIL_CAPTURED_ROOM (ADA_DETAIL_NONE_BYTES + ATF_DETAIL_CAPTURED_MAX)
#define ADA_DETAIL_CAPTURED_FAR 64u /* events between a call and what was captured for it, at most */
static_assert(ADA_DETAIL_CAPTURED_ROOM % ADA_DETAIL_UNIT == 0, "captured");
static_assert(offsetof(struct ada_detail, x) == 48, "detail record");
static_assert(offsetof(struct ada_detail, x) + 8 * sizeof(uint64_t) == ADA_DETAIL_CALL_BYTES, "call");
static_assert(offsetof(struct ada_detail, x) + 4 * sizeof(uint64_t) == ADA_DETAIL_RETURN_BYTES, "return");

#define ADA_DETAIL_META(kind, bytes)                                                                                                       \
	((uint64_t)(kind) << ADA_DETAIL_KIND_SHIFT | (uint64_t)(bytes) / ADA_DETAIL_UNIT << ADA_DETAIL_SIZE_SHIFT)

/* For a lane that captures `stack` bytes of calls, rounded up to 16, and `at_return` of each return. */
#define ADA_DETAIL_ROOM(stack) (((stack) + 15u) & ~15u)
#define ADA_DETAIL_LARGEST(stack) (ADA_DETAIL_CALL_BYTES + ADA_DETAIL_VECTOR_BYTES + (stack)) /* the largest record */
/* A chunk: room for a whole index chunk's events where calls and returns alternate. A record begins only where the largest has room, and
 * one without detail behind it, which a thread may write when it closes its chunk. A small chunk is full before its index chunk is: each
 * thread of a crowd has an open one, half of which is empty. */
#define ADA_DETAIL_EVENTS 1022u
#define ADA_DETAIL_CHUNK_BYTES(stack, at_return)                                                                                           \
	((ADA_DETAIL_RECORDS_BEGIN + ADA_DETAIL_EVENTS / 2 * (ADA_DETAIL_LARGEST(stack) + ADA_DETAIL_RETURN_BYTES + (at_return)) -         \
	  ADA_DETAIL_RETURN_BYTES - (at_return) + ADA_DETAIL_LARGEST(stack) + ADA_DETAIL_NONE_BYTES + 32767u) &                            \
	 ~32767u)
#define ADA_DETAIL_SMALL_SHARE 24u
#define ADA_DETAIL_SMALL_EVENTS (ADA_DETAIL_EVENTS / ADA_DETAIL_SMALL_SHARE) /* it has room for so many, whatever they are */
#define ADA_DETAIL_SMALL(chunk_bytes) (((chunk_bytes) / ADA_DETAIL_SMALL_SHARE + 4095u) & ~4095u)
static_assert(ADA_DETAIL_SMALL(ADA_DETAIL_CHUNK_BYTES(128, 0)) == 8 << 10, "two pages");
static_assert(ADA_DETAIL_RECORDS_BEGIN + ADA_DETAIL_LARGEST(0) + ADA_DETAIL_CAPTURED_ROOM + ADA_DETAIL_NONE_BYTES <=
		      ADA_DETAIL_SMALL(ADA_DETAIL_CHUNK_BYTES(0, 0)) / 2,
	      "a small chunk has room for records, whatever is captured");
static_assert(ADA_DETAIL_CHUNK_BYTES(128, 0) == 192 << 10 && ADA_DETAIL_CHUNK_BYTES(256, 256) < 16 << 16, "a cursor has 16 bits");

/* A record as it was when its meta was read: what lies in the pool may change meanwhile. */
struct ada_detail_view {
	uint32_t kind, bytes; /* bytes: up to the next record; 0: this is no record, nor is there a next one */
	uint64_t function_id;
	const uint64_t *x, *vectors; /* vectors NULL: none */
	const uint8_t *stack;	     /* of ADA_DETAIL_CAPTURED: its entries */
	uint32_t stack_size;
	const uint8_t *captured; /* what the recorder found behind a call; NULL: nothing */
	uint32_t captured_size;
};

/* `left`: bytes up to the chunk's end, at least 0. Kind 0: the event has no detail. */
static inline struct ada_detail_view ada_detail_read(const struct ada_detail *record, uint64_t left)
{
	const struct ada_detail_view none = { 0, 0, 0, NULL, NULL, NULL, 0, NULL, 0 };
	struct ada_detail_view view = none;
	uint64_t meta, fixed;

	if (left < ADA_DETAIL_NONE_BYTES)
		return view;
	meta = __atomic_load_n(&record->meta, __ATOMIC_RELAXED);
	view.kind = meta >> ADA_DETAIL_KIND_SHIFT & 7;
	view.bytes = (uint32_t)(meta >> ADA_DETAIL_SIZE_SHIFT) * ADA_DETAIL_UNIT;
	view.function_id = meta & ((1ull << ADA_DETAIL_FUNCTION_BITS) - 1);
	fixed = view.kind == ADA_EVENT_CALL   ? ADA_DETAIL_CALL_BYTES :
		view.kind == ADA_EVENT_RETURN ? ADA_DETAIL_RETURN_BYTES :
						ADA_DETAIL_NONE_BYTES;
	if (view.kind == ADA_DETAIL_CAPTURED && view.bytes <= left && view.function_id <= ATF_DETAIL_CAPTURED_MAX &&
	    view.function_id + fixed <= view.bytes) {
		view.stack = (const uint8_t *)record + fixed;
		view.stack_size = (uint32_t)view.function_id;
		return view;
	}
	if (view.kind == ADA_EVENT_CALL && meta & ADA_DETAIL_VECTORS) {
		view.vectors = record->x + 8;
		fixed += ADA_DETAIL_VECTOR_BYTES;
	}
	if (view.bytes > left || view.bytes < fixed || (fixed == ADA_DETAIL_NONE_BYTES && (view.kind || view.bytes > fixed)))
		return none;
	view.x = record->x;
	view.stack = (const uint8_t *)record + fixed;
	view.stack_size = (uint32_t)(view.bytes - fixed);
	if (meta & ADA_DETAIL_HALF && view.stack_size)
		view.stack_size -= 8;
	return view;
}

enum ada_detail_status { ADA_DETAIL_FREE = 0, ADA_DETAIL_OPEN = 1, ADA_DETAIL_SEALED = 2, ADA_DETAIL_CLAIMED = 3, ADA_DETAIL_HELD = 4 };

struct ada_detail_chunk {	   /* header, at the chunk's start; written by the agent */
	uint32_t status;	   /* enum ada_detail_status (atomic); the recorder's where HELD -> FREE */
	uint32_t thread;	   /* its id */
	uint64_t first_seq;	   /* as its index chunk's first_seq: number of its first record */
	uint64_t first_counter;	   /* when it was opened */
	uint64_t last_counter;	   /* set at sealing: of its last event */
	uint64_t previous_counter; /* of this thread's last event before the chunk; 0: there was none */
	uint32_t records;	   /* set at sealing: how many, with or without detail. While OPEN: see the index chunk's commit word */
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
	uint64_t sealed_head;	/* chunks sealed so far: the ring's next place (abi/ring.h) */
	uint64_t sealed_tail;	/* agents and recorder */
	uint64_t horizon;	/* highest last_counter of a chunk that was recycled: before it, history has holes */
	uint64_t discarded;	/* full chunks recycled because no window wanted them: windows_discarded */
	uint64_t starved;	/* times a chunk was wanted and none was to be had */
	uint64_t captures_lost; /* what was to be captured and found no place: handlers came in between, or the chunk was full */
	/* Written by the recorder. These say what the pin stands for, so that a chunk between two windows isn't kept: marks from place
	 * `settled` on (abi/policy.h), and one interval of the recorder's own, in counters (own_start UINT64_MAX: none). */
	uint64_t settled;
	uint64_t own_start, own_end;
	uint64_t history; /* so many sealed chunks are enough: the oldest goes before the pool grows. 0: three quarters of the pool */
	uint64_t reserved1[4];
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
