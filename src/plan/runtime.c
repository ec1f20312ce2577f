/* Language run-times that key on return addresses: a stub between a function and its caller hides from them where they
 * are. Known by what their linkers and compilers leave in a file.
 *
 *   Go      the table of its functions, .gopclntab. Nothing of such a file is hooked, C parts neither: they are entered
 *           from Go's stacks
 *   GHC     stg_upd_frame_info, the update frame. Nothing is hooked: all of its code jumps, no address is a return address
 *   OCaml   caml_frametable, by return address. What is named caml* is not hooked
 *   V8      Builtins_* (names.c)
 */
#include <string.h>
#include "plan/planner.h"

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

void ada_runtimes_refuse(struct ada_planner *planner)
{
	bool all = has_go(planner) || has_symbol(planner, "stg_upd_frame_info");
	bool ocaml = has_symbol(planner, "caml_frametable");

	if (!all && !ocaml)
		return;
	for (size_t i = 0; i < planner->functions.count; i++) {
		struct ada_function *function = &planner->functions.items[i];

		if (!function->refusal && !(function->flags & ADA_FUNCTION_INTERCEPT) &&
		    (all || !strncmp(function->name, "caml", 4)))
			function->refusal = ADA_REFUSAL_RUNTIME;
	}
}
