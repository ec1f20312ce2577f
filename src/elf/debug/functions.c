/* See functions.h. Opens the file and what belongs to it, keeps the answers; internal.h says which file of this room has which part of them. */
#include "elf/debug/functions.h"
#include <dwarf.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "elf/debug/internal.h"
#include "elf/file/symbols.h"

#define PARAMETERS_MAX 256

struct ada_debug {
	struct ada_elf *elf;
	int fd;
	Dwarf *dwarf; /* NULL: there is none */
	bool indexed;
	struct ada_debug_index index;
	struct ada_table resolvers; /* addresses of indirect functions: their code isn't what callers run */
	struct ada_table globals;   /* of functions that others can call */
	struct ada_table known;	    /* address -> answers */
	ADA_ARRAY(struct ada_debug_function *) answers;
};

/* --- the file ------------------------------------------------------------------------------------------------------------ */

static bool is_recorded(const struct ada_elf *elf, const char *build_id)
{
	char text[2 * ADA_ELF_BUILD_ID_MAX + 1] = "";

	for (uint32_t i = 0; i < elf->build_id_bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", elf->build_id[i]);
	return !*build_id || strcmp(text, build_id) == 0;
}

static bool belongs(const struct ada_elf *separate, const struct ada_elf *elf, uint32_t crc)
{
	if (elf->build_id_bytes && separate->build_id_bytes)
		return separate->build_id_bytes == elf->build_id_bytes &&
		       memcmp(separate->build_id, elf->build_id, elf->build_id_bytes) == 0;
	return libdeflate_crc32(0, separate->bytes, separate->length) == crc;
}

/* The file that .gnu_debuglink names, where gdb looks for it: beside `elf`, below that in .debug, and in /usr/lib/debug. */
static struct ada_elf *open_linked(const struct ada_elf *elf)
{
	static const char *const places[] = { "%.*s%s", "%.*s.debug/%s", "/usr/lib/debug%.*s%s" };
	const struct ada_elf_section *link = ada_elf_section_named(elf, ".gnu_debuglink");
	const char *name = link ? ada_elf_string(link->data, link->bytes, 0) : "", *slash = strrchr(elf->path, '/');
	int directory = slash ? (int)(slash - elf->path) + 1 : 0;
	size_t crc_at = (strlen(name) + 4) & ~3ul;
	struct ada_elf *separate;
	char path[PATH_MAX];

	if (!*name || strchr(name, '/') || crc_at + 4 > link->bytes)
		return NULL;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if (ada_path(path, places[i], directory, elf->path, name) || strcmp(path, elf->path) == 0 ||
		    ada_elf_open(&separate, path, NULL))
			continue;
		if (belongs(separate, elf, ada_read32(link->data + crc_at)))
			return separate;
		ada_elf_close(separate);
	}
	return NULL;
}

static void read_symbols(struct ada_debug *debug, const struct ada_elf *elf)
{
	struct ada_elf_symbols symbols = {};

	ada_elf_symbols_read(elf, &symbols);
	for (size_t i = 0; i < symbols.count; i++) {
		const struct ada_elf_symbol *symbol = &symbols.items[i];

		if (symbol->kind == ADA_SYMBOL_IFUNC)
			ada_table_put(&debug->resolvers, symbol->address, 0);
		else if (symbol->binding != STB_LOCAL)
			ada_table_put(&debug->globals, symbol->address, 0);
	}
	ada_array_free(&symbols);
}

/* Opens nothing where neither the file nor the one that belongs to it has debug information. */
static void open_dwarf(struct ada_debug *debug)
{
	struct ada_elf *separate = NULL;

	if (!ada_elf_section_named(debug->elf, ".debug_info")) {
		separate = ada_elf_open_debug(debug->elf);
		if (!separate)
			separate = open_linked(debug->elf);
	}
	if (separate || ada_elf_section_named(debug->elf, ".debug_info"))
		debug->fd = open(separate ? separate->path : debug->elf->path, O_RDONLY | O_CLOEXEC);
	if (debug->fd >= 0)
		debug->dwarf = dwarf_begin(debug->fd, DWARF_C_READ);
	if (debug->dwarf)
		read_symbols(debug, debug->elf);
	if (debug->dwarf && separate)
		read_symbols(debug, separate);
	ada_elf_close(separate);
}

struct ada_debug *ada_debug_open(const char *path, const char *build_id)
{
	struct ada_debug *debug = calloc(1, sizeof *debug);

	if (!debug)
		return NULL;
	debug->fd = -1;
	if (ada_elf_open(&debug->elf, path, NULL) || !is_recorded(debug->elf, build_id)) {
		ada_debug_close(debug);
		return NULL;
	}
	open_dwarf(debug);
	return debug;
}

