/* See functions_debug.h. Opens the file and what belongs to it, keeps the answers; the rest is in functions_debug_*.c. */
#include "elf/functions_debug.h"
#include <dwarf.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "elf/functions_debug_internal.h"
#include "elf/symbols.h"

#define PARAMETERS_MAX 256

struct ada_debug {
	struct ada_elf *elf;
	int fd;
	Dwarf *dwarf;			/* NULL: there is none */
	bool indexed;
	struct ada_debug_index index;
	struct ada_table resolvers;	/* addresses of indirect functions: what lies there isn't what is called */
	struct ada_table globals;	/* of functions that others can call */
	struct ada_table known;		/* address -> answers */
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

/* Without debug information in the file itself or in the one that belongs to it: nothing. */
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

/* Not dwarf_decl_file: it ends the program where the table of files can't be read. */
static const char *declared_in(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;
	Dwarf_Files *files;
	Dwarf_Die unit;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_file, &attribute), &number) ||
	    !dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &count) || number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static void read_line(const struct ada_debug_unit *unit, Dwarf_Die *die, uint64_t address, struct ada_debug_function *function)
{
	Dwarf_Die top = unit->lines;
	Dwarf_Line *line;
	int number = 0;

	function->file = declared_in(die);
	if (function->file && dwarf_decl_line(die, &number) == 0 && number > 0) {
		function->line = (uint32_t)number;
		return;
	}
	line = dwarf_getsrc_die(&top, address);
	function->file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (line && dwarf_lineno(line, &number) == 0 && number > 0)
		function->line = (uint32_t)number;
}

struct dies { ADA_ARRAY(Dwarf_Die) parameters; bool variadic; };

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

/* What the convention says, and what the entry says of it, which goes before: a compiler is free where it knows all callers.
 * `changed`: it made use of that. */
static void place(struct ada_debug_convention *convention, Dwarf_Die *type_die, Dwarf_Die *located, uint64_t address,
		  struct ada_debug_parameter *parameter, bool *changed)
{
	struct ada_debug_where at_entry;

	parameter->name = dwarf_diename(type_die);
	if (!parameter->name)
		parameter->name = "";
	ada_debug_type_read(type_die, convention->language, &parameter->type);
	ada_debug_place_parameter(convention, type_die, &parameter->where);
	parameter->convention = parameter->where;
	if (!located || ada_debug_place_at_entry(located, address, &at_entry) != ADA_DEBUG_LOCATED)
		return;
	at_entry.indirect = parameter->where.indirect;
	if (parameter->where.place == ADA_DEBUG_REGISTERS && parameter->where.count == at_entry.count) {
		if (memcmp(&at_entry, &parameter->where, sizeof at_entry) == 0)
			return;
	} else if (at_entry.count * 8u < parameter->type.bytes) {
		return;			/* a pointer to it, or a part */
	}
	/* Behind one whose type isn't known it only tells where the parameter is. */
	*changed |= !convention->lost;
	parameter->where = at_entry;
}

/* A function that was inlined elsewhere, and a method, has what is the same for all of it in another entry. */
static void read_origin(Dwarf_Die *function, struct dies *dies)
{
	Dwarf_Die from = *function;

	for (unsigned i = 0; i < ADA_DEBUG_NESTING_MAX && !dies->parameters.count; i++) {
		if (!ada_debug_follow(&from, DW_AT_abstract_origin, &from) && !ada_debug_follow(&from, DW_AT_specification, &from))
			break;
		read_dies(&from, dies);
	}
}

static void forget_places(const struct ada_debug_unit *unit, const struct dies *located, uint64_t address, bool changed,
			  struct ada_debug_function *function)
{
	for (size_t i = 0; i < function->parameters.count; i++) {
		struct ada_debug_where at_entry;
		enum ada_debug_located found = ada_debug_place_at_entry(&located->parameters.items[i], address, &at_entry);

		/* LLVM gives every parameter that arrives a place. */
		if ((changed && found != ADA_DEBUG_LOCATED) || (unit->optimised && found == ADA_DEBUG_UNLOCATED))
			function->parameters.items[i].where = (struct ada_debug_where){};
	}
}

static void read_parameters(const struct ada_debug_unit *unit, Dwarf_Die *die, uint64_t address, bool clone,
			    struct ada_debug_convention *convention, struct ada_debug_function *function)
{
	struct dies own = {}, origin = {}, located = {};
	struct dies *all = &own;
	bool changed = clone;

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

		/* What constructors and destructors of the source have, but this one of their variants hasn't. */
		if (!here && dwarf_hasattr(parameter_die, DW_AT_artificial))
			continue;
		place(convention, parameter_die, here, address, &parameter, &changed);
		if (ada_array_push(&located.parameters, here ? *here : *parameter_die) ||
		    ada_array_push(&function->parameters, parameter)) {
			ada_debug_type_free(&parameter.type);
			break;
		}
	}
	forget_places(unit, &located, address, changed, function);
	ada_array_free(&own.parameters);
	ada_array_free(&origin.parameters);
	ada_array_free(&located.parameters);
}

/* f.isra.0 and the like: GCC's own variants of a function, with other parameters. */
static bool is_clone(const char *mangled, const char *what)
{
	return mangled && strstr(mangled, what);
}

/* LLVM returns nothing from a function of which it has seen all callers, where none of them uses the result; nothing says so. */
static bool may_drop_result(const struct ada_debug *debug, const struct ada_debug_unit *unit, uint64_t address)
{
	uint64_t none;

	return unit->optimised && !ada_table_get(&debug->globals, address, &none);
}

static struct ada_debug_function *read_function(struct ada_debug *debug, const struct ada_debug_entry *entry, uint64_t address,
						const char *mangled)
{
	const struct ada_debug_unit *unit = &debug->index.units.items[entry->unit];
	struct ada_debug_convention convention = { .language = unit->language };
	struct ada_debug_function *function = calloc(1, sizeof *function);
	bool own_name = mangled && (strncmp(mangled, "_R", 2) == 0 || strncmp(mangled, "_ZN", 3) == 0);
	bool isra = is_clone(mangled, ".isra.");
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
	if (may_drop_result(debug, unit, address))
		function->result_where = (struct ada_debug_where){ .indirect = function->result_where.indirect };
	read_parameters(unit, &die, address, isra || is_clone(mangled, ".constprop.") || is_clone(mangled, ".part."), &convention,
			function);
	return function;
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
	if (!debug->indexed) {
		debug->indexed = true;
		ada_debug_index_make(&debug->index, debug->dwarf, debug->elf);
	}
	entry = ada_debug_index_find(&debug->index, address);
	if (entry)
		function = read_function(debug, entry, address, mangled);
	number = debug->answers.count;
	if (ada_array_push(&debug->answers, function) == 0)
		ada_table_put(&debug->known, address, number);
	return function;
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
