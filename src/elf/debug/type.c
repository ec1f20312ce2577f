/* Turns types of debug information into what a reader of values needs: see functions.h. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include "elf/debug/internal.h"

#define NAME_MAX_BYTES 160
#define QUALIFIERS_MAX 32 /* typedefs and the like one upon the other */
#define ENUMERATORS_MAX 1024
#define MEMBERS_MAX 16	      /* of what is shown as a structure with its members, */
#define MEMBERS_BYTES_MAX 128 /* the size */
#define MEMBERS_NESTING_MAX 3

bool ada_debug_follow(Dwarf_Die *die, unsigned attribute, Dwarf_Die *to)
{
	Dwarf_Attribute found;

	return dwarf_formref_die(dwarf_attr(die, attribute, &found), to) != NULL;
}

/* The entry's DW_AT_type as it stands. */
static bool named_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute found;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &found), type) != NULL;
}

/* Not dwarf_peel_type and dwarf_aggregate_size: they have no end where a type is made of itself. */
bool ada_debug_type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Die whole;

	if (!named_type_of(die, type))
		return false;
	for (unsigned i = 0; i < QUALIFIERS_MAX; i++)
		switch (dwarf_tag(type)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
		case DW_TAG_packed_type:
		case DW_TAG_shared_type:
			if (!named_type_of(type, type))
				return false;
			break;
		default:
			/* In a type unit of its own. */
			if (dwarf_hasattr(type, DW_AT_signature) && ada_debug_follow(type, DW_AT_signature, &whole))
				*type = whole;
			return true;
		}
	return false;
}

static bool number_at(Dwarf_Die *die, unsigned name, Dwarf_Word *number)
{
	Dwarf_Attribute attribute;

	return dwarf_formudata(dwarf_attr(die, name, &attribute), number) == 0;
}

/* 0: not known, or none. */
static uint64_t elements_of(Dwarf_Die *array)
{
	uint64_t count = 1;
	Dwarf_Word number;
	Dwarf_Die child;

	if (dwarf_child(array, &child) != 0)
		return 0;
	do {
		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!number_at(&child, DW_AT_count, &number)) {
			if (!number_at(&child, DW_AT_upper_bound, &number))
				return 0;
			number++;
		}
		if (__builtin_mul_overflow(count, number, &count))
			return 0;
	} while (dwarf_siblingof(&child, &child) == 0);
	return count;
}

uint64_t ada_debug_bytes(Dwarf_Die *type)
{
	uint64_t bytes = 1;
	Dwarf_Word number;
	Dwarf_Die die = *type;

	for (unsigned i = 0; i < QUALIFIERS_MAX; i++) {
		if (number_at(&die, DW_AT_byte_size, &number))
			return __builtin_mul_overflow(bytes, number, &bytes) ? 0 : bytes;
		switch (dwarf_tag(&die)) {
		case DW_TAG_pointer_type:
		case DW_TAG_reference_type:
		case DW_TAG_rvalue_reference_type: return __builtin_mul_overflow(bytes, 8, &bytes) ? 0 : bytes;
		case DW_TAG_array_type:
			if (__builtin_mul_overflow(bytes, elements_of(&die), &bytes))
				return 0;
			break;
		case DW_TAG_enumeration_type:
		case DW_TAG_subrange_type: break;
		default: return 0;
		}
		if (!ada_debug_type_of(&die, &die))
			return 0;
	}
	return 0;
}

bool ada_debug_is_vector(Dwarf_Die *array)
{
	return dwarf_hasattr(array, DW_AT_GNU_vector);
}

/* --- names --------------------------------------------------------------------------------------------------------------- */

struct text {
	char bytes[NAME_MAX_BYTES];
	size_t length;
	enum ada_debug_language language;
};

static void text_put(struct text *text, const char *string)
{
	for (; *string && text->length < sizeof text->bytes - 4; string++)
		text->bytes[text->length++] = *string;
	if (*string)
		memcpy(text->bytes + text->length, "...", 4);
	else
		text->bytes[text->length] = '\0';
}

static void put_type(struct text *text, Dwarf_Die *die, unsigned nesting);

/* "void" where there is none. */
static void put_type_of(struct text *text, Dwarf_Die *die, unsigned nesting)
{
	Dwarf_Die type;

	if (named_type_of(die, &type))
		put_type(text, &type, nesting + 1);
	else
		text_put(text, "void");
}

/* `between`: what stands in front of the parameters: "(*)" of a pointer to it. */
static void put_subroutine(struct text *text, Dwarf_Die *die, const char *between, unsigned nesting)
{
	const char *comma = "";
	Dwarf_Die child;

	put_type_of(text, die, nesting);
	text_put(text, between);
	text_put(text, "(");
	if (dwarf_child(die, &child) == 0)
		do {
			if (dwarf_tag(&child) != DW_TAG_formal_parameter && dwarf_tag(&child) != DW_TAG_unspecified_parameters)
				continue;
			text_put(text, comma);
			if (dwarf_tag(&child) == DW_TAG_formal_parameter)
				put_type_of(text, &child, nesting);
			else
				text_put(text, "...");
			comma = ", ";
		} while (text->length < sizeof text->bytes - 4 && dwarf_siblingof(&child, &child) == 0);
	text_put(text, ")");
}

