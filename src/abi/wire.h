/* What the recorder and the agent share: the segment, in memory, and the messages on the socket. The detail lane's part of
 * the segment is in abi/detail.h, the policy's and the marks' in abi/policy.h.
 *
 * Each provider (a traced process image) has one segment. The recorder makes it, a file without a name in a tmpfs of the recorder's own
 * (recorder/index/shared.h), and passes its descriptor. The segment lives as long as any process has it.
 *
 *   0         +------------------------------+
 *             | struct ada_shm      (4 KiB)  |  configuration, counters, crash record
 *   free      | bitmap of free index chunks  |  1 = free. Agent clears (takes), recorder sets (returns)
 *   sealed    | ring of sealed chunk numbers |  agent appends at sealed_head, in the order of sealing (abi/ring.h)
 *   heirs     | struct ada_shm_heir[]        |  images and processes that are to come out of this one
 *   modules   | struct ada_shm_module[]      |  durable region: append-only, an entry is written whole before its
 *             |                              |  number is published, and never another's. Full: what comes then is left alone
 *   threads   | struct ada_shm_thread[]      |  one a thread that lives or isn't drained yet ("Threads" below)
 *             | bitmap of free entries       |  1 = its thread is over and drained. Recorder sets, agent clears (takes)
 *   index     | index pool: chunks           |
 *   small     | index pool: small chunks     |
 *             +------------------------------+
 *
 * A chunk of the index lane is filled by one thread at a time:
 *
 *      recorder: bit set          agent: bit cleared, header written       agent: status, then sealed ring
 *   FREE <----------------+     +---------------------------------> OPEN ------------------------> SEALED
 *                         |     |                                     |                               |
 *                         +-----(---------- recorder, after the chunk is in the file ----------------+
 *                                     a dead thread's OPEN chunk is sealed by the recorder
 *
 * In circular mode the agent itself takes the oldest SEALED chunk; in oneshot mode no chunk comes back.
 *
 * Chunk: 64 bytes of header, then events. The first word is the commit word: its low 16 bits are the offset, in the chunk, of
 * the next event to be written; all before it is complete and never changes. The other bits are the agent's own. The
 * recorder may read it at any time (acquire) and copy what lies before it, so a quiet thread's events need not wait.
 *
 * Where many threads live, each begins with small chunks. Their numbers begin at ada_small_first(), in the same map and ring. Offsets in
 * a small chunk are those of the end of a large one, so that all chunks end at ADA_CHUNK_BYTES and a hook needn't know which kind it
 * fills. A piece of memory holds the header of one and the events of another:
 *
 *   half a page    0                   1                        15                       16
 *   of `small`     +----------+---   --+----------+---   --+-----------+---------+-----------+---------+--
 *                  | header 0 |        | header 1 |        | header 15 | events 0| header 16 | events 1|
 *                  +----------+---   --+----------+---   --+-----------+---------+-----------+---------+--
 */
#ifndef ADA_ABI_WIRE_H
#define ADA_ABI_WIRE_H
#include "abi/detail.h"
#include "abi/page.h"
#include "abi/plan.h"
#include "abi/policy.h"
#include "abi/ready.h"
#include "abi/record.h"
#include "abi/ring.h"

#define ADA_NONE UINT32_MAX
#define ADA_WIRE_VERSION 24
#define ADA_SHM_MAGIC "ADASHM01"
#define ADA_PRICE_UNIT 256u
#define ADA_CHUNK_BYTES 32768u	   /* small, so that a thousand threads fit; costs 2 to 3 % over 256 KiB */
#define ADA_CHUNK_HEADER_BYTES 64u /* two events' room: event offsets stay multiples of 32 */
#define ADA_CHUNK_EVENTS ((ADA_CHUNK_BYTES - ADA_CHUNK_HEADER_BYTES) / 32)
#define ADA_SMALL_BYTES 2048u
#define ADA_SMALL_BEHIND (ADA_CHUNK_BYTES - ADA_SMALL_BYTES) /* from a small chunk's header to the piece with its events */
#define ADA_SMALL_EVENTS ((ADA_SMALL_BYTES - ADA_CHUNK_HEADER_BYTES) / 32)
#define ADA_SMALL_MAX 16384u	    /* of each lane */
#define ADA_SMALL_A_THREAD 6u	    /* then it takes others */
#define ADA_THREADS_LARGE 8u	    /* places in the thread table whose threads begin with others: few programs have more */
#define ADA_THREADS_MAX 65536u	    /* at a time; untouched entries take no memory */
#define ADA_THREADS_EVER (1u << 22) /* in a provider's life */
#define ADA_MODULES_MAX 4096u
#define ADA_INDEX_BUFFER_MIN (1u << 20)
#define ADA_INDEX_BUFFER_MAX (16ull << 30)

