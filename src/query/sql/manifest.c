/* Tables windows, marks, threads, modules, mutes and anchors: what the manifests say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/session/windows.h"
#include "query/sql/parts.h"

typedef void fill_rows(struct ada_sql *sql, struct ada_sql_rows *rows);

static int table_fill(struct ada_sql_cursor *base, fill_rows *make)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;

	/* Made once a cursor: as the inner side of a join the table is asked again and again. */
	if (!cursor->rows.column_count || cursor->rows.failed) {
		ada_sql_rows_free(&cursor->rows);
		cursor->rows.column_count = base->vtab->table->column_count;
		make(base->sql, &cursor->rows);
	}
	return ada_sql_rows_first(cursor);
}

#define TABLE(table)                                                                                                                       \
	static int table##_first(struct ada_sql_cursor *cursor, struct ada_error *error)                                                   \
	{                                                                                                                                  \
		return table_fill(cursor, make_##table);                                                                                   \
	}                                                                                                                                  \
	const struct ada_sql_implementation ada_sql_##table = {                                                                            \
		.name = #table,                                                                                                            \
		.cursor_bytes = sizeof(struct ada_sql_rows_cursor),                                                                        \
		.first = table##_first,                                                                                                    \
		.next = ada_sql_rows_next,                                                                                                 \
		.column = ada_sql_rows_column,                                                                                             \
		.rowid = ada_sql_rows_rowid,                                                                                               \
		.close = ada_sql_rows_reset,                                                                                               \
		.rows = ada_sql_few,                                                                                                       \
	}

/* Null where the manifest has no number there. */
static void add_number(struct ada_sql_rows *rows, const json_object *entry, const char *field)
{
	json_object *value = ada_json_get(entry, field);

	if (json_object_is_type(value, json_type_int))
		ada_sql_add_integer(rows, json_object_get_uint64(value));
	else
		ada_sql_add_null(rows);
}

static void add_real(struct ada_sql_rows *rows, const json_object *entry, const char *field)
{
	json_object *value = ada_json_get(entry, field);

	if (json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double))
		ada_sql_add_real(rows, json_object_get_double(value));
	else
		ada_sql_add_null(rows);
}

static bool process_is_selected(const struct ada_sql *sql, const struct ada_process *process)
{
	const struct ada_selection *selection = sql->selection;

	if (selection->threads.count == sql->session->threads.count)
		return true;
	for (size_t i = 0; i < selection->threads.count; i++)
		if (selection->threads.items[i]->process == process)
			return true;
	return false;
}

static bool window_is_selected(const struct ada_sql *sql, const struct ada_recorded_window *window)
{
	return window->start_ns < sql->selection->to_ns && window->end_ns >= sql->selection->from_ns &&
	       process_is_selected(sql, window->process);
}

static void add_kinds(struct ada_sql_rows *rows, const json_object *entry)
{
	char *kinds = ada_window_kinds(entry);

	if (kinds)
		ada_sql_add_text(rows, kinds);
	else
		rows->failed = true;
	free(kinds);
}

static void make_windows(struct ada_sql *sql, struct ada_sql_rows *rows)
{
	for (size_t i = 0; i < sql->session->windows.count; i++) {
		const struct ada_recorded_window *window = &sql->session->windows.items[i];
		bool open = window->end_ns == UINT64_MAX;

		if (!window_is_selected(sql, window))
			continue;
		ada_sql_add_integer(rows, i);
		ada_sql_add_text(rows, window->process->directory);
		ada_sql_add_integer(rows, window->start_ns);
		if (open)
			ada_sql_add_null(rows);
		else
			ada_sql_add_integer(rows, window->end_ns);
		if (open || window->end_ns < window->start_ns)
			ada_sql_add_null(rows);
		else
			ada_sql_add_integer(rows, window->end_ns - window->start_ns);
		ada_sql_add_text(rows, ada_json_text(window->entry, "triggerKind", NULL));
		add_kinds(rows, window->entry);
		add_number(rows, window->entry, "markedNs");
		ada_sql_add_integer(rows, window->marked_count);
		ada_sql_add_integer(rows, window->event_count);
		add_real(rows, window->entry, "preRollSec");
		add_real(rows, window->entry, "postRollSec");
		add_real(rows, window->entry, "requestedPreRollSec");
		add_real(rows, window->entry, "requestedPostRollSec");
		ada_sql_add_text(rows, ada_json_text(window->entry, "keySymbolVersion", NULL));
		ada_sql_add_text(rows, ada_json_text(window->entry, "shortReason", NULL));
		ada_sql_add_integer(rows, window->process->pid);
	}
}

