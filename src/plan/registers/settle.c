/* What callers look at behind their calls; then the sets.
 *
 * A register is free at a function's entry where nothing looks at what it holds there, neither the function nor, over the call, a
 * caller: for on every way to a return it is written. It is free behind the return where the function writes it likewise, last with
 * something new, and no caller looks at it. A caller may be built so that it relies on what a callee leaves alone (-fipa-ra), or takes a
 * result in any register, as hand-written code does; direct calls in this module show that. What calls through pointers show of their
 * unknown callees is taken as said of all functions. Nobody else can know more than the convention says.
 *
 * Of what other modules do, callers know the convention alone: the linker may put code of its own in between, which takes r11 and the flags
 * for itself, and behind the return only results have a meaning. So these are free where no caller in this module shows the contrary.
 */
#include <errno.h>
#include "plan/registers/blocks.h"
#include "plan/registers/registers.h"

struct look {		    /* of callers, at what registers hold when something has returned */
	ada_parts at, soon; /* at any time; before they call anything else */
};

struct callers {
	struct ada_planner *planner;
	struct look *looks; /* behind the returns of each run */
	ada_parts anybody;  /* looked at soon behind those of anything called through pointers; */
	ada_parts imports;  /* at any time behind those of other modules' functions */
	bool *seen;	    /* a run each: belongs to a function that is known */
	bool *queued;	    /* likewise: is in the queue */
	bool import_jumps;  /* a function ends with a jump to an import: its own caller looks behind that */
	ADA_ARRAY(uint32_t) queue;
};

static int enqueue(struct callers *callers, uint32_t run, struct look more)
{
	struct look *look = &callers->looks[run];
	bool changes = (more.at & ~look->at) | (more.soon & ~look->soon);

	look->at |= more.at;
	look->soon |= more.soon;
	changes |= !callers->seen[run];
	callers->seen[run] = true;
	if (!changes || callers->queued[run])
		return 0;
	callers->queued[run] = true;
	return ada_array_push(&callers->queue, run);
}

/* What follows the end of a block of `run`. */
static int hand_on(struct callers *callers, uint32_t run, const struct ada_block *block)
{
	const struct ada_registers *registers = callers->planner->registers;
	const struct ada_run *of = &registers->runs.items[run];
	struct look look = callers->looks[run], more = look;

	if (block->calls) {
		const struct ada_fate nowhere = { 0 }, *behind = block->goes_on ? &registers->fates[block->next] : &nowhere;

		more.at = behind->seen | (behind->alone & look.at);
		more.soon = behind->own | (behind->alone & look.soon);
	}
	switch (block->end) {
	case ADA_END_FUNCTION: return enqueue(callers, registers->run_of_block.items[block->target], more);
	case ADA_END_LOCAL:
		if (block->target >= of->first && block->target < of->first + of->count)
			return 0;
		return enqueue(callers, registers->run_of_block.items[block->target], more);
	case ADA_END_POINTER:
		if (look.at != ADA_PARTS_ALL) /* what is no part of a known function may be no code at all */
			callers->anybody |= more.soon;
		return 0;
	case ADA_END_IMPORT:
		if (look.at != ADA_PARTS_ALL)
			callers->imports |= more.at;
		callers->import_jumps |= !block->calls;
		return 0;
	default: return 0;
	}
}

static int empty_queue(struct callers *callers)
{
	const struct ada_registers *registers = callers->planner->registers;
	int status = 0;

	while (callers->queue.count && !status) {
		uint32_t number = callers->queue.items[--callers->queue.count];
		const struct ada_run *run = &registers->runs.items[number];

		callers->queued[number] = false;
		for (uint32_t i = run->first; i < run->first + run->count && !status; i++)
			if (registers->blocks.items[i].end != ADA_END_NONE)
				status = hand_on(callers, number, &registers->blocks.items[i]);
	}
	return status;
}

static int find_looked_at(struct callers *callers)
{
	const struct ada_registers *registers = callers->planner->registers;
	int status = 0;

	for (size_t i = 0; i < registers->runs.count && !status; i++) { /* callers are taken first: from the end */
		const struct ada_run *run = &registers->runs.items[registers->order[i]];

		if (run->function != ADA_PLAN_NONE && registers->run_of[run->function] != ADA_PLAN_NONE)
			status = enqueue(callers, registers->order[i], (struct look){ 0 });
	}
	if (!status)
		status = empty_queue(callers);
	/* Code of functions that aren't known, or of none: what its callers look at isn't known either. */
	for (uint32_t i = 0; i < registers->runs.count && !status; i++)
		if (!callers->seen[i])
			status = enqueue(callers, i, (struct look){ .at = ADA_PARTS_ALL });
	return status ? status : empty_queue(callers);
}

