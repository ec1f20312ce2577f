/* Which of a statement's conditions a table takes over (xBestIndex).
 *
 * The plan travels as text, which EXPLAIN QUERY PLAN shows: "thread= timestamp_ns>= function=" and so on, an item a value that comes with
 * xFilter. Items: column, then = < <= > >=, * (a list, IN), ~ (GLOB) or % (LIKE). SQLite looks at each row once more, so a condition
 * taken over may let too many rows pass, never too few. Only where the value is a literal of the column's own type SQLite needn't look
 * again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "query/sql/parts.h"

struct op {
	unsigned char code;
	const char *text;
};
static const struct op ops[] = { { SQLITE_INDEX_CONSTRAINT_EQ, "=" },  { SQLITE_INDEX_CONSTRAINT_LT, "<" },
				 { SQLITE_INDEX_CONSTRAINT_LE, "<=" }, { SQLITE_INDEX_CONSTRAINT_GT, ">" },
				 { SQLITE_INDEX_CONSTRAINT_GE, ">=" }, { SQLITE_INDEX_CONSTRAINT_GLOB, "~" },
				 { SQLITE_INDEX_CONSTRAINT_LIKE, "%" } };

static bool is_number(enum ada_sql_role role)
{
	return role >= ADA_SQL_TIME && role <= ADA_SQL_FUNCTION_ID;
}

static const char *op_text(unsigned char code)
{
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (ops[i].code == code)
			return ops[i].text;
	return NULL;
}

static bool takes(const struct ada_sql_table *table, enum ada_sql_role role, unsigned char op)
{
	if (role == ADA_SQL_ARGUMENT)
		return op == SQLITE_INDEX_CONSTRAINT_EQ;
	if (role == ADA_SQL_PLAIN || (table->function && role != ADA_SQL_PROCESS && role != ADA_SQL_PID))
		return false;
	if (op == SQLITE_INDEX_CONSTRAINT_EQ)
		return true;
	if (op == SQLITE_INDEX_CONSTRAINT_GLOB || op == SQLITE_INDEX_CONSTRAINT_LIKE)
		return role == ADA_SQL_FUNCTION;
	return op_text(op) && is_number(role) && role != ADA_SQL_FUNCTION_ID;
}

struct planning {
	const struct ada_sql_vtab *vtab;
	sqlite3_index_info *info;
	sqlite3_str *plan;
	int arguments;
	bool one[ADA_SQL_ROLES]; /* has one value */
	bool list[ADA_SQL_ROLES];
	unsigned int bounds[ADA_SQL_ROLES];
	bool names_unsure;
};

/* The value is known, and of the column's own kind: then SQLite needn't look again. */
static bool is_exact(sqlite3_index_info *info, int i, enum ada_sql_role role)
{
	unsigned char op = info->aConstraint[i].op;
	sqlite3_value *value;

	if (role == ADA_SQL_ARGUMENT)
		return true;
	if (op == SQLITE_INDEX_CONSTRAINT_GLOB || op == SQLITE_INDEX_CONSTRAINT_LIKE ||
	    sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK)
		return false;
	return sqlite3_value_type(value) == (is_number(role) ? SQLITE_INTEGER : SQLITE_TEXT);
}

static void constraint_take(struct planning *planning, int i)
{
	const struct ada_sql_table *table = planning->vtab->table;
	const struct sqlite3_index_constraint *constraint = &planning->info->aConstraint[i];
	const char *name, *op = op_text(constraint->op);
	enum ada_sql_role role;
	bool list;

	if (!constraint->usable || constraint->iColumn < 0 || (size_t)constraint->iColumn >= table->column_count)
		return;
	name = table->columns[constraint->iColumn].name;
	role = table->columns[constraint->iColumn].role;
	if (!takes(table, role, constraint->op))
		return;
	if (!is_number(role) && role != ADA_SQL_ARGUMENT && strcmp(sqlite3_vtab_collation(planning->info, i), "BINARY"))
		return;
	if (constraint->op == SQLITE_INDEX_CONSTRAINT_EQ) {
		/* SQLite handles a second condition on the same column. */
		if (role != ADA_SQL_ARGUMENT && (planning->one[role] || planning->list[role]))
			return;
		list = role != ADA_SQL_TIME && role != ADA_SQL_POSITION && role != ADA_SQL_ARGUMENT &&
		       sqlite3_vtab_in(planning->info, i, -1);
		if (list) {
			sqlite3_vtab_in(planning->info, i, 1);
			planning->list[role] = true;
			op = "*";
		} else {
			planning->one[role] = true;
		}
	} else if (op[0] == '~' || op[0] == '%') {
		planning->bounds[role]++;
	} else {
		planning->bounds[role]++;
	}
	planning->info->aConstraintUsage[i].argvIndex = ++planning->arguments;
	planning->info->aConstraintUsage[i].omit = op[0] != '*' && is_exact(planning->info, i, role);
	sqlite3_str_appendf(planning->plan, "%s%s%s", planning->arguments > 1 ? " " : "", name, op);
}

/* Whether an argument's value isn't there yet: then SQLite must find another order of the joined tables. */
static bool waits_for_argument(const struct ada_sql_table *table, const sqlite3_index_info *info)
{
	for (int i = 0; i < info->nConstraint; i++)
		if (!info->aConstraint[i].usable && info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ &&
		    info->aConstraint[i].iColumn >= 0 && (size_t)info->aConstraint[i].iColumn < table->column_count &&
		    table->columns[info->aConstraint[i].iColumn].role == ADA_SQL_ARGUMENT)
			return true;
	return false;
}