static void add_position(struct ada_sql_rows *rows, const struct ada_process *process, const json_object *mark)
{
	const struct ada_thread *thread;
	uint64_t position;

	if (ada_mark_event(process, mark, &thread, &position))
		ada_sql_add_integer(rows, position);
	else
		ada_sql_add_null(rows);
}

/* NULL: not known. */
static void add_function(struct ada_sql_rows *rows, const struct ada_sql_function *function)
{
	if (function)
		ada_sql_add_integer(rows, function->key);
	else
		ada_sql_add_null(rows);
	ada_sql_add_text(rows, function ? function->name : NULL);
}

static void add_number_or_null(struct ada_sql_rows *rows, bool known, uint64_t number)
{
	if (known)
		ada_sql_add_integer(rows, number);
	else
		ada_sql_add_null(rows);
}

static void add_span(struct ada_sql_rows *rows, const struct ada_process *process, const json_object *mark)
{
	struct ada_mark_span span;
	bool known = ada_mark_span(process, mark, &span);

	add_number(rows, mark, "key");
	add_number_or_null(rows, known && span.thread, span.thread ? span.thread->number : 0);
	add_number_or_null(rows, known && span.position != UINT64_MAX, span.position);
	add_number_or_null(rows, known, span.begin_ns);
}

static void add_mark(struct ada_sql *sql, struct ada_sql_rows *rows, size_t window, const json_object *mark)
{
	const struct ada_process *process = sql->session->windows.items[window].process;
	const struct ada_sql_function *function = NULL;

	if (json_object_is_type(ada_json_get(mark, "functionId"), json_type_int))
		function = ada_sql_function_of(sql, process, ada_json_u64(mark, "functionId", 0));
	ada_sql_add_integer(rows, window);
	ada_sql_add_text(rows, process->directory);
	add_number(rows, mark, "tsNs");
	ada_sql_add_text(rows, ada_json_text(mark, "kind", NULL));
	add_number(rows, mark, "rule");
	add_number(rows, mark, "thread");
	add_position(rows, process, mark);
	add_function(rows, function);
	add_real(rows, mark, "value");
	ada_sql_add_text(rows, ada_json_text(mark, "label", NULL));
	ada_sql_add_integer(rows, process->pid);
	add_span(rows, process, mark);
}

static void make_marks(struct ada_sql *sql, struct ada_sql_rows *rows)
{
	for (size_t i = 0; i < sql->session->windows.count; i++) {
		const json_object *marks = ada_json_get(sql->session->windows.items[i].entry, "marks");

		for (size_t j = 0; window_is_selected(sql, &sql->session->windows.items[i]) && j < ada_json_length(marks); j++)
			add_mark(sql, rows, i, json_object_array_get_idx(marks, j));
	}
}

static void make_threads(struct ada_sql *sql, struct ada_sql_rows *rows)
{
	for (size_t i = 0; i < sql->selection->threads.count; i++) {
		const struct ada_thread *thread = sql->selection->threads.items[i];

		ada_sql_add_text(rows, thread->process->directory);
		ada_sql_add_integer(rows, thread->number);
		ada_sql_add_integer(rows, thread->tid);
		ada_sql_add_text(rows, thread->name);
		ada_sql_add_integer(rows, thread->count);
		ada_sql_add_integer(rows, ada_thread_lost(thread));
		ada_sql_add_integer(rows, thread->skipped);
		if (thread->count) {
			ada_sql_add_integer(rows, atf_thread_get(thread->events, 0)->timestamp_ns);
			ada_sql_add_integer(rows, atf_thread_get(thread->events, thread->count - 1)->timestamp_ns);
		} else {
			ada_sql_add_null(rows);
			ada_sql_add_null(rows);
		}
		ada_sql_add_integer(rows, thread->process->pid);
	}
}

