/* Debug information of any content: every function that it tells of is read, and values of any bytes are written by its types. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <elfutils/libdw.h>
#include "elf/debug/functions.h"
#include "elf/file/symbols.h"
#include "memory.h"
#include "query/values/internal.h"

#define PATH FUZZ_MEMORY "/file.so"
#define FUNCTIONS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static Elf *image; /* libelf's, of the input */

/* libelf would read the file by system calls of its own. */
Dwarf *__wrap_dwarf_begin(int fd, Dwarf_Cmd command);
Dwarf *__wrap_dwarf_begin(int fd, Dwarf_Cmd command)
{
	size_t length;
	const uint8_t *bytes = fuzz_file_bytes(fd, &length);

	assert(bytes && !image);
	elf_version(EV_CURRENT);
	image = elf_memory((char *)bytes, length);
	return image ? dwarf_begin_elf(image, command, NULL) : NULL;
}

static void read_values(const struct ada_debug_function *function, const struct ada_captured *captured)
{
	struct ada_argument argument = {};

	for (size_t i = 0; i < function->parameters.count; i++) {
		const struct ada_debug_parameter *parameter = &function->parameters.items[i];

		assert(parameter->name);
		assert(!ada_argument_format(&argument, captured, &parameter->type, &parameter->where) && argument.text);
		free(argument.text);
		free(argument.string);
		argument = (struct ada_argument){};
	}
	if (function->has_types)
		assert(!ada_argument_format(&argument, captured, &function->result, &function->result_where));
	free(argument.text);
	free(argument.string);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct ada_process process;
	struct ada_elf_symbols symbols = {};
	uint8_t stack[256];
	struct atf_detail record = { .sp = 0x7ffc00000000, .stack = stack, .stack_size = sizeof stack, .flags = ATF_DETAIL_VECTORS };
	struct ada_captured captured = { &process, &record, false };
	struct ada_debug *debug;

	/* Words that point into the stack itself, and some that don't. */
	for (size_t i = 0; i < sizeof stack; i += 8)
		memcpy(stack + i, &(uint64_t){ i % 24 ? record.sp + 8 + i * 5 % 240 : i }, 8);
	for (unsigned int i = 0; i < 8; i++)
		record.x[i] = record.vectors[i] = record.sp + 8 + i * 16;
	fuzz_file_put(PATH, bytes, length);
	debug = ada_debug_open(PATH, "");
	if (debug && !ada_elf_symbols_read(ada_debug_elf(debug), &symbols))
		for (size_t i = 0; i < symbols.count && i < FUNCTIONS_MAX; i++) {
			const struct ada_debug_function *function = ada_debug_function(debug, symbols.items[i].address,
										       symbols.items[i].name);

			assert(function == ada_debug_function(debug, symbols.items[i].address, NULL));
			for (int back = 0; function && back < 2; back++) {
				captured.is_return = back;
				read_values(function, &captured);
			}
		}
	ada_array_free(&symbols);
	ada_debug_close(debug);
	elf_end(image);
	image = NULL;
	return 0;
}
