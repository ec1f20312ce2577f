/* The SQL tables: their columns, their rows, and that what is pushed down to them changes what is read, not what is answered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "fixture.h"
#include "query/sql/sql.h"
#include "sql_fixture.h"
#include "synth_random.h"

static const char *const names[] = { "main", "leaf", "odd\xff", "_ZN2ns3addEii" };
enum { MAIN, LEAF, ODD, ADD, NAMES };

static struct synth_thread *one_thread(struct fixture *fixture)
{
	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	return synth_thread(fixture->synth, 10, "prog");
}

static void call(struct synth_thread *thread, uint64_t function, uint64_t ns)
{
	synth_call(thread, function);
	synth_pass(thread, ns);
	synth_return(thread);
}

/* --- columns ------------------------------------------------------------------------------------------------------------ */

/* SELECT * gives exactly what DESIGN section 4 says. */
static void test_columns_are_the_contract(void **state)
{
	static const char *const expected[][2] = {
		{ "events", "timestamp_ns thread tid index_seq kind function_id function depth detail_seq" },
		{ "calls", "thread tid index_seq end_index_seq start_ns end_ns duration_ns self_ns function_id function caller depth"
			   " outcome" },
		{ "functions", "function_id name mangled module address size file line" },
		{ "detail", "thread index_seq timestamp_ns kind function x0 x1 x2 x3 x4 x5 x6 x7 lr fp sp fp0 fp1 fp2 fp3 fp4 fp5 fp6 fp7"
			    " stack" },
		{ "waits", "thread index_seq end_index_seq start_ns end_ns kind object ended_by_thread ended_by_index_seq" },
		{ "causes", "window thread index_seq function duration_ns kind function_waited object culprit_thread culprit_function"
			    " culprit_path culprit_calls culprit_start_ns culprit_end_ns culprit_kind rival_thread rival_path share" },
		{ "fn_stats", "function module calls total_ns self_ns min_ns mean_ns p50_ns p90_ns p99_ns max_ns" },
	};
	struct sql *sql;

	one_thread(*state);
	sql = sql_open(*state, true);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		char *statement = sqlite3_mprintf("SELECT * FROM %s", expected[i][0]);

		assert_string_equal(sql_columns(sql, statement), expected[i][1]);
		sqlite3_free(statement);
	}
	sql_close(sql);
}

/* Every column of every table can be read, hidden ones and arguments too. */
static void test_every_column_is_read(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct sql *sql;

	synth_call(thread, MAIN);
	synth_capture(thread, true);
	synth_window(thread);
	call(thread, LEAF, 5);
	synth_window_end(thread);
	synth_lost(thread, 3, 1);
	sql = sql_open(fixture, true);
	for (size_t i = 0; i < ada_sql_table_count; i++) {
		const struct ada_sql_table *table = &ada_sql_tables[i];
		const char *arguments = !table->function		  ? "" :
					!strncmp(table->name, "calle", 5) ? "('leaf')" :
					!strcmp(table->name, "fn_stats")  ? "" :
									    "(0, 2)";

		for (size_t j = 0; j < table->column_count; j++) {
			char *statement = sqlite3_mprintf("SELECT \"%w\" FROM %s%s", table->columns[j].name, table->name, arguments);

			/* leaf calls no one and waits for nothing; no other clock ran beside, no kernel told of switches, nothing was muted. */
			assert_int_equal(sql_rows(sql, statement) > 0,
					 strcmp(table->name, "callees") && strcmp(table->name, "anchors") && strcmp(table->name, "waits") &&
						 strcmp(table->name, "switches") && strcmp(table->name, "mutes"));
			sqlite3_free(statement);
		}
	}
	sql_close(sql);
}

/* --- rows --------------------------------------------------------------------------------------------------------------- */

