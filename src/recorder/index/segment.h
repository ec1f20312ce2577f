/* The shared memory of one provider, the recorder's side (layout and who writes what: abi/wire.h; where it lies: shared.h).
 *
 * Memory is given out in parts: a chunk's bit in the free map is set only once the chunk's pages are allocated. So a lack of
 * memory means fewer chunks, never a SIGBUS in the program. The rest follows ahead of use (ada_segment_grow).
 */
#ifndef ADA_RECORDER_SEGMENT_H
#define ADA_RECORDER_SEGMENT_H
#include <stdbool.h>
#include "abi/wire.h"
#include "base/error.h"
#include "recorder/index/shared.h"

struct ada_segment {
	struct ada_shm *shm;
	uint64_t *free_map;   /* small chunks' bits follow, from the next word on; detail_free_map likewise */
	struct ada_ring ring; /* of sealed chunks, both classes' */
	struct ada_shm_heir *heirs;
	struct ada_shm_module *modules;
	struct ada_shm_thread *threads;
	uint64_t *threads_free; /* bitmap: entries that the next threads may have */
	uint8_t *pool, *small_pool;
	struct ada_mark *marks;
	uint8_t *policy; /* ADA_POLICY_BYTES; pages as allocated by ada_segment_policy_room */
	uint64_t *detail_free_map;
	struct ada_ring detail_ring, detail_small_ring; /* small ones by their number less that of the first */
	uint8_t *detail_pool, *detail_small_pool;
	uint32_t detail_chunks;			  /* 0: no detail lane */
	uint32_t detail_chunk_bytes, detail_room; /* as in the header, which the agent could change */
	uint32_t stack_bytes;			  /* as asked: what of a record is kept */
	enum ada_detail_mode detail_mode;
	uint64_t total_bytes;
	uint64_t maps_end; /* what comes before the pools */
	uint32_t chunks;
	uint32_t small_chunks, detail_small_chunks; /* numbered from ada_small_first() on; only agents give them memory */
	uint32_t numbers, detail_numbers;	    /* of chunks of either class: behind the last one */
	int fd;					    /* for allocation and the question whether anyone still maps it */
	/* Allocated so far; written by the thread that grows it */
	uint32_t chunks_ready;
	uint32_t small_ready, detail_small_ready; /* all before it were seen to have pages */
	uint32_t threads_ready, modules_ready;
	uint32_t detail_ready;		 /* all before it have pages */
	uint32_t detail_taken;		 /* where detail_exhausted: up to here the agent took chunks itself */
	uint64_t room_bytes;		 /* that the pools may still get from here: ada_segment_allow */
	bool exhausted;			 /* there was no memory for the index when that was last said */
	uint64_t young_until_ns;	 /* until it has filled something, or then, it gets no more than it uses */
	uint64_t looked_ns, sealed_then; /* how fast the program is */
	uint64_t grown_head;		 /* what the agent had filled and begun when the grower looked last (atomic) */
	uint32_t grown_threads, grown_modules;
	uint64_t sealed, seen; /* chunks of the pool; by then, in the ring of both classes */
	/* What a process at rest gave back: 0: nothing, else so few free chunks end its rest */
	uint32_t index_rests, detail_rests;
	uint64_t rest_looked_ns, rest_pulse; /* main thread's */
	bool collapses;			     /* huge pages don't come by themselves, and the kernel has given those asked for */
	bool begun_small;		     /* in small pages, until it grows */
	bool detail_exhausted;		     /* or nearly so: the rest is for the index */
};

struct ada_segment_options {
	const struct ada_shared *shared;
	uint64_t index_buffer_bytes;
	enum ada_index_mode index_mode;
	enum ada_on_full on_full;
	uint64_t allowed_bytes;	      /* that the agent may make itself until ada_segment_allow says more */
	uint64_t detail_buffer_bytes; /* 0: no detail lane */
	uint32_t detail_stack_bytes;
	bool stack_at_return; /* not at the call alone */
	bool captures;	      /* what arguments point at may be captured */
	enum ada_detail_mode detail_mode;
	uint32_t detail_history; /* as struct ada_detail_control has it */
	bool scarce;		 /* limits leave little memory: it begins with about a megabyte */
	bool brief;		 /* its process may be gone soon: it begins with as much, and what it gets later has no limit for that */
	bool no_small;		 /* there is no address space to spare */
	uint32_t pid, provider;
	uint32_t ticks_a_wait; /* ADA_WAIT_NS in ticks */
	bool poison;	       /* --debug-poison */
	bool unbound;	       /* --debug-unbound */
	bool price_wanted;     /* the agent measures what an event costs */
	bool filters_wanted;   /* the budget may have calls of mutexes filtered */
	bool named;	       /* in `shared`, by its provider's number or, where it is to lie ready, by that number: */
	uint32_t ready;	       /* 0: it is a process's from the beginning */
	bool children;	       /* children of its process may take what lies ready */
};

