/* See planner.h. */
#include "plan/planner.h"
#include <errno.h>
#include <stdlib.h>
#include "plan/code/code.h"
#include "plan/file/file.h"
#include "plan/patch/patch.h"
#include "plan/registers/registers.h"

static void release(struct ada_planner *planner)
{
	ada_array_free(&planner->symbols);
	ada_array_free(&planner->frames);
	ada_elf_relocs_free(&planner->relocs);
	ada_elf_close(planner->debug);
	ada_registers_free(planner->registers);
	free(planner->near_entry);
	free(planner->is_start);
	ada_array_free(&planner->codes);
	ada_array_free(&planner->functions);
	ada_array_free(&planner->pieces);
	ada_array_free(&planner->targets);
	ada_array_free(&planner->calls);
	ada_array_free(&planner->pads);
	ada_array_free(&planner->tables);
	ada_array_free(&planner->slots);
	ada_array_free(&planner->labels);
	ada_array_free(&planner->hooks);
	ada_array_free(&planner->plan_relocs);
	ada_array_free(&planner->origins);
	ada_array_free(&planner->bodies);
}

static bool has_intercepts(const struct ada_planner *planner)
{
	for (size_t i = 0; i < planner->functions.count; i++)
		if (planner->functions.items[i].flags & ADA_FUNCTION_INTERCEPT)
			return true;
	return false;
}

int ada_planner_run(const struct ada_elf *elf, const struct ada_plan_options *options, uint8_t **bytes, uint64_t *length,
		    struct ada_error *error)
{
	struct ada_planner planner = { .elf = elf, .options = options };
	int status;

	ZydisDecoderInit(&planner.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	status = ada_elf_relocs_read(elf, &planner.relocs);
	if (!status)
		status = ada_functions_find(&planner, error);
	if (!status && (options->decode || has_intercepts(&planner))) {
		status = ada_code_read(&planner);
		if (!status)
			status = ada_registers_settle(&planner);
		if (!status)
			status = ada_patch_all(&planner);
	} else if (!status) {
		ada_callers_refuse(&planner);
	}
	if (!status)
		status = ada_plan_assemble(&planner, bytes, length);
	if (status == -ENOMEM)
		ada_error_set(error, ENOMEM, "%s: out of memory while planning", elf->path);
	release(&planner);
	return status;
}
