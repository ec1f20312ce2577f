/* Tables waits and causes: what query/cause says. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/cause/cause.h"
#include "query/session/windows.h"
#include "query/sql/parts.h"

static int code_of(int result)
{
	if (result == -EINTR)
		return SQLITE_INTERRUPT;
	return result == -ENOMEM ? SQLITE_NOMEM : result ? SQLITE_ERROR : SQLITE_OK;
}

/* One for the whole statement: a join asks for thousands of causes. NULL: no memory. */
static struct ada_cause_reader *reader_of(struct ada_sql *sql)
{
	if (!sql->causes)
		sql->causes = ada_cause_reader_open(sql->session);
	return sql->causes;
}

#define TABLE(table, ...)                                                                                                                  \
	const struct ada_sql_implementation ada_sql_##table = { .name = #table,                                                            \
								.cursor_bytes = sizeof(struct ada_sql_rows_cursor),                        \
								.first = table##_first,                                                    \
								.next = ada_sql_rows_next,                                                 \
								.column = ada_sql_rows_column,                                             \
								.rowid = ada_sql_rows_rowid,                                               \
								.reset = ada_sql_rows_reset,                                               \
								.rows = ada_sql_few,                                                       \
								__VA_ARGS__ }

/* --- waits -------------------------------------------------------------------------------------------------------------- */

static void add_wait(struct ada_sql *sql, struct ada_sql_rows *rows, const struct ada_wait *wait)
{
	uint64_t id = atf_thread_get(wait->thread->events, wait->position)->function_id;
	const struct ada_sql_function *function = ada_sql_function_of(sql, wait->thread->process, id);
	struct ada_cause_link object = { .kind = wait->kind, .object = wait->object };
	char text[ADA_CAUSE_OBJECT];

	rows->failed |= !function;
	ada_sql_add_integer(rows, wait->thread->number);
	ada_sql_add_integer(rows, wait->position);
	if (wait->open)
		ada_sql_add_null(rows);
	else
		ada_sql_add_integer(rows, wait->end_position);
	ada_sql_add_integer(rows, wait->start_ns);
	ada_sql_add_integer(rows, wait->end_ns);
	ada_sql_add_text(rows, ada_cause_kind_name(wait->kind));
	ada_sql_add_text(rows, wait->has_object ? ada_cause_object_text(&object, text) : NULL);
	if (wait->ended_by) {
		ada_sql_add_integer(rows, wait->ended_by->number);
		ada_sql_add_integer(rows, wait->ended_by_position);
	} else {
		ada_sql_add_null(rows);
		ada_sql_add_null(rows);
	}
	ada_sql_add_text(rows, wait->thread->process->directory);
	ada_sql_add_integer(rows, wait->thread->process->pid);
	ada_sql_add_integer(rows, wait->thread->tid);
	ada_sql_add_text(rows, function ? function->name : NULL);
	if (wait->joined)
		ada_sql_add_integer(rows, wait->joined->number);
	else
		ada_sql_add_null(rows);
}

static int waits_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;
	struct ada_cause_reader *reader = reader_of(base->sql);
	const struct ada_selection *selection = base->sql->selection;
	struct ada_waits waits = {};
	uint64_t from_ns, to_ns;
	int result = reader ? 0 : -ENOMEM;

	(void)error;
	cursor->rows.column_count = base->vtab->table->column_count;
	ada_sql_time_range(&base->query, base->sql, &from_ns, &to_ns);
	if (!result && !base->query.nothing)
		result = ada_waits_find(reader, (struct ada_thread *const *)base->query.threads.items, base->query.threads.count,
					base->query.costly, &waits);
	for (size_t i = 0; i < waits.items.count && !result; i++)
		if (waits.items.items[i].start_ns >= selection->from_ns && waits.items.items[i].start_ns < selection->to_ns &&
		    waits.items.items[i].start_ns >= from_ns && waits.items.items[i].start_ns < to_ns)
			add_wait(base->sql, &cursor->rows, &waits.items.items[i]);
	ada_waits_free(&waits);
	return result ? code_of(result) : ada_sql_rows_first(cursor);
}
TABLE(waits, .costly = 1u << 7 | 1u << 8 | 1u << 13);

/* --- causes ------------------------------------------------------------------------------------------------------------- */

static void add_number_or_null(struct ada_sql_rows *rows, bool known, uint64_t number)
{
	if (known)
		ada_sql_add_integer(rows, number);
	else
		ada_sql_add_null(rows);
}

static const char *name_of(struct ada_sql *sql, struct ada_sql_rows *rows, const struct ada_process *process, uint64_t id)
{
	const struct ada_sql_function *function = id == ADA_NO_FUNCTION ? NULL : ada_sql_function_of(sql, process, id);

	rows->failed |= !function && id != ADA_NO_FUNCTION;
	return function ? function->name : NULL;
}

static void add_path(struct ada_sql_rows *rows, const struct ada_process *process, const struct ada_stack *path)
{
	char *text = path ? ada_cause_path_text(process, path, false) : NULL;

	rows->failed |= path && !text;
	ada_sql_add_text(rows, text);
	free(text);
}

static void add_calls(struct ada_sql_rows *rows, const struct ada_cause *cause, const struct ada_culprit *culprit)
{
	char *text = culprit->thread ? ada_cause_calls_text(cause, culprit->thread, culprit->path, false) : NULL;

	rows->failed |= culprit->thread && !text;
	ada_sql_add_text(rows, text);
	free(text);
}

