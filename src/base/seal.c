/* See seal.h. The head of a sealed file is always the same but for its digits, so that a change of any byte shows. */
#include "base/seal.h"
#include <errno.h>
#include <libdeflate.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

#define HEAD "{\n  \"" ADA_SEAL_KEY "\": \""
#define DIGITS 8

static const char zeros[] = "00000000";

static uint32_t checksum_of(const char *text, size_t length)
{
	size_t head = sizeof HEAD - 1;
	uint32_t checksum = libdeflate_crc32(0, text, head);

	checksum = libdeflate_crc32(checksum, zeros, DIGITS);
	return libdeflate_crc32(checksum, text + head + DIGITS, length - head - DIGITS);
}

static size_t skip_space(const char *text, size_t length, size_t at)
{
	while (at < length && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at;
}

/* Behind `word` and the space around it; `length` where it isn't there. */
static size_t skip_word(const char *text, size_t length, size_t at, const char *word)
{
	size_t bytes = strlen(word);

	at = skip_space(text, length, at);
	return length - at < bytes || memcmp(text + at, word, bytes) ? length : skip_space(text, length, at + bytes);
}

/* Where the members behind the checksum begin; `length`: the text is no object. */
static size_t body_begin(const char *text, size_t length)
{
	size_t begin = skip_word(text, length, 0, "{"), at = skip_word(text, length, begin, "\"" ADA_SEAL_KEY "\"");

	at = skip_word(text, length, at, ":");
	at = skip_word(text, length, at, "\"");
	if (length - at < DIGITS)
		return begin;
	at = skip_word(text, length, at + DIGITS, "\"");
	if (at == length)
		return begin;
	begin = skip_word(text, length, at, ",");
	return begin == length ? at : begin;
}

static int seal_put(const char *path, const char *text, size_t length, bool durable, struct ada_error *error)
{
	size_t begin = body_begin(text, length), total;
	char *sealed, *at, digits[DIGITS + 1];
	int result;

	if (begin >= length)
		return ada_error_set(error, EINVAL, "%s: not a JSON object", path);
	sealed = malloc(sizeof HEAD + DIGITS + sizeof "\",\n  " + length - begin);
	if (!sealed)
		return ada_error_system(error, ENOMEM, "can't write %s", path);
	at = mempcpy(sealed, HEAD, sizeof HEAD - 1);
	at = mempcpy(at, zeros, DIGITS);
	at = stpcpy(at, text[begin] == '}' ? "\"\n" : "\",\n  ");
	at = mempcpy(at, text + begin, length - begin);
	total = (size_t)(at - sealed);
	snprintf(digits, sizeof digits, "%08x", checksum_of(sealed, total));
	memcpy(sealed + sizeof HEAD - 1, digits, DIGITS);
	result = durable ? ada_file_replace(path, sealed, total, error) : ada_file_replace_soon(path, sealed, total, error);
	free(sealed);
	return result;
}

int ada_seal_replace(const char *path, const char *text, size_t length, struct ada_error *error)
{
	return seal_put(path, text, length, true, error);
}

int ada_seal_replace_soon(const char *path, const char *text, size_t length, struct ada_error *error)
{
	return seal_put(path, text, length, false, error);
}

/* Most of the head is there: the rest was changed. */
static bool resembles_head(const char *text, size_t length)
{
	size_t same = 0, head = sizeof HEAD - 1;

	for (size_t i = 0; i < head && i < length; i++)
		same += text[i] == HEAD[i];
	return 2 * same > head;
}

static bool read_digits(const char *text, uint32_t *value)
{
	static const char digits[] = "0123456789abcdef";

	*value = 0;
	for (int i = 0; i < DIGITS; i++) {
		const char *digit = memchr(digits, text[i], 16);

		if (!digit)
			return false;
		*value = *value << 4 | (uint32_t)(digit - digits);
	}
	return true;
}

enum ada_seal ada_seal_check(const char *text, size_t length, uint32_t *says, uint32_t *is)
{
	size_t head = sizeof HEAD - 1;

	*says = *is = 0;
	if (!resembles_head(text, length))
		return ADA_SEAL_NONE;
	if (length < head + DIGITS || memcmp(text, HEAD, head) || !read_digits(text + head, says)) {
		*says = 0;
		return ADA_SEAL_BROKEN;
	}
	*is = checksum_of(text, length);
	return *says == *is ? ADA_SEAL_SOUND : ADA_SEAL_BROKEN;
}
