/* The core's own layouts, which hook.S, stubs.S and the C slow paths share, and no one outside the process sees.
 *
 *   struct ada_hook    one a trampoline, in the region's data half     written once, then the cache word
 *                      its first half: one a near stub, likewise
 *   struct ada_site    one a (return address, function) pair           immutable once published in the hash
 *   struct ada_thread  one a recording thread                          its own thread only; zero in a fork's child
 *   struct ada_frame   one call in progress                            bookkeeping only: control flow never reads it
 *   struct ada_setup   the process's, one cache line                   ada_core_attach, before any hook that reads it
 *
 * gen_offsets.c turns the offsets into offsets.h, so that the assembly types none of them twice.
 *
 * The commit word is the first of the open chunk (abi/wire.h), where the recorder can read it at any time:
 *
 *   63         48 47                  16 15        0    next event = chunk + low 16 bits; no room: they are ADA_CHUNK_BYTES
 *   +------------+----------------------+-----------+   next frame = shadow + the 32 bits above them
 *   | next detail|      next frame      | next event|   next detail record = detail chunk + 16 * the highest 16 bits; no room: they are
 *   +------------+----------------------+-----------+   above ada_setup.detail_limit; 0 where there is no detail chunk
 *
 * So one addition commits an event, its frame and its detail record (abi/detail.h).
 */
#ifndef ADA_AGENT_LAYOUT_H
#define ADA_AGENT_LAYOUT_H
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/trampoline.h"
#include "abi/wire.h"

#define ADA_EVENT_BYTES 32
#define ADA_FRAME_BYTES 32
#define ADA_COMMIT_FRAMES 16					   /* bits of the commit word below the next frame */
#define ADA_COMMIT_DETAIL 48					   /* and below the next detail record */
#define ADA_EVENT_FIRST (ADA_CHUNK_HEADER_BYTES / ADA_EVENT_BYTES) /* number of the event at offset 64, by offset */
#define ADA_NEAR_BYTES (1 << 20) /* a slot no further than this below the innermost frame's needs no second look */
#define ADA_FRAME_UNRETURNED (1ull << 63)
#define ADA_FRAME_WATCHED 1
#define ADA_FRAME_TAIL 2
#define ADA_FRAME_MARKS 3
#define ADA_TAIL_CALLS_MAX 32	       /* frames that may share one slot: an endless tail loop stays bounded */
#define ADA_SHADOW_FRAMES (256 * 1024) /* calls in progress a thread */
#define ADA_ROOM_BYTES 65536	       /* a thread's room (room.c) */

#define ADA_STUB_BYTES 16
/* Stubs are of three classes, which differ in where they lead behind the return (hook/variant.c): the exit hook that saves all, the one
 * that may use the flags, and the one that may use registers. What finds its own class full is served by the one before. */
#define ADA_STUB_SAVING 262144
#define ADA_STUB_FLAGS 131072
#define ADA_STUB_LEAN 131072
#define ADA_STUB_COUNT (ADA_STUB_SAVING + ADA_STUB_FLAGS + ADA_STUB_LEAN)
#define ADA_SITES_MAX 262144  /* in use at most, of all classes */
#define ADA_EXIT_PASS 16      /* so far before an exit hook that saves nothing lies what it becomes by ada_region_pass() */
#define ADA_STUB_RETURN 6     /* offset of a stub's return point */
#define ADA_SITE_HASH_BITS 19 /* twice as many as sites */
#define ADA_REFUSED 4096      /* return addresses that are known to get no stub */

#define ADA_TRAMPOLINE_BYTES 64
/* From hook.start on */
#define ADA_TRAMPOLINE_RETURN 6		/* where the trampoline's call of ada_entry comes back */
#define ADA_TRAMPOLINE_JUMP 14		/* from here on the stack pointer is past the return slot, ... */
#define ADA_TRAMPOLINE_NO_STUB 21	/* enters the body without an exit stub */
#define ADA_TRAMPOLINE_BODY 26		/* ... to here: the relocated prologue, which a stub calls */
#define ADA_TRAMPOLINE_LEAD 8		/* before hook.start, where a red zone is left alone */
#define ADA_TRAMPOLINE_BELOW_NO_STUB 18 /* entry without an exit stub where there is a red zone; the other is then only a sign for it */
#define ADA_RED_ZONE_BYTES 128
#define ADA_NEAR_STUB_BYTES 32
#define ADA_NEAR_STUB_JUMP 11	  /* in a near stub, the stack pointer is past the return slot from here on ... */
#define ADA_NEAR_STUB_PASS 17	  /* where that jumps when hooks only pass */
#define ADA_NEAR_STUB_BODY 22	  /* ... to here: enters the body without an exit stub */
#define ADA_NEAR_STUB_DISTANCE 23 /* from the near stub's end ... */
#define ADA_NEAR_STUB_END 27	  /* ... to the body in the function's trampoline */
#define ADA_BLOCK_BYTES (1 << 20) /* trampolines; their hooks lie this far behind, and the next block behind the hooks */

