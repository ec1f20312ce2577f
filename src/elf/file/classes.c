/* Classes: see classes.h. The layouts are those of the Itanium C++ ABI:
 *
 *   type_info         +0 its own table of virtual functions, by which it is known what it is; +8 name
 *   of single bases   +16 type_info of the only base, at offset 0
 *   of other bases    +16 u32 flags, u32 count; then for each base its type_info, and i64 offset << 8 | is public << 1 | is virtual
 *   table of a class  +0 offset, +8 type_info, +16 virtual functions
 */
#include "elf/file/classes.h"
#include <stdio.h>

#define BASES_MAX 64
#define PLACE 16 /* in a table, of the first function: what pointers to tables lead to */

static bool symbol_at(const struct ada_elf_section *section, uint64_t index, Elf64_Sym *symbol)
{
	if (index >= section->bytes / sizeof *symbol)
		return false;
	memcpy(symbol, section->data + index * sizeof *symbol, sizeof *symbol);
	return true;
}

static const char *symbol_name(const struct ada_elf *elf, const struct ada_elf_section *section, const Elf64_Sym *symbol)
{
	const struct ada_elf_section *strings = section->link < elf->sections.count ? &elf->sections.items[section->link] : NULL;

	return strings && strings->data ? ada_elf_string(strings->data, strings->bytes, symbol->st_name) : "";
}

static const struct ada_elf_section *table_of_type(const struct ada_elf *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->sections.count; i++)
		if (elf->sections.items[i].type == type && elf->sections.items[i].data)
			return &elf->sections.items[i];
	return NULL;
}

/* The dynamic symbol of an object that lies there: also of one that the loader copies there from a library. */
static const char *name_at(const struct ada_elf *elf, uint64_t address)
{
	const struct ada_elf_section *section = table_of_type(elf, SHT_DYNSYM);
	Elf64_Sym symbol;

	for (uint64_t i = 1; section && symbol_at(section, i, &symbol); i++)
		if (symbol.st_value == address && symbol.st_shndx != SHN_UNDEF && *symbol_name(elf, section, &symbol))
			return symbol_name(elf, section, &symbol);
	return "";
}

static bool target_of(const struct ada_elf *elf, const Elf64_Rela *rela, struct ada_elf_target *target)
{
	const struct ada_elf_section *section = table_of_type(elf, SHT_DYNSYM);
	Elf64_Sym symbol;

	*target = (struct ada_elf_target){ "", (uint64_t)rela->r_addend };
	if (ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE) {
		target->symbol = name_at(elf, target->address);
		return true;
	}
	if (ELF64_R_TYPE(rela->r_info) != R_X86_64_64 || !section || !symbol_at(section, ELF64_R_SYM(rela->r_info), &symbol))
		return false;
	target->symbol = symbol_name(elf, section, &symbol);
	target->address = symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value + target->address;
	return true;
}

bool ada_elf_pointer(const struct ada_elf *elf, uint64_t word, struct ada_elf_target *target)
{
	uint64_t rest;
	const uint8_t *table = elf->dynamic.rela ? ada_elf_rest(elf, elf->dynamic.rela, &rest) : NULL, *at;
	uint64_t count = table ? (elf->dynamic.rela_bytes < rest ? elf->dynamic.rela_bytes : rest) / sizeof(Elf64_Rela) : 0;

	for (uint64_t i = 0; i < count; i++) {
		Elf64_Rela rela;

		memcpy(&rela, table + i * sizeof rela, sizeof rela);
		if (rela.r_offset == word)
			return target_of(elf, &rela, target);
	}
	/* At a fixed address, or relocated by RELR, the word itself says it. */
	at = ada_elf_at(elf, word, sizeof(uint64_t));
	*target = (struct ada_elf_target){ "", at ? ada_read64(at) : 0 };
	if (!target->address || !ada_elf_segment_of(elf, target->address))
		return false;
	target->symbol = name_at(elf, target->address);
	return true;
}

/* Whether the type_info is of such a kind: its first word leads behind the beginning of that kind's table. */
static bool is_of_kind(const struct ada_elf *elf, uint64_t type_info, const char *table)
{
	struct ada_elf_target target;

	if (!ada_elf_pointer(elf, type_info, &target))
		return false;
	return !strcmp(target.symbol, table) || (target.address && !strcmp(name_at(elf, target.address - PLACE), table));
}

bool ada_elf_first_base(const struct ada_elf *elf, uint64_t type_info, struct ada_elf_target *base)
{
	const uint8_t *count, *flags;

	if (is_of_kind(elf, type_info, "_ZTVN10__cxxabiv120__si_class_type_infoE"))
		return ada_elf_pointer(elf, type_info + 16, base);
	count = ada_elf_at(elf, type_info + 20, sizeof(uint32_t));
	if (!count || ada_read32(count) > BASES_MAX || !is_of_kind(elf, type_info, "_ZTVN10__cxxabiv121__vmi_class_type_infoE"))
		return false;
	for (uint64_t i = 0; i < ada_read32(count); i++) {
		flags = ada_elf_at(elf, type_info + 32 + i * 16, sizeof(uint64_t));
		if (flags && !(ada_read64(flags) & 1) && !(ada_read64(flags) >> 8))
			return ada_elf_pointer(elf, type_info + 24 + i * 16, base);
	}
	return false;
}

const char *ada_elf_class_name(const struct ada_elf *elf, const struct ada_elf_target *type_info)
{
	struct ada_elf_target name;
	const uint8_t *text;
	uint64_t rest;

	if (!strncmp(type_info->symbol, "_ZTI", 4))
		return type_info->symbol + 4;
	if (!type_info->address || !ada_elf_pointer(elf, type_info->address + 8, &name) || !name.address)
		return NULL;
	text = ada_elf_rest(elf, name.address, &rest);
	if (!text || !memchr(text, 0, rest))
		return NULL;
	return (const char *)text + (*text == '*');
}

const char *ada_elf_virtual(const struct ada_elf *elf, const char *class_name, uint32_t number)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct ada_elf_target target;
	char wanted[512];

	if (snprintf(wanted, sizeof wanted, "_ZTV%s", class_name) >= (int)sizeof wanted)
		return NULL;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		const struct ada_elf_section *section = table_of_type(elf, types[i]);
		Elf64_Sym symbol;

		for (uint64_t j = 1; section && symbol_at(section, j, &symbol); j++)
			if (symbol.st_shndx != SHN_UNDEF && !strcmp(symbol_name(elf, section, &symbol), wanted) &&
			    ada_elf_pointer(elf, symbol.st_value + PLACE + number * sizeof(uint64_t), &target) && *target.symbol)
				return target.symbol;
	}
	return NULL;
}
