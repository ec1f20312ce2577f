/* Any bytes as an ELF file: what its words say of classes lies in the file, and following base classes ends. */
#include <assert.h>
#include <stdlib.h>
#include "elf/file/classes.h"

#define PLACES 64 /* of each segment */
#define BASES 8

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void check_text(const struct ada_elf *elf, const char *text)
{
	const uint8_t *at = (const uint8_t *)text;

	assert(!*text || (at >= elf->bytes && at < elf->bytes + elf->length && memchr(at, 0, elf->length - (size_t)(at - elf->bytes))));
}

static void check_class(const struct ada_elf *elf, uint64_t address)
{
	struct ada_elf_target at = { "", address };

	for (int i = 0; i < BASES; i++) {
		const char *name = ada_elf_class_name(elf, &at), *function = name ? ada_elf_virtual(elf, name, (uint32_t)i) : NULL;

		check_text(elf, name ? name : "");
		check_text(elf, function ? function : "");
		if (!at.address || !ada_elf_first_base(elf, at.address, &at))
			break;
		check_text(elf, at.symbol);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_error error = { 0 };
	uint8_t *copy = malloc(length + 1);
	struct ada_elf *elf;

	memcpy(copy, bytes, length); /* where the sanitizer sees its end, aligned as a mapping is */
	if (!ada_elf_open_memory(&elf, copy, length, "input", &error)) {
		for (size_t i = 0; i < elf->segments.count && i < PLACES; i++)
			for (uint64_t place = 0; place < PLACES; place++)
				check_class(elf, elf->segments.items[i].address + place * sizeof(uint64_t));
		ada_elf_close(elf);
	}
	free(copy);
	return 0;
}