enum ada_chunk_status { ADA_CHUNK_FREE = 0, ADA_CHUNK_OPEN = 1, ADA_CHUNK_SEALED = 2 };

struct ada_chunk {
	uint64_t commit;    /* agent (atomic): low half = offset of the next event */
	uint64_t first_seq; /* agent: index_seq of an event at offset 64; a small chunk has none there */
	uint32_t thread;    /* agent: its id */
	uint32_t status;    /* enum ada_chunk_status (atomic) */
	uint32_t detail;    /* agent, before OPEN: the detail chunk that goes with it; ADA_NONE: its events have no detail */
	uint32_t entry;	    /* agent: the thread's place in the thread table */
	uint8_t reserved[32];
};
static_assert(sizeof(struct ada_chunk) == ADA_CHUNK_HEADER_BYTES, "chunk header");

/* Offset of the next event: all before it is whole, and so is the header. */
static inline uint32_t ada_chunk_end(const struct ada_chunk *chunk)
{
	return (uint16_t)__atomic_load_n(&chunk->commit, __ATOMIC_ACQUIRE);
}

/* Number of the first small chunk of a lane that has `chunks` others: no word of the maps mixes the two classes. */
static inline uint32_t ada_small_first(uint32_t chunks)
{
	return (chunks + 63) & ~63u;
}

/* Chunks by number, which is what the index lane's ring has places for. */
static inline uint32_t ada_chunk_numbers(uint32_t chunks, uint32_t small)
{
	return small ? ada_small_first(chunks) + small : chunks;
}

/* Offset of a chunk's first event. */
static inline uint32_t ada_chunk_begin(uint32_t chunks, uint32_t number)
{
	return number < chunks ? ADA_CHUNK_HEADER_BYTES : ADA_SMALL_BEHIND + ADA_CHUNK_HEADER_BYTES;
}

static_assert(ADA_CHUNK_EVENTS == ADA_DETAIL_EVENTS && ADA_SMALL_EVENTS >= ADA_DETAIL_SMALL_EVENTS, "abi/detail.h counts on it");
static_assert(ADA_MODULES_MAX <= 1u << (ADA_DETAIL_FUNCTION_BITS - 32), "a detail record has room for a function's id");

enum ada_index_mode { ADA_INDEX_STREAMING = 0, ADA_INDEX_ONESHOT = 1, ADA_INDEX_CIRCULAR = 2 };
enum ada_on_full { ADA_ON_FULL_DROP = 0, ADA_ON_FULL_BLOCK = 1 };

