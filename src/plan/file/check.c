/* Whether bytes are a plan: see file.h. After this check, every offset and number in the plan may be used without looking. */
#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include "plan/file/file.h"

static int bad(struct ada_error *error, const char *what)
{
	return ada_error_set(error, EBADMSG, "damaged plan: %s", what);
}

static bool lies_inside(const struct ada_plan_header *header, uint64_t offset, uint64_t count, uint64_t item_bytes)
{
	return offset % 8 == 0 && offset >= sizeof *header && offset <= header->total_bytes &&
	       count <= (header->total_bytes - offset) / item_bytes;
}

static int check_header(const struct ada_plan_header *header, const uint8_t *memory, uint64_t bytes, struct ada_error *error)
{
	if (memcmp(header->magic, ADA_PLAN_MAGIC, sizeof header->magic))
		return bad(error, "no plan");
	if (header->version != ADA_PLAN_VERSION)
		return bad(error, "another version");
	if (header->total_bytes != bytes)
		return bad(error, "truncated");
	if (header->build_id_bytes > ADA_BUILD_ID_MAX || header->address_start > header->address_end)
		return bad(error, "impossible header");
	if (!lies_inside(header, header->functions_offset, header->function_count, sizeof(struct ada_plan_function)) ||
	    !lies_inside(header, header->hooks_offset, header->hook_count, sizeof(struct ada_plan_hook)) ||
	    !lies_inside(header, header->relocs_offset, header->reloc_count, sizeof(struct ada_plan_reloc)) ||
	    !lies_inside(header, header->imports_offset, header->import_count, sizeof(struct ada_plan_import)) ||
	    !lies_inside(header, header->origins_offset, header->origin_count, sizeof(struct ada_plan_origin)) ||
	    !lies_inside(header, header->calls_offset, header->call_count, sizeof(struct ada_plan_call)) ||
	    !lies_inside(header, header->bodies_offset, header->bodies_bytes, 1) ||
	    !lies_inside(header, header->strings_offset, header->strings_bytes, 1))
		return bad(error, "a table lies outside");
	if (!header->strings_bytes || memory[header->strings_offset] || memory[header->strings_offset + header->strings_bytes - 1])
		return bad(error, "strings without end");
	if (libdeflate_crc32(0, memory + sizeof *header, bytes - sizeof *header) != header->checksum)
		return bad(error, "checksum differs");
	return 0;
}

static bool is_inside_module(const struct ada_plan_header *header, uint64_t address, uint64_t bytes)
{
	return address >= header->address_start && bytes <= header->address_end - header->address_start &&
	       address <= header->address_end - bytes;
}

static bool function_is_sound(const struct ada_plan_header *header, const struct ada_plan_function *function)
{
	return function->name < header->strings_bytes && function->refusal < ADA_REFUSAL_COUNT &&
	       (function->hook == ADA_PLAN_NONE || function->hook < header->hook_count) && is_inside_module(header, function->address, 0);
}

/* An island in another hook's bytes lies right behind that hook's jump, in the bytes that the hook copies. */
static bool host_is_sound(const struct ada_plan_header *header, const struct ada_plan_hook *hooks, uint32_t number)
{
	const struct ada_plan_hook *hook = &hooks[number], *host;
	int64_t host_number = (int64_t)number + hook->host;

	if (!hook->host)
		return true;
	if (hook->form != ADA_PATCH_ISLAND || host_number < 0 || host_number >= header->hook_count)
		return false;
	host = &hooks[host_number];
	return host->form == ADA_PATCH_JUMP && host->patch_bytes >= 10 && hook->island_address == host->patch_address + 5;
}

/* A hook's origins rise from 0 to their end. The table's last entry is an end, so a walk ends wherever it begins. */
static bool origins_are_sound(const struct ada_plan_header *header, const struct ada_plan_hook *hook)
{
	const struct ada_plan_origin *origin = (const void *)((const uint8_t *)header + header->origins_offset);

	if (hook->origin_first >= header->origin_count || origin[header->origin_count - 1].body != ADA_ORIGIN_END ||
	    origin[hook->origin_first].body)
		return false;
	for (origin += hook->origin_first; origin->body != ADA_ORIGIN_END; origin++)
		if (origin[1].body <= origin->body)
			return false;
	return true;
}

static bool registers_are_sound(uint16_t free_at_entry, uint16_t free_at_exit)
{
	return !((free_at_entry | free_at_exit) >> ADA_REGISTER_COUNT) && !(free_at_exit & ADA_REGISTERS_RESULT);
}

