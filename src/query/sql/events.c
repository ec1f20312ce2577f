/* Tables events and around. */
#include "query/sql/parts.h"

enum { TIMESTAMP, THREAD, TID, INDEX_SEQ, KIND, FUNCTION_ID, FUNCTION, DEPTH, DETAIL_SEQ, PROCESS, PID, MODULE };
enum { LOST = MODULE + 1, OBJECT, WAITED_NS, HOLDER };

struct events_cursor {
	struct ada_sql_cursor cursor;
	struct ada_sql_scan scan;
};

static double count_events(const struct ada_sql *sql)
{
	return sql->total;
}

/* An event of no function. */
static void put_number(sqlite3_context *context, int column, const struct ada_event *event)
{
	if ((column == LOST && event->event_kind == ADA_EVENT_LOST) || (column == OBJECT && event->event_kind == ADA_EVENT_OBJECT) ||
	    (column == WAITED_NS && event->event_kind == ADA_EVENT_RECORDER) || (column == HOLDER && event->event_kind == ADA_EVENT_HOLDER))
		ada_sql_result_u64(context, event->function_id);
}

static void put_function(struct ada_sql *sql, sqlite3_context *context, int column, const struct ada_thread *thread,
			 const struct ada_event *event)
{
	const struct ada_sql_function *function;

	if (column == LOST || column == OBJECT || column == WAITED_NS || column == HOLDER)
		return;
	if (column == FUNCTION_ID) {
		sqlite3_result_int64(context, (int64_t)ada_process_function_key(thread->process, event->function_id));
		return;
	}
	function = ada_sql_function_of(sql, thread->process, event->function_id);
	if (!function)
		sqlite3_result_error_nomem(context);
	else if (column == FUNCTION)
		ada_sql_result_name(context, function);
	else
		sqlite3_result_text(context, function->module_name, -1, SQLITE_STATIC);
}

/* Column `column` of table events. */
static void put_column(struct ada_sql *sql, sqlite3_context *context, int column, const struct ada_thread *thread, uint64_t position,
		       const struct ada_event *event)
{
	switch (column) {
	case TIMESTAMP: ada_sql_result_u64(context, event->timestamp_ns); break;
	case THREAD: sqlite3_result_int64(context, thread->number); break;
	case TID: sqlite3_result_int64(context, thread->tid); break;
	case INDEX_SEQ: sqlite3_result_int64(context, (int64_t)position); break;
	case KIND: sqlite3_result_text(context, ada_sql_kind_name(event->event_kind), -1, SQLITE_STATIC); break;
	case DEPTH: sqlite3_result_int64(context, event->call_depth); break;
	case DETAIL_SEQ:
		if (event->detail_seq != ADA_NO_DETAIL)
			sqlite3_result_int64(context, event->detail_seq);
		break;
	case PROCESS: sqlite3_result_text(context, thread->process->directory, -1, SQLITE_STATIC); break;
	case PID: sqlite3_result_int64(context, thread->process->pid); break;
	default:
		if (event->event_kind >= ADA_EVENT_LOST)
			put_number(context, column, event);
		else
			put_function(sql, context, column, thread, event);
		break;
	}
}

static int take_row(struct events_cursor *cursor, int result)
{
	cursor->cursor.eof = !cursor->scan.event;
	return result;
}

static int events_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct events_cursor *cursor = (struct events_cursor *)base;

	return take_row(cursor, ada_sql_scan_open(&cursor->scan, base->sql, &base->query));
}

static int events_next(struct ada_sql_cursor *base)
{
	struct events_cursor *cursor = (struct events_cursor *)base;

	return take_row(cursor, ada_sql_scan_next(&cursor->scan));
}

static void events_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	const struct ada_sql_scan *scan = &((struct events_cursor *)base)->scan;

	put_column(base->sql, context, column, scan->thread, scan->position, scan->event);
}

static int64_t events_rowid(struct ada_sql_cursor *base)
{
	const struct ada_sql_scan *scan = &((struct events_cursor *)base)->scan;

	return ada_sql_rowid(base->sql, scan->thread, scan->position);
}

