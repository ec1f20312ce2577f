/* Exceptions that nobody caught, and failed assertions: what __cxa_throw and __assert_fail were called with. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elf/demangle.h"
#include "query/crash/internal.h"
#include "query/session/windows.h"

/* Of libstdc++: those whose text is a pointer to characters behind the table of virtual functions, and whose what() gives it. */
static const char *const with_text[] = {
	"std::runtime_error", "std::logic_error", "std::invalid_argument", "std::out_of_range",	   "std::length_error",
	"std::domain_error",  "std::range_error", "std::overflow_error",   "std::underflow_error", "std::system_error",
};

static bool is_with_text(const char *type)
{
	for (size_t i = 0; i < sizeof with_text / sizeof *with_text; i++)
		if (!strcmp(type, with_text[i]))
			return true;
	return !strncmp(type, "std::ios_base::failure", strlen("std::ios_base::failure"));
}

/* What was captured of that argument, as text; malloc'ed, NULL: nothing, or no text. */
static char *captured_text(const struct atf_detail *record, unsigned argument)
{
	struct atf_captured kept;
	uint32_t at = 0;

	while (atf_detail_captured(record, &at, &kept)) {
		char *text;

		if (kept.argument != argument || !(kept.flags & ATF_CAPTURED_STRING) || kept.flags & ATF_CAPTURED_BAD || !kept.length)
			continue;
		text = strndup((const char *)kept.bytes, kept.length);
		for (size_t i = 0; text && text[i]; i++)
			if ((unsigned char)text[i] < ' ' && !strchr("\t\n\r", text[i])) {
				free(text);
				return NULL;
			}
		return text;
	}
	return NULL;
}

/* The name of a std::type_info, "St13runtime_error", as the source has the type. */
static char *type_name(char *coded)
{
	char symbol[512], *name = NULL;

	if (!coded)
		return NULL;
	if (snprintf(symbol, sizeof symbol, "_ZTS%s", *coded == '*' ? coded + 1 : coded) < (int)sizeof symbol)
		name = ada_elf_demangle(symbol);
	if (name && !strncmp(name, "typeinfo name for ", strlen("typeinfo name for "))) {
		memmove(name, name + strlen("typeinfo name for "), strlen(name) - strlen("typeinfo name for ") + 1);
		free(coded);
		return name;
	}
	free(name);
	return coded;
}

static void read_exception(struct ada_crash_cause *cause, const struct atf_detail *record)
{
	cause->kind = ADA_CRASH_EXCEPTION;
	if (!record->sp)
		return;
	cause->has_object = true;
	cause->object = record->x[0];
	cause->type = type_name(captured_text(record, 2));
	cause->text = captured_text(record, 1);
	cause->is_what = cause->type && is_with_text(cause->type);
}

static void read_assertion(struct ada_crash_cause *cause, const struct ada_arguments *arguments)
{
	cause->kind = ADA_CRASH_ASSERTION;
	if (arguments->items.count < 4)
		return;
	if (arguments->items.items[0].string)
		cause->text = strdup(arguments->items.items[0].string);
	if (arguments->items.items[1].string)
		cause->file = strdup(arguments->items.items[1].string);
	cause->line = (uint64_t)arguments->items.items[2].number;
}

int ada_crash_thrown(struct ada_crash_cause *cause)
{
	int result = 0;

	for (size_t i = cause->path.frames.count; cause->signal == SIGABRT && i-- > 0 && cause->kind == ADA_CRASH_UNKNOWN;) {
		const struct ada_frame *frame = &cause->path.frames.items[i];
		const char *symbol = ada_crash_symbol(cause->process, frame->function_id);
		bool throws = !strcmp(symbol, "__cxa_throw");
		struct ada_arguments arguments;
		struct atf_detail record;

		if (!throws && strcmp(symbol, "__assert_fail"))
			continue;
		result = ada_crash_arguments(cause->thread, frame->position, &arguments, &record);
		if (!result && throws)
			read_exception(cause, &record);
		else if (!result)
			read_assertion(cause, &arguments);
		ada_arguments_free(&arguments);
		cause->frame = i ? i - 1 : 0;
		if (result)
			break;
	}
	return result;
}
