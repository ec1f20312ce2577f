/* The conditions that a table has taken (plan.c), with their values. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "query/rows/rows.h"

static const char *const kinds[ADA_EVENT_KINDS] = {
	[ADA_EVENT_CALL] = "call",     [ADA_EVENT_RETURN] = "return",	  [ADA_EVENT_EXCEPTION] = "exception", [ADA_EVENT_LOST] = "lost",
	[ADA_EVENT_OBJECT] = "object", [ADA_EVENT_RECORDER] = "recorder", [ADA_EVENT_HOLDER] = "holder"
};

const char *ada_sql_kind_name(uint32_t kind)
{
	return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : NULL;
}

/* Of a bound that is no integer takes the integers around it: SQLite compares once more. */
static void narrow_real(struct ada_sql_numbers *numbers, char op, double value)
{
	int64_t below = value <= -0x1p63 ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)floor(value);
	int64_t above = value <= -0x1p63 ? INT64_MIN : value >= 0x1p63 ? INT64_MAX : (int64_t)ceil(value);

	if (op != '<' && below > numbers->low)
		numbers->low = below;
	if (op != '>' && above < numbers->high)
		numbers->high = above;
}

static void narrow_integer(struct ada_sql_query *query, struct ada_sql_numbers *numbers, const char *op, int64_t value)
{
	if (op[0] == '<' && !op[1] && value == INT64_MIN)
		query->nothing = true;
	else if (op[0] == '<' && value - !op[1] < numbers->high)
		numbers->high = value - !op[1];
	if (op[0] == '>' && !op[1] && value == INT64_MAX)
		query->nothing = true;
	else if (op[0] == '>' && value + !op[1] > numbers->low)
		numbers->low = value + !op[1];
	if (op[0] == '=' && value > numbers->low)
		numbers->low = value;
	if (op[0] == '=' && value < numbers->high)
		numbers->high = value;
}

static int take_number(struct ada_sql_query *query, enum ada_sql_role role, const char *op, sqlite3_value *value)
{
	struct ada_sql_numbers *numbers = &query->numbers[role];

	/* By the column's affinity a text that looks like a number is a number. */
	switch (sqlite3_value_numeric_type(value)) {
	case SQLITE_INTEGER:
		if (op[0] == '*')
			return ada_array_push(&numbers->set, sqlite3_value_int64(value)) ? SQLITE_NOMEM : SQLITE_OK;
		narrow_integer(query, numbers, op, sqlite3_value_int64(value));
		break;
	case SQLITE_FLOAT:
		if (op[0] != '*')
			narrow_real(numbers, op[0], sqlite3_value_double(value));
		else if (fabs(sqlite3_value_double(value)) < 0x1p62)
			return ada_array_push(&numbers->set, (int64_t)sqlite3_value_double(value)) ? SQLITE_NOMEM : SQLITE_OK;
		break;
	case SQLITE_NULL: query->nothing |= op[0] != '*'; break;
	default: /* every number is less than a text or a blob, and equal to none */ query->nothing |= op[0] == '=' || op[0] == '>'; break;
	}
	return SQLITE_OK;
}

static int take_text(struct ada_sql_query *query, enum ada_sql_role role, char op, sqlite3_value *value)
{
	const char *text = (const char *)sqlite3_value_text(value);
	char *copy;

	if (sqlite3_value_type(value) == SQLITE_NULL) {
		query->nothing |= op != '*';
		return SQLITE_OK;
	}
	if (sqlite3_value_type(value) == SQLITE_BLOB && (op == '=' || op == '*')) /* equal to no text */
		text = NULL, query->nothing |= op == '=';
	else if (!text)
		return SQLITE_NOMEM;
	if (!text)
		return SQLITE_OK;
	if ((op == '~' && query->glob) || (op == '%' && query->like)) /* one of each is enough */
		return SQLITE_OK;
	copy = strdup(text);
	if (!copy)
		return SQLITE_NOMEM;
	if (op == '~')
		query->glob = copy;
	else if (op == '%')
		query->like = copy;
	else if (ada_array_push(&query->texts[role].set, copy))
		return free(copy), SQLITE_NOMEM;
	return SQLITE_OK;
}

static int take_value(struct ada_sql_query *query, const struct ada_sql_column *column, const char *op, sqlite3_value *value)
{
	bool is_text = column->role >= ADA_SQL_PROCESS;

	return is_text ? take_text(query, column->role, op[0], value) : take_number(query, column->role, op, value);
}

