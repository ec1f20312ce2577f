/* SQLite's side of the tables: one module of virtual tables each, eponymous (there is no CREATE VIRTUAL TABLE). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/output.h"
#include "query/cause/cause.h"
#include "query/sql/parts.h"

static const struct ada_sql_implementation *const implementations[] = {
	&ada_sql_events,   &ada_sql_calls,   &ada_sql_functions, &ada_sql_detail,   &ada_sql_windows, &ada_sql_marks,	&ada_sql_threads,
	&ada_sql_modules,  &ada_sql_anchors, &ada_sql_losses,	 &ada_sql_fn_stats, &ada_sql_callers, &ada_sql_callees, &ada_sql_around,
	&ada_sql_stack_at, &ada_sql_waits,   &ada_sql_causes,	 &ada_sql_switches, &ada_sql_mutes
};
#define TABLES (sizeof implementations / sizeof *implementations)

/* What a module of SQLite gets at registration. */
struct module {
	struct ada_sql *sql;
	const struct ada_sql_table *table;
	const struct ada_sql_implementation *implementation;
};

/* --- the connection's state --------------------------------------------------------------------------------------------- */

void ada_sql_release(struct ada_sql *sql)
{
	if (--sql->references)
		return;
	ada_sql_names_close(sql);
	ada_cause_reader_close(sql->causes);
	for (size_t i = 0; i < sql->unmet.count; i++)
		free(sql->unmet.items[i]);
	ada_array_free(&sql->unmet);
	free(sql->bases);
	free(sql);
}

static void free_module(void *context)
{
	struct module *module = context;

	ada_sql_release(module->sql);
	free(module);
}

static struct ada_sql *open_state(const struct ada_selection *selection)
{
	const struct ada_session *session = selection->session;
	struct ada_sql *sql = calloc(1, sizeof *sql);

	if (!sql)
		return NULL;
	sql->selection = selection;
	sql->session = session;
	sql->references = 1;
	sql->bases = calloc(session->threads.count + 1, sizeof *sql->bases);
	sql->by_symbol = calloc(session->modules.count + 1, sizeof *sql->by_symbol);
	sql->symbol_counts = calloc(session->modules.count + 1, sizeof *sql->symbol_counts);
	if (!sql->bases || !sql->by_symbol || !sql->symbol_counts) {
		ada_sql_release(sql);
		return NULL;
	}
	for (size_t i = 0; i < session->threads.count; i++)
		sql->bases[i + 1] = sql->bases[i] + session->threads.items[i].count;
	for (size_t i = 0; i < selection->threads.count; i++)
		sql->total += selection->threads.items[i]->count;
	return sql;
}

/* --- the module's functions --------------------------------------------------------------------------------------------- */

static int connect(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **made, char **error)
{
	const struct module *module = context;
	const struct ada_sql_table *table = module->table;
	sqlite3_str *text = sqlite3_str_new(database);
	struct ada_sql_vtab *vtab;
	char *statement;
	int result;

	sqlite3_str_appendall(text, "CREATE TABLE t(");
	for (size_t i = 0; i < table->column_count; i++)
		sqlite3_str_appendf(text, "%s\"%s\" %s%s", i ? ", " : "", table->columns[i].name, table->columns[i].type,
				    table->columns[i].hidden ? " HIDDEN" : "");
	sqlite3_str_appendall(text, ")");
	statement = sqlite3_str_finish(text);
	if (!statement)
		return SQLITE_NOMEM;
	result = sqlite3_declare_vtab(database, statement);
	sqlite3_free(statement);
	if (result != SQLITE_OK)
		return result;
	vtab = calloc(1, sizeof *vtab);
	if (!vtab)
		return SQLITE_NOMEM;
	vtab->sql = module->sql;
	vtab->sql->references++;
	vtab->table = table;
	vtab->implementation = module->implementation;
	*made = &vtab->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *base)
{
	struct ada_sql_vtab *vtab = (struct ada_sql_vtab *)base;

	ada_sql_release(vtab->sql);
	free(vtab);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	return ada_sql_plan((struct ada_sql_vtab *)vtab, info);
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
	struct ada_sql_vtab *vtab = (struct ada_sql_vtab *)base;
	struct ada_sql_cursor *cursor = calloc(1, vtab->implementation->cursor_bytes);

	if (!cursor)
		return SQLITE_NOMEM;
	cursor->sql = vtab->sql;
	cursor->vtab = vtab;
	*made = &cursor->base;
	return SQLITE_OK;
}

