/* Turns types of debug information into what a reader of values needs: see functions.h. */
#include <dwarf.h>
#include <stdlib.h>
#include "elf/debug/internal.h"

#define ENUMERATORS_MAX 1024
#define MEMBERS_MAX 16	      /* of what is shown as a structure with its members, */
#define MEMBERS_BYTES_MAX 128 /* the size */
#define MEMBERS_NESTING_MAX 3

static Dwarf_Word encoding_of(Dwarf_Die *type)
{
	Dwarf_Word encoding;

	return ada_debug_number(type, DW_AT_encoding, &encoding) ? encoding : 0;
}

static bool is_plain_char(Dwarf_Die *type, enum ada_debug_language language)
{
	const char *name = dwarf_diename(type);
	Dwarf_Word encoding = encoding_of(type);

	if (dwarf_tag(type) != DW_TAG_base_type || !name || ada_debug_bytes(type) != 1)
		return false;
	if (language == ADA_DEBUG_RUST) /* what C's char is there */
		return strcmp(name, "i8") == 0;
	return strcmp(name, "char") == 0 && (encoding == DW_ATE_signed_char || encoding == DW_ATE_unsigned_char);
}

static enum ada_debug_class base_class(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type)
{
	Dwarf_Word encoding = encoding_of(die);

	if (!type->bytes)
		return ADA_DEBUG_VOID; /* Rust's () */
	if (is_plain_char(die, language) && language != ADA_DEBUG_RUST) {
		type->is_unsigned = encoding == DW_ATE_unsigned_char;
		return ADA_DEBUG_CHAR;
	}
	switch (encoding) {
	case DW_ATE_float: {
		const char *name = dwarf_diename(die);

		/* Of the formats of 16 bytes only x87's is read. */
		if (type->bytes == 16 && name && strstr(name, "128"))
			return ADA_DEBUG_OTHER;
		return type->bytes == 4 || type->bytes == 8 || type->bytes == 16 ? ADA_DEBUG_REAL : ADA_DEBUG_OTHER;
	}
	case DW_ATE_UTF: type->is_unsigned = true; return type->bytes <= 4 ? ADA_DEBUG_CHAR : ADA_DEBUG_OTHER;
	case DW_ATE_boolean: return type->bytes <= 8 ? ADA_DEBUG_BOOL : ADA_DEBUG_OTHER;
	case DW_ATE_signed:
	case DW_ATE_signed_char: return type->bytes <= 16 ? ADA_DEBUG_SIGNED : ADA_DEBUG_OTHER;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_address: return type->bytes <= 16 ? ADA_DEBUG_UNSIGNED : ADA_DEBUG_OTHER;
	}
	return ADA_DEBUG_OTHER;
}

static void read_enumerators(Dwarf_Die *die, struct ada_debug_type *type)
{
	struct ada_debug_enumerator enumerator;
	Dwarf_Attribute attribute;
	Dwarf_Die child, underlying;
	Dwarf_Sword number;
	Dwarf_Word word;

	if (ada_debug_type_of(die, &underlying)) {
		Dwarf_Word encoding = encoding_of(&underlying);

		type->is_unsigned = encoding == DW_ATE_unsigned || encoding == DW_ATE_unsigned_char || encoding == DW_ATE_boolean;
	}
	if (dwarf_child(die, &child) != 0)
		return;
	do {
		if (dwarf_tag(&child) != DW_TAG_enumerator || !dwarf_attr(&child, DW_AT_const_value, &attribute))
			continue;
		enumerator.name = dwarf_diename(&child);
		/* Compilers write negative values as sdata; every other form is without a sign. */
		switch (dwarf_whatform(&attribute)) {
		case DW_FORM_sdata:
		case DW_FORM_implicit_const:
			if (dwarf_formsdata(&attribute, &number))
				continue;
			enumerator.value = number;
			break;
		default:
			if (dwarf_formudata(&attribute, &word))
				continue;
			enumerator.value = (int64_t)word;
		}
		if (enumerator.name && ada_array_push(&type->enumerators, enumerator))
			return;
	} while (type->enumerators.count < ENUMERATORS_MAX && dwarf_siblingof(&child, &child) == 0);
}

