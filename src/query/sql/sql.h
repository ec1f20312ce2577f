/* SQL over a session: SQLite virtual tables that read the recording's files. docs/man/ada-query.1 lists tables and columns. */
#ifndef ADA_QUERY_SQL_H
#define ADA_QUERY_SQL_H
#include <sqlite3.h>
#include "base/output.h"
#include "query/rows/table.h"
#include "query/session/selection.h"

/* Makes the tables (eponymous virtual tables: events, calls, ...) and table-valued functions (fn_stats, callers, callees, around,
 * stack_at) known to a connection. They show what the selection holds; the selection must stay until the connection is closed. Rows have
 * no order but the one that a table promises. A scan ends with SQLITE_INTERRUPT once ada_interrupted(). */
int ada_sql_register(sqlite3 *database, const struct ada_selection *selection, struct ada_error *error);

extern const struct ada_sql_table ada_sql_tables[];
extern const size_t ada_sql_table_count;
const struct ada_sql_table *ada_sql_table_find(const char *name); /* NULL: there is none */
/* All tables in short, or one of them (NULL: all) with its columns. */
void ada_sql_help(struct ada_output *output);
void ada_sql_schema(struct ada_output *output, const struct ada_sql_table *table);

/* What is wrong with a statement, and where. */
struct ada_sql_error {
	char message[512]; /* one line */
	bool has_place;
	char line[240];	    /* the statement's line, or the part of it around the place */
	size_t column;	    /* column of the place in that line, in code points */
	size_t line_number; /* from 1 */
};
#define ADA_SQL_ERROR_TEXT 1024
/* Message, line and caret: lines without a newline behind the last. */
char *ada_sql_error_text(const struct ada_sql_error *error, char text[ADA_SQL_ERROR_TEXT]);

/* Opens a connection that has the tables, can only read, and whose memory is bounded: what it sorts goes to temporary files. */
int ada_sql_open(sqlite3 **database, const struct ada_selection *selection, struct ada_error *error);
/* Prepares one statement, which the caller finalizes. 0, or -errno with the reason. */
int ada_sql_prepare(sqlite3 *database, const char *text, sqlite3_stmt **statement, struct ada_sql_error *error);
/* Why a step failed (also by interruption: ada_interrupt_expired). */
void ada_sql_failure(sqlite3 *database, struct ada_sql_error *error);
#endif
