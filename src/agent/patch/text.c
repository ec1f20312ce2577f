/* Which return addresses may be given a stub: a sorted array of ranges of code, looked up without a lock by any thread.
 *
 * A range is an executable segment of a module, without the parts that the plan gives to a run-time that keys on return addresses (flag
 * RUNTIME: Go, OCaml, GHC, V8's builtins). Memory of no module (JIT) is in no range. Each change of the module table fills the array that
 * isn't published, and publishes it. A thread that was still reading that array sees its generation change, and looks again.
 */
#include <sys/mman.h>
#include "agent/patch/patch.h"

struct range {
	uint64_t start, end;
};
struct ranges {
	uint64_t generation, room, count;
	struct range range[];
}; /* generation: odd while it is filled */

static struct ranges *published, *spare;

static bool holds(const struct ranges *ranges, uint64_t return_address)
{
	uint64_t low = 0, high = __atomic_load_n(&ranges->count, __ATOMIC_RELAXED);

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (return_address < __atomic_load_n(&ranges->range[middle].start, __ATOMIC_RELAXED))
			high = middle;
		else if (return_address >= __atomic_load_n(&ranges->range[middle].end, __ATOMIC_RELAXED))
			low = middle + 1;
		else
			return true;
	}
	return false;
}

bool ada_module_text_is_hookable(uint64_t return_address)
{
	const struct ranges *ranges;
	uint64_t generation;
	bool is;

	do {
		ranges = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
		if (!ranges)
			return false;
		generation = __atomic_load_n(&ranges->generation, __ATOMIC_ACQUIRE);
		is = holds(ranges, return_address);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (generation % 2 || generation != __atomic_load_n(&ranges->generation, __ATOMIC_RELAXED));
	return is;
}

static uint64_t range_put(struct ranges *ranges, uint64_t count, uint64_t start, uint64_t end)
{
	if (start < end && ranges)
		ranges->range[count] = (struct range){ start, end };
	return count + (start < end);
}

/* Appends the ranges of one segment, or only counts them (`ranges` NULL). */
static uint64_t segment_ranges(struct ranges *ranges, uint64_t count, const struct ada_module *module, const Elf64_Phdr *segment)
{
	uint64_t start = module->bias + segment->p_vaddr, end = start + segment->p_memsz;
	const struct ada_plan_header *plan = module->plan;

	for (uint32_t i = 0; plan && i < plan->function_count; i++) {
		const struct ada_plan_function *function = ada_plan_function_at(plan, i);
		uint64_t address = module->bias + function->address;

		if (!(function->flags & ADA_FUNCTION_RUNTIME) || address < start || address >= end)
			continue;
		count = range_put(ranges, count, start, address);
		start = address + function->size;
	}
	return range_put(ranges, count, start, end);
}

static uint64_t module_ranges(struct ranges *ranges, uint64_t count, const struct ada_module *module)
{
	if (module->state == ADA_MODULE_GONE || (module->flags & ADA_MODULE_AGENT))
		return count;
	for (uint32_t i = 0; i < module->segment_count; i++)
		if (module->segments[i].p_type == PT_LOAD && (module->segments[i].p_flags & PF_X))
			count = segment_ranges(ranges, count, module, &module->segments[i]);
	return count;
}

/* Each module's ranges ascend already, but modules come in the order of loading, which often descends: insertion at distances (Shell),
 * since there may be thousands. */
static void ranges_sort(struct ranges *ranges)
{
	for (uint64_t gap = ranges->count / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) {
		for (uint64_t i = gap; i < ranges->count; i++) {
			struct range moving = ranges->range[i];
			uint64_t at = i;

			for (; at >= gap && ranges->range[at - gap].start > moving.start; at -= gap)
				ranges->range[at] = ranges->range[at - gap];
			ranges->range[at] = moving;
		}
	}
}

/* An array with room for so many: the one not published or, since someone may be reading that, a larger one in its place. */
static struct ranges *ranges_take(uint64_t count)
{
	struct ranges *ranges = spare;

	if (ranges && ranges->room >= count)
		return ranges;
	ranges = ada_sys_map(sizeof *ranges + 2 * count * sizeof(struct range));
	if (ranges)
		ranges->room = 2 * count;
	return ranges;
}

void ada_text_publish(void)
{
	struct ranges *ranges, *before = published;
	uint64_t count = 0, filled = 0;

	for (uint32_t id = 0; id < ada_module_count(); id++)
		count = module_ranges(NULL, count, ada_module_at(id));
	ranges = ranges_take(count);
	if (!ranges) {
		ada_core_disable(ADA_DISABLE_NO_MEMORY);
		return;
	}
	__atomic_fetch_add(&ranges->generation, 1, __ATOMIC_SEQ_CST);
	for (uint32_t id = 0; id < ada_module_count(); id++)
		filled = module_ranges(ranges, filled, ada_module_at(id));
	__atomic_store_n(&ranges->count, filled, __ATOMIC_RELAXED);
	ranges_sort(ranges);
	__atomic_fetch_add(&ranges->generation, 1, __ATOMIC_RELEASE);
	spare = before;
	__atomic_store_n(&published, ranges, __ATOMIC_RELEASE);
	ada_site_forget_refused();
}
