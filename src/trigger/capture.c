/* --capture and --redact: their grammar, and what is captured without any. Names may have colons and commas, so an item ends where the first
 * ":N=HOW" (":N") is over. */
#include "trigger/capture.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "abi/file.h"

#define STRING(number)                                                                                                                     \
	{                                                                                                                                  \
		number, ADA_CAPTURE_STRING, ATF_DETAIL_CAPTURE_BYTES                                                                       \
	}

#define WORD_STRING(number, offset)                                                                                                        \
	{                                                                                                                                  \
		number, ADA_CAPTURE_WORD_STRING, offset                                                                                    \
	}

/* Paths and names that libc's functions take into the kernel, so that a copy costs little beside the call; and what a crash is about. By
 * strcmp. */
static const struct known {
	const char *name;
	struct ada_capture_set set;
} known[] = {
#define X(name, ...) { name, { { __VA_ARGS__ } } },
#include "trigger/capture_auto.h"
#undef X
};

static int known_compare(const void *name, const void *entry)
{
	return strcmp(name, ((const struct known *)entry)->name);
}

bool ada_capture_put(struct ada_capture_set *set, const struct ada_capture *capture)
{
	for (size_t i = 0; i < sizeof set->items / sizeof *set->items; i++) {
		if (set->items[i].argument == capture->argument)
			return true;
		if (!set->items[i].argument) {
			set->items[i] = *capture;
			return true;
		}
	}
	return false;
}

void ada_capture_join(struct ada_capture_set *set, const struct ada_capture_set *more, uint32_t but)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof set->items / sizeof *set->items && set->items[i].argument; i++, count++)
		but |= 1u << set->items[i].argument;
	for (size_t i = 0; i < sizeof more->items / sizeof *more->items && more->items[i].argument; i++)
		if (!(but >> more->items[i].argument & 1) && count < sizeof set->items / sizeof *set->items)
			set->items[count++] = more->items[i];
}

bool ada_capture_has_errno(const struct ada_capture_set *set)
{
	bool has = false;

	for (size_t i = 0; i < sizeof set->items / sizeof *set->items; i++)
		has |= set->items[i].argument == ATF_CAPTURED_ERRNO;
	return has;
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(name, *names))
		names++;
	return *names;
}

struct ada_capture_set ada_capture_auto(const char *name)
{
	static const char *const without_errno[] = { "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
						     "__assert_fail",
						     "__cxa_init_primary_exception",
						     "__cxa_throw",
						     "dlmopen",
						     "dlopen",
						     "getaddrinfo",
						     "gethostbyname",
						     NULL };
	static const char *const null_fails[] = { "fopen", "fopen64", "freopen", "opendir", "popen", "realpath", "sem_open", NULL };
	const struct known *found = bsearch(name, known, sizeof known / sizeof *known, sizeof *known, known_compare);
	struct ada_capture_set set = found ? found->set : (struct ada_capture_set){ 0 };
	const struct ada_capture error = { ATF_CAPTURED_ERRNO, ADA_CAPTURE_ERRNO,
					   is_one_of(name, null_fails) ? ADA_ERRNO_NULL : ADA_ERRNO_NEGATIVE };

	if (found && !is_one_of(name, without_errno))
		ada_capture_put(&set, &error);
	return set;
}

struct ada_capture_set ada_capture_auto_rust(const char *mangled)
{
	/* Of a panic's payload, a String or a &str: its words, and the String's text. */
	static const struct ada_capture_set payload = { { { 1, ADA_CAPTURE_BYTES, 24 }, WORD_STRING(1, 8) } };

	return strstr(mangled, "9panicking14payload_as_str") ? payload : (struct ada_capture_set){ 0 };
}

static const struct failing {
	const char *name;
	enum ada_errno_result result;
} failing[] = {
#define X(name, result) { name, result },
#include "trigger/capture_errno.h"
#undef X
};

static int failing_compare(const void *name, const void *entry)
{
	return strcmp(name, ((const struct failing *)entry)->name);
}

void ada_capture_put_errno(struct ada_capture_set *set, const char *name)
{
	const struct failing *found = bsearch(name, failing, sizeof failing / sizeof *failing, sizeof *failing, failing_compare);
	const struct ada_capture_set by_itself = ada_capture_auto(name);

	if (found)
		ada_capture_put(set, &(struct ada_capture){ ATF_CAPTURED_ERRNO, ADA_CAPTURE_ERRNO, (uint16_t)found->result });
	for (size_t i = 0; i < sizeof by_itself.items / sizeof *by_itself.items; i++)
		if (by_itself.items[i].argument == ATF_CAPTURED_ERRNO)
			ada_capture_put(set, &by_itself.items[i]);
}

