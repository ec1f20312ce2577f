/* ada query [SESSION] SQL: SQL over a recording. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/interrupt.h"
#include "base/units.h"
#include "cli/ground/answer.h"
#include "cli/ground/live.h"
#include "cli/show/commands.h"
#include "cli/show/query_print.h"
#include "query/sql/sql.h"
#include "trigger/trigger.h"

#define STATEMENT_MAX (1u << 20) /* bytes */

static const struct ada_usage usage = {
	"[SESSION] SQL\n--schema [TABLE]",
	"Answers an SQL statement (SQLite's) over the recording's tables: events, calls, functions, detail, windows, marks,"
	" threads, modules, anchors, losses, waits; and causes(), fn_stats(), callers(), callees(), around(), stack_at()."
	"\vSQL - reads it from standard input. Ctrl-C or --timeout end it behind a whole row. A recording is only read.",
};

static const char *take_words(struct ada_options *options)
{
	const char *sql;

	ada_options_session(options);
	sql = ada_options_word(options);
	if (!sql && !options->schema)
		ada_options_fail(options->command, "no SQL given: `ada query \"SELECT * FROM fn_stats\"`, and --schema lists the tables");
	if (*options->words && !options->session)
		ada_options_fail(options->command, "'%s' is no session directory (what stands before the SQL is the session)", sql);
	if (*options->words)
		ada_options_fail(options->command, "unexpected argument '%s': the SQL is one argument, in quotation marks",
				 *options->words);
	return sql;
}

/* --- help --------------------------------------------------------------------------------------------------------------- */

static int print_schema(const char *command, const char *name, bool all)
{
	static struct ada_output output;
	const struct ada_sql_table *table = name ? ada_sql_table_find(name) : NULL;

	if (name && !table) {
		struct ada_nearest *nearest = ada_nearest_open(name);
		struct ada_error error = {};
		char near[128] = "";

		for (size_t i = 0; i < ada_sql_table_count; i++)
			ada_nearest_offer(nearest, ada_sql_tables[i].name);
		ada_nearest_text(nearest, near, sizeof near);
		ada_nearest_close(nearest);
		ada_error_set(&error, ENOENT, "no such table: %s: %s%s%s", name,
			      near[0] ? "did you mean " : "`ada query --schema` lists them", near, near[0] ? "?" : "");
		return ada_answer_fail(command, &error);
	}
	ada_output_open(&output, STDOUT_FILENO);
	if (table || all)
		ada_sql_schema(&output, table);
	else
		ada_sql_help(&output);
	return ada_output_finish(&output, command);
}

/* Answers what people try in place of SQL: .schema [TABLE], .tables, .help. */
static int print_dot(const char *command, const char *text)
{
	struct ada_error error = {};
	char word[16] = "", table[64] = "";

	sscanf(text, " %15s %63[^; \n]", word, table);
	word[strcspn(word, ";")] = 0;
	if (!strcmp(word, ".schema"))
		return print_schema(command, table[0] ? table : NULL, true);
	if (!strcmp(word, ".tables") || !strcmp(word, ".help"))
		return print_schema(command, NULL, false);
	ada_error_set(&error, EINVAL, "unknown command '%s': .schema [TABLE], .tables and .help are known, the rest is SQL", word);
	return ada_answer_fail(command, &error);
}

/* --- the statement ------------------------------------------------------------------------------------------------------ */

