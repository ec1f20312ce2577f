/* Values as people write them, by their types. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/address.h"
#include "query/values/internal.h"

#define STRING_MAX 256 /* bytes of a string that are shown */
#define ENUMERATORS_JOINED 24
#define NOT_CAPTURED "(not captured)"
#define NOT_KNOWN "(not known)" /* the place isn't known: the compiler did as it liked */

/* Nobody looks for a lack of memory before the end. */
struct text {
	FILE *file;
	char *bytes;
	size_t length;
};

static int put_end(struct text *text, char **result)
{
	bool failed = ferror(text->file);

	*result = NULL;
	if (fclose(text->file) || failed || !text->bytes) {
		free(text->bytes);
		return -ENOMEM;
	}
	*result = text->bytes;
	return 0;
}

/* --- characters ------------------------------------------------------------------------------------------------------------- */

static void put_character(FILE *file, const char **at, const char *end, char quote)
{
	static const char plain[] = "\n\t\r\a\b\f\v\x1b", letters[] = "ntrabfve";
	size_t length = ada_utf8_length(*at);
	const char *special = **at ? strchr(plain, **at) : NULL;

	if (special)
		fprintf(file, "\\%c", letters[special - plain]);
	else if (**at == quote || **at == '\\')
		fprintf(file, "\\%c", **at);
	else if (!**at)
		fputs("\\0", file);
	else if (!length || *at + length > end || (unsigned char)**at < 0x20 || **at == 0x7f)
		fprintf(file, "\\x%02x", (unsigned char)**at);
	else {
		fwrite(*at, 1, length, file);
		*at += length - 1;
	}
	++*at;
}

static void put_code_point(FILE *file, uint32_t code)
{
	char bytes[5] = "";
	const char *at = bytes;

	if (code < 0x80) {
		bytes[0] = (char)code;
	} else if (code < 0x800) {
		bytes[0] = (char)(0xc0 | code >> 6);
		bytes[1] = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		bytes[0] = (char)(0xe0 | code >> 12);
		bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x110000) {
		bytes[0] = (char)(0xf0 | code >> 18);
		bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (code & 0x3f));
	}
	if (code >= 0x80 && (!bytes[0] || !ada_utf8_length(bytes))) {
		fprintf(file, "'\\u{%" PRIx32 "}'", code);
		return;
	}
	fputc('\'', file);
	put_character(file, &at, bytes + 4, '\'');
	fputc('\'', file);
}

/* --- strings ---------------------------------------------------------------------------------------------------------------- */

/* The bytes become the argument's string. */
static void put_string(FILE *file, struct ada_argument *argument, const char *bytes, size_t length, bool cut)
{
	char *copy = malloc(length + 1); /* the NUL is what ada_utf8_length stops at */
	const char *at = copy;

	if (!copy)
		return;
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	fputc('"', file);
	while (at < copy + length)
		put_character(file, &at, copy + length, '"');
	fputs(cut ? "\"..." : "\"", file);
	free(argument->string);
	argument->string = copy;
	argument->cut = cut;
	argument->kind = ADA_ARGUMENT_STRING;
}

static void put_address(FILE *file, struct ada_argument *argument, uint64_t address)
{
	argument->kind = ADA_ARGUMENT_POINTER;
	argument->is_unsigned = true;
	argument->number = (int64_t)address;
	if (address)
		fprintf(file, "0x%" PRIx64, address);
	else
		fputs("NULL", file);
}

static void put_not_captured(FILE *file, struct ada_argument *argument, uint64_t address)
{
	argument->captured = false;
	if (address) {
		put_address(file, argument, address);
		fputc(' ', file);
	}
	fputs(NOT_CAPTURED, file);
}

static void put_c_string(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address)
{
	uint64_t there;
	const char *bytes = address ? (const char *)ada_captured_at(captured, address, &there) : NULL;
	size_t length;

	if (!address) {
		put_address(file, argument, 0);
	} else if (!bytes) {
		put_not_captured(file, argument, address);
	} else {
		length = strnlen(bytes, there < STRING_MAX ? there : STRING_MAX);
		argument->number = (int64_t)address;
		put_string(file, argument, bytes, length, length == there || length == STRING_MAX);
	}
}

