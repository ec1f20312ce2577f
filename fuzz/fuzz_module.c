/* Tables of functions (modules/ID.tsv) of any content: read without fault, and every name that they give can be used. */
#include <assert.h>
#include <string.h>
#include "abi/record.h"
#include "memory.h"
#include "query/session/module.h"

#define PATH FUZZ_MEMORY "/0.tsv"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static bool means(struct ada_module *module, uint32_t function, const char *name)
{
	struct ada_pattern pattern;
	const struct ada_pattern_list list = { .items = { &pattern, 1, 1 } };
	struct ada_error error;
	bool meant;

	assert(!ada_pattern_literal(&pattern, name, false, &error));
	meant = ada_module_is_meant(module, function, &list);
	ada_pattern_free(&pattern);
	return meant;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_module *module;

	fuzz_file_put(PATH, bytes, length);
	module = ada_module_new("/usr/bin/prog", "", PATH);
	assert(module);
	if (ada_module_load(module))
		assert(*module->problem.text && !strchr(module->problem.text, '\n'));
	for (uint32_t i = 0; i <= module->symbol_count; i++) {
		char buffer[ADA_NAME_BUFFER];
		const char *name = ada_module_function(module, ADA_FUNCTION_ID(0, i), buffer);
		struct ada_symbol *symbol = ada_module_symbol(module, i);

		assert(*name && !symbol == (i == module->symbol_count));
		assert(!symbol || means(module, i, name));
	}
	ada_module_free(module);
	return 0;
}
