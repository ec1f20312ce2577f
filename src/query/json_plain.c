/* See json_plain.h. Where json-c spends its time is one state machine a character, and a copy of each key: here the keys of
 * manifests are constants. */
#include "query/json_plain.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <json-c/json_util.h>

#define DEPTH_MAX 16
#define DIGITS_MAX 19			/* no more fit uint64_t, whatever they are */
#define NUMBER_MAX 40
#define ESCAPED_MAX 512			/* bytes of a string with escapes */
#define SLOTS 256
#define KNOWN_KEY (JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY)
#define KEYS (sizeof keys / sizeof *keys)

/* What threads, windows and marks have. A key that is missing here costs a copy, no more. */
static const char *const keys[] = {
	"id", "tid", "name", "directory", "segments", "file", "files", "detail", "events", "lost", "overwritten", "gaps", "orphans",
	"skipped", "startNs", "endNs", "ended", "triggerKind", "triggerKinds", "keySymbolVersion", "preRollSec", "postRollSec",
	"requestedPreRollSec", "requestedPostRollSec", "requestedPreRollEvents", "requestedPostRollEvents", "event_count",
	"eventCount", "coverage_ratio", "markedNs", "markedCount", "shortReason", "closed", "settled", "marks", "kind", "rule", "rules",
	"tsNs", "thread", "segment", "indexSeq", "functionId", "value", "label", "more",
};
_Static_assert(KEYS <= 64, "a bit each in an object's `seen`");

struct reader {
	const char *at;
	unsigned int depth;
	uint8_t slots[SLOTS];		/* number of a key + 1; 0: none */
	char escaped[ESCAPED_MAX];	/* the last string that had escapes */
};

static bool take_value(struct reader *reader, json_object **value);

/* --- keys ------------------------------------------------------------------------------------------------------------- */

static unsigned int slot_of(const char *text, size_t length)
{
	return (unsigned int)(length * 37 + (uint8_t)text[0] * 5 + (uint8_t)text[length - 1] * 11 + (uint8_t)text[length / 2]) % SLOTS;
}

static void fill_slots(struct reader *reader)
{
	memset(reader->slots, 0, sizeof reader->slots);
	for (size_t i = 0; i < KEYS; i++) {
		unsigned int slot = slot_of(keys[i], strlen(keys[i]));

		while (reader->slots[slot])
			slot = (slot + 1) % SLOTS;
		reader->slots[slot] = (uint8_t)(i + 1);
	}
}

/* Its number, or -1. */
static int find_key(const struct reader *reader, const char *text, size_t length)
{
	unsigned int slot = length ? slot_of(text, length) : 0;

	for (; length && reader->slots[slot]; slot = (slot + 1) % SLOTS) {
		const char *key = keys[reader->slots[slot] - 1];

		if (!strncmp(key, text, length) && !key[length])
			return reader->slots[slot] - 1;
	}
	return -1;
}

/* --- tokens ----------------------------------------------------------------------------------------------------------- */

static void skip_space(struct reader *reader)
{
	while (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t' || *reader->at == '\r')
		reader->at++;
}

static bool take_mark(struct reader *reader, char mark)
{
	skip_space(reader);
	if (*reader->at != mark)
		return false;
	reader->at++;
	return true;
}

static const char *plain_end(const char *at)
{
	while ((uint8_t)*at >= ' ' && *at != '"' && *at != '\\')
		at++;
	return at;
}

/* From the first backslash on; `text` is where the string begins. */
static bool take_escapes(struct reader *reader, const char **text, size_t *length)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *from = *text, *end = reader->at;
	size_t count = 0;

	for (;;) {
		const char *letter;

		if (count + (size_t)(end - from) + 1 > sizeof reader->escaped)
			return false;
		memcpy(reader->escaped + count, from, (size_t)(end - from));
		count += (size_t)(end - from);
		if (*end == '"')
			break;
		letter = *end == '\\' && end[1] ? strchr(letters, end[1]) : NULL;
		if (!letter)
			return false;
		reader->escaped[count++] = meanings[letter - letters];
		from = end + 2;
		end = plain_end(from);
	}
	reader->at = end + 1;
	*text = reader->escaped;
	*length = count;
	return true;
}

/* The bytes stay until the next string. */
static bool take_string(struct reader *reader, const char **text, size_t *length)
{
	if (!take_mark(reader, '"'))
		return false;
	*text = reader->at;
	reader->at = plain_end(reader->at);
	if (*reader->at != '"')
		return take_escapes(reader, text, length);
	*length = (size_t)(reader->at++ - *text);
	return true;
}

static bool take_word(struct reader *reader, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(reader->at, word, length))
		return false;
	reader->at += length;
	return true;
}

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

