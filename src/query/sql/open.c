/* A connection that only reads, and statements for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/sql/parts.h"
#include "trigger/trigger.h"

#define LENGTH_MAX (64 << 20) /* of a text, a blob, a row */
#define HEAP_MAX (192ll << 20)
#define ONLY_READ ": a recording is only read, by SELECT, WITH, EXPLAIN and the PRAGMAs that list tables and columns"
#define OPCODES 2000 /* of SQLite's machine between two looks at the clock: well below a millisecond */

/* --- what is allowed ---------------------------------------------------------------------------------------------------- */

static bool pragma_reads(const char *name)
{
	static const char *const names[] = { "table_info",  "table_xinfo",    "table_list",	 "function_list",
					     "module_list", "collation_list", "compile_options", "database_list" };

	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (!strcasecmp(name, names[i]))
			return true;
	return false;
}

static int authorize(void *context, int action, const char *first, const char *second, const char *database, const char *trigger)
{
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_FUNCTION: return second && !strcasecmp(second, "load_extension") ? SQLITE_DENY : SQLITE_OK;
	case SQLITE_PRAGMA: return pragma_reads(first) ? SQLITE_OK : SQLITE_DENY;
	}
	return SQLITE_DENY;
}

static int look_round(void *context)
{
	return ada_interrupted();
}

static int make_table(sqlite3 *database, const char *name)
{
	char *text = sqlite3_mprintf("SELECT 1 FROM \"%w\"", name);
	sqlite3_stmt *statement = NULL;
	int result = text ? sqlite3_prepare_v2(database, text, -1, &statement, NULL) : SQLITE_NOMEM;

	sqlite3_finalize(statement);
	sqlite3_free(text);
	return result;
}

/* SQLite makes a table of this kind when a statement first names it, and asks the authorizer for that, too: so we make all tables before
 * there is an authorizer. */
static int make_tables(sqlite3 *database)
{
	static const char *const others[] = { "pragma_table_info",    "pragma_table_xinfo", "pragma_table_list",
					      "pragma_function_list", "json_each",	    "json_tree" };
	int result = SQLITE_OK;

	for (size_t i = 0; i < ada_sql_table_count && result == SQLITE_OK; i++)
		result = make_table(database, ada_sql_tables[i].name);
	for (size_t i = 0; i < sizeof others / sizeof *others && result == SQLITE_OK; i++)
		result = make_table(database, others[i]);
	return result;
}

static int set_limits(sqlite3 *database)
{
	/* SQLite sorts and groups in files in SQLITE_TMPDIR, TMPDIR, /var/tmp or /tmp once the rows are larger than the cache. These
	 * files have no name from the start, so that nothing is left of them however this ends. */
	int result = sqlite3_exec(database, "PRAGMA temp_store = FILE; PRAGMA cache_size = -16384; PRAGMA temp.cache_size = -16384", NULL,
				  NULL, NULL);

	if (result == SQLITE_OK)
		result = make_tables(database);
	sqlite3_hard_heap_limit64(HEAP_MAX);
	sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
	sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_progress_handler(database, OPCODES, look_round, NULL);
	sqlite3_set_authorizer(database, authorize, NULL);
	return result;
}

int ada_sql_open(sqlite3 **opened, const struct ada_selection *selection, struct ada_error *error)
{
	sqlite3 *database = NULL;
	int result = sqlite3_open_v2(":memory:", &database,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);

	if (result != SQLITE_OK) {
		sqlite3_close_v2(database);
		return ada_error_set(error, ENOMEM, "SQLite: %s", sqlite3_errstr(result));
	}
	result = ada_sql_register(database, selection, error);
	if (!result && set_limits(database) != SQLITE_OK)
		result = ada_error_set(error, EINVAL, "SQLite: %s", sqlite3_errmsg(database));
	if (result) {
		sqlite3_close_v2(database);
		return result;
	}
	*opened = database;
	return 0;
}

/* --- what is wrong with a statement ------------------------------------------------------------------------------------- */

