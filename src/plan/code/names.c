/* What a name alone says. These functions of libc and of the compilers break, or lie, where something stands between them
 * and their caller, wherever they are defined, and so do imports of them. The table is sorted and searched by bisection.
 */
#include <stdlib.h>
#include <string.h>
#include "abi/intercept.h"
#include "abi/object.h"
#include "plan/code/code.h"

#define NAME_MAX_BYTES 48 /* longer names are none of these */

struct rule {
	const char *name;
	enum ada_refusal refusal;
};

struct object {
	const char *name;
	uint16_t flag;
};

static const struct rule exact_rules[] = {
	/* by strcmp */
	{ "_ITM_deregisterTMCloneTable", ADA_REFUSAL_START },
	{ "_ITM_registerTMCloneTable", ADA_REFUSAL_START },
	{ "____longjmp_chk", ADA_REFUSAL_STACK_SWITCH },
	{ "__clone", ADA_REFUSAL_STACK_SWITCH },
	{ "__clone3", ADA_REFUSAL_STACK_SWITCH },
	{ "__cxa_finalize", ADA_REFUSAL_START },
	{ "__deregister_frame", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__deregister_frame_info", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__fentry__", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__getcontext", ADA_REFUSAL_RETURNS_TWICE },
	{ "__gmon_start__", ADA_REFUSAL_START },
	{ "__libc_dlopen_mode", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__libc_dlsym", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__libc_longjmp", ADA_REFUSAL_STACK_SWITCH },
	{ "__libc_siglongjmp", ADA_REFUSAL_STACK_SWITCH },
	{ "__libc_start_call_main", ADA_REFUSAL_START },
	{ "__libc_start_main", ADA_REFUSAL_START },
	{ "__longjmp", ADA_REFUSAL_STACK_SWITCH },
	{ "__longjmp_cancel", ADA_REFUSAL_STACK_SWITCH },
	{ "__longjmp_chk", ADA_REFUSAL_STACK_SWITCH },
	{ "__makecontext", ADA_REFUSAL_STACK_SWITCH },
	{ "__morestack", ADA_REFUSAL_STACK_SWITCH },
	{ "__morestack_non_split", ADA_REFUSAL_STACK_SWITCH },
	{ "__restore_rt", ADA_REFUSAL_STACK_SWITCH },
	{ "__setcontext", ADA_REFUSAL_STACK_SWITCH },
	{ "__setjmp", ADA_REFUSAL_RETURNS_TWICE },
	{ "__sigsetjmp", ADA_REFUSAL_RETURNS_TWICE },
	{ "__start_context", ADA_REFUSAL_STACK_SWITCH },
	{ "__swapcontext", ADA_REFUSAL_STACK_SWITCH },
	{ "__tls_get_addr", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__vfork", ADA_REFUSAL_RETURNS_TWICE },
	{ "_longjmp", ADA_REFUSAL_STACK_SWITCH },
	{ "_mcount", ADA_REFUSAL_CALLER_LOOKUP },
	{ "_setjmp", ADA_REFUSAL_RETURNS_TWICE },
	{ "_start", ADA_REFUSAL_START },
	{ "clone", ADA_REFUSAL_STACK_SWITCH },
	{ "clone3", ADA_REFUSAL_STACK_SWITCH },
	{ "dladdr", ADA_REFUSAL_CALLER_LOOKUP },
	{ "dladdr1", ADA_REFUSAL_CALLER_LOOKUP },
	{ "dlmopen", ADA_REFUSAL_CALLER_LOOKUP },
	{ "dlopen", ADA_REFUSAL_CALLER_LOOKUP },
	{ "dlsym", ADA_REFUSAL_CALLER_LOOKUP },
	{ "dlvsym", ADA_REFUSAL_CALLER_LOOKUP },
	{ "getcontext", ADA_REFUSAL_RETURNS_TWICE },
	{ "jump_fcontext", ADA_REFUSAL_STACK_SWITCH },
	{ "longjmp", ADA_REFUSAL_STACK_SWITCH },
	{ "makecontext", ADA_REFUSAL_STACK_SWITCH },
	{ "mcount", ADA_REFUSAL_CALLER_LOOKUP },
	{ "ontop_fcontext", ADA_REFUSAL_STACK_SWITCH },
	{ "setcontext", ADA_REFUSAL_STACK_SWITCH },
	{ "setjmp", ADA_REFUSAL_RETURNS_TWICE },
	{ "siglongjmp", ADA_REFUSAL_STACK_SWITCH },
	{ "sigsetjmp", ADA_REFUSAL_RETURNS_TWICE },
	{ "swapcontext", ADA_REFUSAL_STACK_SWITCH },
	{ "vfork", ADA_REFUSAL_RETURNS_TWICE },
};

static const struct rule prefix_rules[] = {
	{ "Builtins_", ADA_REFUSAL_RUNTIME }, /* V8 */
	{ "_Unwind_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__asan_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__cyg_profile_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__hwasan_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__interceptor_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__llvm_retpoline_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__lsan_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__msan_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__register_frame", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__sanitizer_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__tsan_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__ubsan_", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__x86_indirect_thunk", ADA_REFUSAL_CALLER_LOOKUP },
	{ "__x86_return_thunk", ADA_REFUSAL_CALLER_LOOKUP },
	{ "_dl_", ADA_REFUSAL_CALLER_LOOKUP },
};

/* Mangled namespaces of the sanitizers' own functions, which a program may contain. These functions key on return addresses,
 * and the leak checker runs some of them beside the program on the very same thread data (clone without a TLS of its own). */
static const char *const sanitizers[] = {
	"11__sanitizer", "14__interception", "6__asan", "6__lsan", "6__msan", "6__tsan", "7__ubsan", "8__hwasan", "9__memprof",
};

static bool is_sanitizers(const char *mangled)
{
	const char *name = mangled + strlen("_ZN");

	if (strncmp(mangled, "_ZN", 3))
		return false;
	name += *name == 'K'; /* const */
	for (size_t i = 0; i < sizeof sanitizers / sizeof *sanitizers; i++)
		if (!strncmp(name, sanitizers[i], strlen(sanitizers[i])))
			return true;
	return false;
}

static int compare_exact(const void *name, const void *rule)
{
	return strcmp(name, ((const struct rule *)rule)->name);
}

/* Puts the name without "@VERSION" into `plain`; false where the name is too long to be of interest. */
static bool plain_name(const char *name, char plain[NAME_MAX_BYTES])
{
	size_t length = strcspn(name, "@");

	if (length >= NAME_MAX_BYTES)
		return false;
	memcpy(plain, name, length);
	plain[length] = 0;
	return true;
}

enum ada_refusal ada_name_refusal(const char *name)
{
	char plain[NAME_MAX_BYTES];
	const struct rule *rule;

	/* Nearly all names are C++ or Rust ones. */
	if (name[0] == '_' && name[1] == 'Z')
		return is_sanitizers(name) ? ADA_REFUSAL_RUNTIME : ADA_REFUSAL_NONE;
	for (size_t i = 0; i < sizeof prefix_rules / sizeof *prefix_rules; i++)
		if (!strncmp(name, prefix_rules[i].name, strlen(prefix_rules[i].name)))
			return prefix_rules[i].refusal;
	if (!plain_name(name, plain))
		return ADA_REFUSAL_NONE;
	rule = bsearch(plain, exact_rules, sizeof exact_rules / sizeof *exact_rules, sizeof *exact_rules, compare_exact);
	return rule ? rule->refusal : ADA_REFUSAL_NONE;
}

bool ada_name_is_intercept(const char *name)
{
	static const char *const intercepts[] = {
#define X(id) #id,
		ADA_INTERCEPTS(X)
#undef X
	};
	char plain[NAME_MAX_BYTES];

	if (!plain_name(name, plain))
		return false;
	for (size_t i = 0; i < ADA_INTERCEPT_COUNT; i++)
		if (!strcmp(plain, intercepts[i]))
			return true;
	return false;
}

static int compare_object(const void *name, const void *object)
{
	return strcmp(name, ((const struct object *)object)->name);
}

uint16_t ada_name_objects(const char *name)
{
	static const struct object objects[] = {
#define X(id, flag) { id, flag },
		ADA_OBJECT_FUNCTIONS(X)
#undef X
	};
	const struct object *object;
	char plain[NAME_MAX_BYTES];

	if (!plain_name(name, plain))
		return 0;
	object = bsearch(plain, objects, sizeof objects / sizeof *objects, sizeof *objects, compare_object);
	return object ? object->flag : 0;
}

/* GCC's "f.cold" or "f.cold.3", BOLT's "f.warm", and clang's "f.__part.3" and "f.eh" (basic block sections): a part of f that
 * only jumps reach. */
bool ada_name_is_cold(const char *name)
{
	static const char *const parts[] = { ".cold", ".warm", ".__part", ".eh" };

	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		const char *part = strstr(name, parts[i]);

		if (!part)
			continue;
		part += strlen(parts[i]);
		if (*part == '.')
			part += 1 + strspn(part + 1, "0123456789");
		if (!*part)
			return true;
	}
	return false;
}