static bool is_string_class(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	uint64_t bytes = ada_debug_bytes(die);

	/* libstdc++'s string has 32 bytes; a compiler may leave out its members. libc++'s is another. */
	return name && strncmp(name, "basic_string<char, std::char_traits<char>", 41) == 0 && (bytes == 32 || !bytes);
}

static void put_aggregate(struct text *text, Dwarf_Die *die, const char *keyword)
{
	const char *name = dwarf_diename(die);

	if (text->language == ADA_DEBUG_C || !name) {
		text_put(text, keyword);
		text_put(text, " ");
	}
	text_put(text, is_string_class(die) ? "std::string" : name ? name : "{...}");
}

static void put_pointer(struct text *text, Dwarf_Die *die, const char *mark, unsigned nesting)
{
	Dwarf_Die to;

	if (named_type_of(die, &to) && dwarf_tag(&to) == DW_TAG_subroutine_type) {
		put_subroutine(text, &to, mark[0] == '*' ? " (*)" : " (&)", nesting);
		return;
	}
	put_type_of(text, die, nesting);
	if (text->length && text->bytes[text->length - 1] != '*')
		text_put(text, " ");
	text_put(text, mark);
}

static void put_qualified(struct text *text, Dwarf_Die *die, const char *qualifier, unsigned nesting)
{
	Dwarf_Die to;
	bool pointer = named_type_of(die, &to) && dwarf_tag(&to) == DW_TAG_pointer_type && !dwarf_diename(&to);

	if (!pointer) {
		text_put(text, qualifier);
		text_put(text, " ");
	}
	put_type_of(text, die, nesting);
	if (pointer) {
		text_put(text, " ");
		text_put(text, qualifier);
	}
}

static void put_array(struct text *text, Dwarf_Die *die, unsigned nesting)
{
	uint64_t elements = elements_of(die);
	char count[32] = " []";

	put_type_of(text, die, nesting);
	if (elements)
		snprintf(count, sizeof count, " [%llu]", (unsigned long long)elements);
	text_put(text, count);
}

static void put_type(struct text *text, Dwarf_Die *die, unsigned nesting)
{
	const char *name = dwarf_diename(die);

	if (nesting > ADA_DEBUG_NESTING_MAX || text->length >= sizeof text->bytes - 4) {
		text_put(text, "...");
		return;
	}
	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type: put_aggregate(text, die, "struct"); return;
	case DW_TAG_class_type: put_aggregate(text, die, "class"); return;
	case DW_TAG_union_type: put_aggregate(text, die, "union"); return;
	case DW_TAG_enumeration_type: put_aggregate(text, die, "enum"); return;
	case DW_TAG_const_type: put_qualified(text, die, "const", nesting); return;
	case DW_TAG_volatile_type: put_qualified(text, die, "volatile", nesting); return;
	case DW_TAG_atomic_type: put_qualified(text, die, "_Atomic", nesting); return;
	case DW_TAG_restrict_type: put_type_of(text, die, nesting); return;
	case DW_TAG_pointer_type:
		if (name)
			text_put(text, name);
		else
			put_pointer(text, die, "*", nesting);
		return;
	case DW_TAG_reference_type: put_pointer(text, die, "&", nesting); return;
	case DW_TAG_rvalue_reference_type: put_pointer(text, die, "&&", nesting); return;
	case DW_TAG_ptr_to_member_type: put_pointer(text, die, "::*", nesting); return;
	case DW_TAG_subroutine_type: put_subroutine(text, die, " ", nesting); return;
	case DW_TAG_array_type:
		if (name)
			text_put(text, name);
		else
			put_array(text, die, nesting);
		return;
	}
	text_put(text, name ? name : "...");
}

static char *name_of(Dwarf_Die *die, enum ada_debug_language language)
{
	struct text text = { .language = language };

	put_type_of(&text, die, 0);
	return strdup(text.bytes);
}

/* --- values ---------------------------------------------------------------------------------------------------------------- */

static Dwarf_Word encoding_of(Dwarf_Die *type)
{
	Dwarf_Word encoding;

	return number_at(type, DW_AT_encoding, &encoding) ? encoding : 0;
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

	type->name = name_of(die, language);
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
	uint64_t elements = elements_of(die);
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

bool ada_debug_is_transparent(Dwarf_Die *type)
{
	Dwarf_Die child;

	if (dwarf_tag(type) != DW_TAG_union_type || ada_debug_bytes(type) < 2 || dwarf_hasattr(type, DW_AT_declaration))
		return false;
	if (dwarf_child(type, &child) != 0)
		return true;
	do
		if (dwarf_tag(&child) == DW_TAG_member)
			return false;
	while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

static void read_aggregate(Dwarf_Die *die, enum ada_debug_language language, struct ada_debug_type *type, unsigned nesting)
{
	type->class = ADA_DEBUG_OTHER;
	if (is_string_class(die)) {
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
		if (is_string_class(&to)) {
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