static void test_events(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct sql *sql;

	synth_call(thread, MAIN);
	synth_pass(thread, 5);
	synth_call(thread, ADD);
	synth_exception(thread);
	synth_roll(thread);
	synth_lost(thread, 7, 1);
	synth_event(thread, 9, 1, 0); /* a kind of the future: in no answer */
	synth_call(thread, ODD);
	sql = sql_open(fixture, false);
	sql_expect(sql,
		   "SELECT timestamp_ns - 1000000000000, thread, tid, index_seq, kind, function_id, function, depth, detail_seq,"
		   " process, pid, module, lost FROM events",
		   "0|0|10|0|call|0|main|0|-|pid_10|10|prog|-\n"
		   "5|0|10|1|call|3|ns::add(int, int)|1|-|pid_10|10|prog|-\n"
		   "5|0|10|2|exception|3|ns::add(int, int)|1|-|pid_10|10|prog|-\n"
		   "5|0|10|3|lost|-|-|1|-|pid_10|10|-|7\n"
		   "5|0|10|5|call|2|odd\xEF\xBF\xBD|1|-|pid_10|10|prog|-\n");
	sql_expect(sql, "SELECT count(*) FROM events", "5\n");
	sql_expect(sql, "SELECT index_seq, function FROM events WHERE function = 'odd\xEF\xBF\xBD'", "5|odd\xEF\xBF\xBD\n");
	sql_expect(sql, "SELECT index_seq FROM events WHERE function IS NULL", "3\n");
	sql_expect(sql, "SELECT offset, index_seq FROM around(0, 3, 1)", "-1|2\n0|3\n");
	sql_expect(sql, "SELECT function, depth, index_seq FROM stack_at(0, 2)", "main|0|0\nns::add(int, int)|1|1\n");
	sql_expect(sql, "SELECT count(*) FROM around(0, 3)", "5\n");
	sql_expect(sql, "SELECT count(*) FROM around(7, 3)", "0\n");
	sql_expect(sql, "SELECT count(*) FROM around(0, -1)", "0\n");
	sql_expect(sql, "SELECT count(*) FROM around(0, 1, 9223372036854775807)", "5\n");
	sql_expect(sql, "SELECT count(*) FROM around('0', '3', NULL)", "5\n");
	/* As of a mark that lies on no thread: null is not thread 0. */
	sql_expect(sql, "SELECT count(*) FROM around(NULL, 3)", "0\n");
	sql_expect(sql, "SELECT count(*) FROM around(0, NULL)", "0\n");
	sql_expect(sql, "SELECT count(*) FROM stack_at(NULL, 2)", "0\n");
	sql_expect(sql, "SELECT count(*) FROM stack_at(0, NULL)", "0\n");
	sql_close(sql);
}

static void test_calls(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct sql *sql;

	synth_call(thread, MAIN); /* 0: open at the end */
	synth_pass(thread, 10);
	call(thread, LEAF, 4);	  /* 1, 2 */
	synth_call(thread, LEAF); /* 3: no one sees its end */
	synth_lost(thread, 7, 1);
	synth_pass(thread, 1);
	synth_call(thread, ADD); /* 5 */
	synth_pass(thread, 3);
	synth_exception(thread);
	synth_pass(thread, 20);
	call(thread, LEAF, 0); /* 7, 8 */
	sql = sql_open(fixture, false);
	sql_expect(sql,
		   "SELECT index_seq, end_index_seq, start_ns - 1000000000000, end_ns - 1000000000000, duration_ns, self_ns, function,"
		   " caller, depth, outcome, across_loss FROM calls ORDER BY index_seq",
		   "0|-|0|38|38|30|main|-|0|open|1\n"
		   "1|2|10|14|4|4|leaf|main|1|return|0\n"
		   "3|-|14|-|-|-|leaf|main|1|unknown|1\n"
		   "5|6|15|18|3|3|ns::add(int, int)|main|1|exception|0\n"
		   "7|8|38|38|0|0|leaf|main|1|return|0\n");
	/* From the middle, too, the caller is known. */
	sql_expect(sql, "SELECT caller FROM calls WHERE index_seq = 7", "main\n");
	sql_expect(sql, "SELECT sum(duration_ns) FROM calls WHERE outcome = 'open' AND index_seq < 3", "38\n");
	sql_expect(sql, "SELECT events, skipped, index_seq, reason IS NOT NULL FROM losses WHERE thread NOT NULL", "7|0|4|1\n");
	sql_close(sql);
}