/* Why a provider records no more, or never did. Text for each: ada_disable_text() in src/recorder. */
enum ada_disable {
	ADA_DISABLE_NONE = 0,
	ADA_DISABLE_ONESHOT_FULL, /* --index-mode=oneshot and the buffer is full: as asked */
	ADA_DISABLE_STOPPED,	  /* the recorder asked for it */
	ADA_DISABLE_NO_MEMORY,	  /* mmap failed */
	ADA_DISABLE_NO_RECORDER,  /* connect or a message failed */
	ADA_DISABLE_PROTOCOL,	  /* versions differ, or an answer made no sense */
	ADA_DISABLE_CONFINED,	  /* by seccomp: a system call of ours could end the program */
	ADA_DISABLE_NO_COUNTER,	  /* the program forbade itself the TSC: reading it would raise SIGSEGV */
	ADA_DISABLE_INTERNAL,	  /* a broken invariant: counted, never fatal */
	ADA_DISABLE_NO_FILES,	  /* a descriptor that the recorder sent could not be taken */
	ADA_DISABLE_NO_ANSWER,	  /* the recorder took too long */
	ADA_DISABLE_TRACED,	  /* its parent traces it (PTRACE_TRACEME): it would see the agent's system calls */
	ADA_DISABLE_NOT_READY,	  /* the recorder's word: the conversation at its start ended without one from the agent */
	ADA_DISABLE_MOVED_BASE,	  /* the program has another thread pointer (FS base) than libc's: no thread-local data is to be had */
	ADA_DISABLE_MEMORY_LIMIT, /* --index-mode=oneshot, and no memory for the rest of the buffer */
};

/* Written by the agent's handler of fatal signals, before the original disposition runs: of the fault that a handler of the program's
 * is still about, or else of that signal. */
struct ada_crash {
	uint32_t present; /* set last (atomic) */
	uint32_t signal;
	int32_t code; /* si_code */
	uint32_t thread_id;
	uint64_t fault_address;
	uint64_t counter;	/* TSC */
	uint64_t registers[18]; /* rax rbx rcx rdx rsi rdi rbp rsp r8..r15 rip rflags */
	uint32_t stack_bytes;
	uint32_t claimed;   /* 1: a thread is writing it, or has (atomic) */
	uint8_t stack[512]; /* from rsp up */
	uint32_t end;	    /* the signal that ends the process: another one where the handler of `signal` raises that; 0: it exits */
	uint32_t reserved;
};
static_assert(sizeof(struct ada_crash) == 704, "crash record");

/* Threads. An entry is a thread's from its first event until the recorder has all its events and has copied the entry: then it is free,
 * and the next thread may have it. The id tells threads apart: given in the order of first events and never again. Files, chunks and
 * marks name threads by their ids. A thread that finds no entry is not recorded, and counted in threads_refused.
 *
 * A join names the thread by its pointer. Of threads of one process that live at the same time no two have the same; the next thread may
 * have that of one that was joined.
 *
 *            agent: bitmap or thread_count, then all fields        agent (or the thread is gone)
 *   UNUSED ----------------------------------------------> LIVE <-----------------------------> ENDED
 *     ^                                                      |                                    |
 *     +----------- recorder: copies it, then sets its bit ---+------------------------------------+   (compare-and-swap)
 */
struct ada_shm_thread {	    /* 128 bytes; written by the agent unless said otherwise */
	uint32_t thread_id; /* OS thread id */
	uint32_t status;    /* enum ada_thread_status (atomic) */
	uint32_t chunk;	    /* number of the index chunk that the thread fills, or has sealed last, or UINT32_MAX (atomic) */
	/* 1 while C code writes an event, from before the reading of the counter (full barrier) until after the commit: such an event may
	 * still come with an old time. An event of hook.S can't: a preemption restarts it. */
	uint32_t writing;
	uint64_t start_counter;	 /* TSC when it was first seen */
	uint64_t lost;		 /* events dropped in all (atomic) */
	uint64_t orphans;	 /* returns whose call this thread did not record: not in the index */
	uint64_t skipped;	 /* calls not recorded: shadow stack full */
	char name[16];		 /* comm when first seen, and at the end; the recorder's between */
	uint64_t detail_dropped; /* events of chunks without a detail chunk */
	uint32_t id;		 /* (atomic) */
	uint32_t reserved0;
	uint64_t unreturned;  /* calls recorded without their return: no stub was to be had */
	uint64_t lost_full;   /* of lost: the whole buffer was full */
	uint64_t lost_memory; /* of lost: there was no memory for more of the buffer, or none allowed */
	/* events in all chunks that the thread has sealed, LOST ones included, also in chunks that were recycled (atomic) */
	uint64_t sealed_events;
	uint64_t pointer;     /* its thread pointer (%fs:0), which glibc and musl give out as its pthread_t */
	uint64_t end_counter; /* TSC when its thread-specific data went; 0: it goes on, or ended without that */
};
static_assert(sizeof(struct ada_shm_thread) == 128, "shm thread");
static_assert(offsetof(struct ada_shm_thread, pointer) == 112, "shm thread: pointer");
static_assert(offsetof(struct ada_shm_thread, end_counter) == 120, "shm thread: end");
#define ADA_THREADS_BYTES (ADA_THREADS_MAX * 128ull + ADA_THREADS_MAX / 8) /* the table and, behind it, its bitmap */
enum ada_thread_status { ADA_THREAD_UNUSED = 0, ADA_THREAD_LIVE = 1, ADA_THREAD_ENDED = 2 };

