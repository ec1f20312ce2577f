/* Table-valued functions fn_stats, callers, callees and stack_at: what C computes at the speed of the events, where SQL would
 * sort them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/calls/stack.h"
#include "query/sql/parts.h"
#include "query/sums/cpu.h"
#include "query/sums/edges.h"
#include "query/tally/stats.h"

#define TABLE(function, cursor, ...)                                                                                                       \
	const struct ada_sql_implementation ada_sql_##function = {                                                                         \
		.name = #function,                                                                                                         \
		.cursor_bytes = sizeof(struct cursor),                                                                                     \
		.first = function##_first,                                                                                                 \
		__VA_ARGS__.next = ada_sql_rows_next,                                                                                      \
		.column = ada_sql_rows_column,                                                                                             \
		.rowid = ada_sql_rows_rowid,                                                                                               \
		.reset = ada_sql_rows_reset,                                                                                               \
		.rows = ada_sql_few,                                                                                                       \
	}

static int code_of(int result)
{
	if (result == -EINTR || (result && ada_interrupted()))
		return SQLITE_INTERRUPT;
	return result == -ENOMEM ? SQLITE_NOMEM : result ? SQLITE_ERROR : SQLITE_OK;
}

static void add_arguments(struct ada_sql_rows *rows, const struct ada_sql_query *query, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!query->arguments[i] || sqlite3_value_type(query->arguments[i]) == SQLITE_NULL)
			ada_sql_add_null(rows);
		else if (sqlite3_value_type(query->arguments[i]) == SQLITE_INTEGER)
			ada_sql_add_integer(rows, sqlite3_value_int64(query->arguments[i]));
		else
			ada_sql_add_text(rows, (const char *)sqlite3_value_text(query->arguments[i]));
}

/* --- which calls ------------------------------------------------------------------------------------------------------- */

/* NULL: not given. */
static const char *argument_text(sqlite3_value *value)
{
	return value && sqlite3_value_type(value) != SQLITE_NULL ? (const char *)sqlite3_value_text(value) : NULL;
}

/* Narrows the connection's selection by (from_time, to_time, of_thread). */
static int narrow(struct ada_selection *selection, const struct ada_sql *sql, sqlite3_value *const *arguments, struct ada_error *error)
{
	const struct ada_selection *whole = sql->selection;
	size_t kept = 0;
	/* A number that SQL computed may be a REAL: we take its digits. */
	char from[32], *texts[2] = {};
	int result;

	for (int i = 0; i < 2; i++)
		if (arguments[i] && sqlite3_value_type(arguments[i]) == SQLITE_FLOAT) {
			sqlite3_snprintf(sizeof from, from, "%lld", sqlite3_value_int64(arguments[i]));
			texts[i] = strdup(from);
		} else if (argument_text(arguments[i])) {
			texts[i] = strdup(argument_text(arguments[i]));
		}
	result = ada_selection_open(selection, sql->session, argument_text(arguments[2]), NULL, NULL, error);
	if (!result && texts[0])
		result = ada_clock_view_parse(&sql->session->view, sql->session, texts[0], &selection->from_ns, error);
	if (!result && texts[1])
		result = ada_clock_view_parse(&sql->session->view, sql->session, texts[1], &selection->to_ns, error);
	free(texts[0]);
	free(texts[1]);
	if (result)
		return result;
	if (selection->from_ns < whole->from_ns)
		selection->from_ns = whole->from_ns;
	if (selection->to_ns > whole->to_ns)
		selection->to_ns = whole->to_ns;
	if (selection->from_ns > selection->to_ns) /* nothing lies there: no error in SQL */
		selection->from_ns = selection->to_ns;
	for (size_t i = 0; i < selection->threads.count; i++)
		for (size_t j = 0; j < whole->threads.count; j++)
			if (whole->threads.items[j] == selection->threads.items[i]) {
				selection->threads.items[kept++] = selection->threads.items[i];
				break;
			}
	selection->threads.count = kept;
	return 0;
}

