/* See types.h. The symbol's address leads to its unit by the units' own ranges, so that of a large file only one unit is read;
 * there the function is the one that begins at that address: names may differ (aliases), addresses don't. */
#include "elf/types.h"
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "elf/symbols.h"

#define NESTING_MAX 16			/* of namespaces and classes; compilers never nest like this, broken files may */
#define UNITS_MAX 1000000

/* Not a resolver: its type is a pointer's, whatever it resolves. */
static bool address_of(const struct ada_elf *elf, const char *mangled, uint64_t *address)
{
	struct ada_elf_symbols symbols = {0};
	size_t length = strcspn(mangled, "@");
	bool found = false;

	if (ada_elf_symbols_read(elf, &symbols) == 0)
		for (size_t i = 0; i < symbols.count && !found; i++) {
			const char *name = symbols.items[i].name;

			found = strncmp(name, mangled, length) == 0 && (!name[length] || name[length] == '@') &&
				(symbols.items[i].kind == ADA_SYMBOL_FUNCTION || symbols.items[i].kind == ADA_SYMBOL_LABEL);
			*address = symbols.items[i].address;
		}
	ada_array_free(&symbols);
	return found;
}

static bool function_at(Dwarf_Die *parent, uint64_t address, unsigned nesting, Dwarf_Die *function)
{
	Dwarf_Die die;
	Dwarf_Addr entry;

	if (nesting > NESTING_MAX || dwarf_child(parent, &die) != 0)
		return false;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			if (dwarf_entrypc(&die, &entry) == 0 && entry == address) {
				*function = die;
				return true;
			}
			break;
		case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_class_type: case DW_TAG_structure_type:
			if (function_at(&die, address, nesting + 1, function))
				return true;
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool find_function(Dwarf *dwarf, uint64_t address, Dwarf_Die *function)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die top, split;
	uint8_t type;

	for (size_t i = 0; i < UNITS_MAX && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &top, &split) == 0; i++)
		if (dwarf_haspc(&top, address) > 0)
			return function_at(type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid ? &split : &top, address, 0,
					   function);
	return false;
}

static uint32_t bytes_of(Dwarf_Die *die)
{
	Dwarf_Word bytes;

	return dwarf_aggregate_size(die, &bytes) == 0 && bytes <= UINT32_MAX ? (uint32_t)bytes : 0;
}

static struct ada_elf_type base_type(Dwarf_Die *die)
{
	struct ada_elf_type type = {ADA_ELF_OTHER, bytes_of(die)};
	Dwarf_Attribute attribute;
	Dwarf_Word encoding;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_encoding, &attribute), &encoding) != 0)
		return type;
	if (encoding == DW_ATE_float && (type.bytes == 4 || type.bytes == 8))
		type.class = ADA_ELF_REAL;
	else if ((encoding == DW_ATE_signed || encoding == DW_ATE_signed_char) && type.bytes <= 8)
		type.class = ADA_ELF_SIGNED;
	else if ((encoding == DW_ATE_boolean || encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char ||
		  encoding == DW_ATE_UTF || encoding == DW_ATE_address) && type.bytes <= 8)
		type.class = ADA_ELF_UNSIGNED;
	return type;
}

/* C++ passes and returns through a pointer what has a destructor of its own, virtual functions, or a member like that. Clang
 * says so in the type; from GCC it has to be concluded. */
