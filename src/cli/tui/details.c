/* All that is known of one call. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/units.h"
#include "cli/screen/reader.h"
#include "cli/show/dump_event.h"
#include "cli/tui/tui.h"
#include "query/calls/stack.h"
#include "query/cause/cause.h"

static void put_event(struct ada_dump *dump, struct ada_dump_names *names, const struct ada_thread *thread, uint64_t position)
{
	const struct ada_event event = *atf_thread_get(thread->events, position);
	const struct ada_moment moment = { .thread = thread, .event = &event, .position = position };
	const struct ada_dump_name *name = ada_dump_name(names, thread->process, event.function_id);

	if (name)
		ada_dump_event(dump, &moment, name);
}

static void put_path(struct ada_output *output, const struct ada_thread *thread, uint64_t position)
{
	struct ada_stack stack;
	char *path;

	if (ada_stack_at(&stack, thread, position))
		return;
	path = ada_cause_path_text(thread->process, &stack, false);
	if (path && *path) {
		ada_output_string(output, "called by    ");
		ada_output_text(output, path);
		ada_output_string(output, "\n");
	}
	free(path);
	ada_stack_close(&stack);
}

static void put_culprit(struct ada_output *output, const struct ada_cause *cause)
{
	struct ada_culprit culprit;
	char *path;

	ada_cause_culprit(cause, &culprit);
	if (!culprit.thread || culprit.thread == cause->links.items[0].thread)
		return;
	path = culprit.path ? ada_cause_path_text(culprit.thread->process, culprit.path, false) : NULL;
	ada_output_format(output, "             of thread %u ", culprit.thread->number);
	ada_output_text(output, culprit.thread->name);
	ada_output_string(output, path && *path ? ", in " : "");
	ada_output_text(output, path ? path : "");
	ada_output_string(output, "\n");
	free(path);
}

static void put_cause(struct ada_output *output, const struct ada_session *session, const struct ada_thread *thread, uint64_t position)
{
	struct ada_cause_reader *reader = ada_cause_reader_open(session);
	struct ada_cause cause = {};
	char spent[ADA_UNITS_TEXT];

	if (reader && !ada_cause_find(reader, thread, position, &cause) && cause.found && cause.links.count) {
		ada_output_format(output, "cause        %s: %s, %.0f %% of its time\n", ada_cause_kind_name(ada_cause_kind_of(&cause)),
				  ada_format_duration(cause.links.items[0].spent_ns, spent), 100 * ada_cause_share(&cause.links.items[0]));
		put_culprit(output, &cause);
	}
	ada_cause_free(&cause);
	ada_cause_reader_close(reader);
}

/* The duration beside those of all calls of the function; what counts them may not have ended. */
static void put_usual(struct ada_tui *tui, struct ada_output *output, uint64_t key, uint64_t duration_ns)
{
	char p50[ADA_UNITS_TEXT], p90[ADA_UNITS_TEXT], p99[ADA_UNITS_TEXT], max[ADA_UNITS_TEXT];
	const struct ada_function_stats *function = NULL;
	bool counted = atomic_load(&tui->sums.counted) == 2;

	if (counted)
		function = ada_stats_of(&tui->sums.stats, key);
	if (function && function->durations.count) {
		const struct ada_histogram *all = &function->durations;

		ada_output_format(output, "usual        p50 %s, p90 %s, p99 %s, longest %s, of %llu calls; longer than %.1f %% of them\n",
				  ada_format_duration(ada_histogram_percentile(all, 500), p50),
				  ada_format_duration(ada_histogram_percentile(all, 900), p90),
				  ada_format_duration(ada_histogram_percentile(all, 990), p99), ada_format_duration(all->max, max),
				  (unsigned long long)function->calls, ada_histogram_rank(all, duration_ns) / 10.0);
	} else if (!counted) {
		ada_output_string(output, "usual        is still being counted\n");
	}
}

static void put_all(struct ada_tui *tui, struct ada_output *output, const struct ada_thread *thread, uint64_t position)
{
	struct ada_options options = {};
	struct ada_dump dump = { .output = output, .session = tui->session, .detail = true };
	struct ada_dump_names names = { .options = &options };
	char duration[ADA_UNITS_TEXT];
	uint64_t end, duration_ns;
	enum ada_walk_end found = ada_walk_duration(thread, position, UINT64_MAX, &end, &duration_ns);

	put_event(&dump, &names, thread, position);
	if (found == ADA_WALK_ENDS)
		put_event(&dump, &names, thread, end);
	ada_output_string(output, "\n");
	if (found == ADA_WALK_ENDS) {
		ada_output_format(output, "took         %s\n", ada_format_duration(duration_ns, duration));
		put_usual(tui, output, ada_process_function_key(thread->process, atf_thread_get(thread->events, position)->function_id),
			  duration_ns);
	} else {
		ada_output_format(output, "took         %s%s\n", found == ADA_WALK_GOES_ON ? "it has not returned for " : "not known",
				  found == ADA_WALK_GOES_ON ? ada_format_duration(duration_ns, duration) : "");
	}
	ada_output_format(output, "thread       %u, index_seq %llu, depth %u\n", thread->number, (unsigned long long)position,
			  atf_thread_get(thread->events, position)->call_depth);
	put_path(output, thread, position);
	put_cause(output, tui->session, thread, position);
	ada_dump_names_close(&names);
}

int ada_tui_details(struct ada_tui *tui, const struct ada_thread *thread, uint64_t position)
{
	struct ada_sheet sheet = {};
	int result = ada_sheet_begin(&sheet);

	if (!result) {
		put_all(tui, &sheet.output, thread, position);
		result = ada_sheet_end(&sheet);
	}
	if (!result)
		ada_read("A call", &sheet);
	ada_sheet_close(&sheet);
	return result;
}
