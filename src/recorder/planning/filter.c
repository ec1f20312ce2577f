#include "recorder/planning/filter.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "trigger/pattern.h"

struct patterns {
	ADA_ARRAY(struct ada_pattern) list;
};

struct ada_filter {
	struct patterns functions, exclude;
};

static int compile(struct ada_pattern *pattern, const char *option, const char *text, struct ada_error *error)
{
	struct ada_error reason = { "" };
	size_t offset;
	int status;

	if (!*text)
		return ada_error_set(error, EINVAL, "--%s: an empty pattern matches nothing: write '*' for all functions", option);
	status = ada_pattern_compile(pattern, text, false, &offset, &reason);
	if (status == -EINVAL)
		return ada_error_set(error, EINVAL, "--%s=%s: at character %zu: %s", option, text, offset + 1, reason.text);
	return status ? ada_error_system(error, -status, "--%s=%s", option, text) : 0;
}

static int compile_all(struct patterns *patterns, const char *option, const struct ada_strings *texts, struct ada_error *error)
{
	if (ada_array_reserve(&patterns->list, texts->count))
		return ada_error_system(error, ENOMEM, "patterns");
	for (size_t i = 0; i < texts->count; i++) {
		int status = compile(&patterns->list.items[i], option, texts->items[i], error);

		if (status)
			return status;
		patterns->list.count++;
	}
	return 0;
}

int ada_filter_open(struct ada_filter **result, const struct ada_strings *functions, const struct ada_strings *exclude,
		    struct ada_error *error)
{
	struct ada_filter *filter;
	int status;

	*result = NULL;
	if (!functions->count && !exclude->count)
		return 0;
	filter = calloc(1, sizeof *filter);
	if (!filter)
		return ada_error_system(error, ENOMEM, "patterns");
	status = compile_all(&filter->functions, "functions", functions, error);
	if (!status)
		status = compile_all(&filter->exclude, "exclude", exclude, error);
	if (status)
		ada_filter_close(filter);
	else
		*result = filter;
	return status;
}

static bool any_matches(const struct patterns *patterns, const struct ada_names *names)
{
	for (size_t i = 0; i < patterns->list.count; i++)
		if (ada_pattern_matches(&patterns->list.items[i], names))
			return true;
	return false;
}

bool ada_filter_passes(const struct ada_filter *filter, const char *mangled)
{
	struct ada_names names;
	bool passes;

	if (!filter)
		return true;
	ada_names_open(&names, mangled);
	passes = (!filter->functions.list.count || any_matches(&filter->functions, &names)) && !any_matches(&filter->exclude, &names);
	ada_names_close(&names);
	return passes;
}

static void patterns_free(struct patterns *patterns)
{
	for (size_t i = 0; i < patterns->list.count; i++)
		ada_pattern_free(&patterns->list.items[i]);
	ada_array_free(&patterns->list);
}

void ada_filter_close(struct ada_filter *filter)
{
	if (!filter)
		return;
	patterns_free(&filter->functions);
	patterns_free(&filter->exclude);
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