struct ada_frame {
	/* Address of the return slot on the machine stack, less its marks: ADA_FRAME_WATCHED (arm.c), ADA_FRAME_TAIL where the frame
	 * before has the same slot: it tail-called this one. A watched frame is no lean hook's to close. With ADA_FRAME_UNRETURNED: of a
	 * call without a stub, so that the hook, which takes no such address for a slot, leaves all that is next to the slow path. */
	uint64_t slot;
	uint64_t counter; /* of the call; without a stub, its return address */
	uint64_t hook;	  /* its struct ada_hook, less ADA_HOOK_BEHIND: hooks stay */
	uint32_t depth;	  /* of its CALL, times ADA_EVENT_DEPTH_UNIT, for frames below may go first (fibers) */
	uint32_t reserved;
};
/* What calls a hook calls it by a trampoline: so far behind the return address into that lies the struct ada_hook. */
#define ADA_HOOK_BEHIND (ADA_BLOCK_BYTES - ADA_TRAMPOLINE_RETURN)
static_assert(sizeof(struct ada_frame) == ADA_FRAME_BYTES, "frame");
static_assert(ADA_FRAME_BYTES == ADA_EVENT_DEPTH_UNIT, "hooks store the frames' offset for the depth");
static_assert(sizeof(struct ada_event) == ADA_EVENT_BYTES, "event");
static_assert(ADA_CHUNK_HEADER_BYTES % ADA_EVENT_BYTES == 0, "events lie at multiples of 32");
static_assert(offsetof(struct ada_chunk, commit) == 0, "hook.S takes the chunk's address for the commit word's");

struct ada_site {
	uint64_t target; /* ADA_TRAMPOLINE_BODY of the function: the stub's call goes there */
	uint64_t return_address;
	uint64_t entry; /* where the trampoline jumps: the stub, or ADA_TRAMPOLINE_NO_STUB */
	uint64_t function_id;
};
static_assert(sizeof(struct ada_site) == 32, "hook.S shifts by 5");

struct ada_hook {
	uint64_t function_id;
	union {
		struct ada_site *cache; /* one word, so that key and value can't disagree. Filled once, kept */
		uint64_t stub;		/* a near stub's: of its only call, or 0 before that is interned. Likewise */
	};
	uint64_t entry;	 /* an entry hook (variant.c), or an intercept's replacement */
	uint32_t number; /* as a frame's */
	/* Registers that nobody needs, as the plan says (enum ada_register), and the class of its stubs. */
	uint32_t free_at_entry : 10, free_at_exit : 10, stub_class : 2;
	uint32_t reads_vectors : 1; /* the function may read xmm0 to xmm7 as its caller left them */
	uint32_t is_near : 1;	    /* a near stub's: it ends here (trampoline.c) */
	uint32_t tells_holder : 1;  /* of a lock, behind its filter (filter.c): its calls say who holds the mutex */
	uint32_t reserved : 6;
	uint32_t passed : 1; /* ADA_TRAMPOLINE_PASSED; written by hooks alone */
	uint64_t target;     /* of a GOT hook: what its body jumps to. Of a mutex's function: its filter, or 0 */
	/* For unwinders: region.S. No cache line of hooks holds code, and no two hooks share one. */
	uint64_t start;		/* of the trampoline that has this cell, behind a lead; later cells have no more */
	uint64_t original;	/* what the body's start is a copy of */
	const uint8_t *origins; /* struct ada_plan_origin, of the rest of the body */
};
static_assert(sizeof(struct ada_hook) == ADA_TRAMPOLINE_BYTES, "hooks and trampolines have one stride");
static_assert(offsetof(struct ada_hook, target) == ADA_NEAR_STUB_BYTES, "near stubs and their hooks have one stride");
static_assert(ADA_BLOCK_BYTES == ADA_TRAMPOLINE_DATA && offsetof(struct ada_hook, function_id) == ADA_TRAMPOLINE_DATA_FUNCTION &&
		      offsetof(struct ada_hook, stub) == ADA_TRAMPOLINE_DATA_STUB &&
		      offsetof(struct ada_hook, target) == ADA_TRAMPOLINE_DATA_TARGET &&
		      offsetof(struct ada_hook, target) == ADA_TRAMPOLINE_DATA_FILTER,
	      "the recorder reads them");

