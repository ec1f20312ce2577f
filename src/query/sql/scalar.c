/* Functions for use in expressions: times and durations as people write them, and what a register's bits say. */
#include <string.h>
#include "base/units.h"
#include "query/sql/parts.h"

static void scalar_fail(sqlite3_context *context, const struct ada_error *error)
{
	sqlite3_result_error(context, error->text, -1);
}

/* ns('50ms') */
static void ns(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	struct ada_error error = {};
	uint64_t number;

	if (!text)
		return;
	if (ada_parse_duration(text, &number, &error))
		scalar_fail(context, &error);
	else
		ada_sql_result_u64(context, number);
}

/* at('+1.5s'): from the session's start; at('12.5s', 'video'): on that clock. */
static void at(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct ada_sql *sql = sqlite3_user_data(context);
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	const char *clock = argc > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
	struct ada_clock_view view;
	struct ada_error error = {};
	uint64_t number;

	if (!text || (argc > 1 && !clock))
		return;
	if (ada_clock_view_open(&view, sql->session, clock, &error) || ada_clock_view_parse(&view, sql->session, text, &number, &error))
		scalar_fail(context, &error);
	else
		ada_sql_result_u64(context, number);
}

/* on_clock(timestamp_ns, 'video'): ns of that clock; null where it has no such time. */
static void on_clock(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct ada_sql *sql = sqlite3_user_data(context);
	const char *clock = (const char *)sqlite3_value_text(argv[1]);
	struct ada_clock_view view;
	struct ada_error error = {};
	int64_t told;

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL || !clock)
		return;
	if (ada_clock_view_open(&view, sql->session, clock, &error))
		scalar_fail(context, &error);
	else if (ada_clock_view_ns(&view, (uint64_t)sqlite3_value_int64(argv[0]), &told))
		sqlite3_result_int64(context, told);
}

/* hex64(x0): the register without a sign. */
static void hex64(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	char text[24];

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	sqlite3_snprintf(sizeof text, text, "0x%llx", sqlite3_value_int64(argv[0]));
	sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

/* as_double(fp0), as_float(fp0) */
static void as_double(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	int64_t bits = sqlite3_value_int64(argv[0]);
	double number;

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	memcpy(&number, &bits, sizeof number);
	sqlite3_result_double(context, number);
}

static void as_float(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	uint32_t bits = (uint32_t)sqlite3_value_int64(argv[0]);
	float number;

	if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
		return;
	memcpy(&number, &bits, sizeof number);
	sqlite3_result_double(context, number);
}

/* For the tests: how many events were looked at so far. */
static void visited(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct ada_sql *sql = sqlite3_user_data(context);

	sqlite3_result_int64(context, (int64_t)sql->visited);
}

/* For ada_sql_prepare: a statement as it is meant (meant.c). */
static void meant(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	char *anew = NULL;
	int result = text ? ada_sql_meant(sqlite3_user_data(context), text, &anew) : SQLITE_OK;

	if (result != SQLITE_OK) {
		sqlite3_free(anew);
		sqlite3_result_error_code(context, result);
	} else {
		sqlite3_result_text(context, anew, -1, sqlite3_free);
	}
}

/* For who shows the answer: names of functions that a statement has and the recording has not, a line each. */
static void unmet(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	const struct ada_sql *sql = sqlite3_user_data(context);
	sqlite3_str *text = sqlite3_str_new(NULL);

	for (size_t i = 0; i < sql->unmet.count; i++)
		sqlite3_str_appendf(text, "%s%s", i ? "\n" : "", sql->unmet.items[i]);
	sqlite3_result_text(context, sqlite3_str_finish(text), -1, sqlite3_free);
}

static void free_state(void *context)
{
	ada_sql_release(context);
}

int ada_sql_functions_add(sqlite3 *database, struct ada_sql *sql)
{
	static const struct {
		const char *name;
		int count, flags;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
	} list[] = { { "ns", 1, SQLITE_DETERMINISTIC, ns },
		     { "at", 1, SQLITE_DETERMINISTIC, at },
		     { "at", 2, SQLITE_DETERMINISTIC, at },
		     { "on_clock", 2, SQLITE_DETERMINISTIC, on_clock },
		     { "hex64", 1, SQLITE_DETERMINISTIC, hex64 },
		     { "as_double", 1, SQLITE_DETERMINISTIC, as_double },
		     { "as_float", 1, SQLITE_DETERMINISTIC, as_float },
		     { "ada_visited", 0, 0, visited },
		     { "ada_unmet", 0, 0, unmet },
		     { "ada_meant", 1, 0, meant } };
	int result = SQLITE_OK;

	for (size_t i = 0; i < sizeof list / sizeof *list && result == SQLITE_OK; i++) {
		sql->references++;
		result = sqlite3_create_function_v2(database, list[i].name, list[i].count, SQLITE_UTF8 | list[i].flags, sql, list[i].call,
						    NULL, NULL, free_state);
	}
	return result;
}