static void events_reset(struct ada_sql_cursor *base)
{
	ada_sql_scan_close(&((struct events_cursor *)base)->scan);
}

const struct ada_sql_implementation ada_sql_events = { .name = "events",
						       .cursor_bytes = sizeof(struct events_cursor),
						       .first = events_first,
						       .next = events_next,
						       .column = events_column,
						       .rowid = events_rowid,
						       .reset = events_reset,
						       .rows = count_events,
						       .order = ADA_SQL_BY_THREAD_OR_TIME };

/* --- around: some events of a thread ------------------------------------------------------------------------------------ */

enum { OFFSET = DETAIL_SEQ + 1, OF_THREAD, OF_INDEX_SEQ, N, AROUND_PROCESS };

struct around_cursor {
	struct ada_sql_cursor cursor;
	size_t next; /* thread */
	const struct ada_thread *thread;
	uint64_t position, end, of;
};

/* The wanted events of the next thread with this number: each process may have one. */
static void around_thread(struct around_cursor *cursor)
{
	const struct ada_sql_query *query = &cursor->cursor.query;
	int64_t number = sqlite3_value_int64(query->arguments[0]), of = sqlite3_value_int64(query->arguments[1]);
	bool given = query->arguments[2] && sqlite3_value_type(query->arguments[2]) != SQLITE_NULL;
	int64_t wanted = given ? sqlite3_value_int64(query->arguments[2]) : 10;
	uint64_t n = wanted < 0 ? 0 : wanted;

	cursor->cursor.eof = true;
	while (cursor->next < query->threads.count) {
		const struct ada_thread *thread = query->threads.items[cursor->next++];

		if (thread->number != number || of < 0 || (uint64_t)of >= thread->count)
			continue;
		cursor->thread = thread;
		cursor->of = of;
		cursor->position = cursor->of > n ? cursor->of - n : 0;
		cursor->end = thread->count - cursor->of > n ? cursor->of + n + 1 : thread->count;
		cursor->cursor.eof = false;
		return;
	}
}

/* Kinds that this program doesn't know are in no answer. */
static void around_known(struct around_cursor *cursor)
{
	while (!cursor->cursor.eof) {
		for (; cursor->position < cursor->end; cursor->position++)
			if (ada_sql_kind_name(atf_thread_get(cursor->thread->events, cursor->position)->event_kind))
				return;
		around_thread(cursor);
	}
}

static int around_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct around_cursor *cursor = (struct around_cursor *)base;

	cursor->next = 0;
	base->eof = true;
	if (!ada_sql_place(&base->query, "around(of_thread, of_index_seq, n)", error))
		return SQLITE_ERROR;
	if (base->query.nothing)
		return SQLITE_OK;
	around_thread(cursor);
	around_known(cursor);
	return SQLITE_OK;
}

static int around_next(struct ada_sql_cursor *base)
{
	struct around_cursor *cursor = (struct around_cursor *)base;

	cursor->position++;
	around_known(cursor);
	return SQLITE_OK;
}

static void around_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	struct around_cursor *cursor = (struct around_cursor *)base;

	if (column == OFFSET)
		sqlite3_result_int64(context, (int64_t)(cursor->position - cursor->of));
	else if (column >= OF_THREAD && column <= N && base->query.arguments[column - OF_THREAD])
		sqlite3_result_value(context, base->query.arguments[column - OF_THREAD]);
	else if (column < OFFSET || column >= AROUND_PROCESS)
		put_column(base->sql, context, column < OFFSET ? column : column - AROUND_PROCESS + PROCESS, cursor->thread,
			   cursor->position, atf_thread_get(cursor->thread->events, cursor->position));
}

static int64_t around_rowid(struct ada_sql_cursor *base)
{
	struct around_cursor *cursor = (struct around_cursor *)base;

	return ada_sql_rowid(base->sql, cursor->thread, cursor->position);
}

const struct ada_sql_implementation ada_sql_around = { .name = "around",
						       .cursor_bytes = sizeof(struct around_cursor),
						       .first = around_first,
						       .next = around_next,
						       .column = around_column,
						       .rowid = around_rowid,
						       .rows = ada_sql_few };
