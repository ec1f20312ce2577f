/* Lists of patterns, as options take them. */
#include <errno.h>
#include <string.h>
#include "trigger/parse.h"

int ada_pattern_list_add(struct ada_pattern_list *list, const char *text, struct ada_error *error)
{
	struct ada_trigger names = { .text = NULL };
	const struct ada_parser parser = { .text = text, .trigger = &names, .strict = true, .error = error };
	/* No comparison follows; but here nothing else may, so that "<" and ">" are part of the names. */
	int status = ada_parse_names(&parser, (struct ada_span){ text, text + strlen(text) }, true);

	if (!status && ada_array_reserve(&list->items, names.patterns.count))
		status = ada_error_system(error, ENOMEM, "patterns");
	for (size_t i = 0; i < names.patterns.count; i++) {
		if (status)
			ada_pattern_free(&names.patterns.items[i]);
		else
			list->items.items[list->items.count++] = names.patterns.items[i];
	}
	ada_array_free(&names.patterns);
	return status;
}

bool ada_pattern_list_matches(const struct ada_pattern_list *list, const struct ada_names *names)
{
	for (size_t i = 0; i < list->items.count; i++)
		if (ada_pattern_matches(&list->items.items[i], names))
			return true;
	return false;
}

bool ada_pattern_list_matches_itself(const struct ada_pattern_list *list, const struct ada_names *names)
{
	for (size_t i = 0; i < list->items.count; i++)
		if (ada_pattern_matches_itself(&list->items.items[i], names))
			return true;
	return false;
}

void ada_pattern_list_free(struct ada_pattern_list *list)
{
	for (size_t i = 0; i < list->items.count; i++)
		ada_pattern_free(&list->items.items[i]);
	ada_array_free(&list->items);
}
