/* The dynamic linker's symbol search, without the dynamic linker: by GNU hash table, name and version.
 *
 * dlsym may be someone else's function (an interposer whose constructor hasn't run), may allocate, and takes locks. The
 * tables are in memory and read-only, so the agent reads them itself. All of Debian's files have DT_GNU_HASH; a module that
 * has only the older DT_HASH is not searched.
 */
#include "agent/patch/patch.h"

#define VERSION_HIDDEN 0x8000u

/* The loader adds the bias in place to most of a dynamic section, but not in one that it can't write to (the vdso's). */
static const void *dynamic_pointer(uint64_t value, uint64_t bias)
{
	return (const void *)(value < bias ? value + bias : value);
}

void ada_symbols_read(struct ada_symbols *symbols, const Elf64_Dyn *dynamic, uint64_t bias)
{
	*symbols = (struct ada_symbols){ .bias = bias };
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		const void *pointer = dynamic_pointer(dynamic->d_un.d_ptr, bias);

		switch (dynamic->d_tag) {
		case DT_SYMTAB: symbols->table = pointer; break;
		case DT_STRTAB: symbols->strings = pointer; break;
		case DT_GNU_HASH: symbols->gnu_hash = pointer; break;
		case DT_VERSYM: symbols->versions = pointer; break;
		case DT_VERDEF: symbols->definitions = pointer; break;
		case DT_VERDEFNUM: symbols->definition_count = dynamic->d_un.d_val; break;
		}
	}
	if (!symbols->table || !symbols->strings)
		symbols->gnu_hash = NULL;
}

/* NULL: the base version, which is none. */
static const char *version_name(const struct ada_symbols *symbols, uint32_t index)
{
	const char *at = (const char *)symbols->definitions;

	for (uint32_t i = 0; at && i < symbols->definition_count; i++) {
		const Elf64_Verdef *definition = (const void *)at;

		if (definition->vd_ndx == index && !(definition->vd_flags & VER_FLG_BASE))
			return symbols->strings + ((const Elf64_Verdaux *)(at + definition->vd_aux))->vda_name;
		if (!definition->vd_next)
			break;
		at += definition->vd_next;
	}
	return NULL;
}

/* As the loader decides: the very version fits, or a definition without version (an interposer's) that isn't hidden. */
static bool version_matches(const struct ada_symbols *symbols, uint32_t number, const char *version)
{
	const char *name;
	uint32_t index;

	if (!symbols->versions)
		return true;
	index = symbols->versions[number];
	if (!*version)
		return !(index & VERSION_HIDDEN);
	name = version_name(symbols, index & ~VERSION_HIDDEN);
	return name ? ada_string_equal(name, version) : !(index & VERSION_HIDDEN);
}

static bool symbol_defines(const Elf64_Sym *symbol)
{
	uint32_t type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

const Elf64_Sym *ada_symbols_find(const struct ada_symbols *symbols, const char *name, const char *version)
{
	const uint32_t *header = symbols->gnu_hash, *buckets, *chain;
	const uint64_t *bloom;
	uint32_t hash = 5381, number;
	uint64_t word;

	if (!header || !header[0] || !header[2])
		return NULL;
	for (const char *c = name; *c; c++)
		hash = hash * 33 + (uint8_t)*c;
	bloom = (const uint64_t *)(header + 4);
	buckets = (const uint32_t *)(bloom + header[2]);
	chain = buckets + header[0];
	word = bloom[hash / 64 % header[2]];
	if (!(word >> hash % 64 & word >> (hash >> header[3]) % 64 & 1))
		return NULL;
	number = buckets[hash % header[0]];
	if (number < header[1])
		return NULL;
	for (;; number++) {
		uint32_t other = chain[number - header[1]];
		const Elf64_Sym *symbol = &symbols->table[number];

		if ((other | 1) == (hash | 1) && symbol_defines(symbol) && ada_string_equal(symbols->strings + symbol->st_name, name) &&
		    version_matches(symbols, number, version))
			return symbol;
		if (other & 1)
			return NULL;
	}
}
