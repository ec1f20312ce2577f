/* What a skipped test says. Debian 12's cmocka (1.1.5) calls it "not ok", a failure in TAP, and has no place for a reason: its
 * print_message() gives way to the one here. */
#include "test.h"

#include <stdio.h>
#include <string.h>

#define SKIPPED "not ok %u # SKIP %s\n"

static const char *skip_reason = "";

void test_skip(const char *reason)
{
	skip_reason = reason;
	skip();
}

void print_message(const char *const format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	if (!strcmp(format, SKIPPED)) {
		unsigned number = va_arg(arguments, unsigned);

		printf("ok %u - %s # SKIP %s\n", number, va_arg(arguments, const char *), skip_reason);
	} else {
		vprintf(format, arguments);
	}
	va_end(arguments);
}