/* Whether reading thread by thread gives the wanted order: with one thread only, or by the thread's number. */
static void plan_order(struct planning *planning)
{
	const struct ada_sql_table *table = planning->vtab->table;
	const struct ada_sql *sql = planning->vtab->sql;
	sqlite3_index_info *info = planning->info;
	enum ada_sql_order order = planning->vtab->implementation->order;
	bool one_process = sql->session->processes.count == 1 || planning->one[ADA_SQL_PROCESS];
	bool one_thread = sql->selection->threads.count <= 1 || (one_process && planning->one[ADA_SQL_THREAD]);
	bool backwards = info->nOrderBy && info->aOrderBy[0].desc;
	int at = 0;

	if (order == ADA_SQL_UNORDERED || !info->nOrderBy)
		return;
	for (int i = 0; i < info->nOrderBy; i++)
		if (!info->aOrderBy[i].desc == backwards || info->aOrderBy[i].iColumn < 0)
			return;
	if (backwards && order != ADA_SQL_BY_THREAD_OR_TIME)
		return;
#define ROLE(i) (table->columns[info->aOrderBy[i].iColumn].role)
	if (one_process && at < info->nOrderBy && ROLE(at) == ADA_SQL_THREAD) {
		at++;
		one_thread = true;
	}
	if (one_thread && at < info->nOrderBy && ROLE(at) == ADA_SQL_TIME)
		at++;
	if (one_thread && at < info->nOrderBy && ROLE(at) == ADA_SQL_POSITION)
		at = info->nOrderBy; /* unique: what follows says nothing */
	info->orderByConsumed = at == info->nOrderBy;
	if (info->orderByConsumed && backwards)
		info->idxNum |= ADA_SQL_BACKWARDS;
	if (info->orderByConsumed || order != ADA_SQL_BY_THREAD_OR_TIME || ROLE(0) != ADA_SQL_TIME)
		return;
	/* Merged; ties in the order of threads. */
	at = 1;
	if (one_process && at < info->nOrderBy && ROLE(at) == ADA_SQL_THREAD) {
		at++;
		if (at < info->nOrderBy && ROLE(at) == ADA_SQL_POSITION)
			at = info->nOrderBy;
	}
#undef ROLE
	info->orderByConsumed = at == info->nOrderBy;
	if (info->orderByConsumed)
		info->idxNum |= ADA_SQL_MERGED | (backwards ? ADA_SQL_BACKWARDS : 0);
}

static void plan_cost(struct planning *planning)
{
	const struct ada_sql *sql = planning->vtab->sql;
	sqlite3_index_info *info = planning->info;
	double rows = planning->vtab->implementation->rows(sql), cost = rows;
	bool functions = planning->vtab->implementation == &ada_sql_functions;

	if (planning->one[ADA_SQL_THREAD] || planning->one[ADA_SQL_TID])
		cost /= sql->selection->threads.count + 1;
	else if (planning->list[ADA_SQL_THREAD] || planning->one[ADA_SQL_PROCESS] || planning->one[ADA_SQL_PID])
		cost /= 2;
	for (unsigned int i = 0; i < planning->bounds[ADA_SQL_TIME] || i < planning->bounds[ADA_SQL_POSITION]; i++)
		cost /= 8;
	if (planning->one[ADA_SQL_TIME] || planning->one[ADA_SQL_POSITION])
		cost = cost > 1000 ? 10 : cost / 100;
	rows = cost;
	/* Conditions on these look at every row that is left. */
	if (planning->one[ADA_SQL_FUNCTION_ID] || planning->one[ADA_SQL_FUNCTION]) {
		rows = functions ? 1 : rows / 100;
		cost = functions && planning->one[ADA_SQL_FUNCTION_ID] ? 1 : cost / 8;
	} else if (planning->list[ADA_SQL_FUNCTION_ID] || planning->list[ADA_SQL_FUNCTION] || planning->bounds[ADA_SQL_FUNCTION]) {
		rows /= 10;
		cost /= 4;
	}
	if (planning->one[ADA_SQL_KIND] || planning->list[ADA_SQL_KIND]) {
		rows /= 2;
		cost /= 2;
	}
	info->estimatedCost = 5 + cost;
	info->estimatedRows = rows < 1 ? 1 : rows > 1e15 ? (sqlite3_int64)1e15 : (sqlite3_int64)rows;
}

int ada_sql_plan(struct ada_sql_vtab *vtab, sqlite3_index_info *info)
{
	struct planning planning = { .vtab = vtab, .info = info };

	if (waits_for_argument(vtab->table, info))
		return SQLITE_CONSTRAINT;
	planning.plan = sqlite3_str_new(NULL);
	for (int i = 0; i < info->nConstraint; i++)
		constraint_take(&planning, i);
	info->idxNum = info->colUsed & vtab->implementation->costly ? ADA_SQL_COSTLY : 0;
	plan_order(&planning);
	plan_cost(&planning);
	info->idxStr = planning.arguments ? sqlite3_str_finish(planning.plan) : (sqlite3_free(sqlite3_str_finish(planning.plan)), NULL);
	info->needToFreeIdxStr = info->idxStr != NULL;
	return planning.arguments && !info->idxStr ? SQLITE_NOMEM : SQLITE_OK;
}
