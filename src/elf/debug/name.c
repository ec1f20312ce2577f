/* Names of types, as the source has them. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include "elf/debug/internal.h"

#define NAME_MAX_BYTES 160

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

	if (ada_debug_named_type(die, &type))
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

static void put_aggregate(struct text *text, Dwarf_Die *die, const char *keyword)
{
	const char *name = dwarf_diename(die);

	if (text->language == ADA_DEBUG_C || !name) {
		text_put(text, keyword);
		text_put(text, " ");
	}
	text_put(text, ada_debug_is_string(die) ? "std::string" : name ? name : "{...}");
}

static void put_pointer(struct text *text, Dwarf_Die *die, const char *mark, unsigned nesting)
{
	Dwarf_Die to;

	if (ada_debug_named_type(die, &to) && dwarf_tag(&to) == DW_TAG_subroutine_type) {
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
	bool pointer = ada_debug_named_type(die, &to) && dwarf_tag(&to) == DW_TAG_pointer_type && !dwarf_diename(&to);

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
	uint64_t elements = ada_debug_elements(die);
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

char *ada_debug_type_name(Dwarf_Die *die, enum ada_debug_language language)
{
	struct text text = { .language = language };

	put_type_of(&text, die, 0);
	return strdup(text.bytes);
}
