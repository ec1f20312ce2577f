/* What the SQL tables make their rows of: names of functions, what a statement wants, the events for it, values. */
#ifndef ADA_QUERY_ROWS_H
#define ADA_QUERY_ROWS_H
#include <sqlite3.h>
#include "base/hash.h"
#include "query/calls/calls.h"
#include "query/rows/table.h"
#include "query/session/selection.h"

/* What a column means for reading: with conditions on these not every row needs a look. */
enum ada_sql_role {
	ADA_SQL_PLAIN,
	ADA_SQL_TIME,
	ADA_SQL_POSITION,
	ADA_SQL_THREAD,
	ADA_SQL_TID,
	ADA_SQL_PID,
	ADA_SQL_FUNCTION_ID, /* integers */
	ADA_SQL_PROCESS,
	ADA_SQL_FUNCTION,
	ADA_SQL_KIND,	  /* texts */
	ADA_SQL_ARGUMENT, /* of a table-valued function */
	ADA_SQL_ROLES
};

/* --- functions and their names (names.c) ---------------------------------------------------------------------------- */

struct ada_sql_function {
	uint64_t key;				  /* ada_process_function_key */
	uint32_t number;			  /* among those seen, 0, 1, ... */
	struct ada_module *module;		  /* NULL: not known */
	struct ada_symbol *symbol;		  /* NULL: not in the table */
	const char *name, *mangled, *module_name; /* valid UTF-8 */
	int name_length;
	char *texts[3]; /* those of the names that had to be made */
};

/* One a database connection. */
struct ada_sql {
	const struct ada_selection *selection;
	const struct ada_session *session;
	unsigned int references;
	uint64_t total;			      /* events of the selection */
	uint64_t *bases;		      /* by thread of the session: events of those before it */
	struct ada_sql_function ***by_symbol; /* by module and symbol; NULL where not seen */
	uint32_t *symbol_counts;
	struct ada_table others; /* the rest, by key: numbers in `functions` */
	ADA_ARRAY(struct ada_sql_function *) functions;
	struct ada_cause_reader *causes; /* what the statement's questions about causes share; NULL: it asked none yet */
	ADA_ARRAY(char *) unmet;	 /* names that the statement gives, and that no function has: ada_unmet() */
	uint64_t visited;		 /* events that scans looked at: for the tests (ada_visited()) */
};

/* NULL: no memory. */
const struct ada_sql_function *ada_sql_function_by_key(struct ada_sql *sql, uint64_t key);
const struct ada_sql_function *ada_sql_function_of(struct ada_sql *sql, const struct ada_process *process, uint64_t function_id);
uint64_t ada_sql_module_key(const struct ada_module *module, uint64_t function_id, const struct ada_session *session);
void ada_sql_names_close(struct ada_sql *sql);

/* --- what a statement wants (query.c) -------------------------------------------------------------------------------- */

#define ADA_SQL_ARGUMENTS 4
#define ADA_SQL_KINDS_OF_CALLS (1u << ADA_EVENT_CALL | 1u << ADA_EVENT_RETURN | 1u << ADA_EVENT_EXCEPTION)
#define ADA_SQL_KINDS_ALL ((1u << ADA_EVENT_KINDS) - (1u << ADA_EVENT_CALL))
enum { ADA_SQL_MERGED = 1, ADA_SQL_COSTLY = 2, ADA_SQL_BACKWARDS = 4 }; /* bits of the plan's number */

struct ada_sql_numbers {
	int64_t low, high;
	bool has_set;
	ADA_ARRAY(int64_t) set;
};
struct ada_sql_texts {
	bool has_set;
	ADA_ARRAY(char *) set;
};

struct ada_sql_query {
	bool nothing;	/* no row can fit */
	bool merged;	/* events in the order of time over all threads */
	bool backwards; /* from the last row to the first */
	bool costly;	/* the statement asks for a column that the table calls costly */
	struct ada_sql_numbers numbers[ADA_SQL_ROLES];
	struct ada_sql_texts texts[ADA_SQL_ROLES];
	char *glob, *like; /* patterns for the function's name */
	uint32_t kinds;	   /* bit 1 << kind */
	bool any_function;
	ADA_ARRAY(uint8_t) verdicts;		      /* by ada_sql_function.number: 0 not known, 1 wanted, 2 not */
	sqlite3_value *arguments[ADA_SQL_ARGUMENTS];  /* NULL: not given */
	ADA_ARRAY(const struct ada_thread *) threads; /* that have events and fit */
};

struct ada_sql_implementation;
struct ada_sql_vtab {
	sqlite3_vtab base;
	struct ada_sql *sql;
	const struct ada_sql_table *table;
	const struct ada_sql_implementation *implementation;
};

/* SQLITE_OK or SQLITE_NOMEM. */
int ada_sql_query_open(struct ada_sql_query *query, const struct ada_sql_vtab *vtab, int number, const char *plan, int count,
		       sqlite3_value **values);
void ada_sql_query_close(struct ada_sql_query *query);
bool ada_sql_fits_number(const struct ada_sql_query *query, enum ada_sql_role role, int64_t number);
/* NULL (no memory) fits nothing. */
bool ada_sql_fits_function(struct ada_sql_query *query, const struct ada_sql_function *function);
/* Times as the files have them: from <= time < to; positions first <= position < end. */
void ada_sql_time_range(const struct ada_sql_query *query, const struct ada_sql *sql, uint64_t *from_ns, uint64_t *to_ns);
void ada_sql_position_range(const struct ada_sql_query *query, const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns,
			    uint64_t *first, uint64_t *end);
