#include "base/quote.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_control(char character)
{
	return (unsigned char)character < ' ' || character == 0x7f;
}

static char *put_plain_quoted(char *end, const char *argument)
{
	*end++ = '\'';
	for (; *argument; argument++)
		if (*argument == '\'')
			end = stpcpy(end, "'\\''");
		else
			*end++ = *argument;
	*end++ = '\'';
	return end;
}

static char *put_escaped(char *end, const char *argument)
{
	end = stpcpy(end, "$'");
	for (; *argument; argument++)
		if (*argument == '\n')
			end = stpcpy(end, "\\n");
		else if (*argument == '\t')
			end = stpcpy(end, "\\t");
		else if (is_control(*argument))
			end += sprintf(end, "\\%03o", (unsigned char)*argument);
		else if (*argument == '\'' || *argument == '\\')
			end += sprintf(end, "\\%c", *argument);
		else
			*end++ = *argument;
	*end++ = '\'';
	return end;
}

char *ada_quote_argument(const char *argument)
{
	size_t length = strlen(argument);
	char *quoted = malloc(4 * length + 4), *end = quoted;
	bool control = false;

	if (!quoted)
		return NULL;
	for (size_t i = 0; i < length; i++)
		control |= is_control(argument[i]);
	if (control)
		end = put_escaped(end, argument);
	else if (!length || argument[strcspn(argument, " '\"\\$`*?[]{}()<>|&;#~!")])
		end = put_plain_quoted(end, argument);
	else
		end = stpcpy(end, argument);
	*end = 0;
	return quoted;
}