struct ada_shm_module {	  /* 512 bytes */
	uint32_t present; /* 1 loaded, 2 unloaded (atomic, set last) */
	uint32_t build_id_bytes;
	uint8_t build_id[ADA_BUILD_ID_MAX];
	uint64_t base;			       /* load bias */
	uint64_t load_counter, unload_counter; /* TSC: first and last */
	uint32_t hooked;		       /* entries patched */
	uint32_t mismatched;		       /* entries whose bytes were not as planned: left alone */
	uint32_t imports;		       /* GOT slots hooked */
	uint32_t flags;			       /* enum ada_module_flag */
	uint32_t function_base; /* of the plan reply: number in the policy's tables of its function 0; 0: its functions have no numbers */
	uint32_t loads;		/* times it was loaded: the same file at the same base is the same module again */
	uint32_t bound;		/* direct calls that lead to stubs of their own */
	char path[420];
};
static_assert(sizeof(struct ada_shm_module) == 512, "shm module");

/* The agent announces an image here before it lets the program execute that image, and takes the announcement back where the kernel
 * refuses: so the recorder knows of images whose agent never says HELLO. An image that takes the agent in learns the entry's place from
 * ADA_ENV_SOCKET; its HELLO names the place and so frees the entry. Images whose entries are left at the end were not recorded. */
enum ada_heir_kind {
	ADA_HEIR_EXEC = 0,	 /* was given the agent, and is to say HELLO */
	ADA_HEIR_STATIC,	 /* executed without it: names no loader */
	ADA_HEIR_SETID,		 /* setuid or setgid */
	ADA_HEIR_MACHINE,	 /* of another architecture */
	ADA_HEIR_LIBC,		 /* its loader is not glibc's */
	ADA_HEIR_CONFINED,	 /* by a process under seccomp, from which the agent does not go along */
	ADA_HEIR_NO_MEMORY,	 /* by a process without memory for its environment */
	ADA_HEIR_TRACED,	 /* its tracer would see the agent */
	ADA_HEIR_DISPATCHED,	 /* by a process whose system calls are dispatched to user space */
	ADA_HEIR_COUNTER,	 /* by a vfork child that may not read the TSC */
	ADA_HEIR_ROOT,		 /* its root has neither the agent nor /proc */
	ADA_HEIR_FORK,		 /* a fork's child that could not say HELLO (ENOMEM, EMFILE ...) */
	ADA_HEIR_FORK_UNREACHED, /* a fork's child without a way to the recorder's socket */
	ADA_HEIR_FORK_DISABLED,	 /* a child of a process that had ceased to record */
};
enum ada_heir_state { ADA_HEIR_FREE = 0, ADA_HEIR_TAKEN = 1, ADA_HEIR_ANNOUNCED = 2 };
#define ADA_HEIRS 64u
struct ada_shm_heir {	     /* 256 bytes; written by the agent unless said otherwise */
	uint32_t state;	     /* enum ada_heir_state (atomic); the recorder frees what has said HELLO */
	uint32_t generation; /* another one each time */
	uint32_t kind;	     /* enum ada_heir_kind */
	uint32_t pid;	     /* that the image has or will have, as it sees itself */
	uint32_t own;	     /* 1: the provider's own process executes; 0: a vfork's or fork's child */
	uint32_t reserved;
	char path[232]; /* as it was given to exec; "": not known */
};
static_assert(sizeof(struct ada_shm_heir) == 256, "shm heir");