static bool by_reference(Dwarf_Die *type, unsigned nesting)
{
	Dwarf_Attribute attribute;
	Dwarf_Word convention;
	Dwarf_Die child, of;
	const char *name;

	if (dwarf_formudata(dwarf_attr_integrate(type, DW_AT_calling_convention, &attribute), &convention) == 0)
		return convention == DW_CC_pass_by_reference;
	if (nesting > NESTING_MAX || dwarf_child(type, &child) != 0)
		return false;
	do {
		name = dwarf_diename(&child);
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			if (name && name[0] == '~' && !dwarf_hasattr(&child, DW_AT_defaulted))
				return true;
			break;
		case DW_TAG_member: case DW_TAG_inheritance:
			if (name && strncmp(name, "_vptr", 5) == 0)
				return true;
			if (dwarf_formref_die(dwarf_attr(&child, DW_AT_type, &attribute), &of) && dwarf_peel_type(&of, &of) == 0 &&
			    (dwarf_tag(&of) == DW_TAG_structure_type || dwarf_tag(&of) == DW_TAG_class_type) &&
			    by_reference(&of, nesting + 1))
				return true;
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* The type that `die` refers to; *reference: it is handed over through a pointer. */
static struct ada_elf_type type_of(Dwarf_Die *die, bool *reference)
{
	struct ada_elf_type none = {ADA_ELF_OTHER, 0};
	Dwarf_Attribute attribute;
	Dwarf_Die type;

	*reference = false;
	for (unsigned i = 0; i < NESTING_MAX; i++, die = &type) {
		if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attribute), &type) || dwarf_peel_type(&type, &type) != 0)
			return die == &type && dwarf_tag(die) == DW_TAG_enumeration_type
				? (struct ada_elf_type){ADA_ELF_SIGNED, bytes_of(die)} : none;
		switch (dwarf_tag(&type)) {
		case DW_TAG_base_type:
			return base_type(&type);
		case DW_TAG_unspecified_type:	/* of nullptr; of all that is written in assembly, where it says nothing */
			if (!dwarf_diename(&type) || strcmp(dwarf_diename(&type), "decltype(nullptr)") != 0)
				return none;
			return (struct ada_elf_type){ADA_ELF_UNSIGNED, 8};
		case DW_TAG_pointer_type: case DW_TAG_reference_type: case DW_TAG_rvalue_reference_type:
			return (struct ada_elf_type){ADA_ELF_UNSIGNED, 8};
		case DW_TAG_enumeration_type: case DW_TAG_subrange_type:	/* as the type underneath */
			break;
		default:
			*reference = by_reference(&type, 0);
			return (struct ada_elf_type){ADA_ELF_OTHER, bytes_of(&type)};
		}
	}
	return none;
}

static unsigned registers_of(const struct ada_elf_type *type, bool reference)
{
	if (type->class == ADA_ELF_REAL)
		return 0;
	if (type->class != ADA_ELF_OTHER || reference)
		return 1;
	return type->bytes > 16 ? 0 : (type->bytes + 7) / 8;
}

/* Functions that were inlined elsewhere, and methods, have what is the same for all of them in another entry. */
static bool parameters_of(Dwarf_Die *function, Dwarf_Die *die)
{
	Dwarf_Die from = *function;
	Dwarf_Attribute attribute;

	for (unsigned i = 0; i < NESTING_MAX; i++) {
		if (dwarf_child(&from, die) == 0)
			do
				if (dwarf_tag(die) == DW_TAG_formal_parameter)
					return true;
			while (dwarf_siblingof(die, die) == 0);
		if (!dwarf_formref_die(dwarf_attr(&from, DW_AT_abstract_origin, &attribute), &from) &&
		    !dwarf_formref_die(dwarf_attr(&from, DW_AT_specification, &attribute), &from))
			return false;
	}
	return false;
}

static int read_type(Dwarf_Die *function, int argument, struct ada_elf_type *type)
{
	bool reference;
	Dwarf_Die die;
	unsigned used;

	*type = type_of(function, &reference);
	if (!argument)
		return 0;
	used = type->class == ADA_ELF_OTHER && (reference || type->bytes > 16);	/* the place for the result comes first */
	if (used && argument == 1) {
		*type = (struct ada_elf_type){ADA_ELF_UNSIGNED, 8};
		return 0;
	}
	if (!parameters_of(function, &die))
		return -ENOENT;
	do {
		if (dwarf_tag(&die) != DW_TAG_formal_parameter)
			continue;
		*type = type_of(&die, &reference);
		used += registers_of(type, reference);
		if (reference)
			*type = (struct ada_elf_type){ADA_ELF_UNSIGNED, 8};
		if (used >= (unsigned)argument)
			return 0;
	} while (dwarf_siblingof(&die, &die) == 0);
	return -ENOENT;
}

static int read_file(const char *path, uint64_t address, int argument, struct ada_elf_type *type)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), status = -ENOENT;
	Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
	Dwarf_Die function;

	if (dwarf && find_function(dwarf, address, &function))
		status = read_type(&function, argument, type);
	if (dwarf)
		dwarf_end(dwarf);
	if (fd >= 0)
		close(fd);
	return status;
}

int ada_elf_type_of(const char *path, const char *mangled, int argument, struct ada_elf_type *type)
{
	struct ada_error error = {""};
	struct ada_elf *elf, *debug = NULL;
	const struct ada_elf *with = NULL;
	uint64_t address = 0;
	int status = -ENOENT;

	if (ada_elf_open(&elf, path, &error) != 0)
		return -ENOENT;
	if (ada_elf_section_named(elf, ".debug_info"))
		with = elf;
	else
		with = debug = ada_elf_open_debug(elf);
	if (with && (address_of(elf, mangled, &address) || (debug && address_of(debug, mangled, &address))))
		status = read_file(with->path, address, argument, type);
	if (debug)
		ada_elf_close(debug);
	ada_elf_close(elf);
	return status;
}
