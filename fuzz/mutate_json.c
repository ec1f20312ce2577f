/* Changes documents of JSON so that they stay JSON, mostly: of those whose bytes are changed anyhow a parser reads one in ten to its
 * end, and what lies behind the parser is hardly fuzzed. libFuzzer changes bytes, or a value here changes its place; then the text
 * is mended, but for one in eight. A NUL lies between two documents. */
#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_MAX 1024
#define DEPTH_MAX 30	/* what json-c reads is at most 32 deep */
#define ELEMENTS_MAX 24 /* of what is mended: a hundred threads in a manifest take as long as a hundred executions */

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned int seed);

/* --- Reading ------------------------------------------------------------------------------------------------------------ */

static bool is_scalar(uint8_t byte)
{
	return isalnum(byte) || byte == '-' || byte == '+' || byte == '.';
}

/* The end of what begins at `at`: a string without its end reaches to the text's, and brackets are one byte. */
static size_t token_end(const uint8_t *bytes, size_t length, size_t at)
{
	size_t end = at + 1;

	if (bytes[at] == '"') {
		while (end < length && bytes[end] && bytes[end] != '"')
			end += bytes[end] == '\\' && end + 1 < length && bytes[end + 1] ? 2 : 1;
		return end < length && bytes[end] == '"' ? end + 1 : end;
	}
	while (is_scalar(bytes[at]) && end < length && is_scalar(bytes[end]))
		end++;
	return end;
}

/* --- Mending ------------------------------------------------------------------------------------------------------------ */

struct writer {
	uint8_t *bytes;
	size_t length, room; /* `length` goes on beyond `room` */
	size_t depth;
	struct {
		bool object, keyed;
		unsigned int count;
	} open[DEPTH_MAX + 1]; /* [0]: the document */
};

static void put(struct writer *writer, const void *bytes, size_t length)
{
	if (writer->length + length <= writer->room)
		memcpy(writer->bytes + writer->length, bytes, length);
	writer->length += length;
}

static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

static bool is_number(const char *text)
{
	text += *text == '-';
	if (!digits(text) || (*text == '0' && digits(text) > 1))
		return false;
	text += digits(text);
	if (*text == '.' && !digits(++text))
		return false;
	text += digits(text);
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		if (!digits(text))
			return false;
		text += digits(text);
	}
	return !*text;
}

static void put_scalar(struct writer *writer, const uint8_t *bytes, size_t length)
{
	char text[64] = "";

	memcpy(text, bytes, length < sizeof text ? length : sizeof text - 1);
	if (strcmp(text, "true") && strcmp(text, "false") && !is_number(text))
		strcpy(text, "null");
	put(writer, text, strlen(text));
}

static void put_string(struct writer *writer, const uint8_t *bytes, size_t length)
{
	bool ended = length > 1 && bytes[length - 1] == '"';

	put(writer, "\"", 1);
	for (size_t i = 1; i < length - ended; i++) {
		bool escape = bytes[i] == '\\' && i + 1 < length - ended && strchr("\"\\/bfnrt", bytes[i + 1]);

		if (escape)
			put(writer, bytes + i++, 2);
		else
			put(writer, bytes[i] == '\\' || bytes[i] < ' ' ? (const uint8_t *)"/" : bytes + i, 1);
	}
	put(writer, "\"", 1);
}

static void close_one(struct writer *writer)
{
	if (writer->open[writer->depth].keyed)
		put(writer, "null", 4);
	put(writer, writer->open[writer->depth--].object ? "}" : "]", 1);
}

/* What must be in front of a value or a key; false: no further one has a place. */
static bool begin_value(struct writer *writer, bool is_string)
{
	bool keyed = writer->open[writer->depth].keyed;
	unsigned int room = writer->depth ? ELEMENTS_MAX : 1;

	writer->open[writer->depth].keyed = false;
	if (keyed)
		return true;
	if (writer->open[writer->depth].count == room)
		return false;
	if (writer->open[writer->depth].count++)
		put(writer, ",", 1);
	if (writer->open[writer->depth].object && !is_string)
		put(writer, "\"\":", 3);
	return true;
}