#define ADA_WAIT_NS 20000000ull /* how often a thread that waits for the recorder looks whether it lives */

struct ada_shm {
	/* Written by the recorder before the agent sees it */
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct ada_shm) */
	uint64_t total_bytes;
	uint64_t free_offset, sealed_offset, heirs_offset, modules_offset, threads_offset, index_offset;
	uint64_t marks_offset, policy_offset, detail_free_offset, detail_sealed_offset, detail_offset;
	uint64_t small_offset, detail_small_sealed_offset, detail_small_offset;
	uint32_t small_chunks, detail_small_chunks;
	uint32_t index_chunks;
	uint32_t chunk_bytes;
	uint32_t index_mode; /* enum ada_index_mode */
	uint32_t on_full;    /* enum ada_on_full */
	uint32_t pid;
	uint32_t provider;		    /* number in the session; with ADA_READY_BIT: of the ready segment (abi/ready.h) */
	uint32_t detail_chunks;		    /* 0: no detail lane */
	uint32_t detail_chunk_bytes;	    /* ADA_DETAIL_CHUNK_BYTES of the next two */
	uint32_t detail_stack_bytes;	    /* captured at most: a multiple of 16 */
	uint32_t detail_return_stack_bytes; /* the same of each RETURN; 0: only of those whose result lies there */
	uint32_t ticks_a_wait;		    /* ADA_WAIT_NS in ticks of the counter */
	uint32_t detail_mode;		    /* enum ada_detail_mode */
	uint16_t poison;		    /* 1: hooks fill what plans call free with garbage (--debug-poison) */
	uint16_t unbound;		    /* 1: all calls come through the patches of functions (--debug-unbound) */
	uint32_t price_wanted;		    /* 1: the agent measures what an event costs here, before the program begins */
	uint32_t filters_wanted;	    /* 1: calls of mutexes' functions may come to be filtered (agent/hook/filter.c) */
	/* Written by the recorder while the agent runs */
	uint32_t stop;		  /* 1: record no more (atomic) */
	uint32_t returned;	  /* counts chunks and entries of threads given back; futex of --on-full=block (atomic) */
	uint32_t recorder_pid;	  /* 0 once the recorder is gone in order (atomic) */
	uint32_t detail_returned; /* counts detail chunks given back (atomic) */
	uint64_t allowed_bytes; /* of taken_bytes, at most. Beyond, the recorder makes what the agent needs, or events are lost (atomic) */
	uint32_t memory_ends;	/* 1: the recorder can make no more at present, either (atomic) */
	uint32_t
		detail_capture_bytes; /* kept free behind each detail record, from the start: ADA_DETAIL_CAPTURED_ROOM; 0: nothing is captured */
	/* Bytes from this very word to the flags of the policy in force, which the hook tests (abi/policy.h). Never 0. */
	uint64_t policy_flags;
	/* Written by the agent: a cache line of its own */
	uint32_t disabled __attribute__((aligned(64))); /* enum ada_disable (atomic, first reason stays) */
	uint32_t thread_count;				/* entries of the thread table that have ever been in use (atomic) */
	uint32_t module_count;				/* (atomic) */
	uint32_t internal_errors;			/* broken invariants met (atomic) */
	uint64_t sealed_head;				/* chunks sealed so far: the ring's next place (atomic) */
	uint64_t sealed_tail;				/* recorder in streaming mode, agent in circular (atomic) */
	uint64_t waits, wait_ticks;			/* of --on-full=block */
	uint64_t sites;					/* return stubs in use */
	uint64_t sites_refused; /* return addresses seen to get no stub (no module's text), and calls that found the table full */
	uint32_t exit_seen;	/* 1: the program ended through exit() or a return of main */
	/* Nobody had the detail chunks from here on yet (atomic). The recorder allocates ahead and moves this front. An agent that finds
	 * no free chunk before it takes the next ones itself, so that nothing is lost, recycled or waited for while the pool still
	 * grows. */
	uint32_t detail_front;
	uint32_t heirs_generation;   /* counts announcements (atomic) */
	uint32_t heirs_unlisted;     /* images announced while the table was full, and neither taken back nor heard of (atomic, both) */
	uint32_t threads_seen;	     /* ids given so far (atomic) */
	uint32_t threads_refused;    /* threads of which events are missing: no entry, no id, no memory (atomic) */
	uint32_t modules_refused;    /* modules that found no entry, or no memory within reach: not hooked, or not all (atomic) */
	uint32_t index_front;	     /* of index chunks, as detail_front (atomic) */
	uint32_t memory_waits;	     /* how many waits were for want of memory: the buffer was not full (atomic) */
	uint32_t small_front;	     /* of small index chunks: only agents give them memory (atomic) */
	uint64_t taken_bytes;	     /* of the pools, made by the agent: charged to the program (atomic) */
	uint32_t detail_small_front; /* the same of the detail lane's (atomic) */
	uint32_t waits_given_up;     /* for the recorder, since it stood still: --on-full=block, answers (atomic) */
	uint32_t reserved2[2];
	/* What an event takes, and how much more a call with an OBJECT event does: ADA_PRICE_UNIT is a tick of the counter; 0: not measured. The
	 * first is set last (atomic). */
	uint32_t price_event, price_object;
	/* Where the agent has mapped this segment; 0: not yet (atomic). Whoever opens the process's memory finds this very header there, or the
	 * process runs another image by now, or isn't the parent's copy any more. */
	uint64_t at;
	/* The agent's addresses that the recorder needs for a late patch (an injected call); 0: no late patches */
	uint64_t late_entry; /* set last (atomic). See "Late patches" below */
	uint64_t late_stack; /* top of a stack kept for it, aligned to 16 */
	uint64_t agent_text_start, agent_text_end;
	struct ada_ready_part ready __attribute__((aligned(64)));
	struct ada_detail_control detail __attribute__((aligned(64)));
	struct ada_mark_control marks __attribute__((aligned(64)));
	struct ada_crash crash __attribute__((aligned(64)));
};
static_assert(offsetof(struct ada_shm, policy_flags) % 8 == 0, "atomic");
static_assert(offsetof(struct ada_shm, disabled) % 64 == 0, "agent's line");
static_assert(offsetof(struct ada_shm, crash) % 64 == 0, "crash");
static_assert(sizeof(struct ada_shm) <= ADA_PAGE_BYTES, "one page");

