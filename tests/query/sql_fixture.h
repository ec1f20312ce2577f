/* Statements over a synthesised session, and what they answer as text: fields separated by '|', null as '-', a line a row. */
#ifndef ADA_TESTS_SQL_FIXTURE_H
#define ADA_TESTS_SQL_FIXTURE_H
#include "fixture.h"
#include "query/sql/sql.h"

struct sql {
	sqlite3 *database;
	char *text; /* of the last answer */
};

struct sql *sql_open(struct fixture *fixture, bool finished); /* ends the making of the session */
void sql_close(struct sql *sql);
const char *sql_answer(struct sql *sql, const char *statement);	 /* fails where it fails */
const char *sql_columns(struct sql *sql, const char *statement); /* their names, separated by spaces */
int64_t sql_rows(struct sql *sql, const char *statement);
/* Events that the scans of a statement looked at. */
int64_t sql_visited(struct sql *sql, const char *statement);
void sql_expect(struct sql *sql, const char *statement, const char *expected);
void sql_same(struct sql *sql, const char *statement, const char *other);
#endif