static void put_token(struct writer *writer, const uint8_t *bytes, size_t length)
{
	bool is_key = *bytes == '"' && writer->open[writer->depth].object && !writer->open[writer->depth].keyed;

	if ((*bytes == '}' || *bytes == ']') && writer->depth)
		close_one(writer);
	if (!(*bytes == '"' || is_scalar(*bytes) || ((*bytes == '{' || *bytes == '[') && writer->depth < DEPTH_MAX)) ||
	    !begin_value(writer, *bytes == '"'))
		return;
	if (*bytes == '"') {
		put_string(writer, bytes, length);
		writer->open[writer->depth].keyed = is_key;
		put(writer, ":", is_key);
	} else if (is_scalar(*bytes)) {
		put_scalar(writer, bytes, length);
	} else {
		put(writer, bytes, 1);
		memset(&writer->open[++writer->depth], 0, sizeof *writer->open);
		writer->open[writer->depth].object = *bytes == '{';
	}
}

/* Back in `bytes`, if it has room; else that is as it was. */
static size_t mend(uint8_t *bytes, size_t length, size_t room)
{
	struct writer writer = { .bytes = malloc(room), .room = room };
	bool second = false;

	for (size_t at = 0, end; at < length; at = end) {
		end = token_end(bytes, length, at);
		if (bytes[at] || second) {
			put_token(&writer, bytes + at, end - at);
			continue;
		}
		while (writer.depth)
			close_one(&writer);
		writer.open[0].count = 0;
		second = true;
		put(&writer, "", 1);
	}
	while (writer.depth)
		close_one(&writer);
	if (writer.length <= room) {
		memcpy(bytes, writer.bytes, writer.length);
		length = writer.length;
	}
	free(writer.bytes);
	return length;
}

/* --- Changing ----------------------------------------------------------------------------------------------------------- */

struct value {
	size_t start, end;
	bool key;
};

static size_t find_values(const uint8_t *bytes, size_t length, struct value *values)
{
	size_t open[DEPTH_MAX], depth = 0, count = 0, end;

	for (size_t at = 0; at < length && count < VALUES_MAX; at = end) {
		end = token_end(bytes, length, at);
		if ((bytes[at] == '}' || bytes[at] == ']') && depth)
			values[open[--depth]].end = end;
		if (bytes[at] == '{' || bytes[at] == '[') {
			if (depth < DEPTH_MAX)
				open[depth++] = count;
		} else if (bytes[at] != '"' && !is_scalar(bytes[at])) {
			continue;
		}
		values[count++] = (struct value){ at, end, end < length && bytes[end] == ':' };
	}
	return count;
}

/* Some value becomes another one of the text, or one that is known to be of interest; or is lost. Or a second one is put in front. */
static size_t change(uint8_t *bytes, size_t length, size_t room)
{
	static const char *const known[] = { "0,",
					     "1,",
					     "-1,",
					     "true,",
					     "false,",
					     "null,",
					     "\"\",",
					     "[],",
					     "{},",
					     "1e308,",
					     "4294967296,",
					     "9223372036854775807,",
					     "18446744073709551615,",
					     "\"..\",",
					     "\"pid_1\"," };
	static struct value values[VALUES_MAX];
	const char *word = known[(size_t)rand() % (sizeof known / sizeof *known)];
	size_t count = find_values(bytes, length, values), taken = strlen(word);
	const struct value *value = &values[count ? (size_t)rand() % count : 0], *other = &values[count ? (size_t)rand() % count : 0];
	const void *from = word;
	size_t end = rand() % 4 ? value->end : value->start;
	uint8_t *copy;

	if (!count || value->key != other->key)
		return length;
	if (value->key || rand() % 2) {
		from = bytes + other->start;
		taken = other->end - other->start;
	} else if (rand() % 4 == 0) {
		taken = 0;
	}
	if (length - (end - value->start) + taken > room)
		return length;
	copy = malloc(taken + 1);
	memcpy(copy, from, taken);
	memmove(bytes + value->start + taken, bytes + end, length - end);
	memcpy(bytes + value->start, copy, taken);
	free(copy);
	return length - (end - value->start) + taken;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t room, unsigned int seed)
{
	srand(seed);
	length = rand() % 2 ? change(bytes, length, room) : LLVMFuzzerMutate(bytes, length, room);
	return rand() % 8 ? mend(bytes, length, room) : length;
}
