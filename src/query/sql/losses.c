/* Table losses: the LOST records, and behind them what the manifests say of losses that no record stands for. The sum of its
 * `events` is what every answer says was lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/session/sched.h"
#include "query/sql/parts.h"

enum { PROCESS, THREAD, TID, INDEX_SEQ, TIMESTAMP, EVENTS, SKIPPED, REASON, PID, COLUMNS };

struct losses_cursor {
	struct ada_sql_rows_cursor rows; /* those of the manifests */
	struct ada_sql_scan scan;
	uint64_t *recorded; /* by thread of the session: events that LOST records stand for */
	bool scanning;
};

/* Where a recording is over, the manifest says how many LOST records a thread has. */
static bool may_have_records(const struct ada_thread *thread)
{
	return !thread->process->finalized || ada_json_u64(thread->entry, "gaps", 1);
}

static const char *reason_of(const struct ada_thread *thread)
{
	const json_object *index = ada_json_get(ada_json_get(thread->process->manifest, "buffering"), "index");
	const char *mode = ada_json_text(index, "mode", "");

	if (!strcmp(mode, "circular"))
		return thread->lost == thread->overwritten ? "overwritten by newer events, as asked" :
							     "overwritten by newer events, or the buffer was full";
	if (!strcmp(mode, "oneshot"))
		return "the buffer was full";
	return strcmp(mode, "streaming") ? NULL : "the buffer was full: events came faster than they could be written";
}

static void add_row(struct ada_sql_rows *rows, const struct ada_process *process, const struct ada_thread *thread, uint64_t events,
		    uint64_t skipped, const char *reason)
{
	ada_sql_add_text(rows, process ? process->directory : NULL);
	if (thread) {
		ada_sql_add_integer(rows, thread->number);
		ada_sql_add_integer(rows, thread->tid);
	} else {
		ada_sql_add_null(rows);
		ada_sql_add_null(rows);
	}
	ada_sql_add_null(rows);
	ada_sql_add_null(rows);
	if (thread)
		ada_sql_add_integer(rows, events);
	else
		ada_sql_add_null(rows);
	if (thread)
		ada_sql_add_integer(rows, skipped);
	else
		ada_sql_add_null(rows);
	ada_sql_add_text(rows, reason);
	if (process)
		ada_sql_add_integer(rows, process->pid);
	else
		ada_sql_add_null(rows);
}

/* Losses without a place in time: only where the statement asks for all times. */
static void add_unplaced(struct losses_cursor *cursor)
{
	const struct ada_sql *sql = cursor->rows.cursor.sql;
	const struct ada_selection *selection = sql->selection;
	const json_object *missing = ada_json_get(sql->session->document, "notRecorded");
	char text[512];

	if (selection->from_ns || selection->to_ns != UINT64_MAX)
		return;
	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];
		uint64_t recorded = cursor->recorded[thread - sql->session->threads.items];

		if (thread->lost > recorded)
			add_row(&cursor->rows.rows, thread->process, thread, thread->lost - recorded, 0,
				"counted, but no record says where");
		if (thread->skipped)
			add_row(&cursor->rows.rows, thread->process, thread, 0, thread->skipped, "the shadow stack was full");
	}
	if (selection->threads.count != sql->session->threads.count)
		return;
	for (size_t i = 0; i < sql->session->processes.count; i++) {
		const struct ada_process *process = sql->session->processes.items[i];
		const char *reason = ada_json_text(ada_json_get(process->manifest, "recording"), "reason", NULL);

		if (!process->finalized)
			reason = reason ? reason : "still being recorded, or left by a crash";
		if (reason)
			add_row(&cursor->rows.rows, process, NULL, 0, 0, reason);
	}
	for (int i = 0; i < ADA_SCHED_MISSING; i++)
		if (ada_sched_missing(sql->session, i, text, sizeof text))
			add_row(&cursor->rows.rows, NULL, NULL, 0, 0, text);
	for (size_t i = 0; i < ada_json_length(missing); i++) {
		const json_object *entry = json_object_array_get_idx(missing, i);

		snprintf(text, sizeof text, "process %u (%.200s) was not recorded: %.200s", (unsigned)ada_json_u64(entry, "pid", 0),
			 ada_json_text(entry, "program", "?"), ada_json_text(entry, "reason", "?"));
		add_row(&cursor->rows.rows, NULL, NULL, 0, 0, text);
	}
}

