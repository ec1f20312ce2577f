/* Lays out what the stages found out, as abi/plan.h says. */
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include "plan/file/file.h"
#include "plan/file/strings.h"

static int hook_order(const void *a, const void *b)
{
	const struct ada_plan_hook *x = a, *y = b;

	return x->patch_address < y->patch_address ? -1 : x->patch_address > y->patch_address;
}

static void sort_hooks(struct ada_planner *planner)
{
	ada_array_sort(&planner->hooks, hook_order);
	for (size_t i = 0; i < planner->hooks.count; i++)
		planner->functions.items[planner->hooks.items[i].function].hook = (uint32_t)i;
	for (size_t i = 0; i < planner->hooks.count; i++) {
		const struct ada_function *function = &planner->functions.items[planner->hooks.items[i].function];

		/* The host lies within the reach of a short jump: few hooks lie between. */
		if (function->host != ADA_PLAN_NONE)
			planner->hooks.items[i].host = (int16_t)((int64_t)planner->functions.items[function->host].hook - (int64_t)i);
	}
}

static uint16_t refusal_flag(enum ada_refusal refusal)
{
	switch (refusal) {
	case ADA_REFUSAL_RUNTIME: return ADA_FUNCTION_RUNTIME;
	case ADA_REFUSAL_CALLER_LOOKUP:
	case ADA_REFUSAL_RETURNS_TWICE:
	case ADA_REFUSAL_STACK_SWITCH: return ADA_FUNCTION_CALLER;
	default: return 0;
	}
}

static int convert_functions(const struct ada_planner *planner, struct ada_strings *strings, struct ada_plan_function **functions)
{
	*functions = calloc(planner->functions.count + 1, sizeof **functions);
	if (!*functions)
		return -ENOMEM;
	for (size_t i = 0; i < planner->functions.count; i++) {
		const struct ada_function *function = &planner->functions.items[i];
		struct ada_plan_function *out = &(*functions)[i];
		int status;

		*out = (struct ada_plan_function){
			.address = function->address,
			.size = function->size,
			.hook = function->hook,
			.flags = function->flags | refusal_flag(function->refusal),
			.refusal = function->refusal,
		};
		status = ada_strings_add(strings, function->name, strcspn(function->name, "@"), &out->name);
		if (status)
			return status;
	}
	return 0;
}

/* Copies one table behind the last, 8-aligned; returns its offset. */
static uint64_t place(uint8_t *bytes, uint64_t *at, const void *table, uint64_t table_bytes)
{
	uint64_t offset = *at;

	if (table_bytes)
		memcpy(bytes + offset, table, table_bytes);
	*at = (offset + table_bytes + 7) & ~7ull;
	return offset;
}

static void fill_header(const struct ada_planner *planner, struct ada_plan_header *header)
{
	const struct ada_elf *elf = planner->elf;

	memcpy(header->magic, ADA_PLAN_MAGIC, sizeof header->magic);
	header->version = ADA_PLAN_VERSION;
	header->flags = planner->options->decode ? ADA_PLAN_DECODED : 0;
	if (planner->moves_base)
		header->flags |= ADA_PLAN_MOVES_BASE;
	header->build_id_bytes = elf->build_id_bytes;
	memcpy(header->build_id, elf->build_id, elf->build_id_bytes);
	header->address_start = elf->address_start;
	header->address_end = elf->address_end;
	header->function_count = (uint32_t)planner->functions.count;
	header->hook_count = (uint32_t)planner->hooks.count;
	header->reloc_count = (uint32_t)planner->plan_relocs.count;
	header->origin_count = (uint32_t)planner->origins.count;
}

int ada_plan_assemble(struct ada_planner *planner, uint8_t **bytes, uint64_t *length)
{
	struct ada_plan_header header = { 0 };
	struct ada_plan_function *functions = NULL;
	struct ada_plan_import *imports = NULL;
	struct ada_plan_call *calls = NULL;
	struct ada_strings strings = { 0 };
	uint64_t at = sizeof header, total;
	uint32_t nothing;
	int status = ada_strings_add(&strings, "", 0, &nothing);

	*bytes = NULL;
	sort_hooks(planner);
	if (!status)
		status = convert_functions(planner, &strings, &functions);
	if (!status && planner->options->decode)
		status = ada_imports_read(planner, &strings, &imports, &header.import_count);
	if (!status)
		status = ada_calls_choose(planner, &calls, &header.call_count);
	if (status)
		goto out;
	fill_header(planner, &header);
	header.bodies_bytes = planner->bodies.count;
	header.strings_bytes = strings.count;
	total = sizeof header + header.function_count * sizeof *functions + header.hook_count * sizeof(struct ada_plan_hook) +
		header.reloc_count * sizeof(struct ada_plan_reloc) + header.import_count * sizeof *imports +
		header.origin_count * sizeof(struct ada_plan_origin) + header.call_count * sizeof *calls + header.bodies_bytes +
		header.strings_bytes + 8 * 8;
	*bytes = calloc(1, total);
	if (!*bytes) {
		status = -ENOMEM;
		goto out;
	}
	header.functions_offset = place(*bytes, &at, functions, header.function_count * sizeof *functions);
	header.hooks_offset = place(*bytes, &at, planner->hooks.items, header.hook_count * sizeof(struct ada_plan_hook));
	header.relocs_offset = place(*bytes, &at, planner->plan_relocs.items, header.reloc_count * sizeof(struct ada_plan_reloc));
	header.imports_offset = place(*bytes, &at, imports, header.import_count * sizeof *imports);
	header.origins_offset = place(*bytes, &at, planner->origins.items, header.origin_count * sizeof(struct ada_plan_origin));
	header.calls_offset = place(*bytes, &at, calls, header.call_count * sizeof *calls);
	header.bodies_offset = place(*bytes, &at, planner->bodies.items, header.bodies_bytes);
	header.strings_offset = place(*bytes, &at, strings.items, header.strings_bytes);
	header.total_bytes = *length = at;
	header.checksum = libdeflate_crc32(0, *bytes + sizeof header, at - sizeof header);
	memcpy(*bytes, &header, sizeof header);
out:
	free(functions);
	free(imports);
	free(calls);
	ada_array_free(&strings);
	return status;
}