static void add_culprit(struct ada_sql *sql, struct ada_sql_rows *rows, struct ada_cause_reader *reader, const struct ada_cause *cause)
{
	const struct ada_process *process = cause->links.items[0].thread->process;
	struct ada_culprit culprit;

	ada_cause_culprit(cause, &culprit);
	add_number_or_null(rows, culprit.thread, culprit.thread ? culprit.thread->number : 0);
	ada_sql_add_text(rows, culprit.thread ? name_of(sql, rows, process, ada_cause_own_function(reader, process, culprit.path)) : NULL);
	add_path(rows, process, culprit.thread ? culprit.path : NULL);
	add_calls(rows, cause, &culprit);
	add_number_or_null(rows, culprit.thread, culprit.start_ns);
	add_number_or_null(rows, culprit.thread, culprit.end_ns);
	ada_sql_add_text(rows, culprit.kind == ADA_CAUSE_UNKNOWN ? NULL : ada_cause_kind_name(culprit.kind));
	add_number_or_null(rows, culprit.rival, culprit.rival ? culprit.rival->number : 0);
	add_path(rows, process, culprit.rival_path);
}

#define NO_WINDOW UINT64_MAX
static void add_cause(struct ada_sql_cursor *base, struct ada_cause_reader *reader, const struct ada_cause *cause, uint64_t window)
{
	struct ada_sql_rows *rows = &((struct ada_sql_rows_cursor *)base)->rows;
	const struct ada_cause_link *link = &cause->links.items[0];
	const struct ada_process *process = link->thread->process;
	char object[ADA_CAUSE_OBJECT];

	add_number_or_null(rows, window != NO_WINDOW, window);
	ada_sql_add_integer(rows, link->thread->number);
	ada_sql_add_integer(rows, link->position);
	ada_sql_add_text(rows, name_of(base->sql, rows, process, link->function_id));
	ada_sql_add_integer(rows, ada_cause_took(link));
	ada_sql_add_text(rows, ada_cause_kind_name(ada_cause_kind_of(cause)));
	ada_sql_add_text(rows, name_of(base->sql, rows, process, link->wait_function_id));
	ada_sql_add_text(rows, link->has_object ? ada_cause_object_text(link, object) : NULL);
	add_culprit(base->sql, rows, reader, cause);
	ada_sql_add_real(rows, ada_cause_share(link));
	ada_sql_add_null(rows); /* the arguments: whoever gave them knows them */
	ada_sql_add_null(rows);
	ada_sql_add_text(rows, process->directory);
	ada_sql_add_integer(rows, process->pid);
	ada_sql_add_integer(rows, link->wait_position);
	ada_sql_add_integer(rows, link->spells);
	ada_sql_add_text(rows, link->opened);
	ada_sql_add_text(rows, link->peer);
	ada_sql_add_text(rows, link->noted);
	add_number_or_null(rows, link->noted, link->noted_ns);
	add_number_or_null(rows, link->child, link->child ? link->child->pid : 0);
	ada_sql_add_text(rows, link->command);
}

static int add_marked(struct ada_sql_cursor *base, struct ada_cause_reader *reader)
{
	const struct ada_session *session = base->sql->session;
	int result = 0;

	for (size_t i = 0; i < session->windows.count && !result; i++) {
		const struct ada_recorded_window *window = &session->windows.items[i];
		const json_object *marks = ada_json_get(window->entry, "marks");

		if (window->start_ns >= base->sql->selection->to_ns || window->end_ns < base->sql->selection->from_ns)
			continue;
		for (size_t j = 0; j < ada_json_length(marks) && !result; j++) {
			struct ada_cause cause;

			result = ada_cause_of_mark(reader, window->process, json_object_array_get_idx(marks, j), &cause);
			if (!result && cause.found)
				add_cause(base, reader, &cause, i);
			ada_cause_free(&cause);
			if (ada_interrupted())
				result = -EINTR;
		}
	}
	return result;
}

static int add_asked(struct ada_sql_cursor *base, struct ada_cause_reader *reader)
{
	int64_t number = sqlite3_value_int64(base->query.arguments[0]), position = sqlite3_value_int64(base->query.arguments[1]);
	int result = 0;

	for (size_t i = 0; i < base->query.threads.count && !base->query.nothing && !result; i++) {
		const struct ada_thread *thread = base->query.threads.items[i];
		struct ada_cause cause;

		if (thread->number != number || position < 0 || (uint64_t)position >= thread->count)
			continue;
		result = ada_cause_find(reader, thread, (uint64_t)position, &cause);
		if (!result && cause.found)
			add_cause(base, reader, &cause, NO_WINDOW);
		ada_cause_free(&cause);
	}
	return result;
}

static int causes_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;
	bool asked = base->query.arguments[0] || base->query.arguments[1];
	struct ada_cause_reader *reader;
	int result;

	if (asked && !ada_sql_place(&base->query, "causes(of_thread, of_index_seq)", error))
		return SQLITE_ERROR;
	reader = reader_of(base->sql);
	if (!reader)
		return SQLITE_NOMEM;
	cursor->rows.column_count = base->vtab->table->column_count;
	result = asked ? add_asked(base, reader) : add_marked(base, reader);
	return result ? code_of(result) : ada_sql_rows_first(cursor);
}
TABLE(causes, );
