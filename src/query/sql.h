/* SQL over a session: SQLite virtual tables that read the recording's files. docs/man/ada-query.1 lists tables and columns. */
#ifndef ADA_QUERY_SQL_H
#define ADA_QUERY_SQL_H
#include <sqlite3.h>
#include "query/selection.h"

/* Makes the tables (eponymous virtual tables: events, calls, ...) and table-valued functions (fn_stats, callers, callees, around)
 * known to a connection. They show what the selection holds, which must stay until the connection is closed. Sorted by nothing
 * but what each table says. */
int ada_sql_register(sqlite3 *database, const struct ada_selection *selection, struct ada_error *error);

/* A table's columns, as the help and the exports name them. */
struct ada_sql_column { const char *name, *type, *help; bool hidden; };
struct ada_sql_table { const char *name, *help; const struct ada_sql_column *columns; size_t column_count; bool function; };
extern const struct ada_sql_table ada_sql_tables[];
extern const size_t ada_sql_table_count;
#endif