static void test_processes_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	struct sql *sql;

	for (uint32_t pid = 50; pid < 53; pid++) {
		struct synth_thread *thread;

		synth_process(fixture->synth, pid);
		synth_module(fixture->synth, "/bin/prog", names, NAMES);
		thread = synth_thread(fixture->synth, pid, "prog");
		call(thread, LEAF, pid);
	}
	sql = sql_open(fixture, true);
	sql_expect(sql, "SELECT count(DISTINCT function_id), count(DISTINCT process), count(DISTINCT rowid), count(*) FROM events",
		   "1|3|6|6\n");
	sql_expect(sql, "SELECT duration_ns FROM calls WHERE process = 'pid_51'", "51\n");
	sql_expect(sql, "SELECT duration_ns FROM calls WHERE pid IN (50, 52)", "50\n52\n");
	sql_expect(sql, "SELECT calls, total_ns FROM fn_stats", "3|153\n");
	sql_expect(sql, "SELECT calls, total_ns FROM fn_stats(NULL, NULL, '51')", "1|51\n");
	sql_expect(sql, "SELECT name, count(*) FROM functions JOIN calls USING (function_id) GROUP BY 1", "leaf|3\n");
	sql_expect(sql, "SELECT process FROM around(0, 1, 0)", "pid_50\npid_51\npid_52\n");
	sql_expect(sql, "SELECT process FROM around(0, 1, 0) WHERE process = 'pid_52'", "pid_52\n");
	sql_expect(sql, "SELECT count(*) FROM threads t JOIN events e USING (process, thread)", "6\n");
	sql_close(sql);
}

/* Times beyond 2^63 are shown as the greatest number there is, and compared as such. */
static void test_large_numbers(void **state)
{
	struct fixture *fixture = *state;
	struct synth_thread *thread = one_thread(fixture);
	struct sql *sql;

	synth_call(thread, MAIN);
	synth_pass(thread, 1ull << 63);
	synth_return(thread);
	sql = sql_open(fixture, false);
	sql_expect(sql, "SELECT max(timestamp_ns) FROM events", "9223372036854775807\n");
	sql_expect(sql, "SELECT index_seq FROM events WHERE timestamp_ns > 1e13", "1\n");
	sql_expect(sql, "SELECT index_seq FROM events WHERE timestamp_ns = 9223372036854775807", "1\n");
	sql_expect(sql, "SELECT index_seq FROM events WHERE timestamp_ns < 9223372036854775807", "0\n");
	sql_expect(sql, "SELECT duration_ns FROM calls", "9223372036854775807\n");
	sql_expect(sql, "SELECT hex64(-1), as_double(4607182418800017408), as_float(1065353216)", "0xffffffffffffffff|1.0|1.0\n");
	sql_expect(sql, "SELECT at('+1.5s') - at('+0s'), ns('50ms')", "1500000000|50000000\n");
	sql_close(sql);
}

