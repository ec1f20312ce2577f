/* Patterns of function names, in triggers, --functions and --exclude: a literal name, a glob (it has * ? or [), or re:REGEX
 * (PCRE2, searched anywhere in the name). */
#ifndef ADA_TRIGGER_PATTERN_H
#define ADA_TRIGGER_PATTERN_H
#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

enum ada_pattern_kind { ADA_PATTERN_LITERAL, ADA_PATTERN_GLOB, ADA_PATTERN_REGEX };
struct ada_pattern {
	char *text; /* without "re:" */
	enum ada_pattern_kind kind;
	bool nocase;
	void *regex, *match; /* pcre2_code, pcre2_match_data */
	char *needle;	     /* of a literal: what a mangled name must hold; NULL: not known */
};

/* -EINVAL for a regex that doesn't compile: *offset is the character of `text` (from 0) where it fails. */
int ada_pattern_compile(struct ada_pattern *pattern, const char *text, bool nocase, size_t *offset, struct ada_error *error);
/* Takes `text` as it is, even where it looks like a glob or a regex. 0 or -ENOMEM. */
int ada_pattern_literal(struct ada_pattern *pattern, const char *text, bool nocase, struct ada_error *error);
void ada_pattern_free(struct ada_pattern *pattern);

/* A function's names, demangled once for all patterns. NULL: none. */
struct ada_names {
	const char *mangled;
	char *plain;		/* mangled, without "@VERSION" where it has one */
	char *demangled, *bare; /* bare: without parameters, where it has any */
};
void ada_names_open(struct ada_names *names, const char *mangled);
void ada_names_close(struct ada_names *names);
/* False where no form of the name fits. The answer needs no demangling, which is what costs: ask this first where names are many. */
bool ada_pattern_may_match(const struct ada_pattern *pattern, const char *mangled);
/* Not from two threads at once with one pattern: a regex has its memory for matching. */
bool ada_pattern_matches(const struct ada_pattern *pattern, const struct ada_names *names);
#endif