uint64_t ada_segment_bytes(const struct ada_segment_options *options); /* of the whole segment */
/* Creates a segment with its first chunks ready. *agent_fd: another open file of the segment for the agent; the caller closes it. */
int ada_segment_create(struct ada_segment *segment, const struct ada_segment_options *options, int *agent_fd, struct ada_error *error);
/* Makes a new segment, in its memory, of one that nobody else has mapped or open and that has the provider's name. 0 or -errno: the caller
 * destroys it. */
int ada_segment_renew(struct ada_segment *segment, const struct ada_segment_options *options, uint32_t provider, int *agent_fd);
/* Gives a segment that lay ready the pid, provider and name of the options. 0 or -errno: the caller destroys the segment. */
int ada_segment_assign(struct ada_segment *segment, const struct ada_segment_options *options);
/* Removes the name of a segment that lies ready. */
void ada_segment_unname(const struct ada_segment_options *options);
/* Maps a dead recorder's segment by the name that the options say in options->shared (of which only the directory counts). The other
 * options must say the layout that the segment was made with; the segment's own header is not believed. */
int ada_segment_attach(struct ada_segment *segment, const struct ada_segment_options *options, struct ada_error *error);
void ada_segment_destroy(struct ada_segment *segment); /* for the recorder: others may still have it */
/* Allocates ahead of what the agent has taken, a step at a time. */
enum ada_growth { ADA_GROWTH_CALM, ADA_GROWTH_MORE, ADA_GROWTH_URGENT }; /* of the next step: not now, soon, at once */
enum ada_growth ada_segment_grow(struct ada_segment *segment);
/* Main thread: whether the process has filled or begun much since the grower looked. */
bool ada_segment_stirs(const struct ada_segment *segment);
/* Once in a while: takes back what was made ahead of use, where little is used. Not while it grows, nor while others look at its chunks.
 * True: little is used, whatever came back. */
bool ada_segment_rest_due(const struct ada_segment *segment, uint64_t now_ns);
bool ada_segment_rest(struct ada_segment *segment, uint64_t now_ns);
/* Says how many more bytes the recorder may give to the pools, and how many the agent may make for itself: each is charged to
 * another control group. Before the first call the recorder has no limit. */
void ada_segment_allow(struct ada_segment *segment, uint64_t room_bytes, uint64_t agent_bytes);
/* True while any process (but this one) has the segment mapped or open: forks that have not said HELLO yet, for one. */
bool ada_segment_in_use(const struct ada_segment *segment);
/* The recorder takes no more: the agent records no more, and no one waits for a chunk. */
void ada_segment_leave(struct ada_segment *segment);
void ada_segment_chunk_return(struct ada_segment *segment, uint32_t chunk);

/* Copies an entry of the thread table whose thread has `status` and is drained, and frees the entry for the next thread. False: the
 * thread has gone on meanwhile. */
bool ada_segment_thread_free(struct ada_segment *segment, uint32_t entry, uint32_t status, struct ada_shm_thread *copy);

/* Makes a HELD chunk FREE again, and the agent's. */
void ada_segment_detail_return(struct ada_segment *segment, uint32_t chunk);

/* Makes what a policy's tables need for so many functions, if few are named: for a segment whose process isn't known yet. 0 or -errno. */
int ada_segment_policy_ahead(struct ada_segment *segment, uint32_t functions);
/* Pages for bytes [offset, offset + bytes) of the policy area. 0 or -errno. */
int ada_segment_policy_room(struct ada_segment *segment, uint64_t offset, uint64_t bytes);

static inline struct ada_policy_table *ada_segment_policy_table(const struct ada_segment *segment, int number)
{
	return (struct ada_policy_table *)(segment->policy + (uint64_t)number * ADA_POLICY_TABLE_BYTES);
}

