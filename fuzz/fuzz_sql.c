/* SQL of any content: answered, refused with a place that lies in it, or ended; nothing is written.
 *
 * One connection serves many executions, for to open it takes longer than they do, and no statement leaves anything in it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "query/sql/sql.h"

#define EXECUTIONS 4096	 /* of a connection */
#define OPCODES 2000	 /* of SQLite's machine between two looks */
#define LOOKS_MAX 10	 /* at one statement */
#define LENGTH_MAX 65536 /* of a text, a blob, a row */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static unsigned int looks;

static int look_round(void *context)
{
	return looks++ == LOOKS_MAX;
}

static sqlite3 *database_of_now(void)
{
	static struct ada_session session = { .path = "session", .start_ns = 1000 };
	static struct ada_selection selection = { .session = &session, .to_ns = UINT64_MAX };
	static sqlite3 *database;
	static unsigned int executions;
	struct ada_error error = {};

	if (executions++ % EXECUTIONS)
		return database;
	assert(sqlite3_close(database) == SQLITE_OK && !ada_sql_open(&database, &selection, &error));
	sqlite3_progress_handler(database, OPCODES, look_round, NULL);
	sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	return database;
}

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
	char *text = malloc(length + 1);

	assert(text);
	memcpy(text, bytes, length);
	text[length] = 0;
	looks = 0;
	answer(database_of_now(), text);
	free(text);
	return 0;
}
