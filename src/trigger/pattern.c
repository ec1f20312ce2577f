/* Patterns of function names: see pattern.h. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "trigger/pattern.h"
#include <errno.h>
#include <fnmatch.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "elf/demangle.h"

/* The last identifier before a literal's parameters, which the mangled form holds as it is. NULL where mangling has other words:
 * operators, destructors and constructors (those of std::string are "Ss"), lambdas, what Rust would encode. */
static char *needle_of(const char *text)
{
	static const char *const abbreviated[] = { "string",   "basic_string",	"allocator",	 "istream",	  "ostream",
						   "iostream", "basic_istream", "basic_ostream", "basic_iostream" };
	static const char odd[] = "~{}[]$*&'\" ";
	size_t length = strcspn(text, "(<@"), start;
	char *needle;

	if (strstr(text, "operator") || text[0] == '_' || strcspn(text, odd) < length || !length)
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

static int set_text(struct ada_pattern *pattern, const char *text, bool nocase, enum ada_pattern_kind kind, struct ada_error *error)
{
	*pattern = (struct ada_pattern){ .text = strdup(text), .nocase = nocase, .kind = kind };
	if (kind == ADA_PATTERN_LITERAL)
		pattern->needle = needle_of(text);
	return pattern->text ? 0 : ada_error_system(error, ENOMEM, "a pattern");
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

void ada_names_open(struct ada_names *names, const char *mangled)
{
	const char *version = strchr(mangled, '@'), *plain;

	*names = (struct ada_names){ .mangled = mangled };
	if (version && version > mangled)
		names->plain = strndup(mangled, (size_t)(version - mangled));
	plain = names->plain ? names->plain : mangled;
	if (plain[0] == '_')
		names->demangled = ada_elf_demangle(plain);
	if (names->demangled)
		names->bare = without_parameters(plain, names->demangled);
}

void ada_names_close(struct ada_names *names)
{
	free(names->plain);
	free(names->demangled);
	free(names->bare);
	*names = (struct ada_names){ 0 };
}

static bool pattern_fits(const struct ada_pattern *pattern, const char *name)
{
	if (!name)
		return false;
	switch (pattern->kind) {
	case ADA_PATTERN_REGEX: return pcre2_match(pattern->regex, (PCRE2_SPTR)name, strlen(name), 0, 0, pattern->match, NULL) >= 0;
	case ADA_PATTERN_GLOB: return fnmatch(pattern->text, name, pattern->nocase ? FNM_CASEFOLD : 0) == 0;
	case ADA_PATTERN_LITERAL: break;
	}
	return (pattern->nocase ? strcasecmp(pattern->text, name) : strcmp(pattern->text, name)) == 0;
}

bool ada_pattern_may_match(const struct ada_pattern *pattern, const char *mangled)
{
	if (!pattern->needle)
		return true;
	return pattern->nocase ? strcasestr(mangled, pattern->needle) != NULL : strstr(mangled, pattern->needle) != NULL;
}

bool ada_pattern_matches(const struct ada_pattern *pattern, const struct ada_names *names)
{
	return pattern_fits(pattern, names->mangled) || pattern_fits(pattern, names->plain) || pattern_fits(pattern, names->demangled) ||
	       pattern_fits(pattern, names->bare);
}
