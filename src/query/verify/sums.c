/* Sums that lie beside a thread's events: they must be what the events add up to. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/tally/stats.h"
#include "query/verify/verify.h"

static bool is_same(const struct ada_function_stats *a, const struct ada_function_stats *b)
{
	const struct ada_histogram *x = &a->durations, *y = &b->durations;
	bool same = a->key == b->key && a->calls == b->calls && a->unknown == b->unknown && a->total_ns == b->total_ns &&
		    a->self_ns == b->self_ns && x->count == y->count && x->sum == y->sum && x->min == y->min && x->max == y->max;

	for (unsigned int i = 0; i < ADA_HISTOGRAM_OCTAVES * ADA_HISTOGRAM_BUCKETS && same; i++)
		same = ada_histogram_bucket(x, i) == ada_histogram_bucket(y, i);
	return same;
}

static bool are_same(const struct ada_stats *a, const struct ada_stats *b)
{
	bool same = a->functions.count == b->functions.count && a->completeness.lost == b->completeness.lost;

	for (size_t i = 0; i < a->functions.count && same; i++)
		same = is_same(a->functions.items[i], b->functions.items[i]);
	return same;
}

/* 0: they are; 1: they aren't; or -errno. */
static int hold_against_events(const struct ada_thread *thread)
{
	struct ada_selection selection = { .session = thread->process->session, .to_ns = UINT64_MAX };
	struct ada_stats quick = {}, anew = {};
	struct ada_error error;
	int status = ada_array_push(&selection.threads, (struct ada_thread *)thread);

	if (!status)
		status = ada_stats_compute(&quick, &selection, 0, &error);
	if (!status)
		status = ada_stats_compute_anew(&anew, &selection, &error);
	if (!status)
		status = !are_same(&quick, &anew);
	ada_stats_free(&quick);
	ada_stats_free(&anew);
	ada_array_free(&selection.threads);
	return status;
}

int ada_verify_thread_sums(struct ada_verify *verify, const struct ada_thread *thread)
{
	AtfTotalsHeader *sums = NULL;
	char file[PATH_MAX];
	uint64_t position;
	int status;

	if (!thread->events || ada_path(file, "%s/thread_%u/sums", thread->process->directory, thread->number))
		return 0;
	status = atf_thread_sums(thread->events, &sums, &position);
	if (!status && !sums)
		return 0;
	free(sums);
	if (status) {
		ada_verify_found(verify, file, "sums", false,
				 "is damaged, or of other events: nobody reads it, and `ada pack` makes it anew");
		return 0;
	}
	status = hold_against_events(thread);
	if (status < 0)
		return status;
	ada_verify_found(verify, file, "sums", !status, "%s",
			 status ? "isn't what the events add up to: remove it, and `ada pack` makes it anew" : "");
	return 0;
}
