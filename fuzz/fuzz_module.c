/* Tables of functions (modules/ID.tsv) of any content: read without fault, and every name that they give can be used. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "abi/record.h"
#include "base/file.h"
#include "query/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	int fd = memfd_create("table", MFD_CLOEXEC);
	struct ada_module *module;
	char path[64];

	assert(fd >= 0 && !ada_file_write_all(fd, bytes, length));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	module = ada_module_new("/usr/bin/prog", "", path);
	assert(module);
	if (ada_module_load(module))
		assert(*module->problem.text && !strchr(module->problem.text, '\n'));
	for (uint32_t i = 0; i <= module->symbol_count; i++) {
		char buffer[ADA_NAME_BUFFER];
		const char *name = ada_module_function(module, ADA_FUNCTION_ID(0, i), buffer);
		struct ada_symbol *symbol = ada_module_symbol(module, i);

		assert(*name && !symbol == (i == module->symbol_count));
		assert(!symbol || ada_name_matches(name, symbol->mangled, name));
	}
	ada_module_free(module);
	close(fd);
	return 0;
}