const struct ada_elf *ada_debug_elf(const struct ada_debug *debug)
{
	return debug->elf;
}

/* --- a function ------------------------------------------------------------------------------------------------------------ */

static void read_line(const struct ada_debug_unit *unit, Dwarf_Die *die, uint64_t address, struct ada_debug_function *function)
{
	Dwarf_Die top = unit->lines;
	Dwarf_Line *line;
	int number = 0;

	function->file = ada_debug_file(die, DW_AT_decl_file);
	if (function->file && dwarf_decl_line(die, &number) == 0 && number > 0) {
		function->line = (uint32_t)number;
		return;
	}
	line = dwarf_getsrc_die(&top, address);
	function->file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (line && dwarf_lineno(line, &number) == 0 && number > 0)
		function->line = (uint32_t)number;
}

struct dies {
	ADA_ARRAY(Dwarf_Die) parameters;
	bool variadic;
};

static void read_dies(Dwarf_Die *function, struct dies *dies)
{
	Dwarf_Die child;

	if (dwarf_child(function, &child) != 0)
		return;
	do {
		if (dwarf_tag(&child) == DW_TAG_unspecified_parameters)
			dies->variadic = true;
		else if (dwarf_tag(&child) == DW_TAG_formal_parameter && ada_array_push(&dies->parameters, child))
			return;
	} while (dies->parameters.count < PARAMETERS_MAX && dwarf_siblingof(&child, &child) == 0);
}

/* The entry that stands for `abstract` where it is not inlined; NULL: it is gone. */
static Dwarf_Die *concrete_of(const struct dies *concrete, const Dwarf_Die *abstract)
{
	Dwarf_Die origin;

	for (size_t i = 0; i < concrete->parameters.count; i++)
		if (ada_debug_follow(&concrete->parameters.items[i], DW_AT_abstract_origin, &origin) && origin.addr == abstract->addr)
			return &concrete->parameters.items[i];
	return NULL;
}

static void read_parameter(struct ada_debug_convention *convention, Dwarf_Die *die, struct ada_debug_parameter *parameter)
{
	parameter->name = dwarf_diename(die);
	if (!parameter->name)
		parameter->name = "";
	ada_debug_type_read(die, convention->language, &parameter->type);
	ada_debug_place_parameter(convention, die, &parameter->convention);
}

/* A function that was inlined elsewhere, and a method, keep in another entry what all copies share. */
static void read_origin(Dwarf_Die *function, struct dies *dies)
{
	Dwarf_Die from = *function;

	for (unsigned i = 0; i < ADA_DEBUG_NESTING_MAX && !dies->parameters.count; i++) {
		if (!ada_debug_follow(&from, DW_AT_abstract_origin, &from) && !ada_debug_follow(&from, DW_AT_specification, &from))
			break;
		read_dies(&from, dies);
	}
}

static void read_parameters(Dwarf_Die *die, uint64_t address, enum ada_debug_trust trust, struct ada_debug_convention *convention,
			    struct ada_debug_function *function)
{
	struct {
		ADA_ARRAY(struct ada_debug_at_entry) items;
	} at_entry = {};
	struct dies own = {}, origin = {};
	struct dies *all = &own;

	read_dies(die, &own);
	read_origin(die, &origin);
	/* Those that are gone here still count. */
	if (origin.parameters.count && (!own.parameters.count || dwarf_hasattr(die, DW_AT_abstract_origin)))
		all = &origin;
	function->variadic = own.variadic || origin.variadic;
	for (size_t i = 0; i < all->parameters.count; i++) {
		Dwarf_Die *parameter_die = &all->parameters.items[i];
		Dwarf_Die *here = all == &own ? parameter_die : concrete_of(&own, parameter_die);
		struct ada_debug_parameter parameter = {};
		struct ada_debug_at_entry found = {};

		/* Constructors and destructors have this parameter in the source, but this variant lacks it. */
		if (!here && dwarf_hasattr(parameter_die, DW_AT_artificial))
			continue;
		read_parameter(convention, parameter_die, &parameter);
		if (here)
			ada_debug_place_at_entry(here, address, &found);
		if (ada_array_push(&at_entry.items, found) || ada_array_push(&function->parameters, parameter)) {
			ada_debug_type_free(&parameter.type);
			break;
		}
	}
	ada_debug_settle_places(function, at_entry.items.items, trust, convention->language);
	ada_array_free(&own.parameters);
	ada_array_free(&origin.parameters);
	ada_array_free(&at_entry.items);
}

/* f.isra.0 and the like: GCC's own variants of a function, with other parameters. */
static bool is_clone(const char *mangled, const char *what)
{
	return mangled && strstr(mangled, what);
}

