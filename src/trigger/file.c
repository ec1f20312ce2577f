/* --trigger-file: a rule a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "trigger/trigger.h"

static int add_line(struct ada_trigger_lines *lines, const char *path, unsigned number, const char *at, const char *end)
{
	char *text, *origin = NULL;

	while (at < end && strchr(" \t", *at))
		at++;
	while (end > at && strchr(" \t\r", end[-1]))
		end--;
	if (at == end || *at == '#')
		return 0;
	text = strndup(at, (size_t)(end - at));
	if (!text || asprintf(&origin, "%s:%u", path, number) < 0 || ada_array_reserve(&lines->texts, 1) ||
	    ada_array_reserve(&lines->origins, 1)) {
		free(text);
		free(origin);
		return -ENOMEM;
	}
	lines->texts.items[lines->texts.count++] = text;
	lines->origins.items[lines->origins.count++] = origin;
	return 0;
}

int ada_trigger_file(struct ada_trigger_lines *lines, const char *path, struct ada_error *error)
{
	char *bytes;
	size_t length;
	unsigned number = 0;
	int status = ada_file_read(path, &bytes, &length, error);

	if (status)
		return status;
	if (strlen(bytes) != length) {
		free(bytes);
		return ada_error_set(error, EINVAL, "%s: it holds a zero byte: no text file", path);
	}
	for (const char *at = bytes; !status && at < bytes + length;) {
		const char *end = at + strcspn(at, "\n");

		status = add_line(lines, path, ++number, at, end);
		at = end + 1;
	}
	free(bytes);
	return status ? ada_error_system(error, -status, "%s", path) : 0;
}

void ada_trigger_lines_free(struct ada_trigger_lines *lines)
{
	for (size_t i = 0; i < lines->texts.count; i++)
		free(lines->texts.items[i]);
	for (size_t i = 0; i < lines->origins.count; i++)
		free(lines->origins.items[i]);
	ada_array_free(&lines->texts);
	ada_array_free(&lines->origins);
}