static char *read_statement(struct ada_error *error)
{
	char *text = malloc(STATEMENT_MAX + 1);
	size_t length = 0;
	ssize_t n = 1;

	if (!text) {
		ada_error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	while (n && length < STATEMENT_MAX) {
		n = read(STDIN_FILENO, text + length, STATEMENT_MAX - length);
		if (n < 0) {
			ada_error_system(error, errno, "can't read the SQL from standard input");
			free(text);
			return NULL;
		}
		length += n;
	}
	text[length] = 0;
	if (length < STATEMENT_MAX && !memchr(text, 0, length))
		return text;
	ada_error_set(error, EINVAL,
		      length < STATEMENT_MAX ? "the SQL on standard input holds a NUL byte" :
					       "the SQL on standard input is longer than 1 MiB");
	free(text);
	return NULL;
}

static int fail_sql(const char *command, const struct ada_sql_error *error)
{
	char text[ADA_SQL_ERROR_TEXT];

	fprintf(stderr, "%s: %s\n", command, ada_sql_error_text(error, text));
	return ADA_EXIT_FAILED;
}

/* The status of an answer that ended before its last row; the answer itself says so, too. */
static int fail_early(const char *command, sqlite3 *database, const struct ada_options *options, uint64_t rows)
{
	const char *rest = rows ? "; what is printed is not all" : "";
	struct ada_sql_error failure;

	if (ada_interrupt_expired()) {
		fprintf(stderr, "%s: ended after %s (--timeout)%s\n", command, options->timeout, rest);
		return ADA_EXIT_FAILED;
	}
	if (ada_interrupted()) {
		fprintf(stderr, "%s: interrupted%s\n", command, rest);
		return ada_interrupt_status();
	}
	ada_sql_failure(database, &failure);
	fprintf(stderr, "%s: %s%s\n", command, failure.message, rest);
	return ADA_EXIT_FAILED;
}

static void warn_of_losses(const char *command, const struct ada_completeness *completeness)
{
	uint64_t lost = ada_completeness_lost(completeness);

	if (lost)
		fprintf(stderr, "%s: %llu event%s lost\n", command, (unsigned long long)lost, lost == 1 ? " was" : "s were");
	if (completeness->overwritten)
		fprintf(stderr, "%s: %llu older events were overwritten, as asked\n", command,
			(unsigned long long)completeness->overwritten);
}

/* Names of the statement that no function of the recording has: with the answer where that is for people. */
static void tell_unmet(const char *command, sqlite3 *database, struct ada_output *answer, const struct ada_session *session,
		       const struct ada_options *options)
{
	static struct ada_output errors;
	bool text = options->format == ADA_FORMAT_TEXT;
	struct ada_pattern_list patterns = { 0 };
	char before[32];
	struct ada_error ignored = { "" };
	sqlite3_stmt *statement = NULL;
	char *names = NULL, *rest, *name;

	if (sqlite3_prepare_v2(database, "SELECT ada_unmet()", -1, &statement, NULL) == SQLITE_OK &&
	    sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
		names = strdup((const char *)sqlite3_column_text(statement, 0));
	sqlite3_finalize(statement);
	ada_output_open(&errors, STDERR_FILENO);
	for (name = strtok_r(names ? names : (char[]){ "" }, "\n", &rest); name; name = strtok_r(NULL, "\n", &rest))
		ada_pattern_list_add(&patterns, name, &ignored);
	snprintf(before, sizeof before, "%s: ", command);
	ada_answer_unmatched(text ? answer : &errors, text ? "" : before, session, &patterns);
	ada_output_finish(&errors, command);
	ada_pattern_list_free(&patterns);
	free(names);
}

static int statement_answer(const char *command, sqlite3 *database, sqlite3_stmt *statement, const struct ada_session *session,
			    const struct ada_options *options)
{
	static struct ada_output output;
	struct ada_query_printer printer;
	struct ada_completeness completeness;
	int status = 0, step, result;

	ada_output_open(&output, STDOUT_FILENO);
	result = ada_query_print_open(&printer, &output, options->format, statement);
	while (!result && (step = sqlite3_step(statement)) == SQLITE_ROW && !output.error)
		result = ada_query_print_row(&printer, statement);
	if (result) {
		status = ada_answer_fail(command, &(struct ada_error){ "out of memory" });
		goto done;
	}
	if (step != SQLITE_DONE && !output.error)
		status = fail_early(command, database, options, printer.rows);
	if (status && !printer.rows)
		goto done;
	completeness = ada_session_completeness(session);
	ada_query_print_end(&printer, &completeness, status);
	if (options->format == ADA_FORMAT_CSV)
		warn_of_losses(command, &completeness);
	tell_unmet(command, database, &output, session, options);
	result = ada_answer_finish(command, &output, session);
	status = status ? status : result;
done:
	ada_query_print_close(&printer);
	return status;
}

static int query_run(const char *command, const char *sql, uint64_t timeout_ns, const struct ada_options *options)
{
	struct ada_selection selection = {};
	struct ada_session *session = NULL;
	struct ada_sql_error failure;
	struct ada_error error = {};
	sqlite3_stmt *statement = NULL;
	sqlite3 *database = NULL;
	int status = ada_answer_open(command, options, &session);

	if (status)
		return status;
	ada_interrupt_catch();
	ada_interrupt_after(timeout_ns);
	if (ada_selection_open(&selection, session, NULL, NULL, NULL, &error) || ada_sql_open(&database, &selection, &error))
		status = ada_answer_fail(command, &error);
	else if (ada_sql_prepare(database, sql, &statement, &failure))
		status = ada_interrupted() ? fail_early(command, database, options, 0) : fail_sql(command, &failure);
	else
		status = statement_answer(command, database, statement, session, options);
	sqlite3_finalize(statement);
	sqlite3_close_v2(database);
	ada_selection_close(&selection);
	ada_session_close(session);
	return status;
}

int ada_cmd_query(int argc, char **argv)
{
	struct ada_options options = {};
	struct ada_error error = {};
	uint64_t timeout_ns = 0;
	const char *sql; /* with --schema: a table's name */
	char *typed = NULL;
	int status;

	ada_options_take(&options, &usage, argc, argv);
	if (options.timeout && ada_parse_duration(options.timeout, &timeout_ns, &error))
		ada_options_fail(argv[0], "--timeout: %s", error.text);
	sql = take_words(&options);
	if (options.schema)
		return print_schema(argv[0], sql, false);
	if (!strcmp(sql, "-")) {
		typed = read_statement(&error);
		if (!typed)
			return ada_answer_fail(argv[0], &error);
		sql = typed;
	}
	if (sql[strspn(sql, " \t\r\n")] == '.')
		status = print_dot(argv[0], sql);
	else
		status = query_run(argv[0], sql, timeout_ns, &options);
	free(typed);
	return status;
}
