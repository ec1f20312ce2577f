/* A recorder inside the test: the segment, the installing of hooks, and a drain that checks every event as it comes. */
#ifndef TESTS_AGENT_FAKE_H
#define TESTS_AGENT_FAKE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "abi/wire.h"
#include "agent/judge/judge.h"

/* A function with pads, for fake_hook to hook, and what keeps its body from being thought of as nothing. */
#define HOOKED __attribute__((noinline, noclone, patchable_function_entry(5, 0)))
#define BARRIER __asm__ volatile("" ::: "memory")

#ifdef __cplusplus
extern "C" {
#endif

struct fake_counts {
	uint64_t events, calls, returns, exceptions, lost_events, lost;
	uint64_t detailed; /* events with a detail record */
	uint64_t waits;	   /* for the recorder: RECORDER events, which have none */
	uint64_t open;	   /* calls not closed yet */
	uint64_t errors;   /* sequence, time, or a return without its call */
};

/* Of the segments made from now on; chunks 0: no detail lane. */
struct fake_detail {
	uint32_t chunks, stack, mode;
	bool at_call; /* the stack's bytes of calls only */
};
extern struct fake_detail fake_detail;
extern uint32_t fake_small; /* small chunks of each lane that they have besides */
struct ada_chunk *fake_chunk(uint32_t number);
/* Each event that is drained is compared with its record. Only where none is recycled meanwhile. */
extern bool fake_detail_checked;
/* Called with each event and its record that is; NULL: nobody. */
extern void (*fake_see_detail)(const struct ada_event *event, const struct ada_detail *record, const struct ada_detail_view *view);
struct ada_detail_chunk *fake_detail_chunk(uint32_t number);
void fake_detail_give_back(uint32_t number); /* as the recorder: FREE */
/* Makes a segment of `chunks` chunks and attaches. Can be called again: from then on events go to the new one. */
struct ada_shm *fake_begin(uint32_t chunks, uint32_t mode, uint32_t on_full);
/* Attaches to a segment made before; no other thread may be there. */
void fake_use(struct ada_shm *used);
/* Registers that the hooks made from now on may use at entry and at exit (enum ada_register). As long as nobody sets them, they are
 * those that FAKE_FREE in the environment names: none, "flags", "values" (that is no argument and no result), or "all" (but the first two
 * arguments and the results). The program must be built without -fipa-ra. */
extern uint16_t fake_free_at_entry, fake_free_at_exit;
/* The functions hooked from now on read no vector arguments. As long as nobody sets it: whether FAKE_PLAIN is in the environment. */
extern bool fake_no_vectors;
/* The trampolines made from now on leave a red zone alone. */
extern bool fake_red_zone;
extern bool fake_poison; /* of the segments made from now on */
/* Hooks the functions of a __patchable_function_entries section that begin with five bytes of NOP. How many. */
int fake_hook(void *const *begin, void *const *end);
/* The near stub for the call of a hooked function that returns to there. */
void *fake_near(void *function, const void *return_address);
/* Leads all direct calls that this program makes of those of the functions that are hooked to near stubs. How many. */
int fake_bind(void *const *begin, void *const *end);
/* Takes everything that is there, open chunks too. */
void fake_drain(void);
/* A thread that drains sealed chunks all the time. */
void fake_drain_start(void);
void fake_drain_stop(void);
/* Sums over all threads, or of the one with this OS thread id. */
struct fake_counts fake_count(void);
struct fake_counts fake_count_tid(uint32_t tid);
/* Called with each event that is drained; NULL: nobody. */
extern void (*fake_see)(uint32_t thread, const struct ada_event *event);
/* What the agent's other half answers. */
extern bool (*fake_hookable)(uint64_t return_address);
extern void (*fake_forked)(void);
/* Instead of ada_judge; NULL: the agent's own. */
extern void (*fake_judge)(const struct ada_judged *event);
uint64_t fake_id(void *function); /* function id that fake_hook gave; 0: not hooked */
uint32_t fake_frames(void);	  /* on the calling thread's shadow stack */
uint32_t fake_tid(void);
#ifdef __cplusplus
}
#endif
#endif
