/* Symbols that name code: see symbols.h. */
#include "elf/file/symbols.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct symbol_table {
	const uint8_t *symbols, *strings;
	uint64_t count, strings_bytes; /* the strings end in NUL */
};

static void cut_strings(struct symbol_table *table)
{
	while (table->strings && table->strings_bytes && table->strings[table->strings_bytes - 1])
		table->strings_bytes--;
}

static const char *symbol_name(const struct symbol_table *table, uint32_t offset)
{
	return offset < table->strings_bytes ? (const char *)table->strings + offset : "";
}

static void table_of_section(const struct ada_elf *elf, const struct ada_elf_section *section, struct symbol_table *table)
{
	const struct ada_elf_section *strings = section->link < elf->sections.count ? &elf->sections.items[section->link] : NULL;

	*table = (struct symbol_table){ .symbols = section->data, .count = section->data ? section->bytes / sizeof(Elf64_Sym) : 0 };
	if (strings && strings->data) {
		table->strings = strings->data;
		table->strings_bytes = strings->bytes;
	}
	cut_strings(table);
}

/* .dynsym has no length of its own: the section's, else up to the string table, which linkers lay behind it. */
static void table_of_dynamic(const struct ada_elf *elf, struct symbol_table *table)
{
	const struct ada_elf_dynamic *dynamic = &elf->dynamic;
	uint64_t rest;

	*table = (struct symbol_table){ .symbols = ada_elf_rest(elf, dynamic->symbols, &rest) };
	table->count = rest / sizeof(Elf64_Sym);
	if (dynamic->strings > dynamic->symbols && (dynamic->strings - dynamic->symbols) / sizeof(Elf64_Sym) < table->count)
		table->count = (dynamic->strings - dynamic->symbols) / sizeof(Elf64_Sym);
	for (size_t i = 0; i < elf->sections.count; i++) {
		const struct ada_elf_section *section = &elf->sections.items[i];

		if (section->type == SHT_DYNSYM && section->address == dynamic->symbols &&
		    section->bytes / sizeof(Elf64_Sym) < table->count)
			table->count = section->bytes / sizeof(Elf64_Sym);
	}
	table->strings = ada_elf_at(elf, dynamic->strings, dynamic->strings_bytes);
	table->strings_bytes = table->strings ? dynamic->strings_bytes : 0;
	cut_strings(table);
}

static int read_table(const struct symbol_table *table, bool exported, struct ada_elf_symbols *symbols)
{
	static const uint8_t kinds[16] = { [STT_NOTYPE] = ADA_SYMBOL_LABEL,
					   [STT_FUNC] = ADA_SYMBOL_FUNCTION,
					   [STT_GNU_IFUNC] = ADA_SYMBOL_IFUNC,
					   [STT_OBJECT] = ADA_SYMBOL_DATA };
	Elf64_Sym symbol;

	if (!table->symbols)
		return 0;
	if (ada_array_reserve(symbols, table->count))
		return -ENOMEM;
	for (uint64_t i = 1; i < table->count; i++) {
		uint8_t kind;

		memcpy(&symbol, table->symbols + i * sizeof symbol, sizeof symbol);
		kind = kinds[ELF64_ST_TYPE(symbol.st_info)];
		if (!kind || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || !symbol.st_value)
			continue;
		symbols->items[symbols->count++] = (struct ada_elf_symbol){ .address = symbol.st_value,
									    .size = symbol.st_size,
									    .name = symbol_name(table, symbol.st_name),
									    .kind = kind,
									    .binding = ELF64_ST_BIND(symbol.st_info),
									    .exported = exported };
	}
	return 0;
}

int ada_elf_symbols_read(const struct ada_elf *elf, struct ada_elf_symbols *symbols)
{
	struct symbol_table table;

	for (size_t i = 0; i < elf->sections.count; i++)
		if (elf->sections.items[i].type == SHT_SYMTAB) {
			table_of_section(elf, &elf->sections.items[i], &table);
			if (read_table(&table, false, symbols))
				return -ENOMEM;
		}
	if (elf->kind == ADA_ELF_DEBUG)
		return 0;
	table_of_dynamic(elf, &table);
	return read_table(&table, true, symbols);
}

