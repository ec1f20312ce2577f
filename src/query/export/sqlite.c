/* An SQLite file with the tables of `ada query` (query/sql/sql.h) as real tables, `report` for fn_stats(), and `session`: one row of what
 * was recorded and how complete that is.
 *
 * Both kinds of table live in one connection: SQLite finds the recording's table wherever no real one has the name. So rows are first
 * copied into tables of other names, which are renamed afterwards. All is one transaction, in a file that nobody uses yet: no journal is
 * needed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/export/export.h"
#include "query/export/walk.h"
#include "query/rows/rows.h"
#include "query/session/stretch.h"
#include "query/sql/sql.h"

#define PREFIX "ada_new_"
#define STEPS 10000 /* of SQLite's machine between two looks at Ctrl-C */

struct file {
	struct ada_export *export;
	sqlite3 *database;
	struct ada_error *error;
};

static int sqlite_fail(struct file *file, int code)
{
	if (ada_interrupted() || (code & 0xff) == SQLITE_INTERRUPT)
		return ada_error_set(file->error, EINTR, "interrupted");
	if ((code & 0xff) == SQLITE_NOMEM)
		return ada_error_system(file->error, ENOMEM, "%s", file->export->path);
	return ada_error_set(file->error, EIO, "can't write %s: %s", file->export->path, sqlite3_errmsg(file->database));
}

/* Takes the statement, which may be NULL for want of memory. */
static int statement_run(struct file *file, sqlite3_str *text)
{
	char *statement = sqlite3_str_finish(text);
	int code = statement ? sqlite3_exec(file->database, statement, NULL, NULL, NULL) : SQLITE_NOMEM, result = 0;

	if (code != SQLITE_OK)
		result = sqlite_fail(file, code);
	sqlite3_free(statement);
	return result;
}

static int run_text(struct file *file, const char *statement)
{
	sqlite3_str *text = sqlite3_str_new(file->database);

	sqlite3_str_appendall(text, statement);
	return statement_run(file, text);
}

static const char *name_of(const struct ada_sql_table *table)
{
	return !strcmp(table->name, "fn_stats") ? "report" : table->name;
}

static void put_columns(sqlite3_str *text, const struct ada_sql_table *table, bool types)
{
	const char *comma = "";

	for (size_t i = 0; i < table->column_count; i++) {
		const struct ada_sql_column *column = &table->columns[i];

		if (column->role == ADA_SQL_ARGUMENT)
			continue;
		sqlite3_str_appendf(text, types ? "%s\"%w\" %s" : "%s\"%w\"", comma, column->name, column->type);
		comma = ", ";
	}
}

static int copy_table(struct file *file, const struct ada_sql_table *table)
{
	sqlite3_str *text = sqlite3_str_new(file->database);
	int result;

	sqlite3_str_appendf(text, "CREATE TABLE " PREFIX "%s(", name_of(table));
	put_columns(text, table, true);
	sqlite3_str_appendall(text, ")");
	result = statement_run(file, text);
	if (result)
		return result;
	text = sqlite3_str_new(file->database);
	sqlite3_str_appendf(text, "INSERT INTO " PREFIX "%s SELECT ", name_of(table));
	put_columns(text, table, false);
	sqlite3_str_appendf(text, " FROM %s", table->name);
	return statement_run(file, text);
}

static int name_table(struct file *file, const struct ada_sql_table *table)
{
	sqlite3_str *text = sqlite3_str_new(file->database);

	sqlite3_str_appendf(text, "ALTER TABLE " PREFIX "%s RENAME TO %s", name_of(table), name_of(table));
	return statement_run(file, text);
}

/* All tables but those that take arguments; of these the statistics and the marks' causes, which need none. */
static bool is_wanted(const struct ada_sql_table *table)
{
	return !table->function || !strcmp(table->name, "fn_stats") || !strcmp(table->name, "causes");
}

/* --- what it covers ---------------------------------------------------------------------------------------------------- */

static int count_losses(struct ada_export *export, struct ada_error *error)
{
	const struct ada_selection *selection = export->selection;
	uint64_t *lost = calloc(selection->threads.count + 1, sizeof *lost), events = 0;
	int result = lost ? 0 : ada_error_system(error, ENOMEM, "%s", export->path);

	for (size_t i = 0; i < selection->threads.count && !result; i++) {
		const struct ada_thread *thread = selection->threads.items[i];
		struct ada_stretch stretch = { .thread = thread };

		ada_selection_range(selection, thread, &stretch.next, &stretch.to);
		events += stretch.to - stretch.next;
		while (!result && ada_stretch_next(&stretch)) {
			for (uint64_t j = 0; j < stretch.count; j++)
				if (stretch.events[j].event_kind == ADA_EVENT_LOST)
					lost[i] += stretch.events[j].function_id;
			if (ada_interrupted())
				result = ada_error_set(error, EINTR, "interrupted");
		}
	}
	if (!result)
		export->completeness = ada_selection_completeness(selection, true, events, lost);
	free(lost);
	return result;
}

