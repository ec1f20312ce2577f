/* The arena holds what a recorder has taken out of the segments and not yet written to the disk. It is a file of the session's shared
 * memory (its names: recorder/index/shared.h), so that the keeper, or `ada recover`, can write the rest when the recorder was killed. The
 * recorder's main thread writes all but the providers' notes; each of those is written by the thread that makes the provider. Whoever
 * recovers is alone with the arena, maps it shared, and writes the same things. No traced program has it.
 *
 *   0           +-----------------------------+
 *               | struct ada_arena   (4 KiB)  |  sizes, offsets, state of the session, the clock
 *   providers   | struct ada_arena_provider[] |  by number of the provider
 *   lanes       | struct ada_arena_lane[]     |  a thread's files: what of them counts. Any order
 *   anchors     | struct ada_arena_anchor[]   |  of the clock, append-only
 *   blocks      | struct ada_arena_block[]    |  which piece of which file the block of that number is
 *   memory      | places of 256 KiB           |
 *               +-----------------------------+
 *
 * The file is sparse: a table has pages as far as it was used, a block as far as its note says. Nobody may touch anything else.
 *
 * A commit of many words is one store. A note has two slots; the one that `current` doesn't name is filled, then `current` changes
 * (release). What a note says of its thread holds whatever happened to chunks, blocks and file since:
 *
 *   chunk (segment) --- copied ---> block --- note: counts ---> written to the file ---> block free
 *         |                                     |
 *         +-- not given back before ------------+
 *
 * A recorder killed before the note leaves the events in their chunk, and the bytes behind segment_events count for nothing. One killed
 * behind the note leaves the chunk's events below next_seq in the block or in the file. So no event is lost and none comes twice. A block
 * that was taken is free only when its bytes are in the file, so the file that a note describes is the file on the disk with all blocks
 * of that thread and segment laid over it, cut behind segment_events.
 *
 * A packed segment's blocks of the file are written behind the note that counts their events, so its file never holds more than
 * segment_events, in its whole blocks; the EVENTS blocks hold those behind, and maybe some that the file has as well. No two of them have
 * the same event below segment_events: a run that ends early says so in `bytes` before the next one is taken.
 */
#ifndef ADA_ABI_ARENA_H
#define ADA_ABI_ARENA_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/wire.h"

#define ADA_ARENA_MAGIC "ADAARENA"
#define ADA_ARENA_VERSION 4u
#define ADA_ARENA_HEADER_BYTES 4096u
/* Of the tables, where addresses aren't limited: the header says how many there are */
#define ADA_ARENA_PROVIDERS_MAX 65536u /* providers with a higher number have no note: recovery has only what is on the disk */
#define ADA_ARENA_LANES_MAX (1u << 18)
#define ADA_ARENA_ANCHORS_MAX (1u << 20)   /* at ten a second, the most there can be: a day and more */
#define ADA_ARENA_BLOCKS_MAX 16384u	   /* 4 GiB of addresses */
#define ADA_ARENA_BLOCK_BYTES (256u << 10) /* the place of block i is at memory_offset + i * so many */

enum ada_arena_state {
	ADA_ARENA_RECORDING = 1,
	ADA_ARENA_ENDED = 2, /* all is on the disk: there is nothing to recover */
};

struct ada_arena_anchor {
	uint64_t counter, ns, ns_per_tick;
}; /* the last one is a double's bits */
static_assert(sizeof(struct ada_arena_anchor) == 24, "arena anchor");

/* With the anchors before `anchors`, all that a clock needs to go on (base/clock.h). */
struct ada_arena_clock {
	uint64_t anchors;      /* that hold; no more are added once the table is full: the last line goes on */
	uint64_t fell, before; /* numbers of anchors behind a fall of the counter; 0: none */
	uint64_t young_until;
	uint64_t resolution_ns;
};

enum ada_arena_provider_state {
	ADA_ARENA_NO_PROVIDER = 0,
	ADA_ARENA_STARTING = 1, /* its directory is made; there may be no manifest yet, and then no event is in a file */
	ADA_ARENA_STARTED = 2,	/* its first manifest is on the disk */
	ADA_ARENA_FINISHED = 3, /* its last manifest is, and its segment's name is going or gone */
};
struct ada_arena_provider {
	uint32_t state; /* enum ada_arena_provider_state (atomic, set last) */
	uint32_t pid, parent_pid;
	uint32_t tids_known; /* 1: the thread table's ids are those of the recorder's pid namespace */
	uint64_t start_ns;
	char name[32]; /* of its directory in the session: pid_123 */
	/* What the segment was laid out from (recorder/index/segment.h): the traced program can write the segment's own header */
	uint64_t index_bytes, detail_bytes; /* detail_bytes 0: no detail lane */
	uint32_t stack_bytes;
	uint32_t detail_mode;	  /* enum ada_detail_mode */
	uint32_t no_small;	  /* 1: no small chunks */
	uint32_t ready;		  /* number of the ready segment that it took (abi/ready.h), whose file may still be named so; 0: none */
	uint32_t stack_at_return; /* 1: not at the call alone */
	uint32_t forked_from;	  /* one more than the number of the provider whose modules it inherited; 0: of none */
	uint64_t reserved[4];
};
static_assert(sizeof(struct ada_arena_provider) == 128, "arena provider");

