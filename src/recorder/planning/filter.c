#include "recorder/planning/filter.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "trigger/trigger.h"

struct ada_filter {
	struct ada_pattern_list functions, exclude;
};
struct ada_module_filter {
	struct ada_pattern_list modules;
	pthread_mutex_t lock; /* a pattern is for one thread at a time, and so is what stands below */
	bool *met;	      /* by pattern: it has meant a module */
	struct ada_nearest **nearest;
};

static int compile(struct ada_pattern_list *list, const char *option, const char *text, struct ada_error *error)
{
	struct ada_error reason = { "" };
	int status;

	if (!*text)
		return ada_error_set(error, EINVAL, "--%s: an empty pattern matches nothing: write '*' for all functions", option);
	status = ada_pattern_list_add(list, text, &reason);
	return status ? ada_error_set(error, -status, "--%s=%s: %s", option, text, reason.text) : 0;
}

static int compile_all(struct ada_pattern_list *list, const char *option, const struct ada_strings *texts, struct ada_error *error)
{
	int status = 0;

	for (size_t i = 0; i < texts->count && !status; i++)
		status = compile(list, option, texts->items[i], error);
	return status;
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

int ada_filter_open_list(struct ada_filter **result, const char *option, const struct ada_strings *patterns, struct ada_error *error)
{
	struct ada_filter *filter = NULL;
	int status;

	*result = NULL;
	if (!patterns->count)
		return 0;
	filter = calloc(1, sizeof *filter);
	if (!filter)
		return ada_error_system(error, ENOMEM, "patterns");
	status = compile_all(&filter->functions, option, patterns, error);
	if (status)
		ada_filter_close(filter);
	else
		*result = filter;
	return status;
}

bool ada_filter_passes(const struct ada_filter *filter, const char *mangled, const char *place)
{
	struct ada_names names;
	bool passes;

	if (!filter)
		return true;
	ada_names_open(&names, mangled, place);
	passes = (!filter->functions.items.count || ada_pattern_list_matches(&filter->functions, &names)) &&
		 !ada_pattern_list_matches(&filter->exclude, &names);
	ada_names_close(&names);
	return passes;
}

const struct ada_pattern_list *ada_filter_patterns(const struct ada_filter *filter, int number)
{
	return number ? &filter->exclude : &filter->functions;
}

void ada_filter_close(struct ada_filter *filter)
{
	if (!filter)
		return;
	ada_pattern_list_free(&filter->functions);
	ada_pattern_list_free(&filter->exclude);
	free(filter);
}

int ada_module_filter_open(struct ada_module_filter **result, const struct ada_strings *modules, struct ada_error *error)
{
	struct ada_module_filter *filter;
	int status;

	*result = NULL;
	if (!modules->count)
		return 0;
	filter = calloc(1, sizeof *filter);
	if (!filter)
		return ada_error_system(error, ENOMEM, "patterns");
	pthread_mutex_init(&filter->lock, NULL);
	status = compile_all(&filter->modules, "modules", modules, error);
	if (!status) {
		filter->met = calloc(filter->modules.items.count, sizeof *filter->met);
		filter->nearest = calloc(filter->modules.items.count, sizeof *filter->nearest);
		status = filter->met && filter->nearest ? 0 : ada_error_system(error, ENOMEM, "patterns");
	}
	for (size_t i = 0; i < filter->modules.items.count && !status; i++)
		if (filter->modules.items.items[i].kind == ADA_PATTERN_LITERAL)
			filter->nearest[i] = ada_nearest_open(filter->modules.items.items[i].text);
	if (status)
		ada_module_filter_close(filter);
	else
		*result = filter;
	return status;
}

bool ada_module_filter_means(struct ada_module_filter *filter, const char *path)
{
	const char *slash = strrchr(path, '/');
	bool means = false;

	if (!filter)
		return false;
	pthread_mutex_lock(&filter->lock);
	for (size_t i = 0; i < filter->modules.items.count; i++) {
		if (ada_pattern_fits(&filter->modules.items.items[i], path) ||
		    ada_pattern_fits(&filter->modules.items.items[i], slash ? slash + 1 : path))
			means = filter->met[i] = true;
		else if (filter->nearest[i])
			ada_nearest_offer_library(filter->nearest[i], slash ? slash + 1 : path);
	}
	pthread_mutex_unlock(&filter->lock);
	return means;
}

const struct ada_pattern *ada_module_filter_unmet(const struct ada_module_filter *filter, size_t *at, char *near, size_t size)
{
	while (filter && *at < filter->modules.items.count) {
		size_t i = (*at)++;

		if (filter->met[i])
			continue;
		*near = 0;
		if (filter->nearest[i])
			ada_nearest_text(filter->nearest[i], near, size);
		return &filter->modules.items.items[i];
	}
	return NULL;
}

void ada_module_filter_close(struct ada_module_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->modules.items.count && filter->nearest; i++)
		if (filter->nearest[i])
			ada_nearest_close(filter->nearest[i]);
	ada_pattern_list_free(&filter->modules);
	free(filter->met);
	free(filter->nearest);
	pthread_mutex_destroy(&filter->lock);
	free(filter);
}
