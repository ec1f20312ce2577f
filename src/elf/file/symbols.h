/* Symbols that name code: of .symtab, of .dynsym, and of the separate debug file that belongs to the build-id. */
#ifndef ADA_ELF_SYMBOLS_H
#define ADA_ELF_SYMBOLS_H
#include "elf/file/elf.h"

enum ada_symbol_kind { ADA_SYMBOL_FUNCTION = 1, ADA_SYMBOL_IFUNC, ADA_SYMBOL_LABEL /* no type */, ADA_SYMBOL_DATA };

struct ada_elf_symbol {
	uint64_t address, size;
	const char *name; /* mangled, may end in "@VERSION"; lives as long as the file */
	uint8_t kind;	  /* enum ada_symbol_kind */
	uint8_t binding;  /* STB_* */
	bool exported;	  /* from .dynsym */
};
struct ada_elf_symbols {
	struct ada_elf_symbol *items;
	size_t count, capacity;
};

/* Appends the defined symbols of one file, in no order, some twice. 0 or -ENOMEM. */
int ada_elf_symbols_read(const struct ada_elf *elf, struct ada_elf_symbols *symbols);

/* The separate debug file, /usr/lib/debug/.build-id/xx/yyyy.debug; NULL where there is none that fits. */
struct ada_elf *ada_elf_open_debug(const struct ada_elf *elf);

/* Symbol number `index` of .dynsym: its name and, where it is versioned, its version ("": none). `defined`: in this file. */
struct ada_elf_import {
	const char *name, *version;
	bool defined;
	uint64_t address;
};
struct ada_elf_imports;
int ada_elf_imports_open(struct ada_elf_imports **imports, const struct ada_elf *elf);
bool ada_elf_imports_get(const struct ada_elf_imports *imports, uint32_t index, struct ada_elf_import *import);
void ada_elf_imports_close(struct ada_elf_imports *imports);
#endif
