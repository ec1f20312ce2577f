/* What becomes of what registers hold, at the start of each block. Backwards through all blocks of a module, until nothing changes: what is
 * read from a block's start on is what the block reads, and what is read behind it unless the block writes it. Likewise for what is kept.
 * At first nothing is read and nothing kept; each round adds what that supposed too little of. Where that takes too long nothing is free.
 *
 * Calls. A function of this module does what is known of it, which may be little at first. Other modules may look at all that a
 * convention hands over, and write, as the convention allows, all these registers. That they do so nobody could know but them; so
 * whoever relies on the contrary relies on a convention of its own. But a call through a pointer may lead back into this module, where
 * gcc's large code model calls functions that it knows, and keeps registers over the calls: such a call writes nothing.
 *
 * Exceptions. A landing pad finds no register of these as it was: so it matters neither for what is read nor for what is kept.
 */
#include <errno.h>
#include "plan/registers/blocks.h"

#define TRIES_MAX 200u	  /* of the number of blocks */
#define FETCHED_MAX 2048u /* bytes of each table that are fetched ahead for a run */
#define ARGUMENTS                                                                                                                          \
	(ADA_PARTS_VECTORS | ADA_PARTS_OF(ADA_REGISTER_RDI) | ADA_PARTS_OF(ADA_REGISTER_RSI) | ADA_PARTS_OF(ADA_REGISTER_RDX) |            \
	 ADA_PARTS_OF(ADA_REGISTER_RCX) | ADA_PARTS_OF(ADA_REGISTER_R8) | ADA_PARTS_OF(ADA_REGISTER_R9) |                                  \
	 ADA_PARTS_OF(ADA_REGISTER_RAX))			 /* how many vectors there are: al */
#define HANDED_OVER (ARGUMENTS | ADA_PARTS_OF(ADA_REGISTER_R10)) /* the static chain, within a module */

struct settle {
	struct ada_registers *registers;
	struct ada_fate *fates;
	uint8_t *due;		/* a block each: to be looked at again */
	uint32_t *first_before; /* of those that look at the block; at last their number */
	uint32_t *before;
	uint64_t tries;
};

static const struct ada_fate nothing = { 0 }, at_return = { .kept = ADA_PARTS_ALL, .alone = ADA_PARTS_ALL },
			     anything = { ADA_PARTS_ALL, ADA_PARTS_ALL, ADA_PARTS_ALL, ADA_PARTS_ALL, ADA_PARTS_ALL, 0 };

/* What the value at its entry may be at the function's return. */
static ada_parts same_at_return(const struct ada_fate *entry, ada_parts kept)
{
	return kept | (entry->restored & entry->read);
}

/* A function with a variable number of arguments puts all registers that may hold one into memory, and looks at few of them later. */
static ada_parts seen_by(const struct ada_fate *callee)
{
	bool all = !(ADA_PARTS_VECTORS & ~callee->seen) && callee->seen & ADA_PARTS_OF(ADA_REGISTER_RAX);

	return all ? callee->seen & ~ARGUMENTS : callee->seen;
}

/* Where a jump at the end of a block leads. */
static struct ada_fate fate_of_jump(const struct settle *settle, const struct ada_block *block)
{
	struct ada_fate fate;

	switch (block->end) {
	case ADA_END_LOCAL: return settle->fates[block->target];
	case ADA_END_FUNCTION:
		fate = settle->fates[block->target];
		fate.kept = same_at_return(&fate, fate.kept);
		fate.alone = same_at_return(&fate, fate.alone);
		fate.restored = 0;
		return fate;
	case ADA_END_IMPORT:
		return settle->registers->imports_keep ? anything : (struct ada_fate){ .read = ARGUMENTS, .alone = ADA_PARTS_ALL };
	case ADA_END_POINTER: return (struct ada_fate){ .read = HANDED_OVER, .kept = ADA_PARTS_ALL, .alone = ADA_PARTS_ALL };
	case ADA_END_RETURN: return at_return;
	case ADA_END_STOP: return at_return; /* the handler of the fault may go on elsewhere */
	default: return anything;
	}
}