/* Whether the recorder lives: one page a session, a file of its own that agents map read-only. `owner` is a robust futex of a thread of
 * the recorder. That thread dies only with all the others; then the kernel takes its id out and sets ADA_PRESENCE_DIED, before anyone has
 * waited for the dead process or closed what it had open. A recorder that is stopped (SIGSTOP, a debugger) lives, and beats no more. */
struct ada_presence {
	uint32_t owner; /* id of the thread that holds it (atomic); 0: the recorder ended in order */
	uint32_t reserved;
	uint64_t beats;	       /* counted up every ADA_PRESENCE_BEAT_MS (atomic) */
	uint32_t recorder_pid; /* in its own namespace; 0: nothing ever lies ready */
	uint32_t reserved1;
	struct ada_ready ready[ADA_READY_PLACES];
};
#define ADA_PRESENCE_DIED 0x40000000u /* FUTEX_OWNER_DIED */
#define ADA_PRESENCE_BEAT_MS 100
#define ADA_PRESENCE_BYTES 4096u
static_assert(sizeof(struct ada_presence) <= ADA_PRESENCE_BYTES, "one page");

/* --- Socket: AF_UNIX, SOCK_SEQPACKET, one message a packet. -----------------------------------------------------------
 * The agent connects for each conversation and closes at its end: the program never sees a descriptor of ours for long.
 *
 * A fork's child that has taken a segment itself (abi/ready.h) says HELLO and DONE at once, and reads nothing. All others:
 *
 *   start, or the child of a fork          dlopen                     dlclose
 *     -> HELLO                               -> HELLO (RESUME)          -> HELLO (RESUME)
 *     <- PRESENCE (start only)
 *     <- WELCOME + segment                   <- WELCOME                 <- WELCOME
 *     -> MODULE   } for each module          -> MODULE ...              -> UNLOAD
 *     <- PLAN     }  (a fork's child: none)  -> APPLIED                 -> DONE
 *     -> APPLIED  }                          -> DONE
 *     -> DONE     (the next MODULE comes before APPLIED: answers come in the order of questions)
 *
 * An agent that can't go on after its HELLO says FAILED in place of DONE, and why.
 *
 * Late patches: hooks that a new rule needs, put in while the program runs. The recorder
 *   1. stops every thread of the process (ptrace), with none of them inside the bytes that are about to be patched: from the
 *      patch address + 1 to + 4 (form ADA_PATCH_ISLAND: the address + 1, and the island). It steps those that are
 *   2. borrows one, if possible one whose instruction pointer is outside agent_text_start to agent_text_end and which is in no
 *      system call that would be restarted with its registers changed. One in an rseq critical section goes on where that is
 *      aborted. Keeps its registers and signal mask, blocks all signals, and sets rip = late_entry, orig_rax = -1,
 *      rsp = late_stack less a struct ada_late_frame, which says how the thread is to go on: should the recorder be killed
 *      meanwhile, the agent puts that back itself
 *   3. lets this one thread run. It opens a conversation: HELLO (RESUME); then for each module that it knows and that could be
 *      hooked MODULE with ADA_MODULE_LATE, PLAN, APPLIED; DONE. From a PLAN the agent takes the hooks that aren't in place yet: those of
 *      the filter (flags TRACE or NAMED). Plans are decoded ones where anything is to be hooked; their functions are those
 *      of the plan before, in the same order. flags 0: nothing is to be done in this module
 *   4. sees in the frame that it is done: with 0, or -EAGAIN where the loader or the agent was in the midst of a change (let all
 *      go on, and try again later), or another -errno. Counts are in the module table. Stops it, puts mask and registers back, lets
 *      all go on. Swaps in the policy that needs the hooks afterwards. (No trap says so: it would kill the program where the
 *      recorder dies at it)
 *
 * The recorder learns of a process's end from its pidfd, and of an exec from a second HELLO (START) of the same pid.
 * Credentials are the socket's (SO_PEERCRED), never the message's.
 */
