/* Trampolines, their regions, and what unwinders are told of them and of stubs. */
#ifndef ADA_AGENT_HOOK_H
#define ADA_AGENT_HOOK_H
#include "abi/wire.h"
#include "agent/core/core.h"

/* --- region.c, trampoline.c ----------------------------------------------------------------------------------------------- */
/* A region of trampolines within reach (1 GiB) of a module: code on one side, each hook's data at a fixed distance. */
struct ada_region;
struct ada_hook_spec {
	uint64_t function_id;
	const uint8_t *body; /* relocated prologue that ends in its jump back; NULL: jmp *target */
	uint32_t body_bytes;
	uint64_t original;		      /* what the body's start is a copy of */
	const uint8_t *origins;		      /* struct ada_plan_origin (abi/plan.h) of the body; NULL: a plain copy. Must stay */
	uint64_t target;		      /* body NULL: where the call goes (GOT hooks) */
	uint64_t replacement;		      /* an intercept: calls go here, and nothing is recorded; else 0 */
	uint32_t number;		      /* in the policy's tables (abi/policy.h); 0: none */
	uint16_t free_at_entry, free_at_exit; /* registers that nobody needs (enum ada_register) */
	bool reads_vectors;		      /* the function may read xmm0 to xmm7 as its caller left them */
	bool red_zone;			      /* the caller may have a red zone, which must stay as it is */
};
uint32_t ada_region_cells(uint32_t body_bytes, bool red_zone); /* that a trampoline takes */
int ada_region_reserve(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t cells);
/* Builds the next trampoline. *entry: where the patch jumps; *body: where the copied body lies, for its relocations. 0 or -errno. */
int ada_region_hook(struct ada_region *region, const struct ada_hook_spec *spec, uint64_t *entry, uint8_t **body);
/* As reserve, for near stubs: a region of their own. */
int ada_region_reserve_near(struct ada_region **region, uint64_t near_start, uint64_t near_end, uint32_t stubs);
/* Builds the near stub of one call of the function whose trampoline begins at `entry`. 0: there is no room, or the trampoline lies too far
 * away. */
uint64_t ada_region_near(struct ada_region *region, uint64_t entry, uint64_t return_address);
void ada_region_near_known(struct ada_hook *near, uint64_t stub); /* of one that was built: its call has that return stub. Any thread */
int ada_region_seal(struct ada_region *region);			  /* code becomes read and execute only */
uint64_t ada_region_body(uint64_t entry);			  /* of the trampoline that begins there */
/* Where a GOT hook's trampoline goes on: the word, or NULL where `entry` is no such trampoline's start. */
uint64_t *ada_region_target(uint64_t entry, uint64_t *function_id);
/* The trampoline that begins there, of a function of the agent's own, is called from that one address. False: no stub is left. */
bool ada_region_own_call(uint64_t entry, uint64_t return_address);
/* From now on hooks touch nothing but the stack, for good: the program has another thread pointer than libc's. False: only calls pass so;
 * returns of calls in progress don't. */
bool ada_region_pass(void);
void ada_region_pass_calls(void);	 /* calls alone pass: the returns of those in progress find their way by stubs */
bool ada_region_holds(uint64_t address); /* a trampoline or body of any region; any thread, any time */
/* The instruction of the program that the one at this address in a trampoline or body stands for; 0: there is none. Likewise. */
uint64_t ada_region_original(uint64_t address);

/* --- filter.c --------------------------------------------------------------------------------------------------------------- */
#define ADA_FILTER_BYTES 14u
/* Builds the filter of the mutex's function whose trampoline begins at `entry`. `twin`: that of a second one with the same body, for calls
 * that the filter doesn't lead past. `does`: of ADA_FUNCTION_MUTEX (abi/plan.h). *filter: where a patch may lead. 0 or -errno. */
int ada_filter_build(struct ada_region *region, uint64_t entry, uint64_t twin, uint16_t does, uint64_t *filter);
/* Whether these functions' mutexes are as filters believe: calls them, with a mutex of its own. */
bool ada_filter_holds(uint64_t lock, uint64_t try_lock, uint64_t unlock);
void ada_filter_offer(uint64_t entry, uint64_t filter); /* from now on the recorder finds it */

/* --- find_object.c --------------------------------------------------------------------------------------------------------- */
/* real: address of libc's _dl_find_object. False: unwinders could not be told of stubs, so there must be none. */
bool ada_find_object_start(uint64_t real);

extern char ada_stubs[]; /* stubs.S */
#endif
