/* Any bytes as an ELF file: opening it ends in a file or a message, and what is planned from it is a sound plan whose
 * expected bytes are the file's. Also any bytes as a plan. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "elf/file/elf.h"
#include "plan/file/file.h"
#include "plan/planner.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_hooks(const struct ada_elf *elf, const uint8_t *plan)
{
	const struct ada_plan_header *header = (const void *)plan;
	const struct ada_plan_hook *hook = (const void *)(plan + header->hooks_offset);

	for (; hook < (const struct ada_plan_hook *)(plan + header->hooks_offset) + header->hook_count; hook++) {
		const uint8_t *code = ada_elf_at(elf, hook->patch_address, hook->patch_bytes);

		assert(code && !memcmp(code, hook->expected, hook->patch_bytes));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_error error = { 0 };
	struct ada_elf *elf;
	uint8_t *copy = malloc(length + 1);

	memcpy(copy, bytes, length); /* where the sanitizer sees its end, aligned as a mapping is */
	if (ada_plan_check(copy, length, &error))
		assert(error.text[0]);
	memset(&error, 0, sizeof error);
	if (ada_elf_open_memory(&elf, copy, length, "input", &error)) {
		assert(error.text[0] && !strchr(error.text, '\n'));
		free(copy);
		return 0;
	}
	for (int mode = 0; mode < 2 && elf->kind != ADA_ELF_DEBUG; mode++) {
		struct ada_plan_options options = { .decode = mode, .int3 = length & 1 };
		uint8_t *plan = NULL;
		uint64_t plan_bytes;
		int result = ada_planner_run(elf, &options, &plan, &plan_bytes, &error);

		assert(result == 0 || error.text[0]);
		if (result)
			continue;
		assert(ada_plan_check(plan, plan_bytes, &error) == 0);
		check_hooks(elf, plan);
		free(plan);
	}
	ada_elf_close(elf);
	free(copy);
	return 0;
}