/* Before a call, with what happens behind it. */
static struct ada_fate fate_of_call(const struct settle *settle, const struct ada_block *block, struct ada_fate behind)
{
	const struct ada_fate *callee;

	behind.own = 0;
	switch (block->end) {
	case ADA_END_FUNCTION:
		callee = &settle->fates[block->target];
		behind.read &= same_at_return(callee, callee->alone);
		behind.seen &= same_at_return(callee, callee->alone);
		behind.kept &= same_at_return(callee, callee->kept);
		behind.alone &= same_at_return(callee, callee->alone);
		behind.read |= callee->read;
		behind.seen |= seen_by(callee);
		break;
	case ADA_END_IMPORT:
		behind.read |= ARGUMENTS;
		if (!settle->registers->imports_keep)
			behind.kept = 0;
		break;
	case ADA_END_POINTER: behind.read |= HANDED_OVER; break;
	default: behind.read = behind.seen = ADA_PARTS_ALL; break;
	}
	return behind;
}

static struct ada_fate fate_of(const struct settle *settle, const struct ada_block *block)
{
	struct ada_fate end = block->goes_on ? settle->fates[block->next] : nothing, jump;

	if (block->calls) {
		end = fate_of_call(settle, block, end);
	} else if (block->end != ADA_END_NONE) {
		jump = fate_of_jump(settle, block);
		end = (struct ada_fate){ end.read | jump.read, end.seen | jump.seen,   end.own | jump.own,
					 end.kept | jump.kept, end.alone | jump.alone, end.restored | jump.restored };
	}
	return (struct ada_fate){ .read = block->reads | (end.read & ~block->writes),
				  .seen = block->reads | (end.seen & ~block->writes),
				  .own = block->reads | (end.own & ~block->writes),
				  .kept = end.kept & ~block->writes,
				  .alone = end.alone & ~block->writes,
				  .restored = end.restored | (block->restores & end.kept) };
}

/* --- who looks at whom */

/* The block whose fate a block's end asks for; ADA_PLAN_NONE: none. */
static uint32_t asked_for(const struct ada_block *block)
{
	return block->end == ADA_END_LOCAL || block->end == ADA_END_FUNCTION ? block->target : ADA_PLAN_NONE;
}

static int find_before(struct settle *settle)
{
	const struct ada_registers *registers = settle->registers;
	uint32_t count = (uint32_t)registers->blocks.count, total = 0;

	settle->first_before = calloc(count + 2, sizeof *settle->first_before);
	if (!settle->first_before)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t asked = asked_for(&registers->blocks.items[i]);

		if (asked != ADA_PLAN_NONE)
			settle->first_before[asked + 2]++, total++;
	}
	settle->before = malloc((total + 1) * sizeof *settle->before);
	if (!settle->before)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		settle->first_before[i + 2] += settle->first_before[i + 1];
	for (uint32_t i = 0; i < count; i++) {
		uint32_t asked = asked_for(&registers->blocks.items[i]);

		if (asked != ADA_PLAN_NONE)
			settle->before[settle->first_before[asked + 1]++] = i;
	}
	return 0;
}

/* --- the order */

struct visit { /* of a run: up to which block it has been looked at */
	uint32_t run, next;
};

/* The run that a block calls or jumps to, if that has not been visited; else ADA_PLAN_NONE. */
static uint32_t unvisited(const struct ada_registers *registers, const struct ada_block *block, const bool *visited)
{
	uint32_t asked = asked_for(block), run;

	if (asked == ADA_PLAN_NONE)
		return ADA_PLAN_NONE;
	run = registers->run_of_block.items[asked];
	return visited[run] ? ADA_PLAN_NONE : run;
}

