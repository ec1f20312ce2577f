/* The agent's inside: what its files call of one another. Nothing here is seen outside libada-agent.so.
 *
 * Two halves. The core (hook.S, stubs.S, thread, chunk, site, shadow, trampoline, unwind) records. The rest (start,
 * connect, module, apply, got, process, intercept, crash) brings it into a process and through its life.
 *
 * Rules, for every line that runs in the traced program
 *  1. Never exit, print, block (but for --on-full=block) or allocate on the hot path; no libc call while a hook may run.
 *  2. System calls directly (sys.h); errno is never touched.
 *  3. C code is built -ffreestanding -mgeneral-regs-only and links nothing; what it needs of libc are weak symbols.
 *  4. Where it can't go on: ada_core_disable(reason), and the program runs on as if untraced.
 *  5. Slow paths are noinline, named _slow, and run with all signals blocked where they change what a handler's hook reads.
 */
#ifndef ADA_AGENT_AGENT_H
#define ADA_AGENT_AGENT_H
#include <stdbool.h>
#include "abi/wire.h"

#define ADA_SLOW __attribute__((noinline, cold))
#define ADA_EXPORTED __attribute__((visibility("default")))

/* --- core: aside.c -------------------------------------------------------------------------------------------------------- */
/* With signals blocked: calls work(argument) on a stack of ours, so that the program's own need not have room for it. */
void ada_aside(void (*work)(void *), void *argument);
void ada_aside_start(void);			/* before there is more than one thread */
/* Memory of this thread's for `count` words, until they are returned; the images of vfork's children never return them. NULL:
 * it has none, or it is in use. */
uint64_t *ada_room_words(size_t count);
void ada_room_words_return(const uint64_t *words);

/* --- core: thread.c, chunk.c ------------------------------------------------------------------------------------------ */
/* From now on events go to `shm`. At the start, and in a fork's child (whose threads all attach anew). */
void ada_core_attach(struct ada_shm *shm);
/* First reason stays. Every thread stops recording at its next event; hooks then only pass through. */
void ada_core_disable(enum ada_disable reason);
bool ada_core_is_silent(void);			/* disabled since no system call of ours is safe any more, or no look at the TSC */
bool ada_core_is_forked(void);			/* in a fork's child that no one has told us of */
/* In a vfork child: its hooks only pass through, and the thread that it runs on is its parent's again once it is gone. */
void ada_core_hide(void);
void ada_core_show(void);			/* it was refused */
void ada_core_leave(void);			/* this thread's hooks never read the TSC again, once all is disabled */
struct ada_shm *ada_core_shm(void);			/* NULL: not attached */
/* Called in a fork's child before anything else is hooked or recorded: forget locks, threads and the parent's segment. */
void ada_core_forked(void);
void ada_core_thread_begin(void);		/* the calling thread gets its entry, if it has none */
/* The calling thread gives its chunk back and is marked as ended (it attaches anew if it records again). */
void ada_core_thread_end(void);
void ada_core_thread_start_hook(void);			/* registers what calls ada_core_thread_end at a thread's end */
/* A longjmp on this thread is about to set the stack pointer to `sp`: closes the frames that it leaves. */
void ada_core_longjmp(uint64_t sp);
/* Where the calling thread is: its number in the shared table and the number of its last event. ADA_NONE, UINT64_MAX: nowhere. */
void ada_core_here(uint32_t *thread, uint64_t *seq);
/* Hidden state word: the child of a fork that no one told us of finds its threads zeroed (MADV_WIPEONFORK) and comes here
 * from its first hook. Provided by process.c: becomes a provider of its own, or disables. */
ADA_SLOW void ada_process_forked_slow(void);

/* --- core: rseq.c. The program registers restartable sequences of its own on the calling thread ---------------------------- */
void ada_rseq_registered(uint64_t address, uint32_t signature);		/* behind the call */
uint64_t ada_rseq_unregister(void);		/* before the call; what to restore where it fails */
void ada_rseq_restore(uint64_t before);

/* --- core: trampoline.c ----------------------------------------------------------------------------------------------- */
/* A region of trampolines within reach (1 GiB) of a module: code on one side, each hook's data at a fixed distance. */
struct ada_region;
struct ada_hook_spec {
	uint64_t function_id;
	const uint8_t *body;		/* relocated prologue that ends in its jump back; NULL: jmp *target */
	uint32_t body_bytes;
	uint64_t original;		/* what the body's start is a copy of */
	const uint8_t *origins;		/* struct ada_plan_origin (abi/plan.h) of the body; NULL: a plain copy. Must stay */
	uint64_t target;		/* body NULL: where the call goes (GOT hooks) */
	uint64_t replacement;		/* an intercept: calls go here, and nothing is recorded; else 0 */
	uint32_t number;		/* in the policy's tables (abi/policy.h); 0: none */
	bool red_zone;			/* whoever comes may have one, which must stay as it is */
};
uint32_t ada_region_cells(uint32_t body_bytes, bool red_zone);	/* that a trampoline takes */
int ada_region_reserve(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t cells);
/* Builds the next trampoline. *entry: where the patch jumps; *body: where the copied body lies, for its relocations. 0 or -errno. */
int ada_region_hook(struct ada_region *region, const struct ada_hook_spec *spec, uint64_t *entry, uint8_t **body);
int ada_region_seal(struct ada_region *region);		/* code becomes read and execute only */
uint64_t ada_region_body(uint64_t entry);		/* of the trampoline that begins there */
/* Where a GOT hook's trampoline goes on: the word, or NULL where `entry` is no such trampoline's start. */
uint64_t *ada_region_target(uint64_t entry, uint64_t *function_id);
/* From now on hooks touch nothing but the stack, for good: the program has another thread pointer than libc's. False: only calls
 * do so; returns of those in progress don't. */
bool ada_region_pass(void);
void ada_region_pass_calls(void);			/* the calls alone: of those in progress the returns find their way by stubs */
bool ada_region_holds(uint64_t address);		/* a trampoline or body of any region; any thread, any time */

/* --- core: site.c, unwind.c --------------------------------------------------------------------------------------------- */
bool ada_stub_is_return(uint64_t address);		/* inside the stubs' text */
uint64_t ada_site_of_slot(uint64_t slot_value);		/* where the return address is that a stub stands for; 0: it is no stub's */
/* real: address of libc's _dl_find_object. False: unwinders could not be told of stubs, so there must be none. */
bool ada_find_object_start(uint64_t real);
void ada_site_forget_refused(void);			/* what ada_module_text_is_hookable said no to is asked again */
/* Provided by module.c: false for text of no module (JIT) or inside a run-time that keys on return addresses. Any thread. */
bool ada_module_text_is_hookable(uint64_t return_address);

/* --- life: start.c and the others, which share life.h ------------------------------------------------------------------- */
struct ada_conversation;				/* connect.c: one connection to the recorder */
/* parent: of a fork's child, its parent's segment; else NULL. */
int ada_connect(struct ada_conversation **conversation, enum ada_hello_kind kind, const struct ada_shm *parent);
#endif
