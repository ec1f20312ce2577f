/* What is usual in the recording: durations of each function, and who calls whom. */
#include <errno.h>
#include <stdlib.h>
#include "query/tell/tell.h"

#define CALLS_FEW 20   /* of fewer calls nothing is said to be usual */
#define CALLS_MANY 100 /* from here on the p99 differs from the longest */

static uint64_t key_of(const struct ada_session *session, const struct ada_function_stats *function)
{
	uint64_t number = function->module ? function->module->number : session->modules.count + ADA_FUNCTION_MODULE(function->function_id);

	return number << 32 | ADA_FUNCTION_SYMBOL(function->function_id);
}

/* The limit lies above the high percentile by more than the percentile's own error and the clock's grain. */
static void set_limit(struct ada_norm *norm, const struct ada_histogram *durations)
{
	bool many = durations->count >= CALLS_MANY;

	norm->calls = durations->count;
	norm->limit_ns = UINT64_MAX;
	if (durations->count < CALLS_FEW)
		return;
	norm->p50_ns = ada_histogram_percentile(durations, 500);
	norm->high_ns = ada_histogram_percentile(durations, many ? 990 : 900);
	norm->high = many ? "p99" : "p90";
	norm->limit_ns = many ? norm->high_ns + norm->high_ns / 50 : 4 * norm->high_ns;
	if (norm->limit_ns < 2 * norm->p50_ns + 100)
		norm->limit_ns = 2 * norm->p50_ns + 100;
}

static int learn_norms(struct ada_story *story)
{
	int result = 0;

	for (size_t i = 0; i < story->stats.functions.count && !result; i++) {
		const struct ada_function_stats *function = story->stats.functions.items[i];
		struct ada_norm norm = { .key = key_of(story->session, function) };

		set_limit(&norm, &function->durations);
		result = ada_table_put(&story->norm_numbers, norm.key, story->norms.count);
		if (!result)
			result = ada_array_push(&story->norms, norm);
	}
	return result;
}

static bool whole(struct ada_story *story, struct ada_selection *all)
{
	if (!story->result && ada_selection_open(all, story->session, NULL, NULL, NULL, NULL))
		story->result = -ENOMEM;
	return !story->result;
}

struct ada_stats *ada_narrate_stats(struct ada_story *story)
{
	struct ada_selection all;

	if (story->has_stats || !whole(story, &all))
		return &story->stats;
	story->has_stats = true;
	if (ada_stats_compute(&story->stats, &all, story->options.workers, NULL) || learn_norms(story))
		story->result = -ENOMEM;
	ada_selection_close(&all);
	return &story->stats;
}

const struct ada_edges *ada_narrate_edges(struct ada_story *story)
{
	struct ada_selection all;

	if (story->has_edges || !whole(story, &all))
		return &story->edges;
	story->has_edges = true;
	if (ada_edges_compute(&story->edges, &all, story->options.workers, NULL))
		story->result = -ENOMEM;
	ada_selection_close(&all);
	return &story->edges;
}

const struct ada_norm *ada_narrate_norm(struct ada_story *story, const struct ada_process *process, uint64_t id)
{
	uint64_t number;

	ada_narrate_stats(story);
	if (!ada_table_get(&story->norm_numbers, ada_process_function_key(process, id), &number))
		return NULL;
	return &story->norms.items[number];
}

void ada_narrate_forget(struct ada_story *story)
{
	ada_stats_free(&story->stats);
	ada_edges_free(&story->edges);
	ada_array_free(&story->norms);
	ada_table_free(&story->norm_numbers);
	for (size_t i = 0; i < story->losses.count; i++)
		ada_array_free(&story->losses.items[i].positions);
	ada_array_free(&story->losses);
	ada_array_free(&story->selects);
	ada_array_free(&story->libraries);
	ada_narrate_close_tracks(story);
	ada_name_list_close(&story->names);
}