static const json_object *find_module(const struct ada_process *process, uint64_t id)
{
	const json_object *modules = ada_json_get(process->manifest, "modules");

	for (size_t i = 0; i < ada_json_length(modules); i++)
		if (ada_json_u64(json_object_array_get_idx(modules, i), "id", i) == id)
			return json_object_array_get_idx(modules, i);
	return NULL;
}

static void add_module(struct ada_sql_rows *rows, const struct ada_process *process, size_t id)
{
	const struct ada_module *module = process->modules.items[id];
	const json_object *entry = find_module(process, id);
	const json_object *traced = ada_json_get(entry, "traced");

	ada_sql_add_text(rows, process->directory);
	ada_sql_add_integer(rows, id);
	ada_sql_add_text(rows, ada_module_name(module));
	ada_sql_add_text(rows, module->path);
	ada_sql_add_text(rows, *module->build_id ? module->build_id : NULL);
	ada_sql_add_text(rows, ada_json_text(entry, "base", NULL));
	if (traced)
		ada_sql_add_integer(rows, ada_json_bool(entry, "traced", false));
	else
		ada_sql_add_null(rows);
	add_number(rows, entry, "functions");
	add_number(rows, entry, "hooked");
	if (entry)
		ada_sql_add_integer(rows, ada_json_sum(ada_json_get(entry, "skipped")));
	else
		ada_sql_add_null(rows);
	add_number(rows, entry, "imports");
	add_number(rows, entry, "loadNs");
	add_number(rows, entry, "unloadNs");
	ada_sql_add_integer(rows, process->pid);
}

static void make_modules(struct ada_sql *sql, struct ada_sql_rows *rows)
{
	for (size_t i = 0; i < sql->session->processes.count; i++) {
		const struct ada_process *process = sql->session->processes.items[i];

		for (size_t j = 0; process_is_selected(sql, process) && j < process->modules.count; j++)
			if (process->modules.items[j])
				add_module(rows, process, j);
	}
}

static void add_mute(struct ada_sql *sql, struct ada_sql_rows *rows, const struct ada_process *process, const struct ada_muted *muted)
{
	const struct ada_sql_function *function = ada_sql_function_of(sql, process, muted->function_id);

	add_function(rows, function);
	ada_sql_add_integer(rows, muted->from_ns);
	if (muted->to_ns == UINT64_MAX)
		ada_sql_add_null(rows);
	else
		ada_sql_add_integer(rows, muted->to_ns);
	ada_sql_add_real(rows, muted->calls_a_second);
	ada_sql_add_text(rows, muted->filtered ? "uncontended" : "all");
	ada_sql_add_text(rows, process->directory);
	ada_sql_add_integer(rows, process->pid);
}

static void make_mutes(struct ada_sql *sql, struct ada_sql_rows *rows)
{
	struct ada_muted muted;

	for (size_t i = 0; i < sql->session->processes.count; i++) {
		const struct ada_process *process = sql->session->processes.items[i];

		for (size_t k = 0; process_is_selected(sql, process) && ada_process_muted(process, k, &muted); k++)
			if (ada_muted_within(&muted, sql->selection->from_ns, sql->selection->to_ns))
				add_mute(sql, rows, process, &muted);
	}
}

static void make_anchors(struct ada_sql *sql, struct ada_sql_rows *rows)
{
	for (size_t i = 0; i < sql->session->anchor_count; i++) {
		const struct ada_timing_anchor *anchor = &sql->session->anchors[i];

		ada_sql_add_text(rows, anchor->clock);
		ada_sql_add_integer(rows, anchor->hostTimeNs);
		ada_sql_add_integer(rows, anchor->mediaTimeNs);
	}
}

TABLE(windows);
TABLE(marks);
TABLE(threads);
TABLE(modules);
TABLE(anchors);
TABLE(mutes);
