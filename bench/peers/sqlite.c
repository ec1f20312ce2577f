/* SQLite's shell without its terminal: `sqlite DATABASE SQL` prints the rows, with the library linked in. */
#include <sqlite3.h>
#include <stdio.h>

static int print(void *unused, int columns, char **values, char **names)
{
	for (int i = 0; i < columns; i++)
		printf("%s%s", i ? "|" : "", values[i] ? values[i] : "");
	printf("\n");
	return 0;
}

int main(int count, char **arguments)
{
	char *error = NULL;
	sqlite3 *database;
	int status;

	if (count < 3 || sqlite3_open(arguments[1], &database))
		return 2;
	status = sqlite3_exec(database, arguments[2], print, NULL, &error);
	if (status)
		fprintf(stderr, "%s\n", error);
	sqlite3_close(database);
	return status;
}