/* How many chunks there may be, including those that the agent made itself. ada_segment_chunk_is_there says which of them have
 * memory for their headers. No chunk without memory may be touched. */
static inline uint32_t ada_segment_chunk_count(const struct ada_segment *segment)
{
	uint32_t ready = __atomic_load_n(&segment->chunks_ready, __ATOMIC_ACQUIRE);
	uint32_t front = __atomic_load_n(&segment->shm->index_front, __ATOMIC_ACQUIRE);

	front = front < segment->chunks ? front : segment->chunks;
	return front > ready ? front : ready;
}
bool ada_segment_chunk_is_there(const struct ada_segment *segment, uint32_t chunk);
/* How many small chunks there may be, in the index lane and in the detail lane. */
static inline uint32_t ada_segment_small_count(const struct ada_segment *segment)
{
	uint32_t front = __atomic_load_n(&segment->shm->small_front, __ATOMIC_ACQUIRE);

	return front < segment->small_chunks ? front : segment->small_chunks;
}
static inline uint32_t ada_segment_detail_small_count(const struct ada_segment *segment)
{
	uint32_t front = __atomic_load_n(&segment->shm->detail_small_front, __ATOMIC_ACQUIRE);

	return front < segment->detail_small_chunks ? front : segment->detail_small_chunks;
}

/* For a walk through all chunks of both classes, from number 0 on: the next number, and where the walk ends. */
static inline uint32_t ada_segment_chunk_after(const struct ada_segment *segment, uint32_t number)
{
	uint32_t small = ada_small_first(segment->chunks);

	return ++number < small && number >= ada_segment_chunk_count(segment) ? small : number;
}
static inline uint32_t ada_segment_chunk_end(const struct ada_segment *segment)
{
	uint32_t small = ada_segment_small_count(segment);

	return small ? ada_small_first(segment->chunks) + small : ada_segment_chunk_count(segment);
}
/* Gives memory to a chunk that the agent says it has used, where its pages aren't there (swapped out, or the agent lies). */
bool ada_segment_chunk_reach(const struct ada_segment *segment, uint32_t chunk);

/* The bytes that the pools have, roughly. */
static inline uint64_t ada_segment_pool_bytes(const struct ada_segment *segment)
{
	return (uint64_t)segment->chunks_ready * ADA_CHUNK_BYTES + (uint64_t)segment->detail_ready * segment->detail_chunk_bytes;
}

/* How many detail chunks there may be, including those that the agent took before they were allocated here.
 * ada_segment_detail_is_there says which of them have memory. Neither function waits for memory. */
static inline uint32_t ada_segment_detail_count(const struct ada_segment *segment)
{
	uint32_t ready = __atomic_load_n(&segment->detail_ready, __ATOMIC_ACQUIRE);
	bool ends = __atomic_load_n(&segment->detail_exhausted, __ATOMIC_ACQUIRE);
	uint32_t front = ends ? segment->detail_taken : __atomic_load_n(&segment->shm->detail_front, __ATOMIC_ACQUIRE);

	front = front < segment->detail_chunks ? front : segment->detail_chunks;
	return front > ready ? front : ready;
}

static inline uint32_t ada_segment_detail_after(const struct ada_segment *segment, uint32_t number)
{
	uint32_t small = ada_small_first(segment->detail_chunks);

	return ++number < small && number >= ada_segment_detail_count(segment) ? small : number;
}
static inline uint32_t ada_segment_detail_end(const struct ada_segment *segment)
{
	uint32_t small = ada_segment_detail_small_count(segment);

	return small ? ada_small_first(segment->detail_chunks) + small : ada_segment_detail_count(segment);
}

/* How many events a chunk of the detail lane may go with: what the agent says of a chunk goes no further. */
static inline uint32_t ada_segment_detail_events(const struct ada_segment *segment, uint32_t chunk)
{
	return chunk < segment->detail_chunks ? ADA_CHUNK_EVENTS : ADA_SMALL_EVENTS;
}

