/* Values that lie behind an address, as people write them: strings of all languages, addresses of sockets; and characters. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/address.h"
#include "query/values/internal.h"

#define STRING_MAX 256 /* bytes of a string that are shown */
#define NOT_CAPTURED "(not captured)"

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

void ada_value_put_code_point(FILE *file, uint32_t code)
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

void ada_value_put_string(FILE *file, struct ada_argument *argument, const char *bytes, size_t length, bool cut)
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

void ada_value_put_address(FILE *file, struct ada_argument *argument, uint64_t address)
{
	argument->kind = ADA_ARGUMENT_POINTER;
	argument->is_unsigned = true;
	argument->number = (int64_t)address;
	if (address)
		fprintf(file, "0x%" PRIx64, address);
	else
		fputs("NULL", file);
}

void ada_value_put_not_captured(FILE *file, struct ada_argument *argument, uint64_t address)
{
	argument->captured = false;
	if (address) {
		ada_value_put_address(file, argument, address);
		fputc(' ', file);
	}
	fputs(NOT_CAPTURED, file);
}

void ada_value_put_c_string(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address)
{
	uint64_t there;
	const char *bytes = address ? (const char *)ada_captured_at(captured, address, &there) : NULL;
	size_t length;

	if (!address) {
		ada_value_put_address(file, argument, 0);
	} else if (!bytes) {
		ada_value_put_not_captured(file, argument, address);
	} else {
		length = strnlen(bytes, there < STRING_MAX ? there : STRING_MAX);
		argument->number = (int64_t)address;
		ada_value_put_string(file, argument, bytes, length, length == there || length == STRING_MAX);
	}
}

void ada_value_put_socket_address(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address)
{
	uint64_t there = 0;
	const uint8_t *bytes = address ? ada_captured_at(captured, address, &there) : NULL;
	char *text = bytes ? ada_address_text(bytes, there) : NULL;
	const char *at = text, *end = text ? text + strlen(text) : NULL;

	if (!text) {
		ada_value_put_address(file, argument, address);
		return;
	}
	argument->kind = ADA_ARGUMENT_POINTER;
	argument->is_unsigned = true;
	argument->number = (int64_t)address;
	while (at < end)
		put_character(file, &at, end, '\0');
	free(text);
}

void ada_value_put_slice(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, const struct ada_debug_type *type,
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
		ada_value_put_string(file, argument, "", 0, false);
	} else if (!bytes) {
		ada_value_put_not_captured(file, argument, address);
	} else {
		shown = length < there ? length : there;
		shown = shown < STRING_MAX ? shown : STRING_MAX;
		ada_value_put_string(file, argument, bytes, shown, shown < length);
	}
}

void ada_value_put_std_string(FILE *file, struct ada_argument *argument, const struct ada_captured *captured, uint64_t address)
{
	uint64_t there = 0, text, length;
	const uint8_t *object = ada_captured_at(captured, address, &there);

	if (object && there >= 16) {
		memcpy(&text, object, sizeof text);
		memcpy(&length, object + 8, sizeof length);
		if (text == address + 16 && length < 16 && there >= 16 + length) {
			argument->number = (int64_t)address;
			ada_value_put_string(file, argument, (const char *)object + 16, length, false);
			return;
		}
	}
	ada_value_put_not_captured(file, argument, address);
}
