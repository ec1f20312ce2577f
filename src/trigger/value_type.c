/* How a result or argument is to be read: what debug information says, else libc's prototypes, else int. */
#include <stddef.h>
#include <string.h>
#include "elf/debug/argument_type.h"
#include "trigger/prototypes.h"
#include "trigger/trigger.h"

static bool from_debug(const struct ada_elf_type *type, enum ada_value_type *value)
{
	bool is_unsigned = type->class == ADA_ELF_UNSIGNED;

	if (type->class == ADA_ELF_REAL) {
		*value = type->bytes == 4 ? ADA_VALUE_F32 : ADA_VALUE_F64;
		return true;
	}
	if (type->class == ADA_ELF_OTHER)
		return false;
	switch (type->bytes) {
	case 1: *value = is_unsigned ? ADA_VALUE_U8 : ADA_VALUE_I8; return true;
	case 2: *value = is_unsigned ? ADA_VALUE_U16 : ADA_VALUE_I16; return true;
	case 4: *value = is_unsigned ? ADA_VALUE_U32 : ADA_VALUE_I32; return true;
	case 8: *value = is_unsigned ? ADA_VALUE_U64 : ADA_VALUE_I64; return true;
	}
	return false;
}

static bool from_prototype(const char *types, int argument, enum ada_value_type *value)
{
	static const struct {
		char letter;
		enum ada_value_type type;
	} letters[] = { { 'c', ADA_VALUE_I8 },	{ 'b', ADA_VALUE_U8 },	{ 'h', ADA_VALUE_I16 }, { 'H', ADA_VALUE_U16 },
			{ 'i', ADA_VALUE_I32 }, { 'u', ADA_VALUE_U32 }, { 'l', ADA_VALUE_I64 }, { 'z', ADA_VALUE_U64 },
			{ 'p', ADA_VALUE_U64 }, { 's', ADA_VALUE_U64 }, { 'a', ADA_VALUE_U64 }, { 'f', ADA_VALUE_F32 },
			{ 'd', ADA_VALUE_F64 } };
	const char *at = types;

	/* The Nth argument in a general register: real numbers lie elsewhere. */
	for (int left = argument; left && *at;) {
		at++;
		left -= *at && !strchr("fd", *at);
	}
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (*at && *at == letters[i].letter) {
			*value = letters[i].type;
			return true;
		}
	return false;
}

enum ada_value_type ada_value_type_of(const char *path, const char *mangled, int argument)
{
	const struct ada_prototype *prototype;
	struct ada_elf_type type;
	enum ada_value_type value;

	if (path && ada_elf_type_of(path, mangled, argument, &type) == 0 && from_debug(&type, &value))
		return value;
	prototype = ada_prototype_find(mangled);
	if (prototype && from_prototype(prototype->types, argument, &value))
		return value;
	return ADA_VALUE_I32;
}