struct ada_elf *ada_elf_open_debug(const struct ada_elf *elf)
{
	char path[128] = "/usr/lib/debug/.build-id/";
	struct ada_elf *debug;
	size_t at = strlen(path);

	if (elf->build_id_bytes < 2)
		return NULL;
	for (uint32_t i = 0; i < elf->build_id_bytes; i++)
		at += (size_t)snprintf(path + at, sizeof path - at, i ? "%02x" : "%02x/", elf->build_id[i]);
	snprintf(path + at, sizeof path - at, ".debug");
	if (ada_elf_open(&debug, path, NULL))
		return NULL;
	if (debug->build_id_bytes == elf->build_id_bytes && !memcmp(debug->build_id, elf->build_id, elf->build_id_bytes))
		return debug;
	ada_elf_close(debug);
	return NULL;
}

struct ada_elf_imports {
	struct symbol_table table;
	const uint8_t *versions;    /* one u16 a symbol, or NULL */
	const char **version_names; /* by version index */
	uint32_t version_count;
};

static int put_version(struct ada_elf_imports *imports, uint32_t index, const char *name)
{
	if (index >= imports->version_count) {
		const char **names = realloc(imports->version_names, (index + 1) * sizeof *names);

		if (!names)
			return -ENOMEM;
		while (imports->version_count <= index)
			names[imports->version_count++] = "";
		imports->version_names = names;
	}
	imports->version_names[index] = name;
	return 0;
}

/* Verneed entries form a list by relative offsets, each with a list of its own; both only go forward. */
static int read_versions(struct ada_elf_imports *imports, const struct ada_elf *elf)
{
	uint64_t rest;
	const uint8_t *need = ada_elf_rest(elf, elf->dynamic.version_needs, &rest);

	for (uint64_t i = 0; need && i < elf->dynamic.version_need_count && rest >= sizeof(Elf64_Verneed); i++) {
		uint32_t aux_offset = ada_read32(need + 8), next = ada_read32(need + 12), count = ada_read16(need + 2);
		uint64_t aux = aux_offset;

		for (uint32_t k = 0; k < count && aux <= rest && rest - aux >= sizeof(Elf64_Vernaux); k++) {
			uint32_t aux_next = ada_read32(need + aux + 12);

			if (put_version(imports, ada_read16(need + aux + 6) & 0x7fff,
					symbol_name(&imports->table, ada_read32(need + aux + 8))))
				return -ENOMEM;
			if (!aux_next)
				break;
			aux += aux_next;
		}
		if (!next || next > rest)
			break;
		need += next;
		rest -= next;
	}
	return 0;
}

int ada_elf_imports_open(struct ada_elf_imports **imports, const struct ada_elf *elf)
{
	*imports = calloc(1, sizeof **imports);
	if (!*imports)
		return -ENOMEM;
	table_of_dynamic(elf, &(*imports)->table);
	if (elf->dynamic.versions)
		(*imports)->versions = ada_elf_at(elf, elf->dynamic.versions, (*imports)->table.count * 2);
	if (read_versions(*imports, elf)) {
		ada_elf_imports_close(*imports);
		*imports = NULL;
		return -ENOMEM;
	}
	return 0;
}

bool ada_elf_imports_get(const struct ada_elf_imports *imports, uint32_t index, struct ada_elf_import *import)
{
	Elf64_Sym symbol;
	uint32_t version;

	if (!index || index >= imports->table.count || !imports->table.symbols)
		return false;
	memcpy(&symbol, imports->table.symbols + index * sizeof symbol, sizeof symbol);
	version = imports->versions ? ada_read16(imports->versions + index * 2) & 0x7fff : 0;
	*import = (struct ada_elf_import){ .name = symbol_name(&imports->table, symbol.st_name),
					   .version = version < imports->version_count ? imports->version_names[version] : "",
					   .defined = symbol.st_shndx != SHN_UNDEF,
					   .address = symbol.st_value };
	return true;
}

void ada_elf_imports_close(struct ada_elf_imports *imports)
{
	if (!imports)
		return;
	free(imports->version_names);
	free(imports);
}
