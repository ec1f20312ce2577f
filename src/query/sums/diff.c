/* Matching the functions of two recordings: each gets a number by its names. */
#include "query/sums/diff.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/hash.h"
#include "query/session/mutes.h"
#include "query/session/selection.h"
#include "query/sums/tree_grow.h"

struct match {
	struct ada_table numbers; /* by the hash of the names */
	ADA_ARRAY(char *) names;
};

/* The name that identifies a function, malloc'ed; NULL: no memory. */
static char *identify(struct ada_module *module, uint64_t function_id)
{
	const struct ada_symbol *symbol = ada_module_symbol(module, ADA_FUNCTION_SYMBOL(function_id));
	char buffer[ADA_NAME_BUFFER], *text;
	int length;

	if (symbol && symbol->mangled[0])
		length = asprintf(&text, "%s\n%s", ada_module_name(module), symbol->mangled);
	else
		length = asprintf(&text, "%s\n\n%s\n%s", ada_module_name(module), module ? module->build_id : "",
				  ada_module_function(module, function_id, buffer));
	return length < 0 ? NULL : text;
}

/* 0 or -ENOMEM. */
static int number_of(struct match *match, struct ada_module *module, uint64_t function_id, uint64_t *number)
{
	char *name = identify(module, function_id);
	uint64_t hash = name ? ada_hash_bytes(name, strlen(name)) : 0;

	if (!name)
		return -ENOMEM;
	for (;; hash++) { /* names of the same hash lie behind each other */
		if (!ada_table_get(&match->numbers, hash, number))
			break;
		if (!strcmp(match->names.items[*number], name)) {
			free(name);
			return 0;
		}
	}
	*number = match->names.count;
	if (ada_array_push(&match->names, name)) {
		free(name);
		return -ENOMEM;
	}
	return ada_table_put(&match->numbers, hash, *number);
}

static void free_match(struct match *match)
{
	for (size_t i = 0; i < match->names.count; i++)
		free(match->names.items[i]);
	ada_array_free(&match->names);
	ada_table_free(&match->numbers);
}

/* --- statistics ------------------------------------------------------------------------------------------------------- */

static int add_stats(struct ada_function_stats *sum, const struct ada_function_stats *function)
{
	sum->calls += function->calls;
	sum->unknown += function->unknown;
	sum->total_ns += function->total_ns;
	sum->self_ns += function->self_ns;
	sum->muted |= function->muted;
	return ada_histogram_merge(&sum->durations, &function->durations);
}

static int take_stats(struct ada_diff *diff, struct match *match, struct ada_stats *stats, bool now)
{
	for (size_t i = 0; i < stats->functions.count; i++) {
		struct ada_function_stats *function = stats->functions.items[i], *sum;
		struct ada_difference *difference;
		uint64_t number;

		if (number_of(match, function->module, function->function_id, &number))
			return -ENOMEM;
		if (number == diff->functions.count &&
		    ada_array_push(&diff->functions, (struct ada_difference){ function->module, function->function_id, NULL, NULL }))
			return -ENOMEM;
		difference = &diff->functions.items[number];
		sum = (struct ada_function_stats *)(now ? difference->now : difference->before);
		if (sum && add_stats(sum, function))
			return -ENOMEM;
		if (!sum)
			*(now ? &difference->now : &difference->before) = function;
	}
	return 0;
}

int ada_diff_stats(struct ada_diff *diff, struct ada_stats *now, struct ada_stats *before)
{
	struct match match = {};
	int result;

	*diff = (struct ada_diff){};
	result = take_stats(diff, &match, now, true);
	if (!result)
		result = take_stats(diff, &match, before, false);
	free_match(&match);
	if (result)
		ada_diff_free(diff);
	return result;
}

void ada_diff_free(struct ada_diff *diff)
{
	ada_array_free(&diff->functions);
}

/* --- trees ------------------------------------------------------------------------------------------------------------ */

