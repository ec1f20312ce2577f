/* See argument_type.h. The symbol's address leads to the function: names may differ (aliases), addresses don't. */
#include "elf/debug/argument_type.h"
#include <errno.h>
#include "elf/debug/functions.h"
#include "elf/file/symbols.h"

/* Not for a resolver: its type is a pointer's, whatever function it resolves. */
static bool address_of(const struct ada_elf *elf, const char *mangled, uint64_t *address)
{
	struct ada_elf_symbols symbols = { 0 };
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

static struct ada_elf_type type_of(const struct ada_debug_type *type, const struct ada_debug_where *where)
{
	if (where->indirect || type->is_pointer)
		return (struct ada_elf_type){ ADA_ELF_UNSIGNED, 8 };
	switch (type->class) {
	case ADA_DEBUG_SIGNED: return (struct ada_elf_type){ ADA_ELF_SIGNED, type->bytes };
	case ADA_DEBUG_CHAR:
	case ADA_DEBUG_ENUM: return (struct ada_elf_type){ type->is_unsigned ? ADA_ELF_UNSIGNED : ADA_ELF_SIGNED, type->bytes };
	case ADA_DEBUG_UNSIGNED:
	case ADA_DEBUG_BOOL:
	case ADA_DEBUG_POINTER:
	case ADA_DEBUG_ADDRESS:
	case ADA_DEBUG_C_STRING: return (struct ada_elf_type){ ADA_ELF_UNSIGNED, type->bytes };
	case ADA_DEBUG_REAL: return (struct ada_elf_type){ type->bytes <= 8 ? ADA_ELF_REAL : ADA_ELF_OTHER, type->bytes };
	default: return (struct ada_elf_type){ ADA_ELF_OTHER, type->bytes };
	}
}

static int read_type(const struct ada_debug_function *function, int argument, struct ada_elf_type *type)
{
	static const struct ada_debug_where as_it_is;

	if (!argument) {
		*type = type_of(&function->result, &as_it_is);
		return function->has_result ? 0 : -ENOENT;
	}
	if (argument == 1 && function->result_where.indirect) {
		*type = (struct ada_elf_type){ ADA_ELF_UNSIGNED, 8 }; /* the place for the result */
		return 0;
	}
	for (size_t i = 0; i < function->parameters.count; i++) {
		const struct ada_debug_parameter *parameter = &function->parameters.items[i];
		const struct ada_debug_where *where = parameter->where.place == ADA_DEBUG_NOWHERE ? &parameter->convention :
												    &parameter->where;

		for (unsigned j = 0; where->place == ADA_DEBUG_REGISTERS && j < where->count; j++)
			if (where->registers[j] == argument - 1) {
				*type = type_of(&parameter->type, where);
				return 0;
			}
	}
	return -ENOENT;
}

int ada_elf_type_of(const char *path, const char *mangled, int argument, struct ada_elf_type *type)
{
	struct ada_debug *debug = ada_debug_open(path, "");
	const struct ada_debug_function *function = NULL;
	struct ada_elf *separate = NULL;
	uint64_t address = 0;
	int status = -ENOENT;

	if (!debug)
		return -ENOENT;
	if (!address_of(ada_debug_elf(debug), mangled, &address)) {
		separate = ada_elf_open_debug(ada_debug_elf(debug));
		if (!separate || !address_of(separate, mangled, &address))
			goto out;
	}
	function = ada_debug_function(debug, address, mangled);
	if (function && function->has_types)
		status = read_type(function, argument, type);
out:
	ada_elf_close(separate);
	ada_debug_close(debug);
	return status;
}
