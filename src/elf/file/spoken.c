#include "elf/file/spoken.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Up to the parenthesis that the last one closes. */
size_t ada_name_length(const char *name)
{
	const char *closing = strrchr(name, ')');
	int open = 0;

	for (const char *at = closing; at && at >= name; at--) {
		open += (*at == ')') - (*at == '(');
		if (!open)
			return at - name;
	}
	return strlen(name);
}

/* Behind the last space before `end` that no bracket encloses. */
static const char *without_type(const char *name, const char *end)
{
	const char *start = name;
	int open = 0;

	for (const char *at = name; at < end; at++) {
		open += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (*at == ' ' && !open)
			start = at + 1;
	}
	return start;
}

const char *ada_name_without_type(const char *name)
{
	return without_type(name, name + strlen(name));
}

/* The end of the arguments that begin at `at`, of a function that another one lies in; NULL: the parenthesis belongs to a name. */
static const char *end_of_arguments(const char *name, const char *at, const char *end)
{
	const char *closing = at;
	int open = 0;

	if (*at != '(' || at == name || at[-1] == '{' || !strncmp(at, "(anonymous", 10))
		return NULL;
	if ((at - name >= 8 && !strncmp(at - 8, "operator", 8)) || (at - name >= 6 && !strncmp(at - 6, "lambda", 6)))
		return NULL;
	for (; closing < end; closing++) {
		open += (*closing == '(') - (*closing == ')');
		if (!open)
			return closing;
	}
	return NULL;
}

/* How many bytes of an operator's name at `at` begin with angle brackets that enclose nothing: "operator<<", "operator->". */
static size_t operator_length(const char *at)
{
	const size_t word = strlen("operator");
	size_t length = word;

	if (strncmp(at, "operator", word))
		return 0;
	while (at[length] == '<' || at[length] == '>' || at[length] == '-' || at[length] == '=')
		length++;
	return length > word ? length : 0;
}

/* The lambda that std::thread runs by that function of its own, with "()" behind it as a function's name; false: it is another one. */
static bool lambda_of_thread(const char *name, char lambda[ADA_NAME_BUFFER])
{
	static const char state[] = "std::thread::_State_impl<std::thread::_Invoker<std::tuple<";
	const char *begin = name + strlen(state), *end = begin;
	int open = 0, wrote;

	if (strncmp(name, state, strlen(state)) || !strstr(name, "::_M_run"))
		return false;
	for (; *end && (open || !strchr(",>", *end)); end++)
		open += (strchr("<({", *end) != NULL) - (strchr(">)}", *end) != NULL);
	if (end == begin || end[-1] != '}')
		return false;
	wrote = snprintf(lambda, ADA_NAME_BUFFER, "%.*s()", (int)(end - begin), begin);
	return wrote < ADA_NAME_BUFFER;
}

static char *shorten(const char *name, char text[ADA_NAME_BUFFER])
{
	size_t length = ada_name_length(name), used = 0;
	const char *end = length ? name + length : name + strlen(name), *clone = strstr(name, " [clone ");
	int open = 0;

	if (clone && clone < end)
		end = clone;
	for (const char *at = strchr(name, '<') && !strstr(name, "operator ") ? without_type(name, end) : name;
	     at < end && used < ADA_NAME_BUFFER - 5; at++) {
		size_t whole = open ? 0 : operator_length(at);
		const char *arguments = open ? NULL : end_of_arguments(name, at, end);

		if (whole && used + whole < ADA_NAME_BUFFER - 5) {
			memcpy(text + used, at, whole);
			used += whole;
			at += whole - 1;
		} else if (arguments) {
			at = arguments;
		} else if (!open && !strncmp(at, "[abi:", 5) && strchr(at, ']')) {
			at = strchr(at, ']');
		} else if (*at == '<') {
			if (!open++) {
				memcpy(text + used, "<..>", 4);
				used += 4;
			}
		} else if (*at == '>') {
			open -= open > 0;
		} else if (!open) {
			text[used++] = *at;
		}
	}
	text[used] = 0;
	if (!used)
		snprintf(text, ADA_NAME_BUFFER, "%s", name);
	return text;
}

char *ada_name_short(const char *name, char text[ADA_NAME_BUFFER])
{
	char lambda[ADA_NAME_BUFFER];

	return shorten(lambda_of_thread(name, lambda) ? lambda : name, text);
}