/* Beyond SQLite's signed numbers: their largest. */
static sqlite3_int64 clamp(uint64_t number)
{
	return number > INT64_MAX ? INT64_MAX : (sqlite3_int64)number;
}

static int put_session(struct file *file)
{
	const struct ada_selection *selection = file->export->selection;
	const struct ada_completeness *completeness = &file->export->completeness;
	const json_object *document = selection->session->document;
	json_object *command = ada_json_get(document, "command");
	const char *const texts[] = {
		ada_json_text(document, "name", ""),	ada_json_text(ada_json_get(document, "host"), "name", ""),
		ada_json_text(document, "program", ""), command ? json_object_to_json_string_ext(command, JSON_C_TO_STRING_PLAIN) : "",
		ada_json_text(document, "started", ""), ada_json_text(document, "adaVersion", "")
	};
	sqlite3_str *text = sqlite3_str_new(file->database);

	sqlite3_str_appendall(text,
			      "CREATE TABLE session(name TEXT, host TEXT, program TEXT, command TEXT, started TEXT, ada_version TEXT, "
			      "start_ns INTEGER, from_ns INTEGER, to_ns INTEGER, events INTEGER, lost INTEGER, detail_coverage REAL, "
			      "complete INTEGER); INSERT INTO session VALUES(");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char *clean = ada_output_utf8_copy(texts[i]);

		sqlite3_str_appendf(text, "%Q, ", clean ? clean : "");
		free(clean);
	}
	/* from and to: null where all of the session's time is there. */
	sqlite3_str_appendf(text, "%lld, nullif(%lld, 0), nullif(%lld, %lld), %lld, %lld, %!.17g, %d)", clamp(selection->session->start_ns),
			    clamp(selection->from_ns), clamp(selection->to_ns), clamp(UINT64_MAX), clamp(completeness->events),
			    clamp(completeness->lost), completeness->detail_coverage, completeness->complete);
	return statement_run(file, text);
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static int look_up(void *context)
{
	return ada_interrupted();
}

static const char indexes[] = "CREATE INDEX events_by_time ON events(timestamp_ns);"
			      "CREATE INDEX events_by_function ON events(function_id, timestamp_ns);"
			      "CREATE INDEX calls_by_time ON calls(start_ns);"
			      "CREATE INDEX calls_by_function ON calls(function_id, duration_ns);"
			      "CREATE INDEX detail_by_event ON detail(thread, index_seq);"
			      "CREATE INDEX functions_by_id ON functions(function_id);"
			      "CREATE INDEX functions_by_name ON functions(name);";

static int write_tables(struct file *file)
{
	int result = run_text(file, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768; "
				    "PRAGMA temp_store = FILE; PRAGMA application_id = 0x61646131; BEGIN");

	for (size_t i = 0; i < ada_sql_table_count && !result; i++)
		if (is_wanted(&ada_sql_tables[i]))
			result = copy_table(file, &ada_sql_tables[i]);
	for (size_t i = 0; i < ada_sql_table_count && !result; i++)
		if (is_wanted(&ada_sql_tables[i]))
			result = name_table(file, &ada_sql_tables[i]);
	if (!result)
		result = put_session(file);
	if (!result)
		result = run_text(file, indexes);
	return result ? result : run_text(file, "COMMIT");
}

int ada_export_sqlite(struct ada_export *export, struct ada_error *error)
{
	struct file file = { .export = export, .error = error };
	int result = count_losses(export, error), code;

	if (result)
		return result;
	code = sqlite3_open_v2(export->path, &file.database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (code != SQLITE_OK)
		result = file.database ? sqlite_fail(&file, code) : ada_error_system(error, ENOMEM, "%s", export->path);
	else
		sqlite3_progress_handler(file.database, STEPS, look_up, NULL);
	if (!result)
		result = ada_sql_register(file.database, export->selection, error);
	if (!result)
		result = write_tables(&file);
	if (sqlite3_close(file.database) != SQLITE_OK && !result)
		result = ada_error_set(error, EIO, "can't write %s: SQLite did not close it", export->path);
	return result;
}