/* The tables hold what the selection holds. */
static void test_a_selection_narrows_the_tables(void **state)
{
	struct fixture *fixture = *state;
	struct ada_error error = {};
	struct sql *sql;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	for (uint32_t i = 0; i < 2; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 10 + i, i ? "second" : "first");

		synth_call(thread, MAIN);
		synth_pass(thread, 100);
		call(thread, LEAF, 50);
		synth_lost(thread, 4, 1);
		synth_pass(thread, 100);
		call(thread, ADD, 50);
		synth_return(thread);
	}
	sql = sql_open(fixture, true);
	sqlite3_close(sql->database);
	ada_selection_close(&fixture->selection);
	if (ada_selection_open(&fixture->selection, fixture->session, "second", "+100ns", "+250ns", &error) ||
	    ada_sql_open(&sql->database, &fixture->selection, &error))
		fail_msg("%s", error.text);
	sql_expect(sql, "SELECT thread, index_seq FROM events", "1|1\n1|2\n1|3\n");
	sql_expect(sql, "SELECT thread, function, duration_ns, caller FROM calls", "1|leaf|50|main\n");
	sql_expect(sql, "SELECT count(*) FROM events WHERE timestamp_ns >= at('+0s')", "3\n");
	sql_expect(sql, "SELECT function, calls FROM fn_stats", "leaf|1\n");
	sql_expect(sql, "SELECT count(*) FROM fn_stats(at('+0s'), at('+1s'), 0)", "0\n");
	sql_expect(sql, "SELECT sum(calls) FROM fn_stats(at('+0s'), at('+1s'), 'second')", "1\n");
	sql_expect(sql, "SELECT thread, name FROM threads", "1|second\n");
	sql_expect(sql, "SELECT thread, events FROM losses", "1|4\n");
	sql_expect(sql, "SELECT function, calls FROM callers('leaf')", "main|1\n");
	sql_expect(sql, "SELECT count(*) FROM stack_at(0, 2)", "0\n");
	sql_close(sql);
}

/* --- push-down ---------------------------------------------------------------------------------------------------------- */

/* Four threads of 1,000 calls of leaf, one every 100 ns. */
static struct sql *many(struct fixture *fixture)
{
	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, NAMES);
	for (uint32_t i = 0; i < 4; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 10 + i, "worker");

		synth_call(thread, MAIN);
		for (uint32_t j = 0; j < 1000; j++)
			call(thread, j % 10 ? LEAF : ADD, 100);
		synth_return(thread);
	}
	return sql_open(fixture, true);
}

static void test_conditions_decide_what_is_read(void **state)
{
	struct sql *sql = many(*state);

	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events"), 8008);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE thread = 2"), 2002);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE thread IN (1, 3, 9)"), 4004);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE tid = 11 AND index_seq = 7"), 1);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE thread = 9"), 0);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE process = 'pid_11'"), 0);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE kind = 'nothing'"), 0);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE thread = NULL"), 0);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE thread = 0 AND timestamp_ns BETWEEN 1000000001000 AND"
					  " 1000000001999"),
			 20);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events WHERE thread = 0 AND index_seq >= 100 AND index_seq < 110"), 10);
	/* A call's end is looked for, but no further. */
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM calls WHERE thread = 0 AND index_seq = 101"), 2);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM calls WHERE thread = 0 AND start_ns >= 1000000001000 AND"
					  " start_ns < 1000000002000"),
			 21);
	/* For each row of the left side, only its own. */
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM (SELECT thread, index_seq FROM around(1, 50, 5)) a JOIN events e ON"
					  " e.thread = a.thread AND e.index_seq = a.index_seq + 1"),
			 11);
	/* One scan of the events, whichever side is narrowed. */
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events JOIN functions USING (function_id)"), 8008);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM functions JOIN events USING (function_id) WHERE name = 'leaf'"), 8008);
	assert_int_equal(sql_visited(sql, "SELECT count(*) FROM events JOIN functions USING (function_id) WHERE thread = 1 AND"
					  " name GLOB 'l*'"),
			 2002);
	assert_in_range(sql_visited(sql, "SELECT count(*) FROM (SELECT 1000000001000 AS a, 1000000001999 AS b) w JOIN calls c ON c.start_ns"
					 " BETWEEN w.a AND w.b WHERE c.thread = 3"),
			20, 22);
	/* The first rows of a merge need no sorting. */
	assert_true(sql_visited(sql, "SELECT timestamp_ns FROM events ORDER BY timestamp_ns LIMIT 3") < 20);
	assert_true(sql_visited(sql, "SELECT timestamp_ns FROM events ORDER BY timestamp_ns, thread, index_seq LIMIT 3") < 20);
	assert_true(sql_visited(sql, "SELECT 1 FROM events WHERE thread = 1 ORDER BY timestamp_ns, index_seq LIMIT 3") < 20);
	assert_true(sql_visited(sql, "SELECT 1 FROM events ORDER BY thread, index_seq LIMIT 3") < 20);
	sql_close(sql);
}