static bool is_global(const struct ada_debug *debug, uint64_t address)
{
	uint64_t none;

	return ada_table_get(&debug->globals, address, &none);
}

/* LLVM returns nothing from a function if it has seen all callers and none uses the result. Older versions don't say so, newer ones
 * (DW_CC_nocall) do. */
static bool may_drop_result(const struct ada_debug_unit *unit, Dwarf_Die *die, bool global)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;

	return unit->optimised && (!global || (dwarf_formudata(dwarf_attr(die, DW_AT_calling_convention, &attribute), &convention) == 0 &&
					       convention == DW_CC_nocall));
}

static enum ada_debug_trust trust_in(const struct ada_debug_unit *unit, const char *mangled, bool global)
{
	if (is_clone(mangled, ".isra.") || is_clone(mangled, ".constprop.") || is_clone(mangled, ".part."))
		return ADA_DEBUG_FREE;
	if (!unit->optimised)
		return ADA_DEBUG_SURE;
	return global ? ADA_DEBUG_VISIBLE : ADA_DEBUG_FREE;
}

static struct ada_debug_function *read_function(struct ada_debug *debug, const struct ada_debug_entry *entry, uint64_t address,
						const char *mangled)
{
	const struct ada_debug_unit *unit = &debug->index.units.items[entry->unit];
	struct ada_debug_convention convention = { .language = unit->language };
	struct ada_debug_function *function = calloc(1, sizeof *function);
	bool own_name = mangled && (strncmp(mangled, "_R", 2) == 0 || strncmp(mangled, "_ZN", 3) == 0);
	bool isra = is_clone(mangled, ".isra."), global = is_global(debug, address);
	Dwarf_Die die = entry->die, type;

	if (!function)
		return NULL;
	read_line(unit, &die, address, function);
	if (!unit->has_types || unit->language == ADA_DEBUG_ASSEMBLY)
		return function;
	convention.foreign = !own_name;
	function->has_types = true;
	function->has_result = !isra;
	if (ada_debug_type_of(&die, &type) && dwarf_tag(&type) == DW_TAG_unspecified_type && !dwarf_diename(&type))
		function->has_result = false;
	ada_debug_type_read(&die, unit->language, &function->result);
	ada_debug_place_result(&convention, &die, &function->result_where);
	if (may_drop_result(unit, &die, global))
		function->result_where = (struct ada_debug_where){ .indirect = function->result_where.indirect };
	read_parameters(&die, address, trust_in(unit, mangled, global), &convention, function);
	return function;
}

static void make_index(struct ada_debug *debug)
{
	if (debug->indexed || !debug->dwarf)
		return;
	debug->indexed = true;
	ada_debug_index_make(&debug->index, debug->dwarf, debug->elf);
}

const struct ada_debug_function *ada_debug_function(struct ada_debug *debug, uint64_t address, const char *mangled)
{
	const struct ada_debug_entry *entry;
	struct ada_debug_function *function = NULL;
	uint64_t number;

	if (!debug->dwarf || ada_table_get(&debug->resolvers, address, &number))
		return NULL;
	if (ada_table_get(&debug->known, address, &number))
		return debug->answers.items[number];
	make_index(debug);
	entry = ada_debug_index_find(&debug->index, address);
	if (entry)
		function = read_function(debug, entry, address, mangled);
	number = debug->answers.count;
	if (ada_array_push(&debug->answers, function) == 0)
		ada_table_put(&debug->known, address, number);
	return function;
}

bool ada_debug_line(struct ada_debug *debug, uint64_t function, uint64_t bytes, uint64_t address, struct ada_debug_line *line)
{
	make_index(debug);
	return debug->dwarf && ada_debug_index_line(&debug->index, function, bytes, address, line);
}

static void free_function(struct ada_debug_function *function)
{
	if (!function)
		return;
	for (size_t i = 0; i < function->parameters.count; i++)
		ada_debug_type_free(&function->parameters.items[i].type);
	ada_array_free(&function->parameters);
	ada_debug_type_free(&function->result);
	free(function);
}

void ada_debug_close(struct ada_debug *debug)
{
	if (!debug)
		return;
	for (size_t i = 0; i < debug->answers.count; i++)
		free_function(debug->answers.items[i]);
	ada_array_free(&debug->answers);
	ada_table_free(&debug->known);
	ada_table_free(&debug->resolvers);
	ada_table_free(&debug->globals);
	ada_debug_index_free(&debug->index);
	if (debug->dwarf)
		dwarf_end(debug->dwarf);
	if (debug->fd >= 0)
		close(debug->fd);
	ada_elf_close(debug->elf);
	free(debug);
}
