/* The bytes at an entry that a patch would take, their copy, and the hook that is made of both. */
#ifndef ADA_PLAN_WINDOW_H
#define ADA_PLAN_WINDOW_H
#include "plan/ground/ground.h"

#define ADA_BODY_MAX 255u

struct ada_window {
	uint64_t start, end; /* overwritten */
	uint64_t copied_end; /* end of the last instruction that has to be copied */
	bool padding;	     /* reaches into the padding behind the function */
	bool nops;	     /* nothing but NOPs */
};

/* Whether `bytes` bytes at `start` may be overwritten; NONE, or why not. Says nothing of `start` itself. */
enum ada_refusal ada_window_try(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, unsigned bytes,
				struct ada_window *window);
/* Whether something continues strictly inside (start, end). */
bool ada_window_entered(const struct ada_planner *planner, uint64_t start, uint64_t end);
/* Whether a label, a pointer, a landing pad or an endbr64 marks an instruction in [start, end), all of them to be moved. */
bool ada_window_named(const struct ada_planner *planner, const struct ada_function *function, uint64_t start, uint64_t end);
/* Whether the function branches back to `start`. */
bool ada_window_loops(const struct ada_planner *planner, const struct ada_function *function, uint64_t start);
/* Takes the padding that the window reaches into, so that no one else gets it. */
void ada_window_take_padding(const struct ada_planner *planner, const struct ada_function *function, const struct ada_window *window);
/* Plans the hook. Where the copy can't be made, refuses the function, and returns 0. */
int ada_window_hook(struct ada_planner *planner, uint32_t number, const struct ada_window *window, enum ada_patch_form form);
/* The pad that holds `address`, or NULL. */
struct ada_pad *ada_pad_at(const struct ada_planner *planner, uint64_t address);

/* A planned hook's bytes: the copy of [from, to) and its jump back. */
struct ada_body {
	uint8_t bytes[ADA_BODY_MAX + 16];
	uint16_t length;
	struct ada_plan_reloc relocs[64];
	struct ada_plan_origin origins[64];
	uint16_t reloc_count, origin_count;
};
/* Copies [from, to). Branches to a place inside [inside_from, to) stay inside the copy (inside_from = to: none does).
 * NONE, or why the copy can't be made. */
enum ada_refusal ada_relocate(const struct ada_planner *planner, uint64_t from, uint64_t to, uint64_t inside_from, struct ada_body *body);
int ada_hook_add(struct ada_planner *planner, uint32_t function, uint64_t address, enum ada_patch_form form, uint64_t compared_end,
		 const struct ada_body *body);
/* The same hook with another body, which copies up to `compared_end`. */
int ada_hook_replace(struct ada_planner *planner, uint32_t hook, uint64_t compared_end, const struct ada_body *body);
int ada_islands_place(struct ada_planner *planner);

/* The function is refused for its place, so that another form of patch may do. */
static inline bool ada_refusal_is_of_place(unsigned refusal)
{
	return refusal == ADA_REFUSAL_TOO_SHORT || refusal == ADA_REFUSAL_BRANCH_TARGET || refusal == ADA_REFUSAL_CALL_INSIDE ||
	       refusal == ADA_REFUSAL_OVERLAP || refusal == ADA_REFUSAL_LABEL;
}
#endif