/* --- the sets */

static uint16_t registers_of(ada_parts parts)
{
	uint16_t registers = 0;

	for (unsigned i = 0; i < ADA_PARTS_GENERAL; i++)
		if (!(~parts & ADA_PARTS_OF(i)))
			registers |= (uint16_t)(1u << i);
	if (!(~parts & ADA_PARTS_FLAGS))
		registers |= 1u << ADA_REGISTER_FLAGS;
	return registers;
}

/* What nobody needs behind a return where these parts are kept, or looked at. */
static uint16_t free_behind(ada_parts needed)
{
	return registers_of(~needed) & (uint16_t)~ADA_REGISTERS_RESULT;
}

static void fill_sets(const struct callers *callers, uint32_t number)
{
	const struct ada_registers *registers = callers->planner->registers;
	struct ada_function *function = &callers->planner->functions.items[number];
	uint32_t run = registers->run_of[number];
	const struct ada_fate *entry;
	ada_parts looked_at;

	if (run == ADA_PLAN_NONE)
		return;
	entry = &registers->fates[registers->runs.items[run].first];
	function->reads_vectors = entry->read & ADA_PARTS_VECTORS;
	if (function->flags & ADA_FUNCTION_INTERCEPT)
		return;
	looked_at = callers->looks[run].at;
	function->free_at_entry = registers_of(~(entry->read | entry->kept | (entry->alone & looked_at)));
	if (registers->imports_keep)
		return;
	looked_at |= callers->anybody;
	function->free_at_exit = free_behind(entry->kept | (entry->restored & entry->read) | looked_at);
}

static void fill_imports(const struct callers *callers)
{
	struct ada_planner *planner = callers->planner;

	if (planner->registers->imports_keep)
		return;
	planner->import_free_at_entry = 1u << ADA_REGISTER_R11 | 1u << ADA_REGISTER_FLAGS;
	planner->import_free_at_exit = free_behind(callers->imports | (callers->import_jumps ? callers->anybody : 0));
}

/* Whether functions of other modules keep to conventions of their own: profilers' hooks leave arguments alone, Swift's functions return
 * in four registers, and those of its run-time preserve nearly all. */
static bool has_odd_imports(const struct ada_planner *planner)
{
	static const char *const odd[] = { "__fentry__", "mcount", "_mcount", "__mcount", "__morestack", "swift_retain", "swift_release" };
	struct ada_elf_imports *symbols;
	struct ada_elf_import symbol;
	bool found = false;

	if (ada_elf_imports_open(&symbols, planner->elf))
		return true;
	for (size_t i = 0; i < planner->slots.count && !found; i++)
		for (size_t k = 0; k < sizeof odd / sizeof *odd && !found; k++)
			found = ada_elf_imports_get(symbols, planner->slots.items[i].symbol, &symbol) && !strcmp(symbol.name, odd[k]);
	ada_elf_imports_close(symbols);
	return found;
}

int ada_registers_settle(struct ada_planner *planner)
{
	struct ada_registers *registers = planner->registers;
	struct callers callers = { .planner = planner };
	int status;

	for (size_t i = 0; i < planner->functions.count; i++)
		planner->functions.items[i].reads_vectors = true;
	if (!registers || !registers->runs.count)
		return 0;
	registers->imports_keep = planner->runtime_imports || has_odd_imports(planner);
	status = ada_blocks_join(planner);
	if (!status)
		status = ada_fates_settle(registers);
	if (status || !registers->fates)
		return status;
	callers.looks = calloc(registers->runs.count, sizeof *callers.looks);
	callers.seen = calloc(registers->runs.count + 1, sizeof *callers.seen);
	callers.queued = calloc(registers->runs.count + 1, sizeof *callers.queued);
	status = callers.looks && callers.seen && callers.queued ? find_looked_at(&callers) : -ENOMEM;
	for (uint32_t i = 0; i < planner->functions.count && !status; i++)
		fill_sets(&callers, i);
	if (!status)
		fill_imports(&callers);
	free(callers.looks);
	free(callers.seen);
	free(callers.queued);
	ada_array_free(&callers.queue);
	return status;
}