/* A byte of UTF-8 that isn't a character's first. A character has three such bytes at most: further ones belong to none. */
static bool is_continued(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Code points up to `length` bytes. */
static size_t width_of(const char *text, size_t length)
{
	size_t width = 0;

	for (size_t i = 0; i < length; i++)
		width += !is_continued(text[i]);
	return width;
}

/* Shows the line around `offset`, or as much of it as is good to read. */
static void show_place(struct ada_sql_error *error, const char *text, size_t offset)
{
	const size_t room = sizeof error->line - 8, before = 80;
	size_t start = offset, end, skip = 0;

	while (start && text[start - 1] != '\n')
		start--;
	end = start + strcspn(text + start, "\n");
	if (offset - start > before && end - start > room)
		skip = offset - start - before;
	for (int i = 0; i < 3 && skip && is_continued(text[start + skip]); i++)
		skip++;
	start += skip;
	if (end - start > room)
		end = start + room;
	for (int i = 0; i < 3 && end > offset && is_continued(text[end]); i++)
		end--;
	snprintf(error->line, sizeof error->line, "%s%.*s", skip ? "..." : "", (int)(end - start), text + start);
	for (char *at = error->line; *at; at++)
		*at = (unsigned char)*at < 0x20 || *at == 0x7F ? ' ' : *at;
	error->column = width_of(text + start, offset - start) + (skip ? 3 : 0);
	error->has_place = true;
	error->line_number = 1;
	for (size_t i = 0; i < offset; i++)
		error->line_number += text[i] == '\n';
}

/* The word that a message "no such THING: WORD" ends with, without the table before its column. */
static const char *unknown_word(const char *message, const char *thing)
{
	const char *word, *dot;

	if (strncmp(message, thing, strlen(thing)))
		return NULL;
	word = message + strlen(thing);
	dot = strrchr(word, '.');
	return dot ? dot + 1 : word;
}

static void offer_names(struct ada_nearest *nearest, bool tables)
{
	for (size_t i = 0; i < ada_sql_table_count; i++)
		if (tables)
			ada_nearest_offer(nearest, ada_sql_tables[i].name);
		else
			for (size_t j = 0; j < ada_sql_tables[i].column_count; j++)
				ada_nearest_offer(nearest, ada_sql_tables[i].columns[j].name);
}

static void offer_functions(struct ada_nearest *nearest, sqlite3 *database)
{
	sqlite3_stmt *list = NULL;

	if (sqlite3_prepare_v2(database, "SELECT DISTINCT name FROM pragma_function_list", -1, &list, NULL) == SQLITE_OK)
		while (sqlite3_step(list) == SQLITE_ROW)
			ada_nearest_offer(nearest, (const char *)sqlite3_column_text(list, 0));
	sqlite3_finalize(list);
}

/* Of a column that others than the statement's tables have: which these are. */
static bool tell_tables(struct ada_sql_error *error, const char *column)
{
	const char *before = ": a column of ";
	char name[64];

	snprintf(name, sizeof name, "%s", column); /* it lies in the message, which grows */
	for (size_t i = 0; i < ada_sql_table_count; i++)
		for (size_t j = 0; j < ada_sql_tables[i].column_count; j++)
			if (strcasecmp(ada_sql_tables[i].columns[j].name, name) == 0) {
				size_t length = strlen(error->message);

				snprintf(error->message + length, sizeof error->message - length, "%s%s", before, ada_sql_tables[i].name);
				before = ", ";
			}
	return before[0] == ',';
}

/* "did you mean ...?", or where to look. */
static void suggest(struct ada_sql_error *error, sqlite3 *database)
{
	const char *column = unknown_word(error->message, "no such column: ");
	const char *table = unknown_word(error->message, "no such table: ");
	const char *function = unknown_word(error->message, "no such function: ");
	const char *word = column ? column : table ? table : function;
	struct ada_nearest *nearest;
	char near[128] = "";
	size_t length = strlen(error->message);

	if (!word || (column && tell_tables(error, column)))
		return;
	nearest = ada_nearest_open(word);
	if (function)
		offer_functions(nearest, database);
	else
		offer_names(nearest, table);
	ada_nearest_text(nearest, near, sizeof near);
	ada_nearest_close(nearest);
	if (near[0])
		snprintf(error->message + length, sizeof error->message - length, ": did you mean %s?", near);
	else if (!function)
		snprintf(error->message + length, sizeof error->message - length, ": `ada query --schema` lists them");
}

/* Where SQLite gives no place, finds the word that it doesn't know. */
static int place_of(sqlite3 *database, const char *text, const char *message)
{
	int offset = sqlite3_error_offset(database);
	const char *word = unknown_word(message, "no such table: "), *found;

	if (offset >= 0)
		return offset;
	if (!strcmp(message, "incomplete input"))
		return (int)strlen(text);
	found = word && *word ? strcasestr(text, word) : NULL;
	return found ? (int)(found - text) : -1;
}

static int refuse(sqlite3 *database, const char *text, struct ada_sql_error *error)
{
	int code = sqlite3_errcode(database), place;
	char message[sizeof error->message];

	snprintf(message, sizeof message, "%s", sqlite3_errmsg(database));
	*error = (struct ada_sql_error){};
	place = place_of(database, text, message);
	if (place >= 0 && (size_t)place <= strlen(text))
		show_place(error, text, place);
	if (code == SQLITE_AUTH || code == SQLITE_READONLY)
		snprintf(error->message, sizeof error->message, "%.200s" ONLY_READ, message);
	else
		snprintf(error->message, sizeof error->message, "%s", message);
	if (error->has_place && text[place] == '"')
		strncat(error->message, " (texts stand in 'single quotes')", sizeof error->message - strlen(error->message) - 1);
	else
		suggest(error, database);
	return code == SQLITE_NOMEM ? -ENOMEM : -EINVAL;
}

/* Blanks, semicolons and comments say nothing. */
static const char *skip_nothing(const char *text)
{
	for (;;) {
		text += strspn(text, " \t\r\n\f;");
		if (!strncmp(text, "--", 2)) {
			text += strcspn(text, "\n");
		} else if (!strncmp(text, "/*", 2)) {
			const char *end = strstr(text + 2, "*/");

			text = end ? end + 2 : text + strlen(text);
		} else {
			return text;
		}
	}
}

/* Puts in its place the statement that has all names which its texts mean (meant.c). Statements that SQLite finds wrong never come here: so
 * an error shows what was written. */
static int prepare_meant(sqlite3 *database, const char *text, sqlite3_stmt **statement, struct ada_sql_error *error)
{
	sqlite3_stmt *asked = NULL, *anew = NULL;
	const char *meant;
	int result = sqlite3_prepare_v2(database, "SELECT ada_meant(?)", -1, &asked, NULL);

	if (result == SQLITE_OK)
		result = sqlite3_bind_text(asked, 1, text, -1, SQLITE_STATIC);
	if (result == SQLITE_OK)
		result = sqlite3_step(asked);
	meant = result == SQLITE_ROW ? (const char *)sqlite3_column_text(asked, 0) : NULL;
	if (meant && strcmp(meant, text) && sqlite3_prepare_v2(database, meant, -1, &anew, NULL) == SQLITE_OK) {
		sqlite3_finalize(*statement);
		*statement = anew;
	}
	sqlite3_finalize(asked);
	if (result == SQLITE_ROW)
		return 0;
	snprintf(error->message, sizeof error->message, "%s",
		 result == SQLITE_TOOBIG ? "a name in it means more than 4096 functions: compare by GLOB" : sqlite3_errstr(result));
	sqlite3_finalize(*statement);
	*statement = NULL;
	return result == SQLITE_NOMEM ? -ENOMEM : -EINVAL;
}

int ada_sql_prepare(sqlite3 *database, const char *text, sqlite3_stmt **statement, struct ada_sql_error *error)
{
	const char *tail = NULL;

	*error = (struct ada_sql_error){};
	*statement = NULL;
	if (!*skip_nothing(text)) {
		snprintf(error->message, sizeof error->message, "the statement is empty");
		return -EINVAL;
	}
	if (sqlite3_prepare_v2(database, text, -1, statement, &tail) != SQLITE_OK)
		return refuse(database, text, error);
	tail = skip_nothing(tail);
	if (!*tail && sqlite3_bind_parameter_count(*statement)) {
		const char *name = sqlite3_bind_parameter_name(*statement, 1);

		snprintf(error->message, sizeof error->message, "the statement has a parameter, %s: write its value", name ? name : "?");
	} else if (*tail) {
		snprintf(error->message, sizeof error->message, "one statement is answered at a time: a second one begins here");
		show_place(error, text, tail - text);
	} else {
		return prepare_meant(database, text, statement, error);
	}
	sqlite3_finalize(*statement);
	*statement = NULL;
	return -EINVAL;
}

void ada_sql_failure(sqlite3 *database, struct ada_sql_error *error)
{
	*error = (struct ada_sql_error){};
	if (sqlite3_errcode(database) == SQLITE_NOMEM)
		snprintf(error->message, sizeof error->message, "out of memory: the answer needs more than %lld MiB at once",
			 HEAP_MAX >> 20);
	else
		snprintf(error->message, sizeof error->message, "%.300s%s", sqlite3_errmsg(database),
			 sqlite3_errcode(database) == SQLITE_AUTH ? ONLY_READ : "");
}

char *ada_sql_error_text(const struct ada_sql_error *error, char text[ADA_SQL_ERROR_TEXT])
{
	if (!error->has_place)
		snprintf(text, ADA_SQL_ERROR_TEXT, "%s", error->message);
	else if (error->line_number > 1)
		snprintf(text, ADA_SQL_ERROR_TEXT, "line %zu: %s\n  %s\n  %*s^", error->line_number, error->message, error->line,
			 (int)error->column, "");
	else
		snprintf(text, ADA_SQL_ERROR_TEXT, "%s\n  %s\n  %*s^", error->message, error->line, (int)error->column, "");
	return text;
}
