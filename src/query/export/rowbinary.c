/* The events as they lie in the files, which is ClickHouse's RowBinary of timestamp_ns UInt64, function_id UInt64, thread_id
 * UInt32, kind UInt32, depth UInt32, detail_seq UInt32: each thread's in their order, one thread after the other. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/export/export.h"
#include "query/export/walk.h"

#define CHUNK_EVENTS 32768u		/* 1 MiB */

/* What the chunk's marks of a loss stand for. */
static uint64_t count_lost(const struct ada_event *events, uint64_t count)
{
	uint64_t lost = 0;

	for (uint64_t i = 0; i < count; i++)
		if (events[i].event_kind == ADA_EVENT_LOST)
			lost += events[i].function_id;
	return lost;
}

static int write_thread(struct ada_export *export, const struct ada_thread *thread, uint64_t *done, uint64_t *lost)
{
	uint64_t position, last, run;

	ada_export_bounds(export->selection, thread, &position, &last);
	while (position < last && !export->output->error) {
		const struct ada_event *events = atf_thread_run(thread->events, position, &run);
		uint64_t count = run < last - position ? run : last - position;

		if (!events)
			break;
		if (ada_interrupted())
			return -EINTR;
		if (count > CHUNK_EVENTS)
			count = CHUNK_EVENTS;
		*lost += count_lost(events, count);
		ada_output_bytes(export->output, (const char *)events, count * sizeof *events);
		atf_thread_release(thread->events, position, position + count);
		position += count;
		*done += count;
		if (export->progress)
			ada_progress_at(export->progress, *done);
	}
	return 0;
}

int ada_export_rowbinary(struct ada_export *export, struct ada_error *error)
{
	const struct ada_selection *selection = export->selection;
	uint64_t *lost = calloc(selection->threads.count + 1, sizeof *lost), done = 0;
	int result = 0;

	if (!lost)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	for (size_t i = 0; i < selection->threads.count && !result; i++)
		result = write_thread(export, selection->threads.items[i], &done, &lost[i]);
	export->completeness = ada_selection_completeness(selection, true, done, lost);
	free(lost);
	return result;
}