enum ada_message_type {
	ADA_MESSAGE_HELLO = 1,
	ADA_MESSAGE_WELCOME,
	ADA_MESSAGE_MODULE,
	ADA_MESSAGE_PLAN,
	ADA_MESSAGE_APPLIED,
	ADA_MESSAGE_UNLOAD,
	ADA_MESSAGE_DONE,
	ADA_MESSAGE_FAILED,
	ADA_MESSAGE_WAIT,     /* to the agent: the recorder works on the answer. A head alone */
	ADA_MESSAGE_PRESENCE, /* to the agent, with the page's descriptor. A head alone */
};

/* State of the thread that is borrowed; where the stop interrupted a system call, the state begins that call anew. */
struct ada_late_frame {
	uint64_t mask;
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	uint64_t rip, cs, eflags, rsp, ss; /* as iretq takes them */
	uint64_t ended;			   /* agent (atomic), when it is done: 1 less its result, 0 or -errno. 0: it runs */
};
static_assert(sizeof(struct ada_late_frame) % 16 == 0, "the stack stays aligned");

struct ada_message {
	uint32_t type, bytes;
}; /* bytes: of the whole message */

/* AGENT: for an image that can't reach the agent's path (chroot, another user). WELCOME comes with a descriptor of its file */
enum ada_hello_kind { ADA_HELLO_START = 1, ADA_HELLO_FORK = 2, ADA_HELLO_RESUME = 3, ADA_HELLO_AGENT = 4 };
#define ADA_SECRET_BYTES 16
struct ada_hello {
	struct ada_message head;
	uint32_t wire_version;
	uint32_t kind;	     /* enum ada_hello_kind */
	uint32_t parent_pid; /* FORK: the process has its parent's modules and hooks */
	uint32_t thread_id;
	uint64_t counter;
	/* FORK: the parent's number. START: of the provider that announced this image. ADA_NONE: not known. Either may have ADA_READY_BIT */
	uint32_t provider;
	uint32_t heir; /* START: number of the announcement in that provider; ADA_NONE: not listed */
	uint32_t generation;
	uint32_t ready;			  /* FORK: number of the segment that the child has taken; 0: it asks for one */
	uint8_t secret[ADA_SECRET_BYTES]; /* of the session: asked of peers of another user */
};

