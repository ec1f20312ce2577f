/* Stub: the tables follow. */
#include "query/sql.h"

const struct ada_sql_table ada_sql_tables[1];
const size_t ada_sql_table_count;

int ada_sql_register(sqlite3 *database, const struct ada_selection *selection, struct ada_error *error)
{
	return 0;
}
