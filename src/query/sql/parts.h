/* What the files of this room share: vtab.c is SQLite's side of the tables, plan.c says what a statement wants of a table, tables.c what
 * columns there are, and the others produce the rows. */
#ifndef ADA_QUERY_SQL_PARTS_H
#define ADA_QUERY_SQL_PARTS_H
#include "query/rows/rows.h"
#include "query/sql/sql.h"

extern const struct ada_sql_implementation ada_sql_events, ada_sql_around, ada_sql_calls, ada_sql_detail, ada_sql_functions,
	ada_sql_windows, ada_sql_marks, ada_sql_threads, ada_sql_modules, ada_sql_anchors, ada_sql_losses, ada_sql_fn_stats,
	ada_sql_callers, ada_sql_callees, ada_sql_stack_at, ada_sql_waits, ada_sql_causes, ada_sql_switches, ada_sql_mutes;

int ada_sql_plan(struct ada_sql_vtab *vtab, sqlite3_index_info *info);
int ada_sql_functions_add(sqlite3 *database, struct ada_sql *sql); /* scalar ones: scalar.c */
/* The statement with all that its texts mean where functions' names are compared with them: by sqlite3_free(). SQLITE_OK, _NOMEM, or _TOOBIG
 * where a text means too many functions. */
int ada_sql_meant(struct ada_sql *sql, const char *statement, char **anew);
void ada_sql_note_unmet(struct ada_sql *sql, const char *function); /* no function is called so: for ada_unmet() */
void ada_sql_release(struct ada_sql *sql);			    /* one reference less */
#endif
