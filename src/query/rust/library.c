/* Functions of Rust's library: it is linked into the program, so only their names tell them. */
#include <string.h>
#include "query/rust/rust.h"

#define HASH 20 /* "17h", 16 digits and "E" end an older mangled name */

static bool begins_with_crate(const char *name)
{
	static const char *const crates[] = { "std::", "core::", "alloc::", "__rustc::" };

	for (size_t i = 0; i < sizeof crates / sizeof *crates; i++)
		if (!strncmp(name, crates[i], strlen(crates[i])))
			return true;
	return false;
}

/* "<usize as core::slice::index::SliceIndex<[T]>>::index": a trait of the library, for a type of the language. */
static bool is_of_language(const char *name)
{
	const char *as = *name == '<' ? strstr(name, " as ") : NULL, *path = as ? strstr(name, "::") : NULL;

	return path && path > as && begins_with_crate(as + strlen(" as "));
}

bool ada_rust_is_library(struct ada_module *module, uint64_t function_id)
{
	char buffer[ADA_NAME_BUFFER];
	const char *name = ada_module_function(module, function_id, buffer), *mangled;
	size_t length;

	if (!module || ADA_FUNCTION_SYMBOL(function_id) >= module->symbol_count)
		return false;
	mangled = module->symbols[ADA_FUNCTION_SYMBOL(function_id)].mangled;
	length = strlen(mangled);
	if (!strcmp(mangled, "rust_begin_unwind") || !strcmp(mangled, "rust_panic"))
		return true;
	if (strncmp(mangled, "_R", 2) && (length < HASH || strncmp(mangled + length - HASH, "17h", 3)))
		return false;
	return begins_with_crate(name + strspn(name, "<&")) || is_of_language(name);
}