/* The hook of the function that a near stub's call is one of. The stub's code leads there. */
static inline struct ada_hook *ada_hook_of_near(const struct ada_hook *near)
{
	const uint8_t *code = (const uint8_t *)near - ADA_BLOCK_BYTES;
	int32_t distance;

	__builtin_memcpy(&distance, code + ADA_NEAR_STUB_DISTANCE, sizeof distance);
	code += ADA_NEAR_STUB_END + distance - ADA_TRAMPOLINE_BODY; /* or, with a lead, so far behind the trampoline's beginning */
	return (struct ada_hook *)((uint64_t)code / ADA_TRAMPOLINE_BYTES * ADA_TRAMPOLINE_BYTES + ADA_BLOCK_BYTES);
}

struct ada_thread {
	/* Hot: one cache line. All zero in the child of a fork: index 0 sends the hook into its slow path. */
	uint64_t index;	 /* address of the open chunk, or of `parked` */
	uint64_t shadow; /* address of frame 0; below it ADA_TAIL_CALLS_MAX sentinels */
	uint64_t shadow_end;
	uint64_t parked; /* commit word of a thread without chunk, which says full */
	/* Address of the open detail chunk, of a small one less what it is smaller than others: all end at the same distance. 0: there is
	 * none */
	uint64_t detail;
	uint64_t unused[3];
	/* The hook reads these where a stack snapshot would cross a page. */
	uint64_t stack_low, stack_high; /* of the thread's own stack; 0: not known */
	/* Slow paths only. */
	uint64_t news;	       /* value of chunk_news() when no chunk was free */
	uint64_t shadow_limit; /* end of the shadow stack; shadow_end may be lower: shadow.c */
	uint64_t last_counter; /* of the thread's newest event in a sealed chunk; 0: none */
	uint32_t stack_tries;
	uint32_t tid;
	uint32_t number;	      /* in the table of threads of this process */
	uint32_t chunk;		      /* that index points to */
	uint32_t dropping;	      /* enum ada_lack: why the last look found no chunk */
	uint32_t sweep_frames;	      /* look for dead frames of other stacks when there are more than this */
	struct ada_shm_thread *entry; /* in the shared table */
	uint32_t detail_chunk;	      /* that detail points to */
	uint32_t id;		      /* in files, chunks and marks */
	uint32_t small_taken;	      /* index chunks that were small */
	uint32_t reserved[11];
};
static_assert(offsetof(struct ada_thread, stack_low) == 64, "hot line");
static_assert(sizeof(struct ada_thread) % 64 == 0, "threads share no line");

/* What a lean hook needs of its thread, in thread-local data: a copy of the same words of struct ada_thread while hooks may record by
 * themselves, else `index` leads to ada_parked. A fork's child has the copy, too, but `ada_limit` is wiped there. */
struct ada_lean {
	uint64_t index, shadow, shadow_end;
	uint64_t detail, stack_low, stack_high;
};

/* What every hook needs to know of the process. */
struct ada_setup {
	int64_t rseq_offset;	/* of the thread's struct rseq from the thread pointer */
	const uint64_t *policy; /* the segment's policy_flags: this word's address + its value = the flags in force */
	/* Highest offset in a detail chunk at which a record may begin, in units of 16 bytes. 0: no detail lane, and no thread has a detail
	 * chunk */
	uint64_t detail_limit;
	uint64_t detail_stack; /* bytes of the stack in a CALL's record: 0 to 256, a multiple of 16 */
	/* A return whose rax is so far above its slot, at most, has them, too; ~0: all have. */
	uint64_t detail_reach;
	/* The meta of a whole record without the function's id, and what its event adds to the commit word. Of a call with and without
	 * vector arguments, of a return without and with the stack's bytes. */
	uint64_t meta_call, meta_call_plain, meta_return, meta_return_stack;
	uint64_t commit_call, commit_call_plain, commit_return, commit_return_stack;
	int64_t errno_offset; /* of the thread's errno from the thread pointer; 0: not known */
	uint64_t poison;      /* 1: what a plan calls free is filled with garbage by each hook */
} __attribute__((aligned(64)));
#endif
