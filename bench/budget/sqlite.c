/* `sqlite AMOUNT`: so many units of work with a database in memory, a line each. The library is linked in. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static void run(sqlite3 *database, const char *sql)
{
	char *error = NULL;

	if (!sqlite3_exec(database, sql, NULL, NULL, &error))
		return;
	fprintf(stderr, "%s\n", error);
	exit(1);
}

int main(int count, char **arguments)
{
	long amount = count > 1 ? atol(arguments[1]) : 0;
	sqlite3 *database;

	if (!amount || sqlite3_open(":memory:", &database))
		return 2;
	run(database, "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL); CREATE INDEX u ON t(b)");
	for (long i = 0; i < amount; i++) {
		run(database, "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)"
			      "INSERT INTO t SELECT i, printf('%d-%d', i * 7919 % 10007, i), i * 0.5 FROM n; COMMIT");
		run(database,
		    "SELECT COUNT(*), SUM(c), MAX(b) FROM t WHERE b LIKE '1%'; SELECT b, COUNT(*) FROM t GROUP BY substr(b, 1, 2)");
		run(database, "UPDATE t SET c = c + 1 WHERE a % 3 = 0; DELETE FROM t WHERE b < '3'; DELETE FROM t");
		puts("");
		fflush(stdout);
	}
	sqlite3_close(database);
	return 0;
}
