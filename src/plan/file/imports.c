/* The GOT: the slots through which this module calls others. Every JUMP_SLOT is such a slot. A GLOB_DAT slot (-fno-plt,
 * Rust) is one only where all instructions that use it call or jump through it: a function pointer read from the slot
 * must stay the function's address. */
#include <errno.h>
#include <stdlib.h>
#include "plan/code/code.h"
#include "plan/file/strings.h"

static enum ada_refusal import_refusal(const struct ada_planner *planner, const struct ada_slot_use *use, const char *name)
{
	enum ada_refusal refusal = ada_name_refusal(name);

	if (ada_name_is_intercept(name))
		return ADA_REFUSAL_INTERCEPTED;
	if (planner->runtime_imports)
		refusal = ADA_REFUSAL_RUNTIME;
	if (refusal)
		return refusal;
	return use->jump_slot || (use->called && !use->read) ? ADA_REFUSAL_NONE : ADA_REFUSAL_NOT_A_CALL;
}

/* GLOB_DAT slots import data as well: only slots that something calls through, or that name a function of this file,
 * are worth a line. */
static bool is_of_interest(const struct ada_slot_use *use)
{
	return use->jump_slot || use->called;
}

int ada_imports_read(struct ada_planner *planner, struct ada_strings *strings, struct ada_plan_import **imports, uint32_t *count)
{
	struct ada_elf_imports *symbols;
	struct ada_elf_import symbol;
	int status = ada_elf_imports_open(&symbols, planner->elf);

	*count = 0;
	*imports = status ? NULL : calloc(planner->slots.count + 1, sizeof **imports);
	if (!*imports)
		status = -ENOMEM;
	for (size_t i = 0; i < planner->slots.count && !status; i++) {
		const struct ada_slot_use *use = &planner->slots.items[i];
		struct ada_plan_import *import = &(*imports)[*count];
		enum ada_refusal refusal;

		if (!is_of_interest(use) || !ada_elf_imports_get(symbols, use->symbol, &symbol) || !symbol.name[0] ||
		    use->address < planner->elf->address_start || use->address + 8 > planner->elf->address_end)
			continue;
		refusal = import_refusal(planner, use, symbol.name);
		*import = (struct ada_plan_import){
			.slot = use->address,
			.refusal = (uint16_t)refusal,
			.free_at_entry = planner->import_free_at_entry,
			.free_at_exit = planner->import_free_at_exit,
			.flags = (uint16_t)((use->jump_slot ? ADA_IMPORT_JUMP_SLOT : 0) | (refusal ? ADA_IMPORT_REFUSED : 0)),
		};
		status = ada_strings_add(strings, symbol.name, strlen(symbol.name), &import->name);
		if (!status)
			status = ada_strings_add(strings, symbol.version, strlen(symbol.version), &import->version);
		(*count)++;
	}
	ada_elf_imports_close(symbols);
	return status;
}