static int take_item(struct ada_sql_query *query, const struct ada_sql_column *column, const char *op, sqlite3_value *value)
{
	sqlite3_value *item = NULL;
	int result = SQLITE_OK, more;

	if (column->role >= ADA_SQL_PROCESS && (op[0] == '=' || op[0] == '*'))
		query->texts[column->role].has_set = true;
	if (op[0] != '*')
		return take_value(query, column, op, value);
	query->numbers[column->role].has_set = true;
	for (more = sqlite3_vtab_in_first(value, &item); more == SQLITE_OK && result == SQLITE_OK;
	     more = sqlite3_vtab_in_next(value, &item))
		result = take_value(query, column, op, item);
	return result != SQLITE_OK ? result : more == SQLITE_DONE || more == SQLITE_OK ? SQLITE_OK : more;
}

static int take_argument(struct ada_sql_query *query, const struct ada_sql_table *table, const struct ada_sql_column *column,
			 sqlite3_value *value)
{
	size_t number = 0;

	for (const struct ada_sql_column *before = table->columns; before < column; before++)
		number += before->role == ADA_SQL_ARGUMENT;
	if (number >= ADA_SQL_ARGUMENTS || query->arguments[number])
		return SQLITE_OK;
	query->arguments[number] = sqlite3_value_dup(value);
	return query->arguments[number] ? SQLITE_OK : SQLITE_NOMEM;
}

static const struct ada_sql_column *find_column(const struct ada_sql_table *table, const char *name, size_t length)
{
	for (size_t i = 0; i < table->column_count; i++)
		if (strlen(table->columns[i].name) == length && !memcmp(table->columns[i].name, name, length))
			return &table->columns[i];
	return NULL;
}

static int take_plan(struct ada_sql_query *query, const struct ada_sql_table *table, const char *plan, int count, sqlite3_value **values)
{
	int result = SQLITE_OK;

	for (int i = 0; i < count && plan && *plan && result == SQLITE_OK; i++) {
		size_t length = strcspn(plan, "=<>*~%"), end = strcspn(plan, " ");
		const struct ada_sql_column *column = find_column(table, plan, length);
		char op[3] = {};

		if (!column || end <= length)
			return SQLITE_CORRUPT;
		memcpy(op, plan + length, end - length < 2 ? end - length : 2);
		result = column->role == ADA_SQL_ARGUMENT ? take_argument(query, table, column, values[i]) :
							    take_item(query, column, op, values[i]);
		plan += end + (plan[end] == ' ');
	}
	return result;
}

static bool fits_text(const struct ada_sql_query *query, enum ada_sql_role role, const char *text)
{
	const struct ada_sql_texts *texts = &query->texts[role];
	bool fits = !texts->has_set;

	for (size_t i = 0; i < texts->set.count && !fits; i++)
		fits = !strcmp(texts->set.items[i], text);
	return fits;
}

static void settle_kinds(struct ada_sql_query *query)
{
	query->kinds = 0;
	for (uint32_t kind = ADA_EVENT_CALL; kind < ADA_EVENT_KINDS; kind++)
		if (fits_text(query, ADA_SQL_KIND, kinds[kind]))
			query->kinds |= 1u << kind;
	query->any_function = !query->texts[ADA_SQL_FUNCTION].has_set && !query->numbers[ADA_SQL_FUNCTION_ID].has_set &&
			      query->numbers[ADA_SQL_FUNCTION_ID].low == INT64_MIN &&
			      query->numbers[ADA_SQL_FUNCTION_ID].high == INT64_MAX && !query->glob && !query->like;
	/* Other events than calls and their ends are of no function. */
	if (!query->any_function)
		query->kinds &= ADA_SQL_KINDS_OF_CALLS;
	query->nothing |= !query->kinds;
}

static int settle_threads(struct ada_sql_query *query, const struct ada_sql *sql)
{
	for (size_t i = 0; i < sql->selection->threads.count; i++) {
		const struct ada_thread *thread = sql->selection->threads.items[i];

		if (thread->events && ada_sql_fits_number(query, ADA_SQL_THREAD, thread->number) &&
		    ada_sql_fits_number(query, ADA_SQL_TID, thread->tid) && ada_sql_fits_number(query, ADA_SQL_PID, thread->process->pid) &&
		    fits_text(query, ADA_SQL_PROCESS, thread->process->directory) && ada_array_push(&query->threads, thread))
			return SQLITE_NOMEM;
	}
	return SQLITE_OK;
}

int ada_sql_query_open(struct ada_sql_query *query, const struct ada_sql_vtab *vtab, int number, const char *plan, int count,
		       sqlite3_value **values)
{
	int result;

	*query = (struct ada_sql_query){ .merged = number & ADA_SQL_MERGED,
					 .costly = number & ADA_SQL_COSTLY,
					 .backwards = number & ADA_SQL_BACKWARDS };
	for (int role = 0; role < ADA_SQL_ROLES; role++) {
		query->numbers[role].low = INT64_MIN;
		query->numbers[role].high = INT64_MAX;
	}
	result = take_plan(query, vtab->table, plan, count, values);
	settle_kinds(query);
	if (result == SQLITE_OK)
		result = settle_threads(query, vtab->sql);
	return result;
}