/* What HOW says; returns where it ends, NULL: it is none. */
static const char *how_parse(const char *how, struct ada_capture *capture)
{
	unsigned long bytes;
	char *end;

	if (!strncmp(how, "str", 3)) {
		*capture = (struct ada_capture){ capture->argument, ADA_CAPTURE_STRING, ATF_DETAIL_CAPTURE_BYTES };
		return how + 3;
	}
	if (!strncmp(how, "buf[", 4) && how[4] >= '1' && how[4] <= '6' && how[5] == ']') {
		*capture = (struct ada_capture){ capture->argument, ADA_CAPTURE_BUFFER, (uint16_t)(how[4] - '0') };
		return how + 6;
	}
	if (*how != '*' || !isdigit((unsigned char)how[1]))
		return NULL;
	bytes = strtoul(how + 1, &end, 10);
	if (bytes < 1 || bytes > ATF_DETAIL_CAPTURE_BYTES)
		return NULL;
	*capture = (struct ada_capture){ capture->argument, ADA_CAPTURE_BYTES, (uint16_t)bytes };
	return end;
}

/* Where the item at `text` has its ":N=HOW"; *end: behind it. NULL: nowhere. */
static const char *how_find(const char *text, struct ada_capture *capture, const char **end)
{
	for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
		if (at == text || at[1] < '1' || at[1] > '6' || at[2] != '=')
			continue;
		capture->argument = (uint8_t)(at[1] - '0');
		*end = how_parse(at + 3, capture);
		if (*end && (!**end || **end == ','))
			return at;
	}
	return NULL;
}

/* Likewise, its ":N". */
static const char *number_find(const char *text, struct ada_capture *capture, const char **end)
{
	for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
		if (at == text || at[1] < '1' || at[1] > '6' || (at[2] && at[2] != ','))
			continue;
		capture->argument = (uint8_t)(at[1] - '0');
		*end = at + 2;
		return at;
	}
	return NULL;
}

typedef const char *find(const char *text, struct ada_capture *capture, const char **end);

/* The first colon of the item that a number stands behind; NULL: there is none. */
static const char *colon_find(const char *start)
{
	const char *colon = strchr(start, ':');

	while (colon && !isdigit((unsigned char)colon[1]))
		colon = strchr(colon + 1, ':');
	return colon;
}

/* Says which part of the item at `start` is wrong: the function, the argument's number, or what stands behind it. */
static int no_item(const char *text, const char *start, find *behind, struct ada_error *error)
{
	bool numbers = behind == number_find;
	const char *all = numbers ? "FUNCTION:N" : "FUNCTION:N=HOW, auto or off", *colon = colon_find(start), *at;
	unsigned long number;
	char *end;

	if (!colon || colon == start) {
		at = colon ? start : start + strcspn(start, ",");
		return ada_error_set(error, EINVAL, "at character %zu: %s is meant, and %s is missing", (size_t)(at - text) + 1, all,
				     colon	 ? "a function" :
				     at == start ? "all of it" :
				     numbers	 ? "the argument, :N," :
						   "what of its arguments, :N=HOW,");
	}
	number = strtoul(colon + 1, &end, 10);
	if (number < 1 || number > 6)
		return ada_error_set(error, EINVAL, "at character %zu: %s is meant, with the argument N 1 to 6",
				     (size_t)(colon + 1 - text) + 1, all);
	if (numbers)
		return ada_error_set(error, EINVAL, "at character %zu: %s is meant, with commas between several", (size_t)(end - text) + 1,
				     all);
	return ada_error_set(error, EINVAL, "at character %zu: =str, =buf[M] with the argument M 1 to 6, or =*BYTES with 1 to %u is meant",
			     (size_t)(end - text) + 1, ATF_DETAIL_CAPTURE_BYTES);
}

/* `behind` finds what stands behind the pattern. */
static int item_add(struct ada_capture_list *list, const char *text, const char *start, find *behind, const char **end,
		    struct ada_error *error)
{
	struct ada_capture_rule rule = { .capture = { 0 } };
	const char *how = behind(start, &rule.capture, end);
	struct ada_error reason = { "" };
	char *pattern;
	int status;

	if (!how)
		return no_item(text, start, behind, error);
	pattern = strndup(start, (size_t)(how - start));
	status = pattern ? ada_pattern_list_add(&rule.functions, pattern, &reason) : -ENOMEM;
	free(pattern);
	if (!status && !ada_array_push(&list->items, rule))
		return 0;
	ada_pattern_list_free(&rule.functions);
	return ada_error_set(error, status ? -status : ENOMEM, "%s", *reason.text ? reason.text : "no memory for a capture");
}

static int items_add(struct ada_capture_list *list, const char *text, find *behind, struct ada_error *error)
{
	const char *at = text;
	int status;

	do
		status = item_add(list, text, at, behind, &at, error);
	while (!status && *at++);
	return status;
}

int ada_redact_add(struct ada_capture_list *list, const char *text, struct ada_error *error)
{
	return items_add(list, text, number_find, error);
}

int ada_capture_add(struct ada_capture_list *list, const char *text, struct ada_error *error)
{
	if (!strcmp(text, "auto") || !strcmp(text, "off")) {
		list->off = *text == 'o';
		return 0;
	}
	return items_add(list, text, how_find, error);
}

void ada_capture_list_free(struct ada_capture_list *list)
{
	for (size_t i = 0; i < list->items.count; i++)
		ada_pattern_list_free(&list->items.items[i].functions);
	ada_array_free(&list->items);
}
