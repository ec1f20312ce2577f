/* Detail records in the three formats. 64-bit values are hexadecimal, in JSON as strings: many readers round large numbers. */
#include "cli/show/dump_detail.h"
#include <stdio.h>
#include <stdlib.h>
#include "query/session/windows.h"

#define REGISTERS 8
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

static void put_field(struct ada_output *output, const char *name, uint64_t number)
{
	ada_output_string(output, name);
	put_hex(output, number);
	ada_output_string(output, "\", ");
}

/* x of the record: null where it was dropped. */
static void put_registers(struct ada_output *output, const struct atf_detail *record)
{
	char name[16];

	for (int i = 0; i < REGISTERS; i++) {
		bool redacted = ada_captured_redacted(record, i);

		snprintf(name, sizeof name, "\"x%d\": %s", i, redacted ? "null, " : "\"");
		if (redacted)
			ada_output_string(output, name);
		else
			put_field(output, name, record->x[i]);
	}
}

static void put_vectors(struct ada_output *output, const struct atf_detail *record)
{
	char name[16];

	for (unsigned int i = 0; i < REGISTERS; i++) {
		snprintf(name, sizeof name, "\"fp%u\": \"", i);
		put_field(output, name, record->vectors[i]);
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
	put_field(output, "\"lr\": \"", record->lr);
	put_field(output, "\"fp\": \"", record->fp);
	put_field(output, "\"sp\": \"", record->sp);
	if (record->flags & ATF_DETAIL_VECTORS)
		put_vectors(output, record);
	ada_output_string(output, "\"stack\": \"");
	put_stack(output, record->stack, record->stack_size);
	ada_output_string(output, "\"");
	put_arguments(output, arguments);
	put_captured(output, record);
	ada_output_string(output, "}");
}

/* --- csv ------------------------------------------------------------------------------------------------------------ */

static void put_cells(struct ada_output *output, const uint64_t *numbers, size_t count, bool present)
{
	for (size_t i = 0; i < count; i++) {
		ada_output_string(output, ",");
		if (present)
			put_hex(output, numbers[i]);
	}
}

static void put_register_cells(struct ada_output *output, const struct atf_detail *record)
{
	for (int i = 0; i < REGISTERS; i++)
		put_cells(output, record ? &record->x[i] : NULL, 1, record && !ada_captured_redacted(record, i));
}

void ada_detail_csv(struct ada_output *output, const struct atf_detail *record)
{
	static const struct atf_detail none;
	const struct atf_detail *shown = record ? record : &none;
	const uint64_t places[] = { shown->lr, shown->fp, shown->sp };

	put_register_cells(output, record);
	put_cells(output, places, 3, record);
	put_cells(output, shown->vectors, REGISTERS, shown->flags & ATF_DETAIL_VECTORS);
	ada_output_string(output, ",");
	put_stack(output, shown->stack, shown->stack_size);
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

/* A line of registers, by the machine's names. */
static void put_words(struct ada_output *output, const char *const *names, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ada_output_string(output, i ? " " : "");
		ada_output_string(output, names[i]);
		ada_output_string(output, "=");
		put_hex(output, numbers[i]);
	}
	ada_output_string(output, "\n");
}

/* Those of the record, of which some may have been dropped. */
static void put_register_words(struct ada_output *output, const char *const *names, const struct atf_detail *record, int count)
{
	for (int i = 0; i < count; i++) {
		ada_output_string(output, i ? " " : "");
		ada_output_string(output, names[i]);
		ada_output_string(output, "=");
		if (ada_captured_redacted(record, i))
			ada_output_string(output, ADA_REDACTED);
		else
			put_hex(output, record->x[i]);
	}
	ada_output_string(output, "\n");
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
	static const char *const arguments[REGISTERS] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax", "r10" };
	static const char *const results[] = { "rax", "rdx" }, *const vector_results[] = { "xmm0", "xmm1" };
	static const char *const vectors[REGISTERS] = { "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7" };
	static const char *const places[] = { "return", "rbp", "rsp" };
	bool is_return;

	if (!record)
		return;
	is_return = record->event_type == ATF_DETAIL_RETURN;
	ada_output_spaces(output, indent);
	put_register_words(output, is_return ? results : arguments, record, is_return ? 2 : REGISTERS);
	ada_output_spaces(output, indent);
	put_words(output, places, (const uint64_t[]){ record->lr, record->fp, record->sp }, 3);
	if (record->flags & ATF_DETAIL_VECTORS) {
		ada_output_spaces(output, indent);
		put_words(output, is_return ? vector_results : vectors, record->vectors, is_return ? 2 : REGISTERS);
	}
	put_captured_lines(output, record, indent);
	for (size_t at = 0; at < record->stack_size; at += STACK_LINE) {
		ada_output_spaces(output, indent);
		ada_output_string(output, at ? "      " : "stack ");
		put_stack(output, record->stack + at, record->stack_size - at < STACK_LINE ? record->stack_size - at : STACK_LINE);
		ada_output_string(output, "\n");
	}
}
