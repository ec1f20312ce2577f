/* Exceptions that libstdc++ throws for the program, by std::__throw_out_of_range_fmt and its like: their __cxa_throw is called within the
 * library, where no hook sees it. The function's name has the type, and its arguments have what() (in the library's own words: what it
 * makes of them in another language isn't recorded). So it is with what the compiler calls for a cast that fails. That operator new threw,
 * and didn't abort for a damaged heap, is sure where it was asked for more than there are addresses. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/crash/internal.h"
#include "query/session/source.h"
#include "query/values/arguments.h"

#define REGISTERS 6 /* that have arguments */
#define TEXT_MAX 1024
#define ADDRESSES (1ull << 47)

/* Functions that do nothing but throw, under names of their own. */
static const struct thrower {
	const char *symbol, *type;
} throwers[] = { { "__cxa_bad_cast", "bad_cast" },
		 { "__cxa_bad_typeid", "bad_typeid" },
		 { "__cxa_throw_bad_array_new_length", "bad_array_new_length" } };

/* Takes _ZSt24__throw_out_of_range_fmtPKcz apart: X of __throw_X, and how its parameters are coded; "": it has none. False: it is none. */
static bool take_apart(const char *symbol, const char **name, int *length, const char **parameters)
{
	char *end;
	unsigned long bytes;

	*parameters = "";
	for (size_t i = 0; i < sizeof throwers / sizeof *throwers; i++)
		if (!strcmp(symbol, throwers[i].symbol)) {
			*name = throwers[i].type;
			*length = (int)strlen(*name);
			return true;
		}
	if (strncmp(symbol, "_ZSt", 4) || !isdigit((unsigned char)symbol[4]))
		return false;
	bytes = strtoul(symbol + 4, &end, 10);
	if (strncmp(end, "__throw_", 8) || bytes <= 8 || bytes > strlen(end))
		return false;
	*name = end + 8;
	*length = (int)bytes - 8;
	*parameters = end + bytes;
	if (!strcmp(*parameters, "PKcz") && *length > 4)
		*length -= 4; /* _fmt */
	return true;
}

bool ada_crash_library_throws(const char *symbol)
{
	const char *name, *parameters;
	int length;

	return take_apart(symbol, &name, &length, &parameters);
}

void ada_crash_leave_library(const struct ada_process *process, struct ada_stack *path)
{
	while (path->frames.count > 1 &&
	       ada_crash_library_throws(ada_crash_symbol(process, path->frames.items[path->frames.count - 1].function_id)))
		path->frames.count--;
}

bool ada_crash_asks_too_much(const char *symbol, const struct atf_detail *record)
{
	return (!strncmp(symbol, "_Znw", 4) || !strncmp(symbol, "_Zna", 4)) && record->sp && !ada_captured_redacted(record, 0) &&
	       record->x[0] >= ADDRESSES;
}

static const char *constant(const struct ada_crash_cause *cause, uint64_t address)
{
	uint64_t bytes;
	const char *text = (const char *)ada_process_constant(cause->process, address, cause->ns, &bytes);

	return text && memchr(text, 0, bytes) ? text : NULL;
}

/* As the library does it: %s, %zu and %%. NULL: not all of it is known. */
static char *format(const struct ada_crash_cause *cause, const struct atf_detail *record, const char *text)
{
	char result[TEXT_MAX];
	size_t at = 0;
	int next = 1;

	for (; *text && at + 1 < sizeof result; text++) {
		bool number = !strncmp(text, "%zu", 3), string = !strncmp(text, "%s", 2);
		const char *kept = "";
		int wrote;

		if (!number && !string) {
			text += !strncmp(text, "%%", 2);
			result[at++] = *text;
			continue;
		}
		if (next == REGISTERS || ada_captured_redacted(record, next) || (string && !(kept = constant(cause, record->x[next]))))
			return NULL;
		wrote = string ? snprintf(result + at, sizeof result - at, "%s", kept) :
				 snprintf(result + at, sizeof result - at, "%" PRIu64, record->x[next]);
		if (wrote < 0 || (size_t)wrote >= sizeof result - at)
			return NULL;
		at += (size_t)wrote;
		text += number ? 2 : 1;
		next++;
	}
	result[at] = 0;
	return *text ? NULL : strdup(result);
}

void ada_crash_library_read(struct ada_crash_cause *cause, const char *symbol, const struct atf_detail *record)
{
	const char *name, *parameters, *text;
	char type[128];
	int length;

	cause->kind = ADA_CRASH_EXCEPTION;
	if (!take_apart(symbol, &name, &length, &parameters))
		return;
	if (length == 11 && !strncmp(name, "ios_failure", 11))
		snprintf(type, sizeof type, "std::ios_base::failure");
	else
		snprintf(type, sizeof type, "std::%.*s", length, name);
	cause->type = strdup(type);
	if (!*parameters || !record->sp || ada_captured_redacted(record, 0) || !(text = constant(cause, record->x[0])))
		return;
	if (!strcmp(parameters, "PKc"))
		cause->text = strdup(text);
	else if (!strcmp(parameters, "PKcz"))
		cause->text = format(cause, record, text);
	cause->is_what = true;
}