static int find_order(struct ada_registers *registers)
{
	uint32_t count = (uint32_t)registers->runs.count, at = 0, depth, found;
	struct visit *stack = malloc((count + 1) * sizeof *stack);
	bool *visited = calloc(count + 1, sizeof *visited);

	registers->order = malloc((count + 1) * sizeof *registers->order);
	for (uint32_t i = 0; i < count && stack && visited && registers->order; i++) {
		depth = visited[i] ? 0 : 1;
		visited[i] = true;
		stack[0] = (struct visit){ .run = i };
		while (depth) {
			struct visit *top = &stack[depth - 1];
			const struct ada_run *run = &registers->runs.items[top->run];

			found = ADA_PLAN_NONE;
			while (found == ADA_PLAN_NONE && top->next < run->count)
				found = unvisited(registers, &registers->blocks.items[run->first + top->next++], visited);
			if (found == ADA_PLAN_NONE) {
				registers->order[at++] = top->run;
				depth--;
				continue;
			}
			visited[found] = true;
			stack[depth++] = (struct visit){ .run = found };
		}
	}
	free(stack);
	free(visited);
	return at == count && registers->order ? 0 : -ENOMEM;
}

/* --- rounds */

static void look_again(struct settle *settle, uint32_t number)
{
	const struct ada_block *block = &settle->registers->blocks.items[number];
	struct ada_fate fate = fate_of(settle, block), *was = &settle->fates[number];

	settle->due[number] = 0;
	settle->tries++;
	if (!((fate.read & ~was->read) | (fate.seen & ~was->seen) | (fate.own & ~was->own) | (fate.kept & ~was->kept) |
	      (fate.alone & ~was->alone) | (fate.restored & ~was->restored)))
		return;
	was->read |= fate.read;
	was->seen |= fate.seen;
	was->own |= fate.own;
	was->kept |= fate.kept;
	was->alone |= fate.alone;
	was->restored |= fate.restored;
	if (number && settle->registers->blocks.items[number - 1].goes_on && settle->registers->blocks.items[number - 1].next == number)
		settle->due[number - 1] = 1;
	for (uint32_t i = settle->first_before[number]; i < settle->first_before[number + 1]; i++)
		settle->due[settle->before[i]] = 1;
}

static void fetch(const void *from, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes && at < FETCHED_MAX; at += 64)
		__builtin_prefetch((const char *)from + at);
}

/* Runs are looked at in an order that has nothing to do with their places. */
static void fetch_run(const struct settle *settle, const struct ada_run *run)
{
	if (!memchr(settle->due + run->first, 1, run->count))
		return;
	fetch(&settle->registers->blocks.items[run->first], run->count * sizeof *settle->registers->blocks.items);
	fetch(&settle->fates[run->first], run->count * sizeof *settle->fates);
	fetch(&settle->first_before[run->first], run->count * sizeof *settle->first_before);
}

/* True: something was due. */
static bool round_of_all(struct settle *settle)
{
	const struct ada_registers *registers = settle->registers;
	uint32_t count = (uint32_t)registers->blocks.count,
		 whole = registers->runs.items[registers->runs.count - 1].first + registers->runs.items[registers->runs.count - 1].count;
	bool again = false;

	for (uint32_t i = whole; i < count; i++) /* what follows these may have changed: they are few */
		look_again(settle, i);
	for (size_t i = 0; i < registers->runs.count; i++) {
		const struct ada_run *run = &registers->runs.items[registers->order[i]];

		if (i + 1 < registers->runs.count)
			fetch_run(settle, &registers->runs.items[registers->order[i + 1]]);
		while (memchr(settle->due + run->first, 1, run->count)) {
			again = true;
			for (uint32_t number = run->first + run->count; number-- > run->first;)
				if (settle->due[number])
					look_again(settle, number);
		}
	}
	return again;
}

int ada_fates_settle(struct ada_registers *registers)
{
	struct settle settle = { .registers = registers };
	size_t count = registers->blocks.count;
	int status = -ENOMEM;

	settle.fates = calloc(count + 1, sizeof *settle.fates);
	settle.due = malloc(count + 1);
	if (settle.fates && settle.due)
		status = find_before(&settle);
	if (!status)
		status = find_order(registers);
	if (!status)
		memset(settle.due, 1, count);
	while (!status && round_of_all(&settle))
		if (settle.tries > TRIES_MAX * count)
			break;
	if (!status && !memchr(settle.due, 1, count)) {
		registers->fates = settle.fates;
		settle.fates = NULL;
	}
	free(settle.fates);
	free(settle.due);
	free(settle.first_before);
	free(settle.before);
	return status;
}
