/* See json.h. */
#include "atf/session/json.h"

#include <string.h>

const char *atf_json_space(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r'))
		at++;
	return at;
}

const char *atf_json_sign(const char *at, const char *end, char sign)
{
	at = atf_json_space(at, end);
	return at < end && *at == sign ? atf_json_space(at + 1, end) : NULL;
}

const char *atf_json_string(const char *at, const char *end, const char **text, size_t *length)
{
	bool escaped = false;
	const char *from;

	at = atf_json_space(at, end);
	if (at == end || *at != '"')
		return NULL;
	for (from = ++at; at < end && *at != '"'; at++)
		if (*at == '\\') {
			escaped = true;
			if (++at == end)
				return NULL;
		}
	if (at == end)
		return NULL;
	*text = escaped ? NULL : from;
	*length = (size_t)(at - from);
	return atf_json_space(at + 1, end);
}

const char *atf_json_u64(const char *at, const char *end, uint64_t *number)
{
	const char *from = at = atf_json_space(at, end);

	*number = 0;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, (uint64_t)(*at - '0'), number))
			return NULL;
	/* 1.5 and 1e3 are other numbers than 1 */
	if (at == from || (at < end && !memchr(" \t\r\n,]}", *at, 7)))
		return NULL;
	return atf_json_space(at, end);
}

const char *atf_json_value(const char *at, const char *end)
{
	const char *text;
	size_t depth = 0, length;

	at = atf_json_space(at, end);
	do {
		if (at == end)
			return NULL;
		if (*at == '"') {
			at = atf_json_string(at, end, &text, &length);
			if (!at)
				return NULL;
			continue;
		}
		if (*at == '{' || *at == '[') {
			depth++;
			at++;
		} else if (*at == '}' || *at == ']') {
			if (!depth)
				return NULL;
			depth--;
			at++;
		} else if (*at == ',' || *at == ':') {
			if (!depth)
				return NULL;
			at++;
		} else {
			while (at < end && !memchr(" \t\r\n,:]}[{\"", *at, 11))
				at++;
		}
		at = atf_json_space(at, end);
	} while (depth);
	return at;
}

bool atf_json_member(const char *text, const char *end, const char *name, const char **from, const char **to, const char **behind)
{
	const char *at = atf_json_sign(text, end, '{'), *key;
	size_t length;

	*behind = NULL;
	while (at && at < end && *at != '}') {
		at = atf_json_string(at, end, &key, &length);
		*from = at ? atf_json_sign(at, end, ':') : NULL;
		*to = *from ? atf_json_value(*from, end) : NULL;
		if (!*to)
			return false;
		if (key && length == strlen(name) && !memcmp(key, name, length))
			return true;
		at = *to < end && **to == ',' ? atf_json_space(*to + 1, end) : *to < end && **to == '}' ? *to : NULL;
	}
	*behind = at && at < end ? at : NULL;
	return false;
}
