/* Values as SQLite gets them. */
#include <stdlib.h>
#include "base/output.h"
#include "query/rows/rows.h"

int64_t ada_sql_rowid(const struct ada_sql *sql, const struct ada_thread *thread, uint64_t position)
{
	return (int64_t)(sql->bases[thread - sql->session->threads.items] + position);
}

void ada_sql_result_u64(sqlite3_context *context, uint64_t number)
{
	sqlite3_result_int64(context, number > INT64_MAX ? INT64_MAX : (int64_t)number);
}

void ada_sql_result_name(sqlite3_context *context, const struct ada_sql_function *function)
{
	sqlite3_result_text(context, function->name, function->name_length, SQLITE_STATIC);
}

void ada_sql_result_text(sqlite3_context *context, const char *text)
{
	char *made;

	if (!text)
		return;
	if (ada_output_is_utf8(text)) {
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
		return;
	}
	made = ada_output_utf8_copy(text);
	if (made)
		sqlite3_result_text(context, made, -1, free);
	else
		sqlite3_result_error_nomem(context);
}