static bool hook_is_sound(const struct ada_plan_header *header, const struct ada_plan_hook *hook, const struct ada_plan_reloc *relocs)
{
	if (hook->function >= header->function_count || hook->form < ADA_PATCH_JUMP || hook->form > ADA_PATCH_INT3 || !hook->body_bytes ||
	    hook->body_offset > header->bodies_bytes || hook->body_bytes > header->bodies_bytes - hook->body_offset ||
	    hook->reloc_first > header->reloc_count || hook->reloc_count > header->reloc_count - hook->reloc_first || !hook->patch_bytes ||
	    hook->patch_bytes > sizeof hook->expected || !is_inside_module(header, hook->patch_address, hook->patch_bytes) ||
	    (hook->form == ADA_PATCH_ISLAND) != (hook->island_address != 0) ||
	    hook->flags & ~(ADA_HOOK_RED_ZONE | ADA_HOOK_READS_VECTORS) || !registers_are_sound(hook->free_at_entry, hook->free_at_exit) ||
	    (hook->island_address && !is_inside_module(header, hook->island_address, 5)) || !origins_are_sound(header, hook))
		return false;
	if (hook->patch_bytes < (hook->form == ADA_PATCH_ISLAND ? 2 : hook->form == ADA_PATCH_INT3 ? 1 : 5))
		return false;
	for (uint32_t i = 0; i < hook->reloc_count; i++) {
		const struct ada_plan_reloc *reloc = &relocs[hook->reloc_first + i];
		unsigned field_bytes = reloc->kind == ADA_RELOC_ABS64 ? 8 : 4;

		if (reloc->kind < ADA_RELOC_REL32 || reloc->kind > ADA_RELOC_ABS64 || reloc->offset + field_bytes > hook->body_bytes)
			return false;
	}
	return true;
}

static bool call_is_sound(const struct ada_plan_header *header, const struct ada_plan_call *call)
{
	return call->hook < header->hook_count && call->behind >= ADA_CALL_BYTES &&
	       call->behind <= header->address_end - header->address_start;
}

static bool calls_ascend(const struct ada_plan_call *one, const struct ada_plan_call *next)
{
	return one->hook < next->hook || (one->hook == next->hook && one->behind < next->behind);
}

int ada_plan_check(const void *memory, uint64_t bytes, struct ada_error *error)
{
	const struct ada_plan_header *header = memory;
	const uint8_t *base = memory;
	const struct ada_plan_function *functions;
	const struct ada_plan_hook *hooks;
	const struct ada_plan_import *imports;
	const struct ada_plan_call *calls;

	if (bytes < sizeof *header)
		return bad(error, "truncated");
	if (check_header(header, base, bytes, error))
		return -EBADMSG;
	functions = (const void *)(base + header->functions_offset);
	hooks = (const void *)(base + header->hooks_offset);
	imports = (const void *)(base + header->imports_offset);
	calls = (const void *)(base + header->calls_offset);
	for (uint32_t i = 0; i < header->function_count; i++)
		if (!function_is_sound(header, &functions[i]) || (i && functions[i].address <= functions[i - 1].address) ||
		    (functions[i].hook != ADA_PLAN_NONE && hooks[functions[i].hook].function != i))
			return bad(error, "impossible function");
	for (uint32_t i = 0; i < header->hook_count; i++)
		if (!hook_is_sound(header, &hooks[i], (const void *)(base + header->relocs_offset)) || !host_is_sound(header, hooks, i) ||
		    (i && hooks[i].patch_address <= hooks[i - 1].patch_address) || functions[hooks[i].function].hook != i)
			return bad(error, "impossible hook");
	for (uint32_t i = 0; i < header->import_count; i++)
		if (imports[i].name >= header->strings_bytes || imports[i].version >= header->strings_bytes ||
		    imports[i].refusal >= ADA_REFUSAL_COUNT || !is_inside_module(header, imports[i].slot, 8) ||
		    !registers_are_sound(imports[i].free_at_entry, imports[i].free_at_exit))
			return bad(error, "impossible import");
	for (uint32_t i = 0; i < header->call_count; i++)
		if (!call_is_sound(header, &calls[i]) || (i && !calls_ascend(&calls[i - 1], &calls[i])))
			return bad(error, "impossible call");
	return 0;
}
