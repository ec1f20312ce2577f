/* Dynamic relocations: see relocs.h. */
#include "elf/file/relocs.h"
#include <errno.h>

static bool is_code(const struct ada_elf *elf, uint64_t address)
{
	const struct ada_elf_segment *segment = ada_elf_segment_of(elf, address);

	return segment && segment->executable;
}

static int put_pointer(const struct ada_elf *elf, struct ada_elf_relocs *relocs, uint64_t target)
{
	return is_code(elf, target) ? ada_array_push(&relocs->pointers, target) : 0;
}

/* The value of a defined symbol; 0 for any other. */
static uint64_t symbol_value(const struct ada_elf *elf, uint32_t index)
{
	const uint8_t *symbol = ada_elf_at(elf, elf->dynamic.symbols + index * sizeof(Elf64_Sym), sizeof(Elf64_Sym));
	Elf64_Sym copy;

	if (!symbol)
		return 0;
	memcpy(&copy, symbol, sizeof copy);
	return copy.st_shndx == SHN_UNDEF ? 0 : copy.st_value;
}

static int read_rela(const struct ada_elf *elf, uint64_t address, uint64_t bytes, struct ada_elf_relocs *relocs)
{
	uint64_t rest;
	const uint8_t *table = ada_elf_rest(elf, address, &rest);
	uint64_t count = (bytes < rest ? bytes : rest) / sizeof(Elf64_Rela), value;
	int result = 0;

	for (uint64_t i = 0; table && i < count && !result; i++) {
		Elf64_Rela rela;

		memcpy(&rela, table + i * sizeof rela, sizeof rela);
		switch (ELF64_R_TYPE(rela.r_info)) {
		case R_X86_64_RELATIVE: result = put_pointer(elf, relocs, (uint64_t)rela.r_addend); break;
		case R_X86_64_64:
			value = symbol_value(elf, ELF64_R_SYM(rela.r_info));
			result = value ? put_pointer(elf, relocs, value + (uint64_t)rela.r_addend) : 0;
			break;
		case R_X86_64_IRELATIVE: result = ada_array_push(&relocs->resolvers, (uint64_t)rela.r_addend); break;
		case R_X86_64_GLOB_DAT:
		case R_X86_64_JUMP_SLOT:
			result = ada_array_push(&relocs->slots,
						(struct ada_elf_slot){ .address = rela.r_offset,
								       .symbol = ELF64_R_SYM(rela.r_info),
								       .jump_slot = ELF64_R_TYPE(rela.r_info) == R_X86_64_JUMP_SLOT });
			break;
		}
	}
	return result;
}

static int put_relr(const struct ada_elf *elf, uint64_t place, struct ada_elf_relocs *relocs)
{
	const uint8_t *word = ada_elf_at(elf, place, 8);

	return word ? put_pointer(elf, relocs, ada_read64(word)) : 0;
}

/* RELR: an even word is a place; an odd one is a bitmap of the 63 words that follow. */
static int read_relr(const struct ada_elf *elf, struct ada_elf_relocs *relocs)
{
	uint64_t rest, place = 0;
	const uint8_t *table = ada_elf_rest(elf, elf->dynamic.relr, &rest);
	uint64_t count = (elf->dynamic.relr_bytes < rest ? elf->dynamic.relr_bytes : rest) / 8;

	for (uint64_t i = 0; table && i < count; i++) {
		uint64_t word = ada_read64(table + i * 8);

		if (word & 1) {
			for (unsigned bit = 1; bit < 64; bit++)
				if (word >> bit & 1 && put_relr(elf, place + (bit - 1) * 8, relocs))
					return -ENOMEM;
			place += 63 * 8;
		} else {
			if (put_relr(elf, word, relocs))
				return -ENOMEM;
			place = word + 8;
		}
	}
	return 0;
}

/* At a fixed address pointers need no relocation: we take every word of the data for a pointer that could be one. */
static int read_words(const struct ada_elf *elf, struct ada_elf_relocs *relocs)
{
	for (size_t i = 0; i < elf->segments.count; i++) {
		const struct ada_elf_segment *segment = &elf->segments.items[i];
		uint64_t first = -segment->address & 7;

		if (segment->executable)
			continue;
		for (uint64_t at = first; at + 8 <= segment->data_bytes; at += 8) {
			uint64_t word = ada_read64(segment->data + at);

			if (word - elf->address_start < elf->address_end - elf->address_start && put_pointer(elf, relocs, word))
				return -ENOMEM;
		}
	}
	return 0;
}

int ada_elf_relocs_read(const struct ada_elf *elf, struct ada_elf_relocs *relocs)
{
	const struct ada_elf_dynamic *dynamic = &elf->dynamic;

	if (dynamic->rela && read_rela(elf, dynamic->rela, dynamic->rela_bytes, relocs))
		return -ENOMEM;
	if (dynamic->plt_rela && read_rela(elf, dynamic->plt_rela, dynamic->plt_rela_bytes, relocs))
		return -ENOMEM;
	if (dynamic->relr && read_relr(elf, relocs))
		return -ENOMEM;
	return elf->kind == ADA_ELF_EXEC || elf->kind == ADA_ELF_STATIC ? read_words(elf, relocs) : 0;
}

void ada_elf_relocs_free(struct ada_elf_relocs *relocs)
{
	ada_array_free(&relocs->pointers);
	ada_array_free(&relocs->resolvers);
	ada_array_free(&relocs->slots);
}
