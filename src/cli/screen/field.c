#include "cli/screen/field.h"
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "cli/screen/keys.h"

#define AT_CHARACTER "at character "

void ada_field_set(struct ada_field *field, const char *text)
{
	size_t length = strlen(text);

	if (length >= sizeof field->text)
		length = sizeof field->text - 1;
	memcpy(field->text, text, length);
	field->text[length] = 0;
	field->length = field->at = length;
}

static size_t before(const struct ada_field *field, size_t at)
{
	while (at && (field->text[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t behind(const struct ada_field *field, size_t at)
{
	size_t length = at < field->length ? ada_utf8_length(field->text + at) : 0;

	return at < field->length ? at + (length ? length : 1) : at;
}

static void cut_out(struct ada_field *field, size_t from, size_t to)
{
	memmove(field->text + from, field->text + to, field->length - to + 1);
	field->length -= to - from;
	field->at = from;
}

static size_t encode(char *bytes, unsigned int character)
{
	if (character < 0x80) {
		bytes[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		bytes[0] = (char)(0xc0 | character >> 6);
		bytes[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		bytes[0] = (char)(0xe0 | character >> 12);
		bytes[1] = (char)(0x80 | (character >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	bytes[0] = (char)(0xf0 | character >> 18);
	bytes[1] = (char)(0x80 | (character >> 12 & 0x3f));
	bytes[2] = (char)(0x80 | (character >> 6 & 0x3f));
	bytes[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

void ada_field_put(struct ada_field *field, const char *text)
{
	size_t count = strlen(text);

	if (field->length + count >= sizeof field->text)
		return;
	memmove(field->text + field->at + count, field->text + field->at, field->length - field->at + 1);
	memcpy(field->text + field->at, text, count);
	field->length += count;
	field->at += count;
}

static void insert(struct ada_field *field, unsigned int character)
{
	char bytes[5];

	bytes[encode(bytes, character)] = 0;
	ada_field_put(field, bytes);
}

static size_t word_begin(const struct ada_field *field)
{
	size_t at = field->at;

	while (at && field->text[at - 1] == ' ')
		at--;
	while (at && field->text[at - 1] != ' ')
		at--;
	return at;
}

enum ada_field_state ada_field_key(struct ada_field *field, int key)
{
	switch (key) {
	case ADA_KEY_ENTER: return ADA_FIELD_ENTERED;
	case ADA_KEY_ESCAPE:
	case ADA_KEY_OVER:
	case ADA_KEY_CONTROL('C'):
	case ADA_KEY_CONTROL('G'): return ADA_FIELD_LEFT;
	case ADA_KEY_LEFT: field->at = before(field, field->at); break;
	case ADA_KEY_RIGHT: field->at = behind(field, field->at); break;
	case ADA_KEY_CONTROL('A'):
	case ADA_KEY_HOME: field->at = 0; break;
	case ADA_KEY_CONTROL('E'):
	case ADA_KEY_END: field->at = field->length; break;
	case ADA_KEY_BACKSPACE: cut_out(field, before(field, field->at), field->at); break;
	case ADA_KEY_DELETE: cut_out(field, field->at, behind(field, field->at)); break;
	case ADA_KEY_CONTROL('U'): cut_out(field, 0, field->at); break;
	case ADA_KEY_CONTROL('K'): cut_out(field, field->at, field->length); break;
	case ADA_KEY_CONTROL('W'): cut_out(field, word_begin(field), field->at); break;
	default:
		if (key >= ' ' && key != 0x7f && key < ADA_KEY_UP)
			insert(field, (unsigned int)key);
	}
	return ADA_FIELD_GOES_ON;
}

size_t ada_field_fault(const char *message)
{
	const char *at = strstr(message, AT_CHARACTER);

	return at ? strtoul(at + sizeof AT_CHARACTER - 1, NULL, 10) : 0;
}