const char *ada_sql_kind_name(uint32_t kind); /* NULL: not known */
/* For around() and stack_at(), whose arguments are the numbers of a thread and an event: false with the reason where an argument is
 * missing or no number. Where one is NULL, as for a mark that lies on no thread, no row fits. */
bool ada_sql_place(struct ada_sql_query *query, const char *function, struct ada_error *error);

/* --- tables, as SQLite sees them (sql/vtab.c), and values (result.c) ------------------------------------------------------------------------------------------------ */

struct ada_sql_cursor {
	sqlite3_vtab_cursor base;
	struct ada_sql *sql;
	const struct ada_sql_vtab *vtab;
	struct ada_sql_query query;
	bool filtered; /* there is something to reset */
	bool eof;
};

enum ada_sql_order {
	ADA_SQL_UNORDERED,
	ADA_SQL_BY_THREAD,	   /* threads one by one, each by position and time */
	ADA_SQL_BY_THREAD_OR_TIME, /* the same, or merged; or either of them backwards */
};

struct ada_sql_implementation {
	const char *name;
	size_t cursor_bytes;
	/* Go to the first row, and to the next one; `eof` where there is none. An SQLite code, and in `error` a text where the code
	 * doesn't say it. */
	int (*first)(struct ada_sql_cursor *cursor, struct ada_error *error);
	int (*next)(struct ada_sql_cursor *cursor);
	void (*column)(struct ada_sql_cursor *cursor, sqlite3_context *context, int column);
	int64_t (*rowid)(struct ada_sql_cursor *cursor);
	void (*reset)(struct ada_sql_cursor *cursor); /* frees what first() made; may be NULL */
	void (*close)(struct ada_sql_cursor *cursor); /* frees what stays from one first() to the next; may be NULL */
	double (*rows)(const struct ada_sql *sql);    /* about how many */
	enum ada_sql_order order;
	uint64_t costly; /* bits of columns that are computed only where a statement asks for them */
};

/* Numbers beyond SQL's signed integers saturate. */
void ada_sql_result_u64(sqlite3_context *context, uint64_t number);
void ada_sql_result_name(sqlite3_context *context, const struct ada_sql_function *function);
void ada_sql_result_text(sqlite3_context *context, const char *text); /* copies, as valid UTF-8; NULL: null */
/* Rowid of the thread's event at `position`. */
int64_t ada_sql_rowid(const struct ada_sql *sql, const struct ada_thread *thread, uint64_t position);

/* --- reading events (scan.c) ---------------------------------------------------------------------------------------- */

struct ada_sql_scan {
	struct ada_sql *sql;
	struct ada_sql_query *query;
	const struct ada_event *event; /* NULL: at the end */
	const struct ada_event *run_end;
	const struct ada_thread *thread;
	uint64_t position;
	uint64_t run_first, end; /* positions: the run's first, and the end of the thread's range */
	uint64_t from_ns, to_ns;
	size_t next;	  /* thread */
	bool plain;	  /* every event of a known kind fits */
	bool by_function; /* the condition needs a look at the function */
	struct atf_merge *merge;
	struct atf_thread **sources;
	uint64_t *kept; /* by source: the first position whose pages are still in memory */
	uint64_t merge_piece;
	uint64_t turns;
	struct ada_sql_back *back; /* for a scan that goes backwards: scan_back.c */
};
int ada_sql_scan_open(struct ada_sql_scan *scan, struct ada_sql *sql, struct ada_sql_query *query);
int ada_sql_scan_next(struct ada_sql_scan *scan);
void ada_sql_scan_close(struct ada_sql_scan *scan);
/* Whether the event at hand is wanted. */
bool ada_sql_scan_fits(struct ada_sql_scan *scan);
int ada_sql_back_open(struct ada_sql_scan *scan);
int ada_sql_back_next(struct ada_sql_scan *scan);
void ada_sql_back_close(struct ada_sql_scan *scan);

/* --- rows that are made once (rows.c) ------------------------------------------------------------------------------- */

struct ada_sql_cell {
	int type;
	int64_t integer;
	double real;
	char *text;
}; /* SQLITE_NULL, _INTEGER, _FLOAT, _TEXT */
struct ada_sql_rows {
	size_t column_count;
	ADA_ARRAY(struct ada_sql_cell) cells;
	bool failed; /* no memory for one */
};
void ada_sql_add_null(struct ada_sql_rows *rows);
void ada_sql_add_integer(struct ada_sql_rows *rows, uint64_t number); /* saturates */
void ada_sql_add_real(struct ada_sql_rows *rows, double number);
void ada_sql_add_text(struct ada_sql_rows *rows, const char *text); /* NULL: null */
void ada_sql_rows_free(struct ada_sql_rows *rows);

struct ada_sql_rows_cursor {
	struct ada_sql_cursor cursor;
	struct ada_sql_rows rows;
	size_t row;
};
int ada_sql_rows_first(struct ada_sql_rows_cursor *cursor); /* what next() goes on from */
int ada_sql_rows_next(struct ada_sql_cursor *cursor);
void ada_sql_rows_column(struct ada_sql_cursor *cursor, sqlite3_context *context, int column);
void ada_sql_rows_reset(struct ada_sql_cursor *cursor);
int64_t ada_sql_rows_rowid(struct ada_sql_cursor *cursor);
double ada_sql_few(const struct ada_sql *sql);
#endif