static void test_order_is_what_was_asked_for(void **state)
{
	struct sql *sql = many(*state);

	static const char *const orders[] = { "timestamp_ns",	   "timestamp_ns, thread, index_seq",
					      "thread, index_seq", "thread, timestamp_ns",
					      "index_seq, thread", "timestamp_ns, index_seq",
					      "timestamp_ns DESC", "tid, index_seq" };

	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
		char *ordered = sqlite3_mprintf("SELECT %s FROM events WHERE index_seq < 300 ORDER BY %s", orders[i], orders[i]);
		char *sorted = sqlite3_mprintf("SELECT * FROM (SELECT +timestamp_ns AS timestamp_ns, +thread AS thread, +index_seq AS"
					       " index_seq, +tid AS tid FROM events WHERE index_seq < 300) ORDER BY %s",
					       orders[i]);
		char *same = sqlite3_mprintf("SELECT %s FROM (%s)", strcmp(orders[i], "timestamp_ns DESC") ? orders[i] : "timestamp_ns",
					     sorted);

		if (!strcmp(orders[i], "timestamp_ns DESC")) {
			sqlite3_free(ordered);
			ordered = sqlite3_mprintf("SELECT timestamp_ns FROM events WHERE index_seq < 300 ORDER BY timestamp_ns DESC");
		}
		sql_same(sql, ordered, same);
		sqlite3_free(ordered);
		sqlite3_free(sorted);
		sqlite3_free(same);
	}
	sql_close(sql);
}

/* --- fn_stats, callers, callees ----------------------------------------------------------------------------------------- */

static void expect_report(struct sql *sql, const struct fixture *fixture)
{
	assert_int_equal(sql_rows(sql, "SELECT * FROM fn_stats"), fixture->stats.functions.count);
	for (size_t i = 0; i < fixture->stats.functions.count; i++) {
		const struct ada_function_stats *function = fixture->stats.functions.items[i];
		const struct ada_histogram *durations = &function->durations;
		char buffer[ADA_NAME_BUFFER], expected[1024], statement[256];

		snprintf(statement, sizeof statement, "SELECT * FROM fn_stats WHERE function_id = %llu", (unsigned long long)function->key);
		snprintf(expected, sizeof expected, "%s|%s|%lu|%lu|%lu|%lu|%lu|%lu|%lu|%lu|%lu\n",
			 ada_module_function(function->module, function->function_id, buffer), ada_module_name(function->module),
			 function->calls, function->total_ns, function->self_ns, durations->min,
			 (uint64_t)(durations->sum / durations->count), ada_histogram_percentile(durations, 500),
			 ada_histogram_percentile(durations, 900), ada_histogram_percentile(durations, 990), durations->max);
		sql_expect(sql, statement, expected);
	}
}

