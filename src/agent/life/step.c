/* Moves libunwind's cursors, nongnu's and LLVM's, over the frames of stubs and trampolines when the program moves them, so that the
 * program sees exactly what it would see untraced. We replace the functions that set a cursor on a frame; each goes on into the real one
 * of the cursor's own library: there may be several libraries, each with its own layout of cursors. Steps that a library takes by itself
 * stay as they are.
 */
#include <dlfcn.h>
#include "agent/life/life.h"

#pragma weak dlsym

#define CONTEXT_WORDS 128 /* nongnu's unw_context_t is the ucontext_t */
#define CURSOR_WORDS 127
#define STACK_POINTER 7 /* its number of it */

typedef int step_function(void *cursor);
typedef int get_function(void *cursor, int number, uint64_t *value);
typedef int set_function(void *cursor, int number, uint64_t value);
typedef int init_function(void *cursor, void *context, int flag);
typedef int context_function(void *context);

struct library { /* the functions of one API */
	const char *get, *step;
	int ip;		/* its number of the instruction pointer */
	uint32_t owner; /* the word of a cursor that points into its library */
};

static const struct library local = { "_ULx86_64_get_reg", "_ULx86_64_step", 16, 1 }; /* UNW_LOCAL_ONLY */
static const struct library generic = { "_Ux86_64_get_reg", "_Ux86_64_step", 16, 1 };
static const struct library llvm = { "unw_get_reg", "unw_step", -1, 0 };

ADA_EXPORTED int _ULx86_64_step(void *cursor);
ADA_EXPORTED int _Ux86_64_step(void *cursor);
ADA_EXPORTED int unw_step(void *cursor);
ADA_EXPORTED int _ULx86_64_init_local(void *cursor, void *context);
ADA_EXPORTED int _Ux86_64_init_local(void *cursor, void *context);
ADA_EXPORTED int unw_init_local(void *cursor, void *context);
ADA_EXPORTED int _ULx86_64_init_local2(void *cursor, void *context, int flag);
ADA_EXPORTED int _Ux86_64_init_local2(void *cursor, void *context, int flag);
ADA_EXPORTED int _ULx86_64_set_reg(void *cursor, int number, uint64_t value);
ADA_EXPORTED int _Ux86_64_set_reg(void *cursor, int number, uint64_t value);
ADA_EXPORTED int unw_backtrace(void **addresses, int size);

static uint64_t defined(const struct ada_module *module, const char *name)
{
	const Elf64_Sym *symbol = module && module->state != ADA_MODULE_GONE ? ada_symbols_find(&module->symbols, name, "") : NULL;

	return symbol ? module->bias + symbol->st_value : 0;
}

/* The function in the module that holds `inside`, else the first of that name; 0: there is none. */
static uint64_t library_find(const char *name, uint64_t inside)
{
	uint64_t found = defined(ada_module_of(inside), name);

	for (uint32_t id = 0; id < ada_module_count() && !found; id++)
		if (!(ada_module_at(id)->flags & ADA_MODULE_AGENT))
			found = defined(ada_module_at(id), name);
	if (!found && dlsym) /* in a process that isn't traced there is no table */
		found = (uint64_t)dlsym(RTLD_NEXT, name);
	return found;
}

/* Steps from a frame of ours on to one of the program's; `status` is the last step's. A cursor whose owner lies in no module is in
 * another process.
 */
static int step_over(const struct library *library, void *cursor, int status)
{
	uint64_t owner = ((const uint64_t *)cursor)[library->owner], ip;
	get_function *get;
	step_function *step;

	if (!ada_module_of(owner))
		return status;
	get = (get_function *)library_find(library->get, owner);
	step = (step_function *)library_find(library->step, owner);
	while (get && step && status >= 0 && !get(cursor, library->ip, &ip) && (ada_stub_is_return(ip) || ada_region_holds(ip))) {
		int next = step(cursor);

		if (next <= 0)
			return next;
		status = next;
	}
	return status;
}

static int step_from(const struct library *library, void *cursor, uint64_t caller)
{
	step_function *step = (step_function *)library_find(library->step, ((const uint64_t *)cursor)[library->owner]);
	int status = step ? step(cursor) : -1;

	return status > 0 && !defined(ada_module_of(caller), library->step) ? step_over(library, cursor, status) : status;
}

