/* SQL of any content: answered, refused with a place that lies in it, or ended; nothing is written. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void answer(sqlite3 *database, const char *text)
{
	struct ada_sql_error error;
	char shown[ADA_SQL_ERROR_TEXT];
	sqlite3_stmt *statement;

	if (ada_sql_prepare(database, text, &statement, &error)) {
		assert(!statement && *error.message);
		assert(!error.has_place || (error.column <= strlen(error.line) && !strchr(error.line, '\n')));
		assert(strlen(ada_sql_error_text(&error, shown)) < sizeof shown);
		return;
	}
	for (int row = 0; row < 100 && sqlite3_step(statement) == SQLITE_ROW; row++)
		for (int i = 0; i < sqlite3_column_count(statement); i++)
			sqlite3_column_text(statement, i);
	sqlite3_finalize(statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct ada_session session = { .path = "session", .start_ns = 1000 };
	struct ada_selection selection = { .session = &session, .to_ns = UINT64_MAX };
	struct ada_error error = {};
	char *text = malloc(length + 1);
	sqlite3 *database;

	assert(text && !ada_sql_open(&database, &selection, &error));
	memcpy(text, bytes, length);
	text[length] = 0;
	ada_interrupt_after(20000000);
	answer(database, text);
	ada_interrupt_after(0);
	assert(sqlite3_close(database) == SQLITE_OK);
	free(text);
	return 0;
}