static const char *digits_end(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

/* Digits, a fraction or an exponent or both. json-c keeps such a number's text. */
static bool take_double(struct reader *reader, const char *end, json_object **value)
{
	char text[NUMBER_MAX];
	double number;

	if (*end == '.') {
		if (!is_digit(end[1]))
			return false;
		end = digits_end(end + 1);
	}
	if (*end == 'e' || *end == 'E') {
		end += end[1] == '+' || end[1] == '-' ? 2 : 1;
		if (!is_digit(*end))
			return false;
		end = digits_end(end);
	}
	if ((size_t)(end - reader->at) >= sizeof text)
		return false;
	memcpy(text, reader->at, (size_t)(end - reader->at));
	text[end - reader->at] = 0;
	if (json_parse_double(text, &number))
		return false;
	reader->at = end;
	*value = json_object_new_double_s(number, text);
	return *value;
}

static bool take_number(struct reader *reader, json_object **value)
{
	bool negative = *reader->at == '-';
	const char *digits = reader->at + negative, *end = digits_end(digits);
	uint64_t number = 0;

	if (end == digits || end - digits > DIGITS_MAX || (*digits == '0' && end > digits + 1))
		return false;
	if (*end == '.' || *end == 'e' || *end == 'E')
		return take_double(reader, end, value);
	for (const char *digit = digits; digit < end; digit++)
		number = number * 10 + (uint64_t)(*digit - '0');
	if (negative && (!number || number > INT64_MAX))
		return false;
	reader->at = end;
	*value = negative ? json_object_new_int64(-(int64_t)number) :
		 number > INT64_MAX ? json_object_new_uint64(number) : json_object_new_int64((int64_t)number);
	return *value;
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

static bool take_member(struct reader *reader, json_object *object, uint64_t *seen)
{
	char copy[ESCAPED_MAX];
	json_object *value;
	const char *key;
	size_t length;
	int number;

	if (!take_string(reader, &key, &length) || length >= sizeof copy)
		return false;
	number = find_key(reader, key, length);
	if (number >= 0 && (*seen & 1ull << number))
		return false;
	if (number >= 0)
		*seen |= 1ull << number;
	else
		*(char *)mempcpy(copy, key, length) = 0;
	if (!take_mark(reader, ':') || !take_value(reader, &value))
		return false;
	/* A key from the list is no other's, and not there twice. */
	if (number < 0 ? json_object_object_add(object, copy, value) :
			 json_object_object_add_ex(object, keys[number], value, KNOWN_KEY)) {
		json_object_put(value);
		return false;
	}
	return true;
}

static bool take_object(struct reader *reader, json_object **value)
{
	json_object *object = json_object_new_object();
	uint64_t seen = 0;

	if (!object)
		return false;
	if (!take_mark(reader, '}')) {
		do {
			if (!take_member(reader, object, &seen))
				goto fail;
		} while (take_mark(reader, ','));
		if (!take_mark(reader, '}'))
			goto fail;
	}
	*value = object;
	return true;
fail:
	json_object_put(object);
	return false;
}

static bool take_array(struct reader *reader, json_object **value)
{
	json_object *array = json_object_new_array_ext(2), *item;	/* most are short */

	if (!array)
		return false;
	if (!take_mark(reader, ']')) {
		do {
			if (!take_value(reader, &item))
				goto fail;
			if (json_object_array_add(array, item)) {
				json_object_put(item);
				goto fail;
			}
		} while (take_mark(reader, ','));
		if (!take_mark(reader, ']'))
			goto fail;
	}
	*value = array;
	return true;
fail:
	json_object_put(array);
	return false;
}

static bool take_text(struct reader *reader, json_object **value)
{
	const char *text;
	size_t length;

	if (!take_string(reader, &text, &length) || length > INT32_MAX)
		return false;
	*value = json_object_new_string_len(text, (int)length);
	return *value;
}

static bool take_nested(struct reader *reader, json_object **value)
{
	bool taken;

	if (++reader->depth > DEPTH_MAX)
		return false;
	taken = *reader->at++ == '{' ? take_object(reader, value) : take_array(reader, value);
	reader->depth--;
	return taken;
}

/* NULL is a value, null's; where memory ends it is none. */
static bool take_value(struct reader *reader, json_object **value)
{
	*value = NULL;
	skip_space(reader);
	switch (*reader->at) {
	case '{':
	case '[':
		return take_nested(reader, value);
	case '"':
		return take_text(reader, value);
	case 't':
		return take_word(reader, "true") && (*value = json_object_new_boolean(true));
	case 'f':
		return take_word(reader, "false") && (*value = json_object_new_boolean(false));
	case 'n':
		return take_word(reader, "null");
	default:
		return take_number(reader, value);
	}
}

json_object *ada_json_plain(const char *text)
{
	struct reader reader = { .at = text };
	json_object *object;

	fill_slots(&reader);
	skip_space(&reader);
	if (*reader.at != '{' || !take_value(&reader, &object))
		return NULL;
	skip_space(&reader);
	if (!*reader.at)
		return object;
	json_object_put(object);
	return NULL;
}
