/* What a detail record holds of a call's registers and memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "query/session/source.h"
#include "query/values/internal.h"

#define STACK_AT 8 /* the stack was captured from above the return address */

/* What --capture kept: of a whole string its NUL, too. */
static const uint8_t *kept_at(const struct atf_detail *record, uint64_t address, uint64_t *bytes)
{
	struct atf_captured kept;
	uint32_t at = 0;

	while (atf_detail_captured(record, &at, &kept)) {
		if (kept.argument == ATF_CAPTURED_ERRNO)
			continue;
		*bytes = kept.length + (kept.flags == ATF_CAPTURED_STRING);
		if (address - kept.address < *bytes) {
			*bytes -= address - kept.address;
			return kept.bytes + (address - kept.address);
		}
	}
	return NULL;
}

const uint8_t *ada_captured_at(const struct ada_captured *captured, uint64_t address, uint64_t *bytes)
{
	const struct atf_detail *record = captured->record;
	uint64_t at = address - (record->sp + STACK_AT);
	const uint8_t *kept = kept_at(record, address, bytes);

	if (kept)
		return kept;
	if (at < record->stack_size) {
		*bytes = record->stack_size - at;
		return record->stack + at;
	}
	return ada_process_constant(captured->process, address, record->timestamp_ns, bytes);
}

bool ada_captured_redacted(const struct atf_detail *record, int number)
{
	return number >= 0 && number < 6 && record->flags & ATF_DETAIL_REDACTED(number + 1);
}

/* False: it isn't recorded. */
static bool register_value(const struct ada_captured *captured, int8_t number, uint64_t *value)
{
	const struct atf_detail *record = captured->record;
	unsigned vector = (unsigned)~number;

	if (captured->is_return) {
		if (number >= 2 || ada_captured_redacted(record, number) || (number < 0 && vector >= 2))
			return false;
		*value = record->x[number < 0 ? 2 + vector : (unsigned)number];
		return true;
	}
	if (number >= 6 || ada_captured_redacted(record, number) || (number < 0 && (vector >= 8 || !(record->flags & ATF_DETAIL_VECTORS))))
		return false;
	*value = number < 0 ? record->vectors[vector] : record->x[number];
	return true;
}

static bool from_registers(const struct ada_captured *captured, const struct ada_debug_where *where, uint32_t bytes,
			   uint8_t value[ADA_VALUE_BYTES])
{
	uint64_t word;

	for (unsigned i = 0; i < where->count; i++) {
		/* Only the low half of a vector register is recorded, even where the register holds all of a larger value. */
		if (!register_value(captured, where->registers[i], &word) || where->offsets[i] + 8u > ADA_VALUE_BYTES ||
		    (where->count == 1 && where->offsets[0] + 8u < bytes))
			return false;
		memcpy(value + where->offsets[i], &word, sizeof word);
	}
	return true;
}

static bool from_stack(const struct ada_captured *captured, uint32_t offset, uint32_t bytes, uint8_t value[ADA_VALUE_BYTES])
{
	const struct atf_detail *record = captured->record;

	if (captured->is_return || bytes > ADA_VALUE_BYTES || offset > record->stack_size || bytes > record->stack_size - offset)
		return false;
	memcpy(value, record->stack + offset, bytes);
	return true;
}

bool ada_captured_value(const struct ada_captured *captured, const struct ada_debug_where *where, uint32_t bytes,
			uint8_t value[ADA_VALUE_BYTES], uint64_t *address)
{
	uint32_t wanted = where->indirect ? sizeof *address : bytes;
	const uint8_t *at;
	uint64_t there;
	bool known;

	*address = 0;
	memset(value, 0, ADA_VALUE_BYTES);
	switch (where->place) {
	case ADA_DEBUG_REGISTERS: known = from_registers(captured, where, wanted, value); break;
	case ADA_DEBUG_STACK: known = from_stack(captured, where->stack, wanted, value); break;
	default: known = false;
	}
	if (!known || !where->indirect)
		return known;
	memcpy(address, value, sizeof *address);
	memset(value, 0, sizeof *address);
	at = bytes <= ADA_VALUE_BYTES ? ada_captured_at(captured, *address, &there) : NULL;
	if (!at || there < bytes)
		return false;
	memcpy(value, at, bytes);
	return true;
}

const char *ada_captured_errno(const struct atf_detail *record)
{
	struct atf_captured kept;
	uint32_t at = 0;
	int number;

	while (atf_detail_captured(record, &at, &kept)) {
		if (kept.argument != ATF_CAPTURED_ERRNO || kept.length != sizeof number)
			continue;
		memcpy(&number, kept.bytes, sizeof number);
		return number > 0 ? strerrorname_np(number) : NULL;
	}
	return NULL;
}

static void put_hex(FILE *stream, const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fprintf(stream, "%02x", bytes[i]);
}

/* What reads as text: without control characters but for white space. */
static bool is_text(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' && !strchr("\t\n\r", text[i]))
			return false;
	return length == strlen(text) && ada_output_is_utf8(text);
}

char *ada_captured_json(const struct atf_detail *record)
{
	struct atf_captured kept;
	char *json = NULL, *text;
	uint32_t at = 0;
	size_t bytes;
	FILE *stream = record->captured_size ? open_memstream(&json, &bytes) : NULL;

	if (!stream)
		return NULL;
	while (atf_detail_captured(record, &at, &kept)) {
		char copy[ATF_DETAIL_CAPTURE_BYTES + 1] = "";

		memcpy(copy, kept.bytes, kept.length);
		if (kept.argument == ATF_CAPTURED_ERRNO)
			snprintf(copy, sizeof copy, "%s", ada_captured_errno(record) ? ada_captured_errno(record) : "");
		text = kept.flags & ATF_CAPTURED_STRING || kept.argument == ATF_CAPTURED_ERRNO || is_text(copy, kept.length) ?
			       ada_output_prepare(ADA_FORMAT_JSON, copy) :
			       NULL;
		fprintf(stream, "%s{\"argument\": %u, \"address\": \"0x%llx\", \"bytes\": \"", ftell(stream) ? ", " : "[", kept.argument,
			(unsigned long long)kept.address);
		put_hex(stream, kept.bytes, kept.length);
		fprintf(stream, "\", \"text\": %s, \"cut\": %s, \"unreadable\": %s}", text ? text : "null",
			kept.flags & ATF_CAPTURED_CUT ? "true" : "false", kept.flags & ATF_CAPTURED_BAD ? "true" : "false");
		free(text);
	}
	fputs("]", stream);
	fclose(stream);
	return json;
}