enum ada_welcome_flag {
	ADA_WELCOME_RECORD = 1, /* else: this process is not to be recorded; without FOLLOW the agent removes itself from exec */
	ADA_WELCOME_FOLLOW = 2, /* forks and execs are to be recorded too */
};
struct ada_welcome { /* START and FORK: with the segment's descriptor; AGENT: with the agent's */
	struct ada_message head;
	uint32_t wire_version;
	uint32_t flags; /* enum ada_welcome_flag */
	uint64_t shm_bytes;
};

enum ada_module_flag {
	ADA_MODULE_MAIN = 1,
	ADA_MODULE_VDSO = 2, /* recorder answers without a plan */
	ADA_MODULE_AGENT = 4,
	ADA_MODULE_TRACED = 8, /* functions and imports are hooked (set after PLAN) */
	ADA_MODULE_LATE = 16,  /* in a message only: the module is known, its missing hooks are put in now */
	ADA_MODULE_AGAIN = 32, /* with LATE: it has been loaded again */
};
struct ada_module_message {
	struct ada_message head;
	uint32_t module_id; /* number in the segment's module table, where path, base and build-id are */
	uint32_t flags;	    /* enum ada_module_flag */
};

enum ada_plan_reply_flag {
	ADA_PLAN_REPLY_TRACE = 1,   /* hook the functions */
	ADA_PLAN_REPLY_IMPORTS = 2, /* hook the GOT slots */
	ADA_PLAN_REPLY_NAMED = 4,   /* not traced: hooked are only the functions of the filter, which triggers name */
};
#define ADA_FILTER_BYTES_MAX (128u << 10) /* fits a packet; a module with more hooks than bits is not hooked */
struct ada_plan_reply {			  /* with a descriptor of the plan where bytes is not 0 */
	struct ada_message head;
	uint32_t module_id;
	uint32_t flags; /* enum ada_plan_reply_flag */
	uint64_t plan_bytes;
	/* --functions and --exclude: behind the struct follows a bitmap of bytes, low bit first (1 = hook it): first by hook number, then
	 * by import number (bit hook_count + import). filter_bytes 0: all. At most ADA_FILTER_BYTES_MAX */
	uint32_t filter_bytes;
	uint32_t function_base; /* of the module's function 0 in the policy's tables; 0: none */
};

struct ada_applied { /* counts are in the module table */
	struct ada_message head;
	uint32_t module_id;
	uint32_t reserved;
};
struct ada_unload {
	struct ada_message head;
	uint32_t module_id, reserved;
};
struct ada_done {
	struct ada_message head;
};
struct ada_failed {
	struct ada_message head;
	uint32_t reason, reserved;
}; /* enum ada_disable */

/* The agent's only environment variables, removed before the program's first instruction and restored at exec. ADA_SOCKET holds the path
 * of the socket, "#" and the session's secret in 32 hexadecimal digits, and behind an exec "#PROVIDER.HEIR.GENERATION" (struct
 * ada_shm_heir). The agent's entry in LD_PRELOAD is its path or, where the image could not open that path, ADA_PRELOAD_FD and the number
 * of a descriptor, which the agent closes.
 *
 * The recorder listens at the path, which belongs to its user, and at the abstract name of the same text. A process that has left the
 * recorder's root (chroot) or user (setuid) reaches the abstract name, and there must know the secret. */
#define ADA_ENV_SOCKET "ADA_SOCKET"
#define ADA_PRELOAD_FD "/proc/self/fd/./" /* as nobody else spells it */
#endif
