/* Buffered output and quoting. */
#include "base/output.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "base/error.h"

#define REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */

void ada_output_open(struct ada_output *output, int fd)
{
	output->fd = fd;
	output->error = 0;
	output->length = 0;
}

static void write_out(struct ada_output *output)
{
	size_t done = 0;

	while (done < output->length && !output->error) {
		ssize_t n = write(output->fd, output->bytes + done, output->length - done);

		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			output->error = errno;
	}
	output->length = 0;
	if (output->error == EPIPE) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
}

void ada_output_bytes(struct ada_output *output, const char *bytes, size_t length)
{
	while (length > sizeof output->bytes - output->length) {
		size_t room = sizeof output->bytes - output->length;

		memcpy(output->bytes + output->length, bytes, room);
		output->length += room;
		bytes += room;
		length -= room;
		write_out(output);
	}
	memcpy(output->bytes + output->length, bytes, length);
	output->length += length;
}

void ada_output_string(struct ada_output *output, const char *string)
{
	ada_output_bytes(output, string, strlen(string));
}

void ada_output_format(struct ada_output *output, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		output->error = output->error ? output->error : ENOMEM;
	else
		ada_output_bytes(output, text, (size_t)length);
	free(text);
}

#define DIGITS 20

/* Before `end`; where they begin. */
static char *digits_write(char *end, uint64_t number)
{
	do {
		*--end = '0' + number % 10;
		number /= 10;
	} while (number);
	return end;
}

void ada_output_u64(struct ada_output *output, uint64_t number)
{
	char digits[DIGITS], *first = digits_write(digits + DIGITS, number);

	ada_output_bytes(output, first, (size_t)(digits + DIGITS - first));
}

void ada_output_numbers(struct ada_output *output, const uint64_t *numbers, size_t count)
{
	char text[8 * (DIGITS + 1)], *end = text + sizeof text, *first = end;

	for (size_t i = count; i-- > 0;) {
		if (first - text < DIGITS + 1) {
			ada_output_numbers(output, numbers, i + 1);
			break;
		}
		*--first = ',';
		first = digits_write(first, numbers[i]);
	}
	ada_output_bytes(output, first, (size_t)(end - first));
}

void ada_output_spaces(struct ada_output *output, size_t count)
{
	static const char spaces[] = "                                                                ";

	for (; count > sizeof spaces - 1; count -= sizeof spaces - 1)
		ada_output_bytes(output, spaces, sizeof spaces - 1);
	ada_output_bytes(output, spaces, count);
}

/* No overlong forms, no surrogates. */
size_t ada_utf8_length(const char *bytes)
{
	const unsigned char *text = (const unsigned char *)bytes;
	unsigned char lowest = 0x80, highest = 0xBF;
	size_t length;

	if (*text < 0x80)
		return 1;
	if (*text >= 0xC2 && *text <= 0xDF)
		length = 2;
	else if (*text >= 0xE0 && *text <= 0xEF)
		length = 3;
	else if (*text >= 0xF0 && *text <= 0xF4)
		length = 4;
	else
		return 0;
	if (*text == 0xE0)
		lowest = 0xA0;
	else if (*text == 0xED)
		highest = 0x9F;
	else if (*text == 0xF0)
		lowest = 0x90;
	else if (*text == 0xF4)
		highest = 0x8F;
	if (text[1] < lowest || text[1] > highest)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xC0) != 0x80)
			return 0;
	return length;
}

/* Where the quoted text goes: an output, or a buffer that only counts while it is NULL. */
struct target {
	struct ada_output *output;
	char *bytes;
	size_t length;
};

static void emit(struct target *target, const char *bytes, size_t length)
{
	if (target->output)
		ada_output_bytes(target->output, bytes, length);
	else if (target->bytes)
		memcpy(target->bytes + target->length, bytes, length);
	target->length += length;
}

/* The escape of a character that JSON does not take as it is; NULL: it does. */
static const char *json_escape(unsigned char c, char buffer[8])
{
	switch (c) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	case '\n': return "\\n";
	case '\r': return "\\r";
	case '\t': return "\\t";
	}
	if (c >= 0x20)
		return NULL;
	snprintf(buffer, 8, "\\u%04x", c);
	return buffer;
}

static const char *escape(enum ada_format format, unsigned char c, char buffer[8])
{
	switch (format) {
	case ADA_FORMAT_JSON: return json_escape(c, buffer);
	case ADA_FORMAT_CSV: return c == '"' ? "\"\"" : NULL;
	case ADA_FORMAT_TEXT: break;
	}
	return c < 0x20 || c == 0x7F ? "?" : NULL;
}

