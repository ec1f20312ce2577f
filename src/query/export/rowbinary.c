/* The events as they lie in the files, which is ClickHouse's RowBinary of timestamp_ns UInt64, function_id UInt64, thread_id
 * UInt32, kind UInt32, depth UInt32, detail_seq UInt32: each thread's in their order, one thread after the other. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/export/export.h"
#include "query/export/walk.h"
#include "query/session/stretch.h"

/* What the marks of a loss stand for. */
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
	struct ada_stretch stretch = { .thread = thread };

	ada_selection_range(export->selection, thread, &stretch.next, &stretch.to);
	while (!export->output->error && ada_stretch_next(&stretch)) {
		if (ada_interrupted())
			return -EINTR;
		*lost += count_lost(stretch.events, stretch.count);
		ada_output_bytes(export->output, (const char *)stretch.events, stretch.count * sizeof *stretch.events);
		*done += stretch.count;
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
