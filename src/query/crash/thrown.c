/* Exceptions that nobody caught, failed assertions, and panics: what __cxa_throw, __assert_fail and Rust's library were called with. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elf/file/classes.h"
#include "elf/file/demangle.h"
#include "query/crash/internal.h"
#include "query/rust/rust.h"
#include "query/session/source.h"
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

#define NESTED "std::_Nested_exception<"
#define BASES_MAX 32
#define WHAT 2 /* its number among std::exception's virtual functions, behind two destructors */

/* Of a program's own class: whether each of its objects begins with one of the library's that have a text. Of a class that doesn't say
 * otherwise in its table of virtual functions that text is what(). */
static void find_base(struct ada_crash_cause *cause, uint64_t type_info)
{
	uint64_t in_file;
	const struct ada_elf *elf = ada_process_file(cause->process, type_info, cause->ns, &in_file);
	struct ada_elf_target at = { "", in_file };
	const char *own = elf ? ada_elf_class_name(elf, &at) : NULL, *what, *name = NULL;

	for (int i = 0; own && i < BASES_MAX && at.address && ada_elf_first_base(elf, at.address, &at) && !cause->base; i++) {
		name = ada_elf_class_name(elf, &at);
		cause->base = name ? type_name(strdup(name)) : NULL;
		if (cause->base && !is_with_text(cause->base)) {
			free(cause->base);
			cause->base = NULL;
		}
	}
	what = cause->base ? ada_elf_virtual(elf, own, WHAT) : NULL;
	cause->is_what = what && (!strcmp(what, "_ZNKSt13runtime_error4whatEv") || !strcmp(what, "_ZNKSt11logic_error4whatEv"));
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
	if (!cause->is_what)
		find_base(cause, record->x[1]);
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

bool ada_crash_throws(const char *symbol)
{
	return !strcmp(symbol, "__cxa_throw") || ada_crash_library_throws(symbol);
}

int ada_crash_read_throw(struct ada_crash_cause *cause, const struct ada_thread *thread, uint64_t position)
{
	const char *symbol = ada_crash_symbol(cause->process, atf_thread_get(thread->events, position)->function_id);
	struct ada_arguments arguments;
	struct atf_detail record;
	int result = ada_crash_arguments(thread, position, &arguments, &record);

	if (!result && ada_crash_rethrows(symbol))
		result = ada_crash_read_rethrown(cause, thread, position);
	else if (!result && !strcmp(symbol, "__assert_fail"))
		read_assertion(cause, &arguments);
	else if (!result && ada_crash_library_throws(symbol))
		ada_crash_library_read(cause, symbol, &record);
	else if (!result)
		read_exception(cause, &record);
	if (!result && cause->type && !cause->nested_type && !strncmp(cause->type, NESTED, strlen(NESTED)))
		result = ada_crash_read_nested(cause, thread, position);
	ada_arguments_free(&arguments);
	return result;
}

/* operator new is the innermost call that is seen then: it calls __cxa_throw out of sight. */
static int find_bad_alloc(struct ada_crash_cause *cause, size_t frame)
{
	const struct ada_frame *call = &cause->path.frames.items[frame];
	struct ada_arguments arguments;
	struct atf_detail record;
	int result = ada_crash_arguments(cause->thread, call->position, &arguments, &record);

	ada_arguments_free(&arguments);
	if (result || !frame || !ada_crash_asks_too_much(ada_crash_symbol(cause->process, call->function_id), &record))
		return result;
	cause->kind = ADA_CRASH_EXCEPTION;
	cause->frame = frame - 1;
	cause->type = strdup("std::bad_alloc");
	return 0;
}

int ada_crash_thrown(struct ada_crash_cause *cause)
{
	size_t count = cause->path.frames.count;

	for (size_t i = count; cause->signal == SIGABRT && i-- > 0;) {
		const struct ada_frame *frames = cause->path.frames.items;
		const char *symbol = ada_crash_symbol(cause->process, frames[i].function_id);
		int result;

		if (!ada_crash_throws(symbol) && !ada_crash_rethrows(symbol) && strcmp(symbol, "__assert_fail"))
			continue;
		result = ada_crash_read_throw(cause, cause->thread, frames[i].position);
		cause->frame = i ? i - 1 : 0;
		while (cause->frame && ada_crash_library_throws(ada_crash_symbol(cause->process, frames[cause->frame].function_id)))
			cause->frame--;
		return result;
	}
	return cause->signal == SIGABRT && cause->thread && count ? find_bad_alloc(cause, count - 1) : 0;
}

int ada_crash_panicked(struct ada_crash_cause *cause)
{
	for (size_t i = cause->path.frames.count; cause->signal == SIGABRT && i-- > 0;) {
		const struct ada_frame *frames = cause->path.frames.items;
		struct ada_panic panic;
		size_t who;
		int result;

		if (!ada_rust_panics(cause->process, frames[i].function_id))
			continue;
		result = ada_panic_read(cause->thread, frames[i].position, &panic);
		who = ada_rust_panicked(cause->process, &cause->path, i);
		cause->kind = ADA_CRASH_PANIC;
		cause->frame = who ? who - 1 : i;
		cause->line = panic.line;
		cause->column = panic.column;
		cause->file = panic.file;
		cause->text = panic.text;
		return result;
	}
	return 0;
}
