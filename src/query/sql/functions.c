/* Table functions: the symbols of all modules. */
#include "base/interrupt.h"
#include "query/session/source.h"
#include "query/sql/parts.h"

enum { FUNCTION_ID, NAME, MANGLED, MODULE, ADDRESS, SIZE, FILE_NAME, LINE };

struct functions_cursor {
	struct ada_sql_cursor cursor;
	uint64_t module, symbol; /* the next one to look at */
	uint64_t only;		 /* key of the only function that is wanted; UINT64_MAX: any */
	const struct ada_sql_function *function;
};

static double count_functions(const struct ada_sql *sql)
{
	double count = 10;

	/* The functions of modules whose table wasn't needed so far can only be guessed. */
	for (size_t i = 0; i < sql->session->modules.count; i++)
		count += sql->session->modules.items[i]->tried ? sql->session->modules.items[i]->symbol_count : 1000;
	return count;
}

static uint64_t symbols_of(const struct ada_sql *sql, uint64_t module)
{
	ada_module_load(sql->session->modules.items[module]);
	return sql->session->modules.items[module]->symbol_count;
}

static int find_only(struct functions_cursor *cursor)
{
	const struct ada_sql *sql = cursor->cursor.sql;
	uint64_t module = cursor->only >> 32;

	cursor->cursor.eof = cursor->function || module >= sql->session->modules.count || (uint32_t)cursor->only >= symbols_of(sql, module);
	if (cursor->cursor.eof)
		return SQLITE_OK;
	cursor->function = ada_sql_function_by_key(cursor->cursor.sql, cursor->only);
	cursor->cursor.eof = !ada_sql_fits_function(&cursor->cursor.query, cursor->function);
	return cursor->function ? SQLITE_OK : SQLITE_NOMEM;
}

static int function_find(struct functions_cursor *cursor)
{
	struct ada_sql *sql = cursor->cursor.sql;

	if (cursor->only != UINT64_MAX)
		return find_only(cursor);
	for (; cursor->module < sql->session->modules.count; cursor->module++, cursor->symbol = 0) {
		while (cursor->symbol < symbols_of(sql, cursor->module)) {
			if (!(cursor->symbol % 4096) && ada_interrupted())
				return SQLITE_INTERRUPT;
			cursor->function = ada_sql_function_by_key(sql, cursor->module << 32 | cursor->symbol++);
			if (!cursor->function)
				return SQLITE_NOMEM;
			if (ada_sql_fits_function(&cursor->cursor.query, cursor->function))
				return SQLITE_OK;
		}
	}
	cursor->cursor.eof = true;
	return SQLITE_OK;
}

static int functions_first(struct ada_sql_cursor *base, struct ada_error *error)
{
	struct functions_cursor *cursor = (struct functions_cursor *)base;
	const struct ada_sql_numbers *ids = &base->query.numbers[ADA_SQL_FUNCTION_ID];

	cursor->module = cursor->symbol = 0;
	cursor->function = NULL;
	cursor->only = ids->low == ids->high ? (uint64_t)ids->low : UINT64_MAX;
	base->eof = base->query.nothing;
	return base->eof ? SQLITE_OK : function_find(cursor);
}

static int functions_next(struct ada_sql_cursor *base)
{
	return function_find((struct functions_cursor *)base);
}

static void functions_column(struct ada_sql_cursor *base, sqlite3_context *context, int column)
{
	const struct ada_sql_function *function = ((struct functions_cursor *)base)->function;
	const char *file;
	uint32_t line;

	switch (column) {
	case FUNCTION_ID: sqlite3_result_int64(context, (int64_t)function->key); break;
	case NAME: ada_sql_result_name(context, function); break;
	case MANGLED: sqlite3_result_text(context, function->mangled, -1, SQLITE_STATIC); break;
	case MODULE: sqlite3_result_text(context, function->module_name, -1, SQLITE_STATIC); break;
	case ADDRESS: sqlite3_result_int64(context, (int64_t)function->symbol->address); break;
	case SIZE: ada_sql_result_u64(context, function->symbol->size); break;
	default:
		if (!ada_module_source(function->module, ADA_FUNCTION_SYMBOL(function->key), &file, &line))
			break;
		if (column == FILE_NAME)
			ada_sql_result_text(context, file);
		else if (line)
			sqlite3_result_int64(context, line);
		break;
	}
}

static int64_t functions_rowid(struct ada_sql_cursor *base)
{
	return (int64_t)((struct functions_cursor *)base)->function->key;
}

const struct ada_sql_implementation ada_sql_functions = { .name = "functions",
							  .cursor_bytes = sizeof(struct functions_cursor),
							  .first = functions_first,
							  .next = functions_next,
							  .column = functions_column,
							  .rowid = functions_rowid,
							  .rows = count_functions };