static void test_fn_stats_is_the_report(void **state)
{
	struct fixture *fixture = *state;
	struct sql *sql;

	known_free(synth_random(fixture->synth, 11, 5, 20000));
	sql = sql_open(fixture, true);
	fixture_compute(fixture);
	expect_report(sql, fixture);
	/* Without recursion, and where all ends are known, the same comes out of the calls one by one. */
	sql_same(sql, "SELECT function_id, calls, self_ns, min_ns, max_ns, mean_ns FROM fn_stats ORDER BY 1",
		 "SELECT function_id, count(*), sum(self_ns), min(duration_ns), max(duration_ns), sum(duration_ns) / count(*) FROM calls"
		 " GROUP BY 1 ORDER BY 1");
	sql_same(sql, "SELECT function, module, calls, self_ns, function_id FROM callers('*') WHERE 0", "SELECT 1 WHERE 0");
	sql_same(
		sql, "SELECT s.function_id, s.calls, s.total_ns, s.self_ns FROM fn_stats s ORDER BY 1",
		"SELECT s.function_id, sum(c.calls), sum(c.total_ns), sum(c.self_ns) FROM fn_stats s JOIN callers(s.function_id) c GROUP BY 1"
		" ORDER BY 1");
	sql_same(sql, "SELECT caller_id, function_id, count(*) FROM calls WHERE caller_id IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2",
		 "SELECT s.function_id, c.function_id, c.calls FROM fn_stats s JOIN callees(s.function_id) c ORDER BY 1, 2");
	sql_same(sql, "SELECT sum(calls) FROM fn_stats(at('+10us'), at('+20us'), 2)",
		 "SELECT nullif(count(*), 0) FROM calls WHERE start_ns >= at('+10us') AND start_ns < at('+20us') AND thread = 2");
	sql_expect(sql, "SELECT count(*) FROM fn_stats(at('+2s'), at('+1s'))", "0\n");
	/* Edges are kept while only the function changes. */
	sql_same(
		sql,
		"SELECT t, (SELECT sum(calls) FROM callees('*', NULL, NULL, t)) FROM (SELECT thread AS t FROM threads UNION ALL SELECT NULL)",
		"SELECT t, (SELECT count(*) FROM calls WHERE caller IS NOT NULL AND (t IS NULL OR thread = t)) FROM (SELECT thread AS t FROM"
		" threads UNION ALL SELECT NULL)");
	sql_same(sql,
		 "SELECT e.index_seq, t.events FROM events e LEFT JOIN threads t ON +t.thread = e.thread AND t.process = e.process"
		 " WHERE e.index_seq < 3 ORDER BY e.rowid",
		 "SELECT index_seq, (SELECT count(*) FROM events f WHERE f.thread = e.thread AND f.process = e.process) FROM events e WHERE"
		 " index_seq < 3 ORDER BY rowid");
	sql_close(sql);
}

/* --- errors, reading only, time limit ----------------------------------------------------------------------------------- */

static void test_statements_that_are_refused(void **state)
{
	static const struct {
		const char *statement, *message;
		size_t column;
	} cases[] = {
		{ "SELECT functon FROM events", "no such column: functon: did you mean function?", 7 },
		{ "SELECT end_index_seq FROM events", "no such column: end_index_seq: a column of calls, waits", 7 },
		{ "SELECT * FROM evnts", "no such table: evnts: did you mean events?", 14 },
		{ "SELECT 1; SELECT 2", "one statement is answered at a time: a second one begins here", 10 },
		{ "SELECT * FROM events WHERE", "incomplete input", 26 },
		{ "SELECT \xC3\xA9 FROM events", "no such column: \xC3\xA9: `ada query --schema` lists them", 7 },
		{ "SELECT '\xC3\xA9', x9 FROM detail", NULL, 12 },
		{ "SELEC 1", "near \"SELEC\": syntax error", 0 },
		{ "SELECT\n1,\n  functon FROM events", NULL, 2 },
	};
	struct ada_sql_error error;
	sqlite3_stmt *statement;
	struct sql *sql;

	one_thread(*state);
	sql = sql_open(*state, true);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_not_equal(ada_sql_prepare(sql->database, cases[i].statement, &statement, &error), 0);
		assert_null(statement);
		assert_true(error.has_place);
		assert_int_equal(error.column, cases[i].column);
		if (cases[i].message)
			assert_string_equal(error.message, cases[i].message);
	}
	assert_int_equal(error.line_number, 3);
	assert_string_equal(error.line, "  functon FROM events");
	assert_int_equal(ada_sql_prepare(sql->database, " /* no */ SELECT 1 ;; -- and no more", &statement, &error), 0);
	sqlite3_finalize(statement);
	assert_int_not_equal(ada_sql_prepare(sql->database, " -- nothing", &statement, &error), 0);
	assert_int_not_equal(ada_sql_prepare(sql->database, "SELECT :x", &statement, &error), 0);
	sql_close(sql);
}

