/* dl_iterate_phdr as unwinders call it. Those that don't ask _dl_find_object (LLVM's, nongnu libunwind, libgcc before 12) learn of our
 * regions here, and nongnu libunwind of stubs in the form that it reads rightly (stubs.S). Each is an object of its own to them, before
 * all others. All other callers see what the loader says.
 *
 * We know a caller by the function that it wants called: by that function's name, or by its library's exports.
 */
#include <dlfcn.h>
#include "agent/hook/view.h"
#include "agent/life/life.h"

#pragma weak dlsym

typedef int visit_function(struct dl_phdr_info *info, size_t bytes, void *argument);
typedef int iterate_function(visit_function *visit, void *argument);

static iterate_function *real;

struct walk {
	visit_function *visit;
	void *argument;
	enum ada_view_kind kind;
	bool begun;
};

ADA_EXPORTED int dl_iterate_phdr(visit_function *visit, void *argument);

void ada_unwinder_start(void)
{
	real = (iterate_function *)ada_module_find_symbol("dl_iterate_phdr");
}

static bool ends_in(const char *name, const char *end)
{
	size_t bytes = ada_string_bytes(name), end_bytes = ada_string_bytes(end);

	return bytes >= end_bytes && !memcmp(name + bytes - end_bytes, end, end_bytes);
}

static bool defines(const struct ada_module *module, const char *name)
{
	return ada_symbols_find(&module->symbols, name, "");
}

static bool is_unwinder(uint64_t visit, enum ada_view_kind *kind)
{
	const struct ada_module *module = ada_module_of(visit);
	uint32_t number = module && module->plan ? ada_plan_find(module->plan, visit - module->bias, false) : ADA_PLAN_NONE;
	const char *name = "";

	if (!module)
		return false;
	if (number != ADA_PLAN_NONE)
		name = ada_plan_name(module->plan, ada_plan_function_at(module->plan, number)->name);
	if (ends_in(name, "dwarf_callback"))
		*kind = ADA_VIEW_PLAIN;
	else if (ends_in(name, "_Unwind_IteratePhdrCallback") || ada_string_begins(name, "_ZN9libunwindL24findUnwindSectionsByPhdr"))
		*kind = ADA_VIEW_GUARDED;
	else if (module->flags & ADA_MODULE_MAIN)
		return false;
	else if (defines(module, "_ULx86_64_step") || defines(module, "_Ux86_64_step"))
		*kind = ADA_VIEW_PLAIN;
	else if (defines(module, "_Unwind_Find_FDE"))
		*kind = ADA_VIEW_RAISED;
	else
		return false;
	return true;
}

static int visit_view(const struct walk *walk, const struct dl_phdr_info *any, size_t bytes, const struct ada_view *view, uint64_t start)
{
	struct dl_phdr_info info = { 0 };

	memcpy(&info, any, bytes < sizeof info ? bytes : sizeof info); /* the counters by which unwinders know their caches' age */
	info.dlpi_addr = start;
	info.dlpi_name = "ada";
	info.dlpi_phdr = view->segments;
	info.dlpi_phnum = sizeof view->segments / sizeof *view->segments;
	info.dlpi_tls_modid = 0;
	info.dlpi_tls_data = NULL;
	return walk->visit(&info, bytes < sizeof info ? bytes : sizeof info, walk->argument);
}

static int visit_ours(const struct walk *walk, const struct dl_phdr_info *any, size_t bytes)
{
	const void *at = NULL;
	uint64_t start;
	const struct ada_view *view = ada_stub_view(walk->kind, &start);
	int result;

	do {
		result = visit_view(walk, any, bytes, view, start);
		view = ada_region_view(&at, walk->kind, &start);
	} while (!result && view);
	return result;
}

static int visit_each(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	struct walk *walk = argument;
	int result = walk->begun ? 0 : visit_ours(walk, info, bytes);

	walk->begun = true;
	return result ? result : walk->visit(info, bytes, walk->argument);
}

int dl_iterate_phdr(visit_function *visit, void *argument)
{
	struct walk walk = { .visit = visit, .argument = argument };

	if (!real) /* an ifunc's resolver, before our constructor */
		real = dlsym ? (iterate_function *)dlsym(RTLD_NEXT, "dl_iterate_phdr") : NULL;
	if (!real)
		return 0;
	return is_unwinder((uint64_t)visit, &walk.kind) ? real(visit_each, &walk) : real(visit, argument);
}