static int cursor_settle(struct losses_cursor *cursor, int result)
{
	const struct ada_event *event = cursor->scan.event;

	while (result == SQLITE_OK && event && !event->function_id) { /* aged */
		result = ada_sql_scan_next(&cursor->scan);
		event = cursor->scan.event;
	}
	if (result != SQLITE_OK)
		return result;
	if (event) {
		cursor->recorded[cursor->scan.thread - cursor->rows.cursor.sql->session->threads.items] += event->function_id;
		cursor->rows.cursor.eof = false;
		return SQLITE_OK;
	}
	cursor->scanning = false;
	add_unplaced(cursor);
	return ada_sql_rows_first(&cursor->rows);
}

static int losses_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct losses_cursor *cursor = (struct losses_cursor *)base;
	size_t kept = 0;

	cursor->rows.rows.column_count = COLUMNS;
	cursor->recorded = calloc(base->sql->session->threads.count + 1, sizeof *cursor->recorded);
	if (!cursor->recorded)
		return SQLITE_NOMEM;
	base->query.kinds = 1u << ADA_EVENT_LOST;
	for (size_t i = 0; i < base->query.threads.count; i++)
		if (may_have_records(base->query.threads.items[i]))
			base->query.threads.items[kept++] = base->query.threads.items[i];
	base->query.threads.count = kept;
	cursor->scanning = true;
	return cursor_settle(cursor, ada_sql_scan_open(&cursor->scan, base->sql, &base->query));
}

static int losses_next(struct ada_sql_cursor *base)
{
	struct losses_cursor *cursor = (struct losses_cursor *)base;

	return cursor->scanning ? cursor_settle(cursor, ada_sql_scan_next(&cursor->scan)) : ada_sql_rows_next(base);
}

static void losses_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	const struct losses_cursor *cursor = (struct losses_cursor *)base;
	const struct ada_sql_scan *scan = &cursor->scan;

	if (!cursor->scanning) {
		ada_sql_rows_column(base, context, column);
		return;
	}
	switch (column) {
	case PROCESS: sqlite3_result_text(context, scan->thread->process->directory, -1, SQLITE_STATIC); break;
	case THREAD: sqlite3_result_int64(context, scan->thread->number); break;
	case TID: sqlite3_result_int64(context, scan->thread->tid); break;
	case INDEX_SEQ: sqlite3_result_int64(context, (int64_t)scan->position); break;
	case TIMESTAMP: ada_sql_result_u64(context, scan->event->timestamp_ns); break;
	case EVENTS: ada_sql_result_u64(context, scan->event->function_id); break;
	case SKIPPED: sqlite3_result_int64(context, 0); break;
	case REASON: sqlite3_result_text(context, reason_of(scan->thread), -1, SQLITE_STATIC); break;
	case PID: sqlite3_result_int64(context, scan->thread->process->pid); break;
	}
}

static int64_t losses_rowid(struct ada_sql_cursor *base)
{
	const struct losses_cursor *cursor = (struct losses_cursor *)base;

	/* Behind those of the records. */
	return cursor->scanning ? ada_sql_rowid(base->sql, cursor->scan.thread, cursor->scan.position) :
				  (int64_t)base->sql->bases[base->sql->session->threads.count] + ada_sql_rows_rowid(base);
}

static void losses_reset(struct ada_sql_cursor *base)
{
	struct losses_cursor *cursor = (struct losses_cursor *)base;

	ada_sql_scan_close(&cursor->scan);
	free(cursor->recorded);
	cursor->recorded = NULL;
	ada_sql_rows_reset(base);
}

const struct ada_sql_implementation ada_sql_losses = { .name = "losses",
						       .cursor_bytes = sizeof(struct losses_cursor),
						       .first = losses_first,
						       .next = losses_next,
						       .column = losses_column,
						       .rowid = losses_rowid,
						       .reset = losses_reset,
						       .rows = ada_sql_few };
