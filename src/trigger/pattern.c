/* Patterns of function names: see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "trigger/pattern.h"
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "elf/file/demangle.h"
#include "elf/file/spoken.h"

/* The last identifier before a literal's parameters, which the mangled form holds as it is. NULL where mangling has other words:
 * operators, destructors and constructors (those of std::string are "Ss"), lambdas, what Rust would encode. */
static char *needle_of(const char *text)
{
	static const char *const abbreviated[] = { "string",   "basic_string",	"allocator",	 "istream",	  "ostream",
						   "iostream", "basic_istream", "basic_ostream", "basic_iostream" };
	static const char odd[] = "~{}[]$*&'\" ";
	size_t length = strcspn(text, "(<@"), start;
	char *needle;

	if (strstr(text, "operator") || strstr(text, "0x") || text[0] == '_' || strcspn(text, odd) < length || !length)
		return NULL;
	for (start = length; start && text[start - 1] != ':' && text[start - 1] != '.'; start--)
		;
	for (size_t i = start; i < length; i++)
		if ((unsigned char)text[i] >= 0x80)
			return NULL;
	needle = strndup(text + start, length - start);
	for (size_t i = 0; needle && i < sizeof abbreviated / sizeof *abbreviated; i++)
		if (strcasecmp(needle, abbreviated[i]) == 0)
			*needle = '\0'; /* every name holds it */
	return needle;
}

/* The glob with a backslash before brackets that are part of names; NULL: no memory. */
static char *escape_names(const char *text)
{
	static const char *const own[] = { "[abi:", "[clone ", "[]" };
	char *escaped = malloc(2 * strlen(text) + 1), *end = escaped;
	const char *at;

	for (at = text; escaped && *at; *end++ = *at++)
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			if (!strncmp(at, own[i], strlen(own[i])) && (at == text || at[-1] != '\\')) {
				*end++ = '\\';
				break;
			}
	if (escaped)
		*end = 0;
	return escaped;
}

static int set_text(struct ada_pattern *pattern, const char *text, bool nocase, enum ada_pattern_kind kind, struct ada_error *error)
{
	*pattern = (struct ada_pattern){ .text = strdup(text), .nocase = nocase, .kind = kind };
	if (kind == ADA_PATTERN_LITERAL)
		pattern->needle = needle_of(text);
	if (kind == ADA_PATTERN_GLOB)
		pattern->glob = escape_names(text);
	if (pattern->text && (kind != ADA_PATTERN_GLOB || pattern->glob))
		return 0;
	ada_pattern_free(pattern);
	return ada_error_system(error, ENOMEM, "a pattern");
}

int ada_pattern_literal(struct ada_pattern *pattern, const char *text, bool nocase, struct ada_error *error)
{
	return set_text(pattern, text, nocase, ADA_PATTERN_LITERAL, error);
}

int ada_pattern_compile(struct ada_pattern *pattern, const char *text, bool nocase, size_t *offset, struct ada_error *error)
{
	PCRE2_UCHAR reason[128];
	PCRE2_SIZE at;
	int code, status;

	*offset = 0;
	if (strncmp(text, "re:", 3) != 0)
		return set_text(pattern, text, nocase, strpbrk(text, "*?[") ? ADA_PATTERN_GLOB : ADA_PATTERN_LITERAL, error);
	status = set_text(pattern, text + 3, nocase, ADA_PATTERN_REGEX, error);
	if (status)
		return status;
	pattern->regex = pcre2_compile((PCRE2_SPTR)pattern->text, PCRE2_ZERO_TERMINATED, nocase ? PCRE2_CASELESS : 0, &code, &at, NULL);
	if (!pattern->regex) {
		pcre2_get_error_message(code, reason, sizeof reason);
		*offset = at + 3;
		ada_pattern_free(pattern);
		return ada_error_set(error, EINVAL, "%s", (const char *)reason);
	}
	pattern->match = pcre2_match_data_create_from_pattern(pattern->regex, NULL);
	if (!pattern->match) {
		ada_pattern_free(pattern);
		return ada_error_system(error, ENOMEM, "a pattern");
	}
	return 0;
}

void ada_pattern_free(struct ada_pattern *pattern)
{
	pcre2_match_data_free(pattern->match);
	pcre2_code_free(pattern->regex);
	free(pattern->text);
	free(pattern->glob);
	free(pattern->needle);
	*pattern = (struct ada_pattern){ 0 };
}

/* "ns::f(int) const" -> "ns::f". The demangler does it properly, at the price of a second run; most names are simple enough
 * to be cut: nothing but one list of parameters holds a parenthesis, and no type of a result comes first. */
static char *without_parameters(const char *mangled, const char *demangled)
{
	size_t length = strcspn(demangled, "( ");

	if (!strchr(demangled, '('))
		return NULL;
	if (demangled[length] == '(' && length && !strpbrk(demangled + length + 1, "(["))
		return strndup(demangled, length);
	return ada_elf_demangle_bare(mangled);
}

