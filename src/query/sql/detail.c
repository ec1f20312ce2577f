/* Table detail: the records of each thread's detail files. They lie in the order of time and index_seq, so a range is found by
 * binary search. */
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/session/windows.h"
#include "query/sql/parts.h"
#include "query/values/arguments.h"
#include "query/values/registers.h"

enum {
	THREAD,
	INDEX_SEQ,
	TIMESTAMP,
	KIND,
	FUNCTION,
	X0,
	X7 = X0 + 7,
	LR,
	FP,
	SP,
	FP0,
	FP7 = FP0 + 7,
	STACK,
	PROCESS,
	PID,
	TID,
	FUNCTION_ID,
	MODULE,
	DETAIL_SEQ,
	ARGS,
	CAPTURED,
	ERRNO,
	NATIVE
};

struct detail_cursor {
	struct ada_sql_cursor cursor;
	size_t next; /* thread */
	const struct ada_thread *thread;
	uint32_t segment; /* the next one */
	uint64_t base;	  /* position of the file's segment in the thread */
	uint64_t next_base;
	const struct atf_detail_file *file;
	uint64_t ordinal, end;
	uint64_t from_ns, to_ns;
	struct atf_detail record;
	uint32_t kind;
};

static double count_details(const struct ada_sql *sql)
{
	double count = 0;

	for (size_t i = 0; i < sql->selection->threads.count; i++)
		count += ada_thread_details(sql->selection->threads.items[i], 0, UINT64_MAX);
	return count;
}

static void begin_file(struct detail_cursor *cursor)
{
	const struct ada_sql_numbers *position = &cursor->cursor.query.numbers[ADA_SQL_POSITION];
	uint64_t low = position->low > 0 ? (uint64_t)position->low : 0, bound;

	cursor->ordinal = ada_detail_before(cursor->file, cursor->from_ns, low > cursor->base ? low - cursor->base : 0);
	cursor->end = cursor->to_ns == UINT64_MAX ? atf_detail_count(cursor->file) : ada_detail_before(cursor->file, cursor->to_ns, 0);
	if (position->high == INT64_MAX)
		return;
	bound = position->high < 0 || (uint64_t)position->high < cursor->base ?
			0 :
			ada_detail_before(cursor->file, 0, (uint64_t)position->high - cursor->base + 1);
	cursor->end = bound < cursor->end ? bound : cursor->end;
}

/* The next file that there is. */
static bool next_file(struct detail_cursor *cursor)
{
	cursor->file = NULL;
	while (!cursor->file) {
		if (!cursor->thread || cursor->segment == atf_thread_segments(cursor->thread->events)) {
			if (cursor->next == cursor->cursor.query.threads.count)
				return false;
			cursor->thread = cursor->cursor.query.threads.items[cursor->next++];
			cursor->segment = 0;
			cursor->next_base = 0;
			continue;
		}
		cursor->base = cursor->next_base;
		cursor->next_base += atf_index_count(atf_thread_segment(cursor->thread->events, cursor->segment));
		cursor->file = atf_thread_detail_file(cursor->thread->events, cursor->segment++);
	}
	begin_file(cursor);
	return true;
}

/* The record says call or return; only its event says whether that was an exception. */
static bool record_fits(struct detail_cursor *cursor)
{
	const struct ada_event *event = atf_thread_get(cursor->thread->events, cursor->base + cursor->record.index_seq);
	struct ada_sql_query *query = &cursor->cursor.query;

	cursor->kind = cursor->record.event_type == ATF_DETAIL_CALL ? ADA_EVENT_CALL : ADA_EVENT_RETURN;
	if (event && event->event_kind == ADA_EVENT_EXCEPTION)
		cursor->kind = ADA_EVENT_EXCEPTION;
	return query->kinds >> cursor->kind & 1 &&
	       (query->any_function ||
		ada_sql_fits_function(query, ada_sql_function_of(cursor->cursor.sql, cursor->thread->process, cursor->record.function_id)));
}

static int record_find(struct detail_cursor *cursor)
{
	for (;;) {
		for (; cursor->file && cursor->ordinal < cursor->end; cursor->ordinal++) {
			if (!(cursor->ordinal % (1u << 14)) && ada_interrupted())
				return SQLITE_INTERRUPT;
			cursor->cursor.sql->visited++;
			/* A damaged record is left out. */
			if (atf_detail_get(cursor->file, cursor->ordinal, &cursor->record))
				ada_thread_detail_damaged(cursor->thread);
			else if (record_fits(cursor))
				return SQLITE_OK;
		}
		if (!next_file(cursor)) {
			cursor->cursor.eof = true;
			return SQLITE_OK;
		}
	}
}

static int detail_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct detail_cursor *cursor = (struct detail_cursor *)base;

	cursor->next = 0;
	cursor->thread = NULL;
	cursor->file = NULL;
	ada_sql_time_range(&base->query, base->sql, &cursor->from_ns, &cursor->to_ns);
	base->eof = base->query.nothing || cursor->from_ns >= cursor->to_ns;
	return base->eof ? SQLITE_OK : record_find(cursor);
}