static void read_peeled(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting);

static void read_type(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting)
{
	Dwarf_Die peeled;

	type->name = ada_debug_type_name(die, language);
	if (ada_debug_type_of(die, &peeled))
		read_peeled(&peeled, language, type, nesting);
}

/* True: all of them were read. */
static bool read_members(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return true;
	do {
		struct ada_debug_member member = {};
		uint64_t offset;

		if (dwarf_tag(&child) == DW_TAG_inheritance || dwarf_tag(&child) == DW_TAG_variant_part)
			return false;
		if (dwarf_tag(&child) != DW_TAG_member || !ada_debug_member_offset(&child, &offset))
			continue;
		if (type->members.count == MEMBERS_MAX || offset > MEMBERS_BYTES_MAX)
			return false;
		member.name = dwarf_diename(&child);
		if (!member.name)
			member.name = "";
		member.offset = (uint32_t)offset;
		read_type(&child, language, &member.type, nesting + 1);
		if (!ada_debug_member_bits(&child, &member) || ada_array_push(&type->members, member)) {
			ada_debug_type_free(&member.type);
			return false;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

/* As a structure without names. */
static void read_array(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting)
{
	uint64_t elements = ada_debug_elements(die);
	Dwarf_Die of;

	type->class = ADA_DEBUG_OTHER;
	if (!type->bytes || type->bytes > MEMBERS_BYTES_MAX || ada_debug_is_vector(die) || !ada_debug_type_of(die, &of))
		return;
	if (is_plain_char(&of, language)) {
		type->class = ADA_DEBUG_TEXT;
		return;
	}
	if (!elements || elements > MEMBERS_MAX || nesting >= MEMBERS_NESTING_MAX || type->bytes % elements)
		return;
	type->class = ADA_DEBUG_STRUCT;
	type->is_array = true;
	for (uint64_t i = 0; i < elements; i++) {
		struct ada_debug_member member = { .name = "", .offset = (uint32_t)(i * (type->bytes / elements)) };

		read_type(die, language, &member.type, nesting + 1);
		if (ada_array_push(&type->members, member)) {
			ada_debug_type_free(&member.type);
			return;
		}
	}
}

static void drop_members(struct ada_debug_type *type)
{
	for (size_t i = 0; i < type->members.count; i++)
		ada_debug_type_free(&type->members.items[i].type);
	ada_array_free(&type->members);
}

/* Whether a union's value can be shown as each member reads it. Not in Rust, where one member means that nothing is there. */
static bool is_shown_by_members(const struct ada_debug_type *type, enum ada_debug_language language)
{
	for (size_t i = 0; i < type->members.count; i++)
		if (type->members.items[i].type.class == ADA_DEBUG_OTHER || type->members.items[i].type.class == ADA_DEBUG_VOID)
			return false;
	return language != ADA_DEBUG_RUST;
}

static const struct ada_debug_member *member_named(const struct ada_debug_type *type, const char *name)
{
	for (size_t i = 0; i < type->members.count; i++)
		if (strcmp(type->members.items[i].name, name) == 0 && type->members.items[i].type.bytes == 8)
			return &type->members.items[i];
	return NULL;
}

/* Pointer and length, by the names that the two have. */
static bool is_slice(const char *name, enum ada_debug_language language, struct ada_debug_type *type)
{
	const struct ada_debug_member *text = NULL, *length = NULL;

	if (!name || type->bytes != 16)
		return false;
	if (language == ADA_DEBUG_RUST && (strcmp(name, "&str") == 0 || strcmp(name, "&mut str") == 0)) {
		text = member_named(type, "data_ptr");
		length = member_named(type, "length");
	} else if (strncmp(name, "basic_string_view<char, ", 24) == 0) {
		text = member_named(type, "_M_str");
		length = member_named(type, "_M_len");
	}
	if (!text || !length)
		return false;
	type->text_at = text->offset;
	type->length_at = length->offset;
	return true;
}

static void read_aggregate(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting)
{
	type->class = ADA_DEBUG_OTHER;
	if (ada_debug_is_string(die)) {
		type->class = ADA_DEBUG_STD_STRING;
		type->bytes = 32;
	} else if (type->bytes == 8 && ada_debug_is_transparent(die)) {
		type->class = type->name && strstr(type->name, "SOCKADDR_ARG") ? ADA_DEBUG_ADDRESS : ADA_DEBUG_POINTER;
	} else if (type->bytes && type->bytes <= MEMBERS_BYTES_MAX && nesting < MEMBERS_NESTING_MAX) {
		if (!read_members(die, language, type, nesting) ||
		    (dwarf_tag(die) == DW_TAG_union_type && !is_shown_by_members(type, language)))
			drop_members(type);
		else if (is_slice(dwarf_diename(die), language, type))
			type->class = ADA_DEBUG_SLICE;
		else
			type->class = ADA_DEBUG_STRUCT;
	}
}

/* struct sockaddr, sockaddr_in, sockaddr_storage: the family comes first in all of them. */
static bool is_address(const char *name)
{
	return name && strncmp(name, "sockaddr", 8) == 0 && (!name[8] || name[8] == '_');
}

static void read_pointer(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type)
{
	Dwarf_Die to;

	type->class = ADA_DEBUG_POINTER;
	type->bytes = 8;
	if (!ada_debug_type_of(die, &to))
		return;
	switch (dwarf_tag(&to)) {
	case DW_TAG_base_type:
		if (dwarf_tag(die) == DW_TAG_pointer_type && is_plain_char(&to, language))
			type->class = ADA_DEBUG_C_STRING;
		break;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
		if (ada_debug_is_string(&to)) {
			type->class = ADA_DEBUG_STD_STRING;
			type->is_pointer = true;
		} else if (is_address(dwarf_diename(&to))) {
			type->class = ADA_DEBUG_ADDRESS;
		}
		break;
	}
}

static void read_peeled(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting)
{
	uint64_t bytes = ada_debug_bytes(die);
	const char *name = dwarf_diename(die);
	Dwarf_Die of;

	type->class = ADA_DEBUG_OTHER;
	type->bytes = bytes <= UINT32_MAX ? (uint32_t)bytes : 0;
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type: type->class = base_class(die, language, type); break;
	case DW_TAG_unspecified_type:
		if (name && strcmp(name, "decltype(nullptr)") == 0) {
			type->class = ADA_DEBUG_POINTER;
			type->bytes = 8;
		}
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: read_pointer(die, language, type); break;
	case DW_TAG_ptr_to_member_type:
		if (ada_debug_type_of(die, &of) && dwarf_tag(&of) != DW_TAG_subroutine_type) {
			type->class = ADA_DEBUG_SIGNED;
			type->bytes = 8;
		} else {
			type->bytes = 16;
		}
		break;
	case DW_TAG_enumeration_type:
		type->class = type->bytes && type->bytes <= 8 ? ADA_DEBUG_ENUM : ADA_DEBUG_OTHER;
		read_enumerators(die, type);
		break;
	case DW_TAG_subrange_type:
		if (nesting < ADA_DEBUG_NESTING_MAX && ada_debug_type_of(die, &of))
			read_peeled(&of, language, type, nesting + 1);
		break;
	case DW_TAG_array_type: read_array(die, language, type, nesting); break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type: read_aggregate(die, language, type, nesting); break;
	}
}

void ada_debug_type_read(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type)
{
	read_type(die, language, type, 0);
}

void ada_debug_type_free(struct ada_debug_type *type)
{
	drop_members(type);
	ada_array_free(&type->enumerators);
	free(type->name);
	type->name = NULL;
}
