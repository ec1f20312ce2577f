/* Detail records in the three formats. 64-bit values are hexadecimal, in JSON as strings: many readers round large numbers. */
#include "cli/show/dump_detail.h"
#include <stdio.h>
#include <stdlib.h>
#include "query/session/windows.h"
#include "query/values/registers.h"

#define STACK_LINE 32 /* bytes of the stack in a line of text */

bool ada_detail_of(const struct ada_moment *moment, struct atf_detail *record)
{
	return moment->event->detail_seq != ADA_NO_DETAIL && !ada_thread_detail(moment->thread, moment->position, record);
}

static void put_hex(struct ada_output *output, uint64_t number)
{
	char text[24];

	ada_output_bytes(output, text, (size_t)snprintf(text, sizeof text, "0x%llx", (unsigned long long)number));
}

static void put_stack(struct ada_output *output, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++)
		ada_output_bytes(output, (const char[]){ digits[bytes[i] >> 4], digits[bytes[i] & 15] }, 2);
}

/* --- json ----------------------------------------------------------------------------------------------------------- */

/* Those that the record has: null where one was dropped. */
static void put_registers(struct ada_output *output, const struct atf_detail *record)
{
	for (unsigned int i = 0; i < ADA_NATIVES; i++) {
		uint64_t value;
		enum ada_native_state state = ada_native_value(record, i, &value);

		if (state == ADA_NATIVE_ABSENT)
			continue;
		ada_output_format(output, "\"%s\": ", ada_native_names[i]);
		if (state == ADA_NATIVE_KNOWN) {
			ada_output_string(output, "\"");
			put_hex(output, value);
		}
		ada_output_string(output, state == ADA_NATIVE_KNOWN ? "\", " : "null, ");
	}
}

static void put_arguments(struct ada_output *output, const struct ada_arguments *arguments)
{
	ada_output_string(output, ", \"args\": ");
	if (arguments->known && !arguments->is_return)
		ada_arguments_json(output, arguments);
	else
		ada_output_string(output, "null");
	ada_output_string(output, ", \"result\": ");
	if (arguments->is_return && arguments->items.count)
		ada_argument_json(output, &arguments->items.items[0]);
	else
		ada_output_string(output, "null");
}

static void put_captured(struct ada_output *output, const struct atf_detail *record)
{
	char *json = ada_captured_json(record);

	if (!json)
		return;
	ada_output_string(output, ", \"captured\": ");
	ada_output_string(output, json);
	free(json);
}

void ada_detail_json(struct ada_output *output, const struct atf_detail *record, const struct ada_arguments *arguments)
{
	if (!record) {
		ada_output_string(output, "null");
		return;
	}
	ada_output_string(output, "{");
	put_registers(output, record);
	ada_output_string(output, "\"stack\": \"");
	put_stack(output, record->stack, record->stack_size);
	ada_output_string(output, "\"");
	put_arguments(output, arguments);
	put_captured(output, record);
	ada_output_string(output, "}");
}

/* --- csv ------------------------------------------------------------------------------------------------------------ */

void ada_detail_csv(struct ada_output *output, const struct atf_detail *record)
{
	for (unsigned int i = 0; i < ADA_NATIVES; i++) {
		uint64_t value;

		ada_output_string(output, ",");
		if (record && ada_native_value(record, i, &value) == ADA_NATIVE_KNOWN)
			put_hex(output, value);
	}
	ada_output_string(output, ",");
	if (record)
		put_stack(output, record->stack, record->stack_size);
}

void ada_detail_csv_end(struct ada_output *output, const struct ada_arguments *arguments)
{
	char *list = arguments->is_return ? NULL : ada_arguments_list(arguments);

	ada_output_string(output, ",");
	if (list)
		ada_output_csv(output, list);
	ada_output_string(output, ",");
	if (arguments->is_return && arguments->items.count)
		ada_output_csv(output, arguments->items.items[0].text);
	free(list);
}

/* --- text ----------------------------------------------------------------------------------------------------------- */

/* Line by line: what was handed over or returned, where the call stands, the vectors. */
static const struct {
	unsigned int from, to;
} lines[] = { { ADA_NATIVE_RDI, ADA_NATIVE_R10 }, { ADA_NATIVE_RETURN_ADDRESS, ADA_NATIVE_RSP }, { ADA_NATIVE_XMM0, ADA_NATIVE_XMM7 } };

/* A register of a line of them; `first`: the line begins with it. */
static void put_word(struct ada_output *output, const char *name, const uint64_t *value, bool first)
{
	ada_output_string(output, first ? "" : " ");
	ada_output_string(output, name);
	ada_output_string(output, "=");
	if (value)
		put_hex(output, *value);
	else
		ada_output_string(output, ADA_REDACTED);
}

static void put_lines(struct ada_output *output, const struct atf_detail *record, size_t indent)
{
	for (size_t line = 0; line < sizeof lines / sizeof *lines; line++) {
		bool first = true;

		for (unsigned int i = lines[line].from; i <= lines[line].to; i++) {
			uint64_t value;
			enum ada_native_state state = ada_native_value(record, i, &value);

			if (state == ADA_NATIVE_ABSENT)
				continue;
			if (first)
				ada_output_spaces(output, indent);
			put_word(output, ada_native_names[i], state == ADA_NATIVE_KNOWN ? &value : NULL, first);
			first = false;
		}
		ada_output_string(output, first ? "" : "\n");
	}
}

/* What arguments pointed at, a line each: strings as text, other memory in hexadecimal. */
static void put_captured_lines(struct ada_output *output, const struct atf_detail *record, size_t indent)
{
	struct atf_captured kept;
	uint32_t at = 0;

	while (atf_detail_captured(record, &at, &kept)) {
		char copy[ATF_DETAIL_CAPTURE_BYTES + 1] = "";

		memcpy(copy, kept.bytes, kept.length);
		ada_output_spaces(output, indent);
		if (kept.argument == ATF_CAPTURED_ERRNO) {
			const char *name = ada_captured_errno(record);

			ada_output_format(output, "errno=%s\n", name ? name : "?");
			continue;
		}
		ada_output_format(output, "argument %u at ", kept.argument);
		put_hex(output, kept.address);
		ada_output_string(output, " ");
		if (kept.flags & ATF_CAPTURED_STRING)
			ada_output_quoted(output, ADA_FORMAT_JSON, copy);
		else
			put_stack(output, kept.bytes, kept.length);
		ada_output_string(output, kept.flags & ATF_CAPTURED_CUT ? "..." :
					  kept.flags & ATF_CAPTURED_BAD ? " (no memory behind it)" :
									  "");
		ada_output_string(output, "\n");
	}
}

void ada_detail_text(struct ada_output *output, const struct atf_detail *record, size_t indent)
{
	if (!record)
		return;
	put_lines(output, record, indent);
	put_captured_lines(output, record, indent);
	for (size_t at = 0; at < record->stack_size; at += STACK_LINE) {
		ada_output_spaces(output, indent);
		ada_output_string(output, at ? "      " : "stack ");
		put_stack(output, record->stack + at, record->stack_size - at < STACK_LINE ? record->stack_size - at : STACK_LINE);
		ada_output_string(output, "\n");
	}
}