enum ada_arena_lane_flag {
	ADA_ARENA_LANE_CLOSED = 1,     /* the thread is over, and its last file has its footer */
	ADA_ARENA_LANE_GIVEN_BACK = 2, /* another thread may have the entry of the thread table: `last` has what it said */
	ADA_ARENA_LANE_DETAIL = 4,     /* the segment has a detail file */
	ADA_ARENA_LANE_PACKED = 8,     /* the segment is an index.SEGMENT.atp */
};
/* The fields of struct ada_lane (recorder/index/lane.h), where they have the same name. */
struct ada_arena_lane_state {
	uint64_t next_seq; /* as the agent numbers events: those below are in the files, or counted as lost */
	uint64_t events, lost, overwritten, gaps, segment_gaps, told_lost;
	uint64_t last_ns;			 /* no event comes before it */
	uint64_t captured;			 /* the next event with detail in this segment has this detail_seq */
	uint64_t stretch_seq, stretch_index_seq; /* from this event on seq less index_seq is constant, in this segment */
	uint32_t segment;			 /* index.SEGMENT.atf or .atp, the last one; ADA_NONE: there is none */
	uint32_t segment_events; /* how many of its records count. Unless CLOSED the file has no footer, or one that counts for nothing */
	uint32_t flags;		 /* enum ada_arena_lane_flag */
	uint32_t thread_id;
	uint64_t reserved[3];
};
static_assert(sizeof(struct ada_arena_lane_state) == 128, "arena lane state");

struct ada_arena_lane {
	uint32_t used; /* 1: a thread has this note (atomic, set last), and the next two fields say which one until this is 0 again */
	uint32_t provider;
	uint32_t id; /* of the thread, in that provider: thread_ID */
	uint32_t reserved0;
	uint64_t reserved1[5];
	uint32_t current; /* 0 or 1: the slot that holds (atomic) */
	uint32_t reserved2;
	struct ada_arena_lane_state slots[2];
	/* Whole before the thread's entry is freed: where no entry of the thread table has this id, `last` has what the entry said,
	 * whether GIVEN_BACK is set yet or not. 0 everywhere: the thread has its entry */
	struct ada_shm_thread last;
	uint64_t reserved3[8];
};
static_assert(sizeof(struct ada_arena_lane) == 512, "arena lane");
static_assert(offsetof(struct ada_arena_lane, slots) == 64, "arena lane slots");

enum ada_arena_kind {
	ADA_ARENA_PLAIN = 1,  /* the file's bytes, from `offset` on */
	ADA_ARENA_EVENTS = 2, /* of a packed segment: events, `offset` bytes behind its first one unpacked */
};
struct ada_arena_block {
	uint32_t taken; /* 1: its bytes may not be in the file yet (atomic, set last, cleared first) */
	uint32_t kind;	/* enum ada_arena_kind */
	uint32_t lane;	/* number of the note */
	uint32_t segment;
	uint64_t offset; /* in the file, of its first byte: a multiple of 4096. Of EVENTS: a multiple of 32 */
	uint32_t bytes;	 /* so many bytes of the file, or of events, at most; all have memory. The first blocks of a file are small */
	uint32_t reserved;
};
static_assert(sizeof(struct ada_arena_block) == 32, "arena block");

struct ada_arena {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct ada_arena) */
	uint64_t total_bytes;
	uint64_t providers_offset, lanes_offset, anchors_offset, blocks_offset, memory_offset;
	uint32_t providers, lanes, anchors, blocks; /* entries that the tables have room for */
	uint64_t start_ns;
	uint32_t recorder_pid;
	uint32_t index_mode;	 /* enum ada_index_mode */
	uint64_t segment_events; /* events of a file at most, as asked; 0: as many as it can have */
	/* The layout of segments that lie ready, before there are any; else NO_PROVIDER. Nothing else of it counts */
	struct ada_arena_provider ready;
	/* What follows changes */
	uint32_t state __attribute__((aligned(64))); /* enum ada_arena_state (atomic) */
	uint32_t providers_used;		     /* notes from here on were never used (atomic) */
	uint32_t lanes_used;			     /* likewise */
	uint32_t blocks_used;			     /* likewise */
	uint32_t
		lanes_refused; /* threads for which there was no note: what memory holds of them can't be told from what their files hold */
	uint64_t blocks_refused; /* blocks in other memory: the recorder's end loses those that weren't written */
	uint32_t clock_current;	 /* 0 or 1 (atomic) */
	struct ada_arena_clock clocks[2];
};
static_assert(offsetof(struct ada_arena, state) % 64 == 0, "arena state");
static_assert(sizeof(struct ada_arena) <= ADA_ARENA_HEADER_BYTES, "one page");

#endif
