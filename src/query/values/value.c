/* Values as people write them, by their types: numbers, and what is made of others; text.c writes strings and addresses. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/values/internal.h"

#define ENUMERATORS_JOINED 24
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
			ada_value_put_code_point(file, (uint32_t)argument->number);
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
	case ADA_DEBUG_POINTER: ada_value_put_address(file, argument, word); break;
	case ADA_DEBUG_ADDRESS: ada_value_put_socket_address(file, argument, captured, word); break;
	case ADA_DEBUG_C_STRING: ada_value_put_c_string(file, argument, captured, word); break;
	case ADA_DEBUG_STD_STRING: ada_value_put_std_string(file, argument, captured, type->is_pointer ? word : at); break;
	case ADA_DEBUG_SLICE: ada_value_put_slice(file, argument, captured, type, room); break;
	case ADA_DEBUG_TEXT: {
		size_t length = strnlen((const char *)room, type->bytes);

		ada_value_put_string(file, argument, (const char *)room, length, false);
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
		ada_value_put_not_captured(text.file, argument, where->indirect ? at : 0);
	}
	return put_end(&text, &argument->text);
}