static void quote(struct target *target, enum ada_format format, const char *text)
{
	bool marks = format == ADA_FORMAT_JSON || (format == ADA_FORMAT_CSV && text[strcspn(text, ",\"\r\n")]);
	char buffer[8];

	if (marks)
		emit(target, "\"", 1);
	while (*text) {
		size_t length = ada_utf8_length(text);
		const char *escaped = length == 1 ? escape(format, *text, buffer) : NULL;

		if (!length)
			emit(target, REPLACEMENT, strlen(REPLACEMENT));
		else if (escaped)
			emit(target, escaped, strlen(escaped));
		else
			emit(target, text, length);
		text += length ? length : 1;
	}
	if (marks)
		emit(target, "\"", 1);
}

void ada_output_quoted(struct ada_output *output, enum ada_format format, const char *text)
{
	quote(&(struct target){ .output = output }, format, text);
}

void ada_output_utf8(struct ada_output *output, const char *text)
{
	while (*text) {
		size_t length = ada_utf8_length(text);

		ada_output_bytes(output, length ? text : REPLACEMENT, length ? length : strlen(REPLACEMENT));
		text += length ? length : 1;
	}
}

void ada_output_text(struct ada_output *output, const char *text)
{
	ada_output_quoted(output, ADA_FORMAT_TEXT, text);
}

void ada_output_json(struct ada_output *output, const char *text)
{
	ada_output_quoted(output, ADA_FORMAT_JSON, text);
}

void ada_output_csv(struct ada_output *output, const char *text)
{
	ada_output_quoted(output, ADA_FORMAT_CSV, text);
}

char *ada_output_prepare(enum ada_format format, const char *text)
{
	struct target target = {};
	size_t length;

	quote(&target, format, text);
	length = target.length;
	target = (struct target){ .bytes = malloc(length + 1) };
	if (!target.bytes)
		return NULL;
	quote(&target, format, text);
	target.bytes[length] = 0;
	return target.bytes;
}

bool ada_output_is_utf8(const char *text)
{
	size_t length = 1;

	for (; *text && length; text += length)
		length = ada_utf8_length(text);
	return length;
}

char *ada_output_utf8_copy(const char *text)
{
	char *copy = malloc(strlen(REPLACEMENT) * strlen(text) + 1), *end = copy;

	while (copy && *text) {
		size_t length = ada_utf8_length(text);

		memcpy(end, length ? text : REPLACEMENT, length ? length : strlen(REPLACEMENT));
		end += length ? length : strlen(REPLACEMENT);
		text += length ? length : 1;
	}
	if (copy)
		*end = 0;
	return copy;
}

bool ada_output_flush(struct ada_output *output)
{
	write_out(output);
	return !output->error;
}

int ada_output_finish(struct ada_output *output, const char *command)
{
	if (ada_output_flush(output))
		return 0;
	fprintf(stderr, "%s: can't write to standard output: %s\n", command, strerror(output->error));
	return ADA_EXIT_FAILED;
}

size_t ada_output_width(const char *text)
{
	size_t width = 0;

	for (; *text; width++) {
		size_t length = ada_utf8_length(text);

		text += length ? length : 1;
	}
	return width;
}

static struct {
	bool is; /* there is one, behind a pager */
	unsigned int columns;
} paged;

/* Where a line of so many columns is broken: at the last space in them, else at the next one; NULL: there is none. */
static const char *line_end(const char *text, size_t room)
{
	const char *cut = NULL;
	size_t columns = 0;

	for (const char *at = text; *at && columns <= room; at++) {
		if (*at == ' ' && at > text)
			cut = at;
		columns += ((unsigned char)*at & 0xc0) != 0x80;
	}
	return cut ?: strchr(text, ' ');
}

void ada_output_wrapped(struct ada_output *output, const char *text, size_t columns, size_t first, size_t others)
{
	size_t room = columns > first ? columns - first : 1;

	while (columns && ada_output_width(text) > room) {
		const char *cut = line_end(text, room);
		char *line = cut ? strndup(text, (size_t)(cut - text)) : NULL;

		if (!line)
			break;
		ada_output_text(output, line);
		free(line);
		ada_output_string(output, "\n");
		ada_output_spaces(output, others);
		text = cut + 1;
		room = columns > others ? columns - others : 1;
	}
	ada_output_text(output, text);
}

void ada_output_goes_to_terminal(unsigned int columns)
{
	paged.is = true;
	paged.columns = columns;
}

unsigned int ada_output_columns(void)
{
	struct winsize size = {};

	return paged.is || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? paged.columns : size.ws_col;
}

bool ada_output_colours(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return (isatty(fd) || (fd == STDOUT_FILENO && paged.is)) && !(no_color && *no_color);
}
