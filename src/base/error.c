/* See error.h. */
#include "base/error.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* One line whatever the arguments held: a file name may contain a newline. */
static void error_flatten(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int ada_error_set(struct ada_error *error, int code, const char *format, ...)
{
	va_list arguments;

	assert(code > 0);
	if (!error || error->text[0])
		return -code;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	error_flatten(error->text);
	return -code;
}

int ada_error_system(struct ada_error *error, int code, const char *format, ...)
{
	char what[sizeof error->text - 64];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return ada_error_set(error, code, "%s: %s", what, strerror(code));
}