/* Whether the agent has made the pages of a chunk that isn't allocated here. */
bool ada_segment_detail_is_resident(const struct ada_segment *segment, uint32_t chunk);
bool ada_segment_detail_small_is_there(const struct ada_segment *segment, uint32_t chunk);
static inline bool ada_segment_detail_is_there(const struct ada_segment *segment, uint32_t chunk)
{
	if (chunk >= segment->detail_chunks)
		return ada_segment_detail_small_is_there(segment, chunk);
	return chunk < __atomic_load_n(&segment->detail_ready, __ATOMIC_ACQUIRE) ||
	       (chunk < ada_segment_detail_count(segment) && ada_segment_detail_is_resident(segment, chunk));
}

/* The same, but gives memory to a chunk that the agent says it has used, where its pages aren't there (swapped out, or the agent lies). */
bool ada_segment_detail_reach(const struct ada_segment *segment, uint32_t chunk);

static inline bool ada_segment_detail_is_free(const struct ada_segment *segment, uint32_t chunk)
{
	return ada_map_has(segment->detail_free_map, chunk);
}

static inline bool ada_segment_chunk_is_free(const struct ada_segment *segment, uint32_t chunk)
{
	return ada_map_has(segment->free_map, chunk);
}

/* Entries of the tables that are whole. These have memory even where the agent outran ada_segment_grow: the agent wrote them. */
static inline uint32_t ada_segment_thread_count(const struct ada_segment *segment)
{
	uint32_t count = __atomic_load_n(&segment->shm->thread_count, __ATOMIC_ACQUIRE);

	return count < ADA_THREADS_MAX ? count : ADA_THREADS_MAX;
}

/* Ids given so far: threads that there are or were. */
static inline uint32_t ada_segment_threads_seen(const struct ada_segment *segment)
{
	uint32_t count = __atomic_load_n(&segment->shm->threads_seen, __ATOMIC_ACQUIRE);

	return count < ADA_THREADS_EVER ? count : ADA_THREADS_EVER;
}

static inline uint32_t ada_segment_module_count(const struct ada_segment *segment)
{
	uint32_t count = __atomic_load_n(&segment->shm->module_count, __ATOMIC_ACQUIRE);

	return count < ADA_MODULES_MAX ? count : ADA_MODULES_MAX;
}

static inline struct ada_chunk *ada_segment_chunk(const struct ada_segment *segment, uint32_t chunk)
{
	if (chunk < segment->chunks)
		return (struct ada_chunk *)(segment->pool + (uint64_t)chunk * ADA_CHUNK_BYTES);
	return (struct ada_chunk *)(segment->small_pool + (uint64_t)(chunk - ada_small_first(segment->chunks)) * ADA_SMALL_BYTES);
}

static inline uint32_t ada_segment_chunk_begin(const struct ada_segment *segment, uint32_t chunk)
{
	return ada_chunk_begin(segment->chunks, chunk);
}

/* index_seq of a chunk's first event: also its detail chunk's first_seq. */
static inline uint64_t ada_segment_chunk_seq(const struct ada_segment *segment, uint32_t chunk)
{
	return ada_segment_chunk(segment, chunk)->first_seq +
	       (ada_segment_chunk_begin(segment, chunk) - ADA_CHUNK_HEADER_BYTES) / sizeof(struct ada_event);
}

/* The events up to a commit word's low half. */
static inline uint64_t ada_segment_chunk_events(const struct ada_segment *segment, uint32_t chunk, uint32_t end)
{
	return (end - ada_segment_chunk_begin(segment, chunk)) / sizeof(struct ada_event);
}

static inline uint32_t ada_segment_detail_small_bytes(const struct ada_segment *segment)
{
	return ADA_DETAIL_SMALL(segment->detail_chunk_bytes);
}

static inline uint32_t ada_segment_detail_bytes(const struct ada_segment *segment, uint32_t chunk)
{
	return chunk < segment->detail_chunks ? segment->detail_chunk_bytes : ada_segment_detail_small_bytes(segment);
}

static inline struct ada_detail_chunk *ada_segment_detail_chunk(const struct ada_segment *segment, uint32_t chunk)
{
	if (chunk < segment->detail_chunks)
		return (struct ada_detail_chunk *)(segment->detail_pool + (uint64_t)chunk * segment->detail_chunk_bytes);
	chunk -= ada_small_first(segment->detail_chunks);
	return (struct ada_detail_chunk *)(segment->detail_small_pool + (uint64_t)chunk * ada_segment_detail_small_bytes(segment));
}
#endif
