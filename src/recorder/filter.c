#define PCRE2_CODE_UNIT_WIDTH 8
#include "recorder/filter.h"
#include <errno.h>
#include <fnmatch.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include "elf/demangle.h"

struct pattern {
	const char *text;
	pcre2_code *regex;		/* re: */
	pcre2_match_data *match;
	bool glob;
};

struct ada_filter {
	struct pattern *functions, *exclude;
	size_t function_count, exclude_count;
};

static int compile(struct pattern *pattern, const char *option, const char *text, struct ada_error *error)
{
	*pattern = (struct pattern){ .text = text, .glob = strpbrk(text, "*?[") };
	if (!*text)
		return ada_error_set(error, EINVAL, "--%s: an empty pattern matches nothing: write '*' for all functions",
				     option);
	if (strncmp(text, "re:", 3))
		return 0;
	int code;
	PCRE2_SIZE offset;
	pattern->regex = pcre2_compile((PCRE2_SPTR)(text + 3), PCRE2_ZERO_TERMINATED, 0, &code, &offset, NULL);
	if (!pattern->regex) {
		PCRE2_UCHAR reason[128];
		pcre2_get_error_message(code, reason, sizeof(reason));
		return ada_error_set(error, EINVAL, "--%s=%s: at character %zu: %s", option, text, (size_t)offset + 3,
				     (const char *)reason);
	}
	pattern->match = pcre2_match_data_create_from_pattern(pattern->regex, NULL);
	return pattern->match ? 0 : ada_error_system(error, ENOMEM, "--%s=%s", option, text);
}

static int compile_all(struct pattern **patterns, size_t *count, const char *option, const struct ada_strings *texts,
		       struct ada_error *error)
{
	*patterns = calloc(texts->count + 1, sizeof(**patterns));
	if (!*patterns)
		return ada_error_system(error, ENOMEM, "patterns");
	for (*count = 0; *count < texts->count; ++*count) {
		int rc = compile(&(*patterns)[*count], option, texts->items[*count], error);
		if (rc) {
			++*count;
			return rc;
		}
	}
	return 0;
}

int ada_filter_open(struct ada_filter **result, const struct ada_strings *functions, const struct ada_strings *exclude,
		    struct ada_error *error)
{
	*result = NULL;
	if (!functions->count && !exclude->count)
		return 0;
	struct ada_filter *filter = calloc(1, sizeof(*filter));
	if (!filter)
		return ada_error_system(error, ENOMEM, "patterns");
	int rc = compile_all(&filter->functions, &filter->function_count, "functions", functions, error);
	if (!rc)
		rc = compile_all(&filter->exclude, &filter->exclude_count, "exclude", exclude, error);
	if (rc)
		ada_filter_close(filter);
	else
		*result = filter;
	return rc;
}

static bool matches(const struct pattern *pattern, const char *name)
{
	if (pattern->regex)
		return pcre2_match(pattern->regex, (PCRE2_SPTR)name, strlen(name), 0, 0, pattern->match, NULL) >= 0;
	return pattern->glob ? !fnmatch(pattern->text, name, 0) : !strcmp(pattern->text, name);
}

struct names { const char *mangled; char *demangled, *bare; };

static bool any_matches(const struct pattern *patterns, size_t count, const struct names *names)
{
	for (size_t i = 0; i < count; i++)
		if (matches(&patterns[i], names->mangled) || (names->demangled && matches(&patterns[i], names->demangled)) ||
		    (names->bare && matches(&patterns[i], names->bare)))
			return true;
	return false;
}

bool ada_filter_passes(const struct ada_filter *filter, const char *mangled)
{
	struct names names = { .mangled = mangled };
	if (!filter)
		return true;
	if (mangled[0] == '_')
		names.demangled = ada_elf_demangle(mangled);
	if (names.demangled && strchr(names.demangled, '('))
		names.bare = strndup(names.demangled, strcspn(names.demangled, "("));
	bool passes = (!filter->function_count || any_matches(filter->functions, filter->function_count, &names)) &&
		      !any_matches(filter->exclude, filter->exclude_count, &names);
	free(names.demangled);
	free(names.bare);
	return passes;
}

static void patterns_free(struct pattern *patterns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		pcre2_match_data_free(patterns[i].match);
		pcre2_code_free(patterns[i].regex);
	}
	free(patterns);
}

void ada_filter_close(struct ada_filter *filter)
{
	if (!filter)
		return;
	patterns_free(filter->functions, filter->function_count);
	patterns_free(filter->exclude, filter->exclude_count);
	free(filter);
}

bool ada_filter_module(const struct ada_strings *globs, const char *path)
{
	const char *last = strrchr(path, '/');
	last = last ? last + 1 : path;
	for (size_t i = 0; i < globs->count; i++)
		if (!fnmatch(globs->items[i], path, 0) || !fnmatch(globs->items[i], last, 0))
			return true;
	return false;
}