void ada_sql_query_close(struct ada_sql_query *query)
{
	for (int role = 0; role < ADA_SQL_ROLES; role++) {
		for (size_t i = 0; i < query->texts[role].set.count; i++)
			free(query->texts[role].set.items[i]);
		ada_array_free(&query->texts[role].set);
		ada_array_free(&query->numbers[role].set);
	}
	for (size_t i = 0; i < ADA_SQL_ARGUMENTS; i++)
		sqlite3_value_free(query->arguments[i]);
	free(query->glob);
	free(query->like);
	ada_array_free(&query->verdicts);
	ada_array_free(&query->threads);
}

bool ada_sql_fits_number(const struct ada_sql_query *query, enum ada_sql_role role, int64_t number)
{
	const struct ada_sql_numbers *numbers = &query->numbers[role];
	bool fits = !numbers->has_set;

	if (number < numbers->low || number > numbers->high)
		return false;
	for (size_t i = 0; i < numbers->set.count && !fits; i++)
		fits = numbers->set.items[i] == number;
	return fits;
}

static bool function_judge(const struct ada_sql_query *query, const struct ada_sql_function *function)
{
	return ada_sql_fits_number(query, ADA_SQL_FUNCTION_ID, (int64_t)function->key) &&
	       fits_text(query, ADA_SQL_FUNCTION, function->name) && (!query->glob || !sqlite3_strglob(query->glob, function->name)) &&
	       (!query->like || !sqlite3_strlike(query->like, function->name, 0));
}

bool ada_sql_fits_function(struct ada_sql_query *query, const struct ada_sql_function *function)
{
	if (query->any_function)
		return true;
	if (!function)
		return false;
	if (function->number >= query->verdicts.count) {
		size_t more = function->number + 1 - query->verdicts.count;

		if (ada_array_reserve(&query->verdicts, more))
			return function_judge(query, function);
		memset(query->verdicts.items + query->verdicts.count, 0, more);
		query->verdicts.count += more;
	}
	if (!query->verdicts.items[function->number])
		query->verdicts.items[function->number] = function_judge(query, function) ? 1 : 2;
	return query->verdicts.items[function->number] == 1;
}

void ada_sql_time_range(const struct ada_sql_query *query, const struct ada_sql *sql, uint64_t *from_ns, uint64_t *to_ns)
{
	const struct ada_sql_numbers *time = &query->numbers[ADA_SQL_TIME];
	uint64_t low = time->low > 0 ? (uint64_t)time->low : 0, high = UINT64_MAX;

	if (time->high < 0)
		high = 0;
	else if (time->high < INT64_MAX) /* times beyond INT64_MAX are shown as that number */
		high = (uint64_t)time->high + 1;
	*from_ns = low > sql->selection->from_ns ? low : sql->selection->from_ns;
	*to_ns = high < sql->selection->to_ns ? high : sql->selection->to_ns;
}

void ada_sql_position_range(const struct ada_sql_query *query, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns,
			    uint64_t *first, uint64_t *end)
{
	const struct ada_sql_numbers *position = &query->numbers[ADA_SQL_POSITION];
	uint64_t bound;

	*first = from_ns ? atf_thread_lower_bound(thread->events, from_ns) : 0;
	*end = to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, to_ns);
	bound = position->low > 0 ? (uint64_t)position->low : 0;
	*first = bound > *first ? bound : *first;
	bound = position->high < 0 ? 0 : position->high == INT64_MAX ? UINT64_MAX : (uint64_t)position->high + 1;
	*end = bound < *end ? bound : *end;
	if (query->nothing || *first > *end)
		*first = *end;
}

bool ada_sql_place(struct ada_sql_query *query, const char *function, struct ada_error *error)
{
	for (int i = 0; i < 2; i++) {
		sqlite3_value *value = query->arguments[i];
		int type = value ? sqlite3_value_numeric_type(value) : SQLITE_NULL;

		if (!value)
			ada_error_set(error, EINVAL, "%s needs a thread's number and an event's", function);
		else if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			ada_error_set(error, EINVAL,
				      "%s: '%s' is no number: a thread's and an event's are wanted, as table events has "
				      "them",
				      function, (const char *)sqlite3_value_text(value));
		if (!value || type == SQLITE_TEXT || type == SQLITE_BLOB)
			return false;
		query->nothing |= type == SQLITE_NULL;
	}
	return true;
}