static void reset(struct ada_sql_cursor *cursor)
{
	if (!cursor->filtered)
		return;
	if (cursor->vtab->implementation->reset)
		cursor->vtab->implementation->reset(cursor);
	ada_sql_query_close(&cursor->query);
	cursor->filtered = false;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct ada_sql_cursor *cursor = (struct ada_sql_cursor *)base;

	reset(cursor);
	if (cursor->vtab->implementation->close)
		cursor->vtab->implementation->close(cursor);
	free(cursor);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *plan, int count, sqlite3_value **values)
{
	struct ada_sql_cursor *cursor = (struct ada_sql_cursor *)base;
	struct ada_error error = {};
	int result;

	reset(cursor);
	cursor->filtered = true;
	cursor->eof = true;
	result = ada_sql_query_open(&cursor->query, cursor->vtab, number, plan, count, values);
	if (result == SQLITE_OK)
		result = cursor->vtab->implementation->first(cursor, &error);
	if (result != SQLITE_OK && error.text[0]) {
		sqlite3_free(cursor->base.pVtab->zErrMsg);
		cursor->base.pVtab->zErrMsg = sqlite3_mprintf("%s", error.text);
	}
	return result;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct ada_sql_cursor *cursor = (struct ada_sql_cursor *)base;

	return cursor->vtab->implementation->next(cursor);
}

static int eof(sqlite3_vtab_cursor *base)
{
	return ((struct ada_sql_cursor *)base)->eof;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	struct ada_sql_cursor *cursor = (struct ada_sql_cursor *)base;

	cursor->vtab->implementation->column(cursor, context, number);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *number)
{
	struct ada_sql_cursor *cursor = (struct ada_sql_cursor *)base;

	*number = cursor->vtab->implementation->rowid(cursor);
	return SQLITE_OK;
}

static const sqlite3_module functions = { .iVersion = 1,
					  .xConnect = connect,
					  .xBestIndex = best_index,
					  .xDisconnect = disconnect,
					  .xOpen = open_cursor,
					  .xClose = close_cursor,
					  .xFilter = filter,
					  .xNext = next,
					  .xEof = eof,
					  .xColumn = column,
					  .xRowid = rowid };

int ada_sql_register(sqlite3 *database, const struct ada_selection *selection, struct ada_error *error)
{
	struct ada_sql *sql = open_state(selection);
	int result = sql ? SQLITE_OK : SQLITE_NOMEM;

	for (size_t i = 0; i < TABLES && result == SQLITE_OK; i++) {
		struct module *module = calloc(1, sizeof *module);

		if (!module) {
			result = SQLITE_NOMEM;
			break;
		}
		module->sql = sql;
		sql->references++;
		module->table = ada_sql_table_find(implementations[i]->name);
		module->implementation = implementations[i];
		/* SQLite frees the module even where this fails. */
		result = sqlite3_create_module_v2(database, module->table->name, &functions, module, free_module);
	}
	if (result == SQLITE_OK)
		result = ada_sql_functions_add(database, sql);
	if (sql)
		ada_sql_release(sql);
	return result == SQLITE_OK ? 0 :
				     ada_error_set(error, result == SQLITE_NOMEM ? ENOMEM : EINVAL, "%s: %s", selection->session->path,
						   sqlite3_errstr(result));
}