/* --- fn_stats ----------------------------------------------------------------------------------------------------------- */

static void add_statistics(struct ada_sql *sql, struct ada_sql_rows *rows, const struct ada_function_stats *function,
			   const struct ada_sql_query *query)
{
	const struct ada_histogram *durations = &function->durations;
	uint64_t key = ada_sql_module_key(function->module, function->function_id, sql->session);
	const struct ada_sql_function *named = ada_sql_function_by_key(sql, key);

	rows->failed |= !named;
	ada_sql_add_text(rows, named ? named->name : NULL);
	ada_sql_add_text(rows, named ? named->module_name : NULL);
	ada_sql_add_integer(rows, function->calls);
	ada_sql_add_integer(rows, function->total_ns);
	ada_sql_add_integer(rows, function->self_ns);
	if (durations->count) {
		ada_sql_add_integer(rows, durations->min);
		ada_sql_add_integer(rows, durations->sum / durations->count);
		ada_sql_add_integer(rows, ada_histogram_percentile(durations, 500));
		ada_sql_add_integer(rows, ada_histogram_percentile(durations, 900));
		ada_sql_add_integer(rows, ada_histogram_percentile(durations, 990));
		ada_sql_add_integer(rows, durations->max);
	}
	for (int i = 0; i < 6 && !durations->count; i++)
		ada_sql_add_null(rows);
	add_arguments(rows, query, 3);
	ada_sql_add_integer(rows, key);
	ada_sql_add_integer(rows, function->unknown);
	for (int i = 0; i < 2; i++)
		if (function->cpu_known)
			ada_sql_add_integer(rows, i ? function->off_ns : function->on_ns);
		else
			ada_sql_add_null(rows);
}

static int fn_stats_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;
	struct ada_selection selection = {};
	struct ada_stats stats = {};
	int result;

	cursor->rows.column_count = base->vtab->table->column_count;
	result = narrow(&selection, base->sql, base->query.arguments, error);
	if (!result && selection.from_ns < selection.to_ns)
		result = ada_stats_compute(&stats, &selection, 0, error);
	if (!result && base->query.costly)
		result = ada_stats_add_cpu(&stats, &selection, error);
	for (size_t i = 0; i < stats.functions.count && !result; i++)
		add_statistics(base->sql, &cursor->rows, stats.functions.items[i], &base->query);
	ada_stats_free(&stats);
	ada_selection_close(&selection);
	return result ? code_of(result) : ada_sql_rows_first(cursor);
}
#define ON_CPU 16 /* columns */
#define OFF_CPU 17
TABLE(fn_stats, ada_sql_rows_cursor, .costly = 1u << ON_CPU | 1u << OFF_CPU, );

/* --- callers, callees --------------------------------------------------------------------------------------------------- */

/* The edges stay for the next question of the same join, which differs only in the function. */
struct edges_cursor {
	struct ada_sql_rows_cursor rows;
	struct ada_edges edges;
	bool computed;
	sqlite3_value *of[3]; /* from_time, to_time, of_thread that they were computed for */
};

static bool is_same(sqlite3_value *left, sqlite3_value *right)
{
	const char *a = argument_text(left), *b = argument_text(right);

	return (!a && !b) || (a && b && !strcmp(a, b));
}

static void drop_edges(struct edges_cursor *cursor)
{
	ada_edges_free(&cursor->edges);
	cursor->edges = (struct ada_edges){};
	cursor->computed = false;
	for (int i = 0; i < 3; i++) {
		sqlite3_value_free(cursor->of[i]);
		cursor->of[i] = NULL;
	}
}

static void edges_close(struct ada_sql_cursor *base)
{
	drop_edges((struct edges_cursor *)base);
}

