/* Language run-times that key on return addresses: a stub between a function and its caller hides from the run-time
 * where it is. A run-time is known by what its linkers and compilers leave in a file.
 *
 *   Go      the table of its functions, .gopclntab. Nothing of such a file is hooked, C parts neither: they are entered
 *           from Go's stacks
 *   GHC     stg_upd_frame_info, the update frame, defined or imported. Nothing is hooked: all of its code jumps, from module
 *           to module too, and what lies on the stack then is no return address
 *   OCaml   caml_frametable, by return address. What is named caml* is not hooked
 *   V8      Builtins_* (names.c)
 */
#include <string.h>
#include "plan/code/walk.h"

static bool has_go(const struct ada_planner *planner)
{
	for (size_t i = 0; i < planner->elf->sections.count; i++)
		if (strstr(planner->elf->sections.items[i].name, ".gopclntab"))
			return true;
	return false;
}

static bool has_symbol(const struct ada_planner *planner, const char *name)
{
	for (size_t i = 0; i < planner->symbols.count; i++)
		if (planner->symbols.items[i].name[0] == name[0] && !strcmp(planner->symbols.items[i].name, name))
			return true;
	return false;
}

/* False where memory lacks, as for a file that can't be read. */
static bool imports_symbol(const struct ada_planner *planner, const char *name)
{
	struct ada_elf_imports *symbols;
	struct ada_elf_import symbol;
	bool found = false;

	if (ada_elf_imports_open(&symbols, planner->elf))
		return false;
	for (size_t i = 0; i < planner->relocs.slots.count && !found; i++)
		found = ada_elf_imports_get(symbols, planner->relocs.slots.items[i].symbol, &symbol) && !strcmp(symbol.name, name);
	ada_elf_imports_close(symbols);
	return found;
}

void ada_runtimes_refuse(struct ada_planner *planner)
{
	bool ocaml = has_symbol(planner, "caml_frametable"), all;

	planner->runtime_imports = imports_symbol(planner, "stg_upd_frame_info");
	all = has_go(planner) || has_symbol(planner, "stg_upd_frame_info") || planner->runtime_imports;
	if (!all && !ocaml)
		return;
	for (size_t i = 0; i < planner->functions.count; i++) {
		struct ada_function *function = &planner->functions.items[i];

		if (!function->refusal && !(function->flags & ADA_FUNCTION_INTERCEPT) && (all || !strncmp(function->name, "caml", 4)))
			function->refusal = ADA_REFUSAL_RUNTIME;
	}
}
