/* Running statements for the tests. */
#include "sql_fixture.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sql *sql_open(struct fixture *fixture, bool finished)
{
	struct sql *sql = calloc(1, sizeof *sql);
	struct ada_error error = {};

	fixture_open(fixture, finished, NULL, NULL, NULL);
	if (ada_sql_open(&sql->database, &fixture->selection, &error))
		fail_msg("%s", error.text);
	return sql;
}

void sql_close(struct sql *sql)
{
	assert_int_equal(sqlite3_close(sql->database), SQLITE_OK);
	free(sql->text);
	free(sql);
}

static sqlite3_stmt *prepare(struct sql *sql, const char *text)
{
	struct ada_sql_error error;
	sqlite3_stmt *statement;

	if (ada_sql_prepare(sql->database, text, &statement, &error))
		fail_msg("%s: %s", text, error.message);
	return statement;
}

static void keep(struct sql *sql, FILE *file, char **text)
{
	fclose(file);
	free(sql->text);
	sql->text = *text;
}

const char *sql_answer(struct sql *sql, const char *text)
{
	sqlite3_stmt *statement = prepare(sql, text);
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);
	int step;

	while ((step = sqlite3_step(statement)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(statement); i++) {
			const char *field = (const char *)sqlite3_column_text(statement, i);

			fprintf(file, "%s%s%s", i ? "|" : "", field ? field : "-", i + 1 < sqlite3_column_count(statement) ? "" : "\n");
		}
	if (step != SQLITE_DONE)
		fail_msg("%s: %s", text, sqlite3_errmsg(sql->database));
	sqlite3_finalize(statement);
	keep(sql, file, &answer);
	return sql->text;
}

const char *sql_columns(struct sql *sql, const char *text)
{
	sqlite3_stmt *statement = prepare(sql, text);
	char *answer = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&answer, &size);

	for (int i = 0; i < sqlite3_column_count(statement); i++)
		fprintf(file, "%s%s", i ? " " : "", sqlite3_column_name(statement, i));
	sqlite3_finalize(statement);
	keep(sql, file, &answer);
	return sql->text;
}

int64_t sql_rows(struct sql *sql, const char *statement)
{
	int64_t rows = 0;

	for (const char *at = sql_answer(sql, statement); *at; at++)
		rows += *at == '\n';
	return rows;
}

int64_t sql_visited(struct sql *sql, const char *statement)
{
	int64_t before = atoll(sql_answer(sql, "SELECT ada_visited()"));

	sql_answer(sql, statement);
	return atoll(sql_answer(sql, "SELECT ada_visited()")) - before;
}

void sql_expect(struct sql *sql, const char *statement, const char *expected)
{
	const char *answer = sql_answer(sql, statement);

	if (strcmp(answer, expected))
		fail_msg("%s\nanswers\n%sand not\n%s", statement, answer, expected);
}

void sql_same(struct sql *sql, const char *statement, const char *other)
{
	char *expected = strdup(sql_answer(sql, other));

	sql_expect(sql, statement, expected);
	free(expected);
}
