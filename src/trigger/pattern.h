/* Patterns of function names, in triggers and in the options that name functions: a literal name, a glob (it has * ? or [), or re:REGEX
 * (PCRE2, searched anywhere in the name). A glob that is a name as it stands means that name, and brackets that names have themselves
 * ("[abi:cxx11]", "[clone .cold]", "operator[]") are no sets of characters. */
#ifndef ADA_TRIGGER_PATTERN_H
#define ADA_TRIGGER_PATTERN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "base/error.h"

enum ada_pattern_kind { ADA_PATTERN_LITERAL, ADA_PATTERN_GLOB, ADA_PATTERN_REGEX };
struct ada_pattern {
	char *text; /* without "re:" */
	enum ada_pattern_kind kind;
	bool nocase;
	char *glob;	     /* of a glob, for fnmatch(3): with backslashes before brackets that names have */
	void *regex, *match; /* pcre2_code, pcre2_match_data */
	char *needle;	     /* of a literal: what a mangled name must hold; NULL: not known */
};

/* -EINVAL for a regex that doesn't compile: *offset is the character of `text` (from 0) where it fails. */
int ada_pattern_compile(struct ada_pattern *pattern, const char *text, bool nocase, size_t *offset, struct ada_error *error);
/* Takes `text` as it is, even where it looks like a glob or a regex. 0 or -ENOMEM. */
int ada_pattern_literal(struct ada_pattern *pattern, const char *text, bool nocase, struct ada_error *error);
void ada_pattern_free(struct ada_pattern *pattern);

/* Where a function without a name lies is what stands for its name: "lua5.4+0x8870". */
#define ADA_PLACE_TEXT 280
void ada_place_text(char place[ADA_PLACE_TEXT], const char *path, uint64_t address);

/* A function's names, demangled once for all patterns. NULL: none. */
struct ada_names {
	const char *mangled;
	char *plain;		/* mangled, without "@VERSION" where it has one */
	char *demangled, *bare; /* bare: without parameters, where it has any */
	char *brief;		/* as narratives say it (ada_name_short), where that is another one */
	char *of, *original; /* of a clone ("f.isra.0", "f.part.0"): the function that it was made of, as the file had it, and readable */
	bool moved;	     /* its arguments may be others than that function's, or elsewhere */
	const char *place;   /* as given: "lua5.4+0x8870"; "0x8870" means it too */
};
/* `mangled` may be "", `place` NULL; both must stay until the names are closed. */
void ada_names_open(struct ada_names *names, const char *mangled, const char *place);
void ada_names_close(struct ada_names *names);
/* False where no form of the name fits. The answer needs no demangling, which is what costs: ask this first where names are many. */
bool ada_pattern_may_match(const struct ada_pattern *pattern, const char *mangled);
/* A function's clones are meant by its name. Not from two threads at once with one pattern: a regex has its memory for matching. */
bool ada_pattern_matches(const struct ada_pattern *pattern, const struct ada_names *names);
/* For what reads arguments: a clone whose arguments may be others is meant only by its own name. */
bool ada_pattern_matches_itself(const struct ada_pattern *pattern, const struct ada_names *names);
/* The same of one text, which is no function's name. */
bool ada_pattern_fits(const struct ada_pattern *pattern, const char *text);

/* What an option takes: patterns with commas between them, as in rules (names.c): 'a name' as it is, re:/REGEX/ up to the slash. */
struct ada_pattern_list {
	ADA_ARRAY(struct ada_pattern) items; /* empty: means no function */
};
/* Adds those of `text`. -EINVAL with "at character N: ...": the caller puts the option before it. */
int ada_pattern_list_add(struct ada_pattern_list *list, const char *text, struct ada_error *error);
bool ada_pattern_list_matches(const struct ada_pattern_list *list, const struct ada_names *names);
bool ada_pattern_list_matches_itself(const struct ada_pattern_list *list, const struct ada_names *names);
void ada_pattern_list_free(struct ada_pattern_list *list);
#endif
