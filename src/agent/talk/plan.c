/* A plan as the agent sees it: mapped read-only, checked once to lie inside its file. Layout: abi/plan.h. */
#include "agent/ground/mem.h"
#include "agent/talk/talk.h"

static bool table_fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t bytes)
{
	return offset % 8 == 0 && offset <= bytes && count <= (bytes - offset) / size;
}

/* Whether the origins end inside the table, so that a walk from any place stays inside. */
static bool origins_end(const struct ada_plan_header *plan)
{
	const struct ada_plan_origin *origins = (const void *)((const char *)plan + plan->origins_offset);

	return plan->origin_count ? origins[plan->origin_count - 1].body == ADA_ORIGIN_END : !plan->hook_count;
}

bool ada_plan_fits(const struct ada_plan_header *plan, uint64_t bytes)
{
	const char *base = (const char *)plan;

	return bytes >= sizeof *plan && !memcmp(plan->magic, ADA_PLAN_MAGIC, sizeof plan->magic) && plan->version == ADA_PLAN_VERSION &&
	       plan->total_bytes == bytes && plan->build_id_bytes <= ADA_BUILD_ID_MAX &&
	       table_fits(plan->functions_offset, plan->function_count, sizeof(struct ada_plan_function), bytes) &&
	       table_fits(plan->hooks_offset, plan->hook_count, sizeof(struct ada_plan_hook), bytes) &&
	       table_fits(plan->relocs_offset, plan->reloc_count, sizeof(struct ada_plan_reloc), bytes) &&
	       table_fits(plan->imports_offset, plan->import_count, sizeof(struct ada_plan_import), bytes) &&
	       table_fits(plan->origins_offset, plan->origin_count, sizeof(struct ada_plan_origin), bytes) && origins_end(plan) &&
	       table_fits(plan->calls_offset, plan->call_count, sizeof(struct ada_plan_call), bytes) && plan->bodies_offset <= bytes &&
	       plan->bodies_bytes <= bytes - plan->bodies_offset && plan->strings_offset < bytes && plan->strings_bytes &&
	       plan->strings_bytes <= bytes - plan->strings_offset && !base[plan->strings_offset + plan->strings_bytes - 1];
}

const struct ada_plan_function *ada_plan_function_at(const struct ada_plan_header *plan, uint32_t number)
{
	return (const struct ada_plan_function *)((const char *)plan + plan->functions_offset) + number;
}

const char *ada_plan_name(const struct ada_plan_header *plan, uint32_t offset)
{
	return (const char *)plan + plan->strings_offset + (offset < plan->strings_bytes ? offset : plan->strings_bytes - 1);
}

uint32_t ada_plan_find(const struct ada_plan_header *plan, uint64_t address, bool ifunc)
{
	uint32_t low = 0, high = plan->function_count, found = ADA_PLAN_NONE;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ada_plan_function_at(plan, middle)->address < address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < plan->function_count && ada_plan_function_at(plan, low)->address == address; low++) {
		bool is_ifunc = ada_plan_function_at(plan, low)->flags & ADA_FUNCTION_IFUNC;

		if (found == ADA_PLAN_NONE || is_ifunc == ifunc)
			found = low;
	}
	return found;
}