static int compute_edges(struct edges_cursor *cursor, struct ada_error *error)
{
	const struct ada_sql *sql = cursor->rows.cursor.sql;
	sqlite3_value *const *arguments = cursor->rows.cursor.query.arguments + 1;
	struct ada_selection selection = {};
	int result;

	if (cursor->computed && is_same(arguments[0], cursor->of[0]) && is_same(arguments[1], cursor->of[1]) &&
	    is_same(arguments[2], cursor->of[2]))
		return 0;
	drop_edges(cursor);
	result = narrow(&selection, sql, arguments, error);
	if (!result && selection.from_ns < selection.to_ns)
		result = ada_edges_compute(&cursor->edges, &selection, 0, error);
	for (int i = 0; i < 3 && !result; i++) {
		cursor->of[i] = arguments[i] ? sqlite3_value_dup(arguments[i]) : NULL;
		if (arguments[i] && !cursor->of[i])
			result = -ENOMEM;
	}
	cursor->computed = !result;
	ada_selection_close(&selection);
	return result;
}

/* Whether the function is what `f` says: an id, a name as it is shown, or one of the patterns. */
static bool is_asked_for(const struct ada_sql_function *function, sqlite3_value *f, const struct ada_pattern_list *patterns)
{
	char place[ADA_PLACE_TEXT];
	struct ada_names names;
	bool asked;

	if (sqlite3_value_type(f) == SQLITE_INTEGER)
		return (int64_t)function->key == sqlite3_value_int64(f);
	if (!strcmp((const char *)sqlite3_value_text(f), function->name))
		return true;
	if (function->symbol && function->module)
		ada_place_text(place, function->module->path, function->symbol->address);
	ada_names_open(&names, function->mangled, function->symbol && function->module ? place : function->name);
	asked = ada_pattern_list_matches(patterns, &names);
	ada_names_close(&names);
	return asked;
}

static void add_edge(struct ada_sql_rows *rows, const struct ada_edge *edge, const struct ada_sql_function *other,
		     const struct ada_sql_function *of, const struct ada_sql_query *query)
{
	ada_sql_add_text(rows, other ? other->name : NULL);
	ada_sql_add_text(rows, other ? other->module_name : NULL);
	ada_sql_add_integer(rows, edge->calls);
	ada_sql_add_integer(rows, edge->total_ns);
	ada_sql_add_integer(rows, edge->self_ns);
	ada_sql_add_integer(rows, edge->first_ns);
	ada_sql_add_integer(rows, edge->thread->number);
	ada_sql_add_integer(rows, edge->first_position);
	ada_sql_add_text(rows, of->name);
	add_arguments(rows, query, 4);
	if (other)
		ada_sql_add_integer(rows, other->key);
	else
		ada_sql_add_null(rows);
	ada_sql_add_integer(rows, edge->unknown);
	ada_sql_add_text(rows, edge->thread->process->directory);
}

static int add_edges(struct ada_sql_rows_cursor *cursor, const struct ada_edges *edges, bool of_callee,
		     const struct ada_pattern_list *patterns)
{
	struct ada_sql *sql = cursor->cursor.sql;
	const struct ada_sql_query *query = &cursor->cursor.query;

	for (size_t i = 0; i < edges->edges.count; i++) {
		const struct ada_edge *edge = &edges->edges.items[i];
		const struct ada_sql_function *caller = NULL, *callee;

		callee = ada_sql_function_by_key(sql, ada_sql_module_key(edge->callee_module, edge->callee_id, sql->session));
		if (edge->caller_id != ADA_NO_FUNCTION)
			caller = ada_sql_function_by_key(sql, ada_sql_module_key(edge->caller_module, edge->caller_id, sql->session));
		if (!callee || (!caller && edge->caller_id != ADA_NO_FUNCTION))
			return SQLITE_NOMEM;
		if (of_callee && is_asked_for(callee, query->arguments[0], patterns))
			add_edge(&cursor->rows, edge, caller, callee, query);
		else if (!of_callee && caller && is_asked_for(caller, query->arguments[0], patterns))
			add_edge(&cursor->rows, edge, callee, caller, query);
	}
	return ada_sql_rows_first(cursor);
}