/* The value stays the pointer. */
static void put_socket_address(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address)
{
	uint64_t there = 0;
	const uint8_t *bytes = address ? ada_captured_at(captured, address, &there) : NULL;
	char *text = bytes ? ada_address_text(bytes, there) : NULL;
	const char *at = text, *end = text ? text + strlen(text) : NULL;

	if (!text) {
		put_address(file, argument, address);
		return;
	}
	argument->kind = ADA_ARGUMENT_POINTER;
	argument->is_unsigned = true;
	argument->number = (int64_t)address;
	while (at < end)
		put_character(file, &at, end, '\0');
	free(text);
}

static void put_slice(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
		      const uint8_t *value)
{
	uint64_t address, length, there = 0, shown;
	const char *bytes = NULL;

	memcpy(&address, value + type->text_at, sizeof address);
	memcpy(&length, value + type->length_at, sizeof length);
	if (length)
		bytes = (const char *)ada_captured_at(captured, address, &there);
	argument->number = (int64_t)address;
	if (!length) {
		put_string(file, argument, "", 0, false);
	} else if (!bytes) {
		put_not_captured(file, argument, address);
	} else {
		shown = length < there ? length : there;
		shown = shown < STRING_MAX ? shown : STRING_MAX;
		put_string(file, argument, bytes, shown, shown < length);
	}
}

/* libstdc++'s: pointer, length, and 16 bytes that the pointer leads to where the text is short. */
static void put_std_string(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address)
{
	uint64_t there = 0, text, length;
	const uint8_t *object = ada_captured_at(captured, address, &there);

	if (object && there >= 16) {
		memcpy(&text, object, sizeof text);
		memcpy(&length, object + 8, sizeof length);
		if (text == address + 16 && length < 16 && there >= 16 + length) {
			argument->number = (int64_t)address;
			put_string(file, argument, (const char *)object + 16, length, false);
			return;
		}
	}
	put_not_captured(file, argument, address);
}

/* --- numbers ---------------------------------------------------------------------------------------------------------------- */