static void test_nothing_writes(void **state)
{
	static const char *const statements[] = { "CREATE TABLE t(a)",
						  "CREATE TEMP TABLE t(a)",
						  "CREATE VIEW v AS SELECT 1",
						  "DELETE FROM events",
						  "UPDATE events SET depth = 1",
						  "INSERT INTO events(depth) VALUES (1)",
						  "ATTACH '/tmp/ada-sql-x' AS x",
						  "DETACH main",
						  "PRAGMA journal_mode = WAL",
						  "PRAGMA temp_store_directory = '/tmp'",
						  "PRAGMA hard_heap_limit = 0",
						  "PRAGMA writable_schema = 1",
						  "BEGIN",
						  "ANALYZE",
						  "DROP TABLE events",
						  "SELECT load_extension('x')",
						  "CREATE VIRTUAL TABLE t USING events",
						  "VACUUM",
						  "VACUUM INTO '/tmp/ada-sql-x'",
						  "SAVEPOINT s" };
	struct ada_sql_error error;
	sqlite3_stmt *statement;
	struct sql *sql;

	one_thread(*state);
	sql = sql_open(*state, true);
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		int result = ada_sql_prepare(sql->database, statements[i], &statement, &error);

		if (!result && sqlite3_step(statement) != SQLITE_AUTH)
			fail_msg("%s was not refused", statements[i]);
		sqlite3_finalize(statement);
	}
	assert_int_equal(sql_rows(sql, "PRAGMA table_xinfo(events)"), ada_sql_table_find("events")->column_count);
	sql_close(sql);
}

static void test_a_time_limit_ends_scans(void **state)
{
	static const char *const statements[] = { "SELECT count(*) FROM events",
						  "SELECT count(*) FROM events WHERE function = 'none'",
						  "SELECT * FROM calls",
						  "SELECT * FROM fn_stats",
						  "SELECT * FROM callers('leaf')",
						  "SELECT * FROM events ORDER BY depth",
						  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT sum(x) FROM c" };
	struct sql *sql = many(*state);

	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		struct ada_sql_error error;
		sqlite3_stmt *statement;
		int step;

		assert_int_equal(ada_sql_prepare(sql->database, statements[i], &statement, &error), 0);
		ada_interrupt_after(1);
		while (!ada_interrupt_expired())
			;
		while ((step = sqlite3_step(statement)) == SQLITE_ROW)
			;
		ada_interrupt_after(0);
		if (step != SQLITE_INTERRUPT)
			fail_msg("%s ended with %d", statements[i], step);
		sqlite3_finalize(statement);
		assert_false(ada_interrupted());
	}
	assert_int_equal(sql_rows(sql, "SELECT * FROM events"), 8008);
	sql_close(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_columns_are_the_contract),
		FIXTURE_TEST(test_every_column_is_read),
		FIXTURE_TEST(test_events),
		FIXTURE_TEST(test_calls),
		FIXTURE_TEST(test_processes_are_told_apart),
		FIXTURE_TEST(test_large_numbers),
		FIXTURE_TEST(test_a_selection_narrows_the_tables),
		FIXTURE_TEST(test_conditions_decide_what_is_read),
		FIXTURE_TEST(test_order_is_what_was_asked_for),
		FIXTURE_TEST(test_fn_stats_is_the_report),
		FIXTURE_TEST(test_statements_that_are_refused),
		FIXTURE_TEST(test_nothing_writes),
		FIXTURE_TEST(test_a_time_limit_ends_scans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