/* nongnu libunwind writes to where the return address was saved. A hooked call's address was not saved: so we put it into its slot, as if
 * the call had returned already, and tell the cursor so.
 */
static void library_settle(const struct library *library, uint64_t *cursor)
{
	uint64_t sp, ip, site;
	get_function *get = (get_function *)library_find(library->get, cursor[library->owner]);

	if (!ada_module_of(cursor[library->owner]) || !get || get(cursor, STACK_POINTER, &sp) || get(cursor, library->ip, &ip))
		return;
	site = ada_site_of_slot(((const uint64_t *)sp)[-1]);
	for (uint32_t i = 0; site && i < CURSOR_WORDS; i++) {
		if (cursor[i] != site)
			continue;
		((uint64_t *)sp)[-1] = ip;
		cursor[i] = sp - sizeof(uint64_t);
	}
}

static int set_with(const struct library *library, const char *name, void *cursor, int number, uint64_t value)
{
	set_function *set = (set_function *)library_find(name, ((const uint64_t *)cursor)[library->owner]);

	if (number == library->ip)
		library_settle(library, cursor);
	return set ? set(cursor, number, value) : -1;
}

/* A cursor that is yet to be filled has no owner: the library is the caller's own copy, if the caller has one. */
static int init_with(const struct library *library, const char *name, void *cursor, void *context, int flag, uint64_t caller)
{
	init_function *init = (init_function *)library_find(name, caller);
	int status = init ? init(cursor, context, flag) : -1;

	if (!status && step_over(library, cursor, 0) < 0)
		status = -1;
	return status;
}

int _ULx86_64_step(void *cursor)
{
	return step_from(&local, cursor, (uint64_t)__builtin_return_address(0));
}

int _Ux86_64_step(void *cursor)
{
	return step_from(&generic, cursor, (uint64_t)__builtin_return_address(0));
}

int unw_step(void *cursor)
{
	return step_from(&llvm, cursor, (uint64_t)__builtin_return_address(0));
}

int _ULx86_64_init_local(void *cursor, void *context)
{
	return init_with(&local, "_ULx86_64_init_local", cursor, context, 0, (uint64_t)__builtin_return_address(0));
}

int _Ux86_64_init_local(void *cursor, void *context)
{
	return init_with(&generic, "_Ux86_64_init_local", cursor, context, 0, (uint64_t)__builtin_return_address(0));
}

int unw_init_local(void *cursor, void *context)
{
	return init_with(&llvm, "unw_init_local", cursor, context, 0, (uint64_t)__builtin_return_address(0));
}

int _ULx86_64_init_local2(void *cursor, void *context, int flag)
{
	return init_with(&local, "_ULx86_64_init_local2", cursor, context, flag, (uint64_t)__builtin_return_address(0));
}

int _Ux86_64_init_local2(void *cursor, void *context, int flag)
{
	return init_with(&generic, "_Ux86_64_init_local2", cursor, context, flag, (uint64_t)__builtin_return_address(0));
}

int _ULx86_64_set_reg(void *cursor, int number, uint64_t value)
{
	return set_with(&local, "_ULx86_64_set_reg", cursor, number, value);
}

int _Ux86_64_set_reg(void *cursor, int number, uint64_t value)
{
	return set_with(&generic, "_Ux86_64_set_reg", cursor, number, value);
}

/* As nongnu's own, but step by step: that one's short cut ends at the first frame of ours. */
int unw_backtrace(void **addresses, int size)
{
	uint64_t context[CONTEXT_WORDS], cursor[CURSOR_WORDS], ip, caller = (uint64_t)__builtin_return_address(0);
	context_function *get_context = (context_function *)library_find("_Ux86_64_getcontext", caller);
	init_function *init = (init_function *)library_find("_ULx86_64_init_local", caller);
	get_function *get = (get_function *)library_find(local.get, caller);
	int count = 0;

	if (!get_context || !init || !get || get_context(context) || init(cursor, context, 0))
		return 0;
	while (count < size && step_from(&local, cursor, 0) > 0 && !get(cursor, local.ip, &ip))
		addresses[count++] = (void *)ip;
	return count;
}