/* The numbers that the nodes of `tree` have in `growth`, an array for the caller to free; NULL: no memory. */
static uint32_t *take_paths(struct ada_growth *growth, struct match *match, const struct ada_tree *tree)
{
	uint32_t *numbers = calloc(tree->nodes.count + 1, sizeof *numbers);

	for (uint32_t i = 1; numbers && i < tree->nodes.count; i++) {
		const struct ada_tree_node *node = &tree->nodes.items[i];
		struct ada_tree_node what = { .module = node->module, .function_id = node->function_id };
		uint64_t key = node->key;

		if (node->function_id != ADA_NO_FUNCTION && number_of(match, node->module, node->function_id, &key))
			break;
		numbers[i] = ada_growth_child(growth, numbers[node->parent], key);
		if (numbers[i] == ADA_NO_NODE)
			break;
		ada_growth_add(growth, numbers[i], &what);
		if (i + 1 == tree->nodes.count)
			return numbers;
	}
	if (numbers && tree->nodes.count <= 1)
		return numbers;
	free(numbers);
	return NULL;
}

static void add_counts(struct ada_tree_node *counts, const struct ada_tree *tree, const uint32_t *numbers)
{
	for (uint32_t i = 1; i < tree->nodes.count; i++) {
		const struct ada_tree_node *node = &tree->nodes.items[i];
		struct ada_tree_node *sum = &counts[numbers[i]];

		sum->calls += node->calls;
		sum->unknown += node->unknown;
		sum->total_ns += node->total_ns;
		sum->self_ns += node->self_ns;
	}
}

int ada_diff_trees(struct ada_tree *now, const struct ada_tree *before, struct ada_tree_node **counts)
{
	struct ada_tree_node *old = now->nodes.items;
	struct ada_growth growth = {};
	struct match match = {};
	uint32_t *now_numbers = NULL, *before_numbers = NULL;
	int result = ada_growth_open(&growth);

	*counts = NULL;
	if (!result)
		now_numbers = take_paths(&growth, &match, now);
	if (now_numbers)
		before_numbers = take_paths(&growth, &match, before);
	if (before_numbers)
		*counts = calloc(growth.nodes.count, sizeof **counts);
	if (*counts) {
		add_counts(growth.nodes.items, now, now_numbers);
		add_counts(*counts, before, before_numbers);
		growth.cut = before->cut;
		result = ada_growth_finish(&growth, now);
		if (!result)
			free(old);
	} else {
		result = -ENOMEM;
	}
	free(now_numbers);
	free(before_numbers);
	free_match(&match);
	ada_growth_free(&growth);
	return result;
}

/* --- mutes ------------------------------------------------------------------------------------------------------------ */

static int take_muted(struct match *match, const struct ada_selection *selection)
{
	const struct ada_process *last = NULL;
	struct ada_muted muted;
	uint64_t number;

	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_process *process = selection->threads.items[i]->process;

		for (size_t j = 0; process != last && ada_process_muted(process, j, &muted); j++)
			if (ada_muted_within(&muted, selection->from_ns, selection->to_ns) &&
			    number_of(match, ada_process_module(process, muted.function_id), muted.function_id, &number))
				return -ENOMEM;
		last = process;
	}
	return 0;
}

int ada_diff_mark_muted(struct ada_tree *tree, const struct ada_selection selections[2])
{
	struct match match = {};
	int result = take_muted(&match, &selections[0]) ?: take_muted(&match, &selections[1]);
	uint64_t muted = match.names.count, number;

	for (size_t i = 1; i < tree->nodes.count && muted && !result; i++) {
		struct ada_tree_node *node = &tree->nodes.items[i];

		if (node->function_id == ADA_NO_FUNCTION)
			continue;
		result = number_of(&match, node->module, node->function_id, &number);
		node->muted = !result && number < muted;
	}
	free_match(&match);
	return result;
}