static int detail_next(struct ada_sql_cursor *base)
{
	struct detail_cursor *cursor = (struct detail_cursor *)base;

	cursor->ordinal++;
	return record_find(cursor);
}

static void put_arguments(const struct detail_cursor *cursor, sqlite3_context *context)
{
	struct ada_arguments arguments = {};
	char *text;

	if (ada_arguments_decode(&arguments, cursor->thread, &cursor->record)) {
		ada_arguments_free(&arguments);
		sqlite3_result_error_nomem(context);
		return;
	}
	text = ada_arguments_text(&arguments);
	ada_sql_result_text(context, text);
	free(text);
	ada_arguments_free(&arguments);
}

static void put_function(const struct detail_cursor *cursor, sqlite3_context *context, int column)
{
	const struct ada_sql_function *function = ada_sql_function_of(cursor->cursor.sql, cursor->thread->process,
								      cursor->record.function_id);

	if (!function)
		sqlite3_result_error_nomem(context);
	else if (column == FUNCTION)
		ada_sql_result_name(context, function);
	else if (column == MODULE)
		sqlite3_result_text(context, function->module_name, -1, SQLITE_STATIC);
	else
		sqlite3_result_int64(context, (int64_t)function->key);
}

/* Registers have 64 bits: values from 2^63 on come out negative, since SQL's integers are signed. */
static bool put_register(const struct atf_detail *record, sqlite3_context *context, int column)
{
	uint64_t value;

	if (column >= NATIVE) {
		if (ada_native_value(record, (enum ada_native)(column - NATIVE), &value) == ADA_NATIVE_KNOWN)
			sqlite3_result_int64(context, (int64_t)value);
	} else if (column >= X0 && column <= X7 && ada_captured_redacted(record, column - X0)) {
		sqlite3_result_null(context);
	} else if (column >= X0 && column <= X7) {
		sqlite3_result_int64(context, (int64_t)record->x[column - X0]);
	} else if (column == LR || column == FP || column == SP) {
		sqlite3_result_int64(context, (int64_t)(column == LR ? record->lr : column == FP ? record->fp : record->sp));
	} else if (column >= FP0 && column <= FP7 && record->flags & ATF_DETAIL_VECTORS) {
		sqlite3_result_int64(context, (int64_t)record->vectors[column - FP0]);
	} else {
		return column >= FP0 && column <= FP7;
	}
	return true;
}

static void put_captured(const struct atf_detail *record, sqlite3_context *context)
{
	char *json = ada_captured_json(record);

	if (json)
		sqlite3_result_text(context, json, -1, free);
}

static void detail_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	const struct detail_cursor *cursor = (struct detail_cursor *)base;
	const struct atf_detail *record = &cursor->record;

	if (put_register(record, context, column))
		return;
	switch (column) {
	case THREAD: sqlite3_result_int64(context, cursor->thread->number); break;
	case INDEX_SEQ: sqlite3_result_int64(context, (int64_t)(cursor->base + record->index_seq)); break;
	case TIMESTAMP: ada_sql_result_u64(context, record->timestamp_ns); break;
	case KIND: sqlite3_result_text(context, ada_sql_kind_name(cursor->kind), -1, SQLITE_STATIC); break;
	case STACK:
		sqlite3_result_blob(context, record->stack_size ? (const void *)record->stack : "", record->stack_size, SQLITE_TRANSIENT);
		break;
	case PROCESS: sqlite3_result_text(context, cursor->thread->process->directory, -1, SQLITE_STATIC); break;
	case PID: sqlite3_result_int64(context, cursor->thread->process->pid); break;
	case TID: sqlite3_result_int64(context, cursor->thread->tid); break;
	case DETAIL_SEQ:
		if (record->detail_seq != ADA_NO_DETAIL)
			sqlite3_result_int64(context, record->detail_seq);
		break;
	case ARGS: put_arguments(cursor, context); break;
	case CAPTURED: put_captured(record, context); break;
	case ERRNO: sqlite3_result_text(context, ada_captured_errno(record), -1, SQLITE_STATIC); break;
	default: put_function(cursor, context, column); break;
	}
}

static int64_t detail_rowid(struct ada_sql_cursor *base)
{
	const struct detail_cursor *cursor = (struct detail_cursor *)base;

	return ada_sql_rowid(base->sql, cursor->thread, cursor->base + cursor->record.index_seq);
}

const struct ada_sql_implementation ada_sql_detail = { .name = "detail",
						       .cursor_bytes = sizeof(struct detail_cursor),
						       .first = detail_first,
						       .next = detail_next,
						       .column = detail_column,
						       .rowid = detail_rowid,
						       .rows = count_details,
						       .order = ADA_SQL_BY_THREAD };