static int edges_first(struct ada_sql_cursor *base, bool of_callee, struct ada_error *error)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;
	sqlite3_value *f = base->query.arguments[0];
	struct ada_pattern_list patterns = { 0 };
	struct ada_error reason = { "" };
	int result;

	if (!f) {
		ada_error_set(error, EINVAL, "%s(f) needs a function: its name or its function_id", base->vtab->table->name);
		return SQLITE_ERROR;
	}
	cursor->rows.column_count = base->vtab->table->column_count;
	if (sqlite3_value_type(f) == SQLITE_NULL)
		return ada_sql_rows_first(cursor);
	result = compute_edges((struct edges_cursor *)base, error);
	if (result)
		return code_of(result);
	if (sqlite3_value_type(f) != SQLITE_INTEGER && ada_pattern_list_add(&patterns, (const char *)sqlite3_value_text(f), &reason)) {
		ada_error_set(error, EINVAL, "%s: %s", base->vtab->table->name, reason.text);
		return SQLITE_ERROR;
	}
	result = add_edges(cursor, &((struct edges_cursor *)base)->edges, of_callee, &patterns);
	if (patterns.items.count && !cursor->rows.cells.count)
		ada_sql_note_unmet(base->sql, (const char *)sqlite3_value_text(f));
	ada_pattern_list_free(&patterns);
	return result;
}

static int callers_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	return edges_first(base, true, error);
}

static int callees_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	return edges_first(base, false, error);
}
TABLE(callers, edges_cursor, .close = edges_close, );
TABLE(callees, edges_cursor, .close = edges_close, );

/* --- stack_at ----------------------------------------------------------------------------------------------------------- */

static int add_stack(struct ada_sql_rows_cursor *cursor, const struct ada_thread *thread, uint64_t position)
{
	struct ada_sql_rows *rows = &cursor->rows;
	struct ada_stack stack;

	if (ada_stack_at(&stack, thread, position))
		return SQLITE_NOMEM;
	for (size_t i = 0; i < stack.frames.count; i++) {
		const struct ada_frame *frame = &stack.frames.items[i];
		const struct ada_sql_function *function = ada_sql_function_of(cursor->cursor.sql, thread->process, frame->function_id);

		rows->failed |= !function;
		ada_sql_add_integer(rows, frame->depth);
		ada_sql_add_text(rows, function ? function->name : NULL);
		ada_sql_add_text(rows, function ? function->module_name : NULL);
		ada_sql_add_integer(rows, frame->start_ns);
		ada_sql_add_integer(rows, frame->position);
		add_arguments(rows, &cursor->cursor.query, 2);
		ada_sql_add_text(rows, thread->process->directory);
		ada_sql_add_integer(rows, thread->process->pid);
		ada_sql_add_integer(rows, function ? function->key : 0);
	}
	ada_stack_close(&stack);
	return SQLITE_OK;
}

static int stack_at_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct ada_sql_rows_cursor *cursor = (struct ada_sql_rows_cursor *)base;
	sqlite3_value *const *arguments = base->query.arguments;
	int result = SQLITE_OK;

	if (!ada_sql_place(&base->query, "stack_at(of_thread, of_index_seq)", error))
		return SQLITE_ERROR;
	cursor->rows.column_count = base->vtab->table->column_count;
	for (size_t i = 0; i < base->query.threads.count && result == SQLITE_OK && !base->query.nothing; i++) {
		const struct ada_thread *thread = base->query.threads.items[i];
		int64_t position = sqlite3_value_int64(arguments[1]);

		if (ada_interrupted())
			return SQLITE_INTERRUPT;
		if (thread->number == sqlite3_value_int64(arguments[0]) && position >= 0 && (uint64_t)position <= thread->count)
			result = add_stack(cursor, thread, position);
	}
	return result == SQLITE_OK ? ada_sql_rows_first(cursor) : result;
}
TABLE(stack_at, ada_sql_rows_cursor);
