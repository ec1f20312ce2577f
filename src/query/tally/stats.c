/* Statistics per function: what the workers of parts.c have counted, as an answer. */
#include "query/tally/stats.h"
#include <errno.h>
#include <stdlib.h>
#include "query/tally/parts.h"

static int compare_keys(const void *left, const void *right)
{
	const struct ada_function_stats *const *a = left, *const *b = right;

	return (*a)->key < (*b)->key ? -1 : (*a)->key > (*b)->key;
}

static int stats_answer(struct ada_stats *stats, struct ada_counter *sum, const struct ada_job *job, const struct ada_selection *selection)
{
	uint64_t *lost = calloc(selection->threads.count + 1, sizeof *lost), events = 0;

	if (!lost)
		return -ENOMEM;
	for (size_t i = 0; i < job->track_count; i++) {
		lost[i] = job->tracks[i].lost;
		events += job->tracks[i].to - job->tracks[i].begin;
	}
	if (sum->functions.count)
		qsort(sum->functions.items, sum->functions.count, sizeof *sum->functions.items, compare_keys);
	for (size_t i = 0; i < sum->functions.count; i++)
		sum->functions.items[i]->calls += sum->functions.items[i]->durations.count;
	stats->functions.items = sum->functions.items;
	stats->functions.count = sum->functions.count;
	stats->functions.capacity = sum->functions.capacity;
	sum->functions.items = NULL;
	sum->functions.count = 0;
	stats->completeness = ada_selection_completeness(selection, true, events, lost);
	free(lost);
	return 0;
}

static int compute(struct ada_stats *stats, const struct ada_selection *selection, struct ada_job job)
{
	struct ada_counter sum = {};
	int result;

	job.work.progress = selection->progress;
	result = ada_job_open(&job, selection);
	if (!result)
		result = ada_job_run(&job, &sum);
	if (!result)
		result = stats_answer(stats, &sum, &job, selection);
	ada_counter_close(&sum);
	ada_job_close(&job);
	return result;
}

static int compute_so(struct ada_stats *stats, const struct ada_selection *selection, struct ada_job job, struct ada_error *error)
{
	int result;

	*stats = (struct ada_stats){};
	result = compute(stats, selection, job);
	if (result == -EBADMSG) {
		job.work.by_events = true;
		result = compute(stats, selection, job);
	}
	if (result == -EINTR)
		return ada_error_set(error, EINTR, "interrupted");
	return result ? ada_error_system(error, -result, "%s", selection->session->path) : 0;
}

int ada_stats_compute_pieces(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, uint64_t piece_events,
			     struct ada_error *error)
{
	return compute_so(stats, selection, (struct ada_job){ .workers = workers, .piece_events = piece_events }, error);
}

int ada_stats_compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, struct ada_error *error)
{
	return ada_stats_compute_pieces(stats, selection, workers, ADA_PARTS_PIECE, error);
}

int ada_stats_compute_anew(struct ada_stats *stats, const struct ada_selection *selection, struct ada_error *error)
{
	return compute_so(stats, selection, (struct ada_job){ .piece_events = ADA_PARTS_PIECE, .anew = true }, error);
}

void ada_stats_free(struct ada_stats *stats)
{
	for (size_t i = 0; i < stats->functions.count; i++) {
		ada_histogram_free(&stats->functions.items[i]->durations);
		free(stats->functions.items[i]);
	}
	ada_array_free(&stats->functions);
	*stats = (struct ada_stats){};
}

const struct ada_function_stats *ada_stats_of(const struct ada_stats *stats, uint64_t key)
{
	for (size_t i = 0; i < stats->functions.count; i++)
		if (stats->functions.items[i]->key == key)
			return stats->functions.items[i];
	return NULL;
}
