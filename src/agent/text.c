/* Which return addresses may be given a stub: a sorted array of ranges of code, looked up without a lock by any thread.
 *
 * A range is an executable segment of a module, less what the plan says belongs to a run-time that keys on return addresses
 * (flag RUNTIME: Go, OCaml, GHC, V8's builtins). Memory of no module (JIT) is in no range. Each change of the module table
 * publishes a new array; readers may hold the old one, so it stays mapped.
 */
#include <sys/mman.h>
#include "agent/life.h"
#include "agent/sys.h"

struct range { uint64_t start, end; };
struct ranges { uint64_t count; struct range range[]; };

static struct ranges *published;

bool ada_module_text_is_hookable(uint64_t return_address)
{
	const struct ranges *ranges = __atomic_load_n(&published, __ATOMIC_ACQUIRE);
	uint64_t low = 0, high = ranges ? ranges->count : 0;

	while (low < high) {
		uint64_t middle = (low + high) / 2;

		if (return_address < ranges->range[middle].start)
			high = middle;
		else if (return_address >= ranges->range[middle].end)
			low = middle + 1;
		else
			return true;
	}
	return false;
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

/* Insertion by module keeps it sorted: modules are few and each one's ranges ascend already. */
static void ranges_sort(struct ranges *ranges)
{
	for (uint64_t i = 1; i < ranges->count; i++) {
		struct range moving = ranges->range[i];
		uint64_t at = i;

		for (; at && ranges->range[at - 1].start > moving.start; at--)
			ranges->range[at] = ranges->range[at - 1];
		ranges->range[at] = moving;
	}
}

void ada_text_publish(void)
{
	uint64_t count = 0;
	struct ranges *ranges;

	for (uint32_t id = 0; id < ada_module_count(); id++)
		count = module_ranges(NULL, count, ada_module_at(id));
	ranges = ada_sys_map(sizeof *ranges + count * sizeof(struct range));
	if (!ranges) {
		ada_core_disable(ADA_DISABLE_NO_MEMORY);
		return;
	}
	for (uint32_t id = 0; id < ada_module_count(); id++)
		ranges->count = module_ranges(ranges, ranges->count, ada_module_at(id));
	ranges_sort(ranges);
	__atomic_store_n(&published, ranges, __ATOMIC_RELEASE);
	ada_site_forget_refused();
}