void ada_place_text(char place[ADA_PLACE_TEXT], const char *path, uint64_t address)
{
	const char *slash = strrchr(path, '/');

	snprintf(place, ADA_PLACE_TEXT, "%.255s+0x%" PRIx64, slash ? slash + 1 : path, address);
}

/* NULL where the name is its own short form, or the one without parameters is. */
static char *brief_of(const char *demangled)
{
	char text[ADA_NAME_BUFFER];

	return strpbrk(demangled, "<[") ? strdup(ada_name_short(demangled, text)) : NULL;
}

/* What compilers put behind the name of a function for a copy, or a part, of it. */
static const struct {
	const char *text;
	bool moved;
} clones[] = { { ".isra.", true }, { ".constprop.", true }, { ".part.", true },
	       { ".cold", true },  { ".lto_priv.", false }, { ".llvm.", false } };

/* Length of the name of the function that a clone was made of; of all else the whole length. */
static size_t original_length(const char *plain, bool *moved)
{
	size_t length = strlen(plain);

	for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
		const char *at = strstr(plain, clones[i].text);
		size_t whole = strlen(clones[i].text);

		if (!at || at == plain || (clones[i].text[whole - 1] != '.' && at[whole] && at[whole] != '.'))
			continue;
		*moved |= clones[i].moved;
		length = (size_t)(at - plain) < length ? (size_t)(at - plain) : length;
	}
	return length;
}

void ada_names_open(struct ada_names *names, const char *mangled, const char *place)
{
	const char *version = strchr(mangled, '@'), *plain;
	size_t length;

	*names = (struct ada_names){ .mangled = mangled, .place = place && *place ? place : NULL };
	if (version && version > mangled)
		names->plain = strndup(mangled, (size_t)(version - mangled));
	plain = names->plain ? names->plain : mangled;
	length = original_length(plain, &names->moved);
	if (plain[length])
		names->of = strndup(plain, length);
	if (plain[0] == '_')
		names->demangled = ada_elf_demangle(plain);
	if (!names->demangled)
		return;
	if (names->of)
		names->original = ada_elf_demangle(names->of);
	names->bare = names->original ? without_parameters(names->of, names->original) : without_parameters(plain, names->demangled);
	names->brief = brief_of(names->demangled);
}

void ada_names_close(struct ada_names *names)
{
	free(names->plain);
	free(names->demangled);
	free(names->bare);
	free(names->brief);
	free(names->of);
	free(names->original);
	*names = (struct ada_names){ 0 };
}

bool ada_pattern_fits(const struct ada_pattern *pattern, const char *text)
{
	switch (pattern->kind) {
	case ADA_PATTERN_REGEX: return pcre2_match(pattern->regex, (PCRE2_SPTR)text, strlen(text), 0, 0, pattern->match, NULL) >= 0;
	case ADA_PATTERN_GLOB:
		if (fnmatch(pattern->glob, text, pattern->nocase ? FNM_CASEFOLD : 0) == 0)
			return true;
		break;
	case ADA_PATTERN_LITERAL: break;
	}
	return (pattern->nocase ? strcasecmp(pattern->text, text) : strcmp(pattern->text, text)) == 0;
}

bool ada_pattern_may_match(const struct ada_pattern *pattern, const char *mangled)
{
	if (!pattern->needle)
		return true;
	return pattern->nocase ? strcasestr(mangled, pattern->needle) != NULL : strstr(mangled, pattern->needle) != NULL;
}

/* Globs and regexes mean a place only where there is no name: "lua*" is not all of lua5.4. */
static bool means_place(const struct ada_pattern *pattern, const struct ada_names *names)
{
	const char *address = strrchr(names->place, '+');

	if (pattern->kind != ADA_PATTERN_LITERAL)
		return !*names->mangled && ada_pattern_fits(pattern, names->place);
	return !strcmp(pattern->text, names->place) || (address && !strcmp(pattern->text, address + 1));
}

static bool fits_any(const struct ada_pattern *pattern, const char *const *forms, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (forms[i] && *forms[i] && ada_pattern_fits(pattern, forms[i]))
			return true;
	return false;
}

/* The names that are its own; of no clone more than these. */
static bool fits_own(const struct ada_pattern *pattern, const struct ada_names *names)
{
	const char *forms[] = { names->mangled, names->plain, names->demangled };

	return fits_any(pattern, forms, sizeof forms / sizeof *forms) || (names->place && means_place(pattern, names));
}

bool ada_pattern_matches(const struct ada_pattern *pattern, const struct ada_names *names)
{
	const char *forms[] = { names->bare, names->brief, names->of, names->original };

	return fits_own(pattern, names) || fits_any(pattern, forms, sizeof forms / sizeof *forms);
}

bool ada_pattern_matches_itself(const struct ada_pattern *pattern, const struct ada_names *names)
{
	return names->moved ? fits_own(pattern, names) : ada_pattern_matches(pattern, names);
}