static int64_t signed_of(const uint8_t *value, uint32_t bytes)
{
	uint64_t word;

	memcpy(&word, value, sizeof word);
	if (!bytes)
		return 0;
	return bytes >= 8 ? (int64_t)word : (int64_t)(word << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static uint64_t unsigned_of(const uint8_t *value, uint32_t bytes)
{
	uint64_t word;

	memcpy(&word, value, sizeof word);
	return bytes >= 8 ? word : word & ((1ull << 8 * bytes) - 1);
}

static void put_wide(FILE *file, const uint8_t *value, bool is_signed)
{
	unsigned __int128 number;
	char digits[42];
	size_t at = sizeof digits;
	bool minus;

	memcpy(&number, value, sizeof number);
	minus = is_signed && number >> 127;
	if (minus)
		number = -number;
	digits[--at] = '\0';
	do
		digits[--at] = (char)('0' + (int)(number % 10));
	while (number /= 10);
	fprintf(file, "%s%s", minus ? "-" : "", digits + at);
}

/* Puts as few digits as tell the number from all others. */
static void put_real(FILE *file, struct ada_argument *argument, const uint8_t *value, uint32_t bytes)
{
	long double number = 0;
	double wide = 0;
	float narrow = 0;
	char text[64];

	switch (bytes) {
	case 4:
		memcpy(&narrow, value, sizeof narrow);
		number = narrow;
		break;
	case 8:
		memcpy(&wide, value, sizeof wide);
		number = wide;
		break;
	default: memcpy(&number, value, 10);
	}
	for (int digits = 6; digits <= 21; digits++) {
		snprintf(text, sizeof text, "%.*Lg", digits, number);
		if (bytes == 4 ? strtof(text, NULL) == narrow : bytes == 8 ? strtod(text, NULL) == wide : strtold(text, NULL) == number)
			break;
		if (number != number)
			break;
	}
	fputs(text, file);
	argument->kind = ADA_ARGUMENT_REAL;
	argument->real = (double)number;
}

static const char *enumerator_of(const struct ada_debug_type *type, int64_t value)
{
	for (size_t i = 0; i < type->enumerators.count; i++)
		if (type->enumerators.items[i].value == value)
			return type->enumerators.items[i].name;
	return NULL;
}

/* Whether the type's values are bits to be combined, not numbers in a row: all are powers of two, or made of those, and some number below
 * the largest is missing. */
static bool has_flags(const struct ada_debug_type *type)
{
	uint64_t bits = 0, largest = 0;
	size_t distinct = 0;

	for (size_t i = 0; i < type->enumerators.count; i++) {
		uint64_t value = (uint64_t)type->enumerators.items[i].value;

		if (value && !(value & (value - 1)))
			bits |= value;
	}
	for (size_t i = 0; i < type->enumerators.count; i++) {
		uint64_t value = (uint64_t)type->enumerators.items[i].value;

		if (value & ~bits)
			return false;
		distinct += value != 0;
		largest = value > largest ? value : largest;
	}
	return largest >= 4 && (bits & (bits - 1)) && distinct < largest;
}

static void put_enum(FILE *file, const struct ada_debug_type *type, int64_t value)
{
	const char *name = enumerator_of(type, value), *bar = "";
	uint64_t left = (uint64_t)value;

	if (!name && has_flags(type) && value > 0) {
		for (size_t i = 0, joined = 0; i < type->enumerators.count && joined < ENUMERATORS_JOINED; i++) {
			uint64_t flag = (uint64_t)type->enumerators.items[i].value;

			if (!flag || flag & (flag - 1) || !(left & flag))
				continue;
			fprintf(file, "%s%s", bar, type->enumerators.items[i].name);
			bar = "|";
			left &= ~flag;
			joined++;
		}
		if (left && *bar)
			fprintf(file, "|0x%" PRIx64, left);
	}
	if (name)
		fputs(name, file);
	if (name || *bar)
		fprintf(file, type->is_unsigned ? " (%" PRIu64 ")" : " (%" PRId64 ")", value);
	else
		fprintf(file, type->is_unsigned ? "%" PRIu64 : "%" PRId64, value);
}

static bool is_signed(const struct ada_debug_type *type)
{
	return type->class == ADA_DEBUG_SIGNED || ((type->class == ADA_DEBUG_CHAR || type->class == ADA_DEBUG_ENUM) && !type->is_unsigned);
}

static void put_number(FILE *file, struct ada_argument *argument, const struct ada_debug_type *type, const uint8_t *value)
{
	bool with_sign = is_signed(type);

	argument->kind = ADA_ARGUMENT_NUMBER;
	argument->is_unsigned = !with_sign;
	argument->number = with_sign ? signed_of(value, type->bytes) : (int64_t)unsigned_of(value, type->bytes);
	switch (type->class) {
	case ADA_DEBUG_BOOL:
		if (argument->number >> 1 == 0) {
			fputs(argument->number ? "true" : "false", file);
			return;
		}
		break;
	case ADA_DEBUG_CHAR:
		if (type->bytes == 1 && (argument->number < 0 || argument->number > 0x7f))
			fprintf(file, "'\\x%02x'", (unsigned)argument->number & 0xff);
		else
			put_code_point(file, (uint32_t)argument->number);
		return;
	case ADA_DEBUG_ENUM: put_enum(file, type, argument->number); return;
	default: break;
	}
	if (type->bytes > 8) {
		argument->kind = ADA_ARGUMENT_OPAQUE;
		put_wide(file, value, with_sign);
		return;
	}
	fprintf(file, with_sign ? "%" PRId64 : "%" PRIu64, argument->number);
}

/* --- all of them -------------------------------------------------------------------------------------------------------------- */

static void put_value(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
		      const uint8_t *value, uint64_t at);

/* Fields of Rust's tuples have numbers. */
static bool has_name(const struct ada_debug_member *member)
{
	return *member->name && !(member->name[0] == '_' && member->name[1] == '_' && member->name[2] >= '0' && member->name[2] <= '9');
}

/* A bit-field as a value of its type. False: it isn't among the bytes. */
static bool take_bits(const struct ada_debug_member *member, const uint8_t *value, uint8_t field[16])
{
	uint32_t bytes = (member->shift + member->bits + 7u) / 8;
	unsigned __int128 word = 0;
	uint64_t bits;

	if (member->offset + (uint64_t)bytes > ADA_VALUE_BYTES)
		return false;
	memcpy(&word, value + member->offset, bytes);
	bits = (uint64_t)(word >> member->shift) << (64 - member->bits);
	if (is_signed(&member->type))
		bits = (uint64_t)((int64_t)bits >> (64 - member->bits));
	else
		bits >>= 64 - member->bits;
	memset(field, 0, 16);
	memcpy(field, &bits, sizeof bits);
	return true;
}

static void put_struct(FILE *file, const struct ada_captured *captured, const struct ada_debug_type *type, const uint8_t *value,
		       uint64_t at)
{
	const char *comma = "";

	fputc(type->is_array ? '[' : '{', file);
	for (size_t i = 0; i < type->members.count; i++) {
		const struct ada_debug_member *member = &type->members.items[i];
		struct ada_argument inner = {};
		uint8_t field[ADA_VALUE_BYTES];

		fputs(comma, file);
		if (has_name(member))
			fprintf(file, "%s=", member->name);
		comma = ", ";
		if (member->type.class == ADA_DEBUG_OTHER || member->type.class == ADA_DEBUG_VOID || member->type.bytes > ADA_VALUE_BYTES ||
		    (member->bits ? !take_bits(member, value, field) : member->offset + (uint64_t)member->type.bytes > ADA_VALUE_BYTES))
			fputs("...", file);
		else if (member->bits)
			put_value(file, &inner, captured, &member->type, field, 0);
		else
			put_value(file, &inner, captured, &member->type, value + member->offset, at ? at + member->offset : 0);
		free(inner.string);
	}
	fputc(type->is_array ? ']' : '}', file);
}

/* `value`: the bytes, with room behind them; `at`: where they lay, 0: in registers. */
static void put_value(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
		      const uint8_t *value, uint64_t at)
{
	uint8_t room[ADA_VALUE_BYTES + 16] = {};
	uint64_t word;

	memcpy(room, value, type->bytes < ADA_VALUE_BYTES ? type->bytes : ADA_VALUE_BYTES);
	memcpy(&word, room, sizeof word);
	switch (type->class) {
	case ADA_DEBUG_SIGNED:
	case ADA_DEBUG_UNSIGNED:
	case ADA_DEBUG_BOOL:
	case ADA_DEBUG_CHAR:
	case ADA_DEBUG_ENUM: put_number(file, argument, type, room); break;
	case ADA_DEBUG_REAL: put_real(file, argument, room, type->bytes); break;
	case ADA_DEBUG_POINTER: put_address(file, argument, word); break;
	case ADA_DEBUG_ADDRESS: put_socket_address(file, argument, captured, word); break;
	case ADA_DEBUG_C_STRING: put_c_string(file, argument, captured, word); break;
	case ADA_DEBUG_STD_STRING: put_std_string(file, argument, captured, type->is_pointer ? word : at); break;
	case ADA_DEBUG_SLICE: put_slice(file, argument, captured, type, room); break;
	case ADA_DEBUG_TEXT: {
		size_t length = strnlen((const char *)room, type->bytes);

		put_string(file, argument, (const char *)room, length, false);
		break;
	}
	case ADA_DEBUG_STRUCT: put_struct(file, captured, type, room, at); break;
	default:
		if (type->bytes && type->bytes <= 8)
			fprintf(file, "0x%" PRIx64, word);
		else
			fputs("(not decoded)", file);
	}
}

/* Some register that the value came in was dropped. */
static bool is_redacted(const struct ada_captured *captured, const struct ada_debug_where *where)
{
	bool any = false;

	for (unsigned i = 0; where->place == ADA_DEBUG_REGISTERS && i < where->count; i++)
		any |= ada_captured_redacted(captured->record, where->registers[i]);
	return any;
}

int ada_argument_format(struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
			const struct ada_debug_where *where)
{
	uint8_t value[ADA_VALUE_BYTES];
	struct text text = {};
	uint64_t at;
	bool whole = ada_captured_value(captured, where, type->bytes, value, &at);

	text.file = open_memstream(&text.bytes, &text.length);
	if (!text.file)
		return -ENOMEM;
	argument->captured = where->place != ADA_DEBUG_NOWHERE;
	if (!at && where->place == ADA_DEBUG_STACK && !where->indirect)
		at = captured->record->sp + 8 + where->stack;
	/* The string's text was captured, though not its whole buffer. */
	if (is_redacted(captured, where)) {
		argument->captured = false;
		fputs(ADA_REDACTED, text.file);
	} else if (whole || (at && type->class == ADA_DEBUG_STD_STRING && where->indirect)) {
		put_value(text.file, argument, captured, type, value, at);
	} else if (where->place == ADA_DEBUG_NOWHERE) {
		fputs(NOT_KNOWN, text.file);
	} else {
		put_not_captured(text.file, argument, where->indirect ? at : 0);
	}
	return put_end(&text, &argument->text);
}
