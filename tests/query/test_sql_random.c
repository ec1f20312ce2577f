/* Random conditions over random sessions: what a table takes into its own hands, and what SQLite then does by itself (a cast
 * keeps a column from the table), must give the same rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sql_fixture.h"
#include "synth_random.h"

struct random {
	uint64_t state;
};

static uint64_t below(struct random *random, uint64_t bound)
{
	random->state ^= random->state << 13;
	random->state ^= random->state >> 7;
	random->state ^= random->state << 17;
	return random->state % bound;
}

/* A value to compare a column with, often one that occurs. */
static void put_value(struct random *random, FILE *file, const char *column)
{
	static const char *const odd[] = { "NULL", "'abc'", "1.5",  "-1", "9223372036854775807", "-9223372036854775808",
					   "'1'",  "x'31'", "1e300" };

	if (!below(random, 12))
		fputs(odd[below(random, sizeof odd / sizeof *odd)], file);
	else if (strstr(column, "_ns"))
		fprintf(file, "%llu%s", SYNTH_START_NS + (unsigned long long)below(random, 60000000), below(random, 5) ? "" : ".5");
	else if (!strcmp(column, "index_seq"))
		fprintf(file, "%llu", (unsigned long long)below(random, 600));
	else if (!strcmp(column, "tid"))
		fprintf(file, "%llu", 1000 + (unsigned long long)below(random, 6));
	else
		fprintf(file, "%llu", (unsigned long long)below(random, 5));
}

/* The column, or what keeps it from the table without changing what it is compared as. */
static const char *field(char text[64], const char *column, const char *type, bool pushed)
{
	snprintf(text, 64, pushed ? "%s" : "CAST(%s AS %s)", column, type);
	return text;
}

static void put_condition(struct random *random, FILE *file, const char *time, bool pushed)
{
	static const char *const ops[] = { "=", "<", "<=", ">", ">=", ">=", "<", "IS", "<>" };
	static const char *const texts[] = { "'hash'",
					     "'poll'",
					     "'read'",
					     "'call'",
					     "'return'",
					     "'exception'",
					     "'lost'",
					     "NULL",
					     "5",
					     "x'00'",
					     "(SELECT name FROM functions LIMIT 1 OFFSET 3)" };
	const char *const numbers[] = { time, time, "thread", "tid", "index_seq", "index_seq", "function_id", "pid" };
	const char *const words[] = { "function", "process", strcmp(time, "start_ns") ? "kind" : "outcome" };
	static const char *const likes[] = {
		"= 'HASH' COLLATE NOCASE", "LIKE 'HASH'",	  "NOT LIKE '%a%'", "LIKE 'h\\_sh' ESCAPE '\\'",
		"GLOB 'h[a-e]sh'",	   "BETWEEN 'a' AND 'm'", "> 'm'",	    "NOT IN ('hash', 'poll')"
	};
	const char *column = numbers[below(random, 8)];
	char text[64];

	switch (below(random, 13)) {
	case 9:
		fprintf(file, "%s BETWEEN ", field(text, column, "INTEGER", pushed));
		put_value(random, file, column);
		fputs(" AND ", file);
		put_value(random, file, column);
		return;
	case 10:
		fprintf(file, "%s %s", field(text, below(random, 2) ? words[below(random, 3)] : "function", "TEXT", pushed),
			below(random, 2) ? "IS NULL" : "IS NOT NULL");
		return;
	case 11: fprintf(file, "%s %s", field(text, "function", "TEXT", pushed), likes[below(random, 8)]); return;
	case 12:
		fprintf(file, "NOT (%s %s ", field(text, column, "INTEGER", pushed), ops[below(random, 9)]);
		put_value(random, file, column);
		fputs(")", file);
		return;
	case 0:
		fprintf(file, "%s %s", field(text, "function", "TEXT", pushed),
			below(random, 2) ? "= 'hash'" : "IN ('poll', 'read', 5, NULL)");
		return;
	case 1:
		fprintf(file, "%s %s '%s'", field(text, "function", "TEXT", pushed), below(random, 2) ? "GLOB" : "LIKE",
			below(random, 2) ? "*[ae]*" : "%H%");
		return;
	case 2:
		fprintf(file, "%s IN (SELECT name FROM functions LIMIT %llu)", field(text, "function", "TEXT", pushed),
			(unsigned long long)below(random, 9));
		return;
	case 3:
		if (below(random, 2)) {
			fprintf(file, "%s IN (%s, %s)", field(text, words[below(random, 3)], "TEXT", pushed), texts[below(random, 11)],
				texts[below(random, 11)]);
			return;
		}
		fprintf(file, "%s = %s", field(text, words[below(random, 3)], "TEXT", pushed), texts[below(random, 11)]);
		return;
	case 4:
		fprintf(file, "%s IN (", field(text, column, "INTEGER", pushed));
		put_value(random, file, column);
		fputs(", ", file);
		put_value(random, file, column);
		fputs(")", file);
		return;
	default: fprintf(file, "%s %s ", field(text, column, "INTEGER", pushed), ops[below(random, 9)]); put_value(random, file, column);
	}
}

static char *statement(uint64_t seed, const char *table, const char *time, const char *fields, bool pushed)
{
	struct random random = { seed * 2654435761u + 88172645463325252ull };
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	unsigned int count;

	for (int i = 0; i < 5; i++)
		below(&random, 2);
	count = 1 + below(&random, 3);
	fprintf(file, "SELECT %s FROM %s WHERE ", fields, table);
	for (unsigned int i = 0; i < count; i++) {
		fputs(!i ? "" : below(&random, 4) ? " AND " : " OR ", file);
		put_condition(&random, file, time, pushed);
	}
	fputs(" ORDER BY +process, +thread, +index_seq", file);
	fclose(file);
	return text;
}

static uint64_t compare(struct sql *sql, uint64_t seed, const char *table, const char *time, const char *fields)
{
	char *pushed = statement(seed, table, time, fields, true), *tried = statement(seed, table, time, fields, false);
	uint64_t length;

	sql_same(sql, pushed, tried);
	length = strlen(sql->text);
	free(pushed);
	free(tried);
	return length;
}

static void test_random_conditions(void **state)
{
	struct fixture *fixture = *state;
	uint64_t answered = 0;
	struct sql *sql;

	known_free(synth_random(fixture->synth, 3, 5, 2000));
	sql = sql_open(fixture, true);
	for (uint64_t seed = 0; seed < 400; seed++) {
		answered += compare(sql, seed, "events", "timestamp_ns",
				    "process, thread, index_seq, timestamp_ns, kind, function, depth") > 0;
		answered += compare(sql, seed, "calls", "start_ns",
				    "process, thread, index_seq, start_ns, duration_ns, self_ns, function,"
				    " caller, outcome") > 0;
	}
	assert_in_range(answered, 100, 790); /* the conditions are neither always nor never met */
	sql_close(sql);
}

/* A thread as hard to read as it gets with one stack: ends that are missing, jumps over several calls, losses. */
static void make_wild(struct fixture *fixture, uint64_t seed)
{
	static const char *const names[] = { "f0", "f1", "f2", "f3" };
	struct random random = { seed };
	struct synth_thread *thread;
	uint64_t open[700];
	uint32_t depth = 0;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, 4);
	thread = synth_thread(fixture->synth, 1000, "wild");
	for (unsigned int i = 0; i < 600; i++) {
		uint64_t what = below(&random, 20);

		synth_pass(thread, below(&random, 3) * 40);
		if (what < 9 || !depth) {
			open[depth] = below(&random, 4);
			synth_event(thread, ADA_EVENT_CALL, open[depth], depth);
			depth++;
		} else if (what < 17) {
			depth -= below(&random, 3) ? 1 : 1 + (uint32_t)below(&random, depth);
			synth_event(thread, what < 16 ? ADA_EVENT_RETURN : ADA_EVENT_EXCEPTION, open[depth], depth);
		} else if (what == 17) {
			synth_event(thread, ADA_EVENT_LOST, 5, depth);
			depth = (uint32_t)below(&random, depth + 1);
		} else {
			depth--;
		}
	}
}

/* From the last row on: with a total order the very rows, else only what they are ordered by. `+`: SQLite sorts. */
static void compare_orders(struct sql *sql, struct random *random, bool one_process)
{
	static const char *const fields[] = { "thread, index_seq, timestamp_ns, kind", "thread, index_seq, timestamp_ns, kind",
					      "thread, index_seq, timestamp_ns, kind", "timestamp_ns", "thread, timestamp_ns" };
	static const char *const orders[][2] = {
		{ "timestamp_ns DESC, thread DESC, index_seq DESC", "+timestamp_ns DESC, +thread DESC, +index_seq DESC" },
		{ "thread DESC, index_seq DESC", "+thread DESC, +index_seq DESC" },
		{ "timestamp_ns DESC, thread ASC, index_seq DESC", "+timestamp_ns DESC, +thread ASC, +index_seq DESC" },
		{ "timestamp_ns DESC", "+timestamp_ns DESC" },
		{ "thread DESC, timestamp_ns DESC", "+thread DESC, +timestamp_ns DESC" },
	};
	uint64_t number = one_process ? below(random, 5) : 3, seed = random->state;
	char *texts[2] = {};
	size_t size;

	for (unsigned int i = 0; i < 2; i++) {
		FILE *file = open_memstream(&texts[i], &size);

		random->state = seed;
		fprintf(file, "SELECT %s FROM events WHERE ", fields[number]);
		if (below(random, 3))
			put_condition(random, file, "timestamp_ns", true);
		else
			fputs("1", file);
		fprintf(file, " ORDER BY %s", orders[number][i]);
		if (below(random, 4))
			fprintf(file, " LIMIT %llu OFFSET %llu", (unsigned long long)below(random, 40),
				(unsigned long long)below(random, 9));
		fclose(file);
	}
	sql_same(sql, texts[0], texts[1]);
	free(texts[0]);
	free(texts[1]);
}

static void test_from_the_last_row_on(void **state)
{
	struct random random = { 815 };

	for (uint32_t threads = 1; threads <= 6; threads += 5) {
		struct fixture *fixture;
		struct sql *sql;

		fixture_setup(state);
		fixture = *state;
		known_free(synth_random(fixture->synth, 8, threads, 3000));
		sql = sql_open(fixture, true);
		for (int i = 0; i < 200; i++)
			compare_orders(sql, &random, threads == 1);
		sql_close(sql);
		fixture_teardown(state);
	}
}

/* As ada-query(1) finds the last calls of a function: the same as by pairing all and sorting, and little is read for it. */
static void test_last_calls_by_their_events(void **state)
{
	static const char *const limits[] = { "1", "10", "100000" };
	struct fixture *fixture = *state;
	struct sql *sql;
	char found[512], sorted[512];

	known_free(synth_random(fixture->synth, 8, 1, 20000));
	sql = sql_open(fixture, false);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		snprintf(
			found, sizeof found,
			"SELECT c.* FROM (SELECT process, thread, index_seq FROM events WHERE kind = 'call' AND "
			"function = (SELECT function FROM events WHERE index_seq = 0) ORDER BY timestamp_ns DESC, index_seq DESC LIMIT %s) "
			"JOIN calls AS c USING (process, thread, index_seq)",
			limits[i]);
		snprintf(sorted, sizeof sorted,
			 "SELECT * FROM calls WHERE function = (SELECT function FROM events WHERE index_seq = 0) "
			 "ORDER BY +start_ns DESC, +index_seq DESC LIMIT %s",
			 limits[i]);
		assert_true(sql_rows(sql, sorted) > 0);
		sql_same(sql, found, sorted);
		assert_true(i == 2 || sql_visited(sql, found) * 5 < sql_visited(sql, sorted));
	}
	sql_close(sql);
}

/* Threads of one process whose events have few times: ties everywhere. */
static void test_ties_from_the_last_row_on(void **state)
{
	static const char *const names[] = { "f" };
	struct fixture *fixture = *state;
	struct random random = { 4711 };
	struct sql *sql;

	synth_process(fixture->synth, 10);
	synth_module(fixture->synth, "/bin/prog", names, 1);
	for (uint32_t i = 0; i < 5; i++) {
		struct synth_thread *thread = synth_thread(fixture->synth, 1000 + i, "tied");

		for (uint64_t j = below(&random, 80); j-- > 0;) {
			synth_pass(thread, below(&random, 4) ? 0 : 1);
			synth_event(thread, j % 2 ? ADA_EVENT_CALL : ADA_EVENT_RETURN, 0, 0);
			if (j == 9)
				synth_roll(thread);
		}
	}
	sql = sql_open(fixture, true);
	for (int i = 0; i < 200; i++)
		compare_orders(sql, &random, true);
	assert_in_range(sql_visited(sql, "SELECT * FROM events ORDER BY timestamp_ns DESC LIMIT 3"), 3, 8);
	assert_in_range(sql_visited(sql, "SELECT * FROM events WHERE thread = 2 ORDER BY index_seq DESC LIMIT 3"), 3, 8);
	sql_close(sql);
}

static void test_ranges_of_calls_in_wild_threads(void **state)
{
	struct fixture *fixture = *state;
	struct random random = { 4711 };
	struct sql *sql;

	make_wild(fixture, 99);
	sql = sql_open(fixture, false);
	for (int i = 0; i < 300; i++) {
		unsigned int low = (unsigned int)below(&random, 600), high = low + 1 + (unsigned int)below(&random, 60);
		const char *fields =
			i % 2 ? "index_seq, end_index_seq, start_ns, end_ns, duration_ns, self_ns, outcome, depth, across_loss, caller" :
				"index_seq, end_index_seq, start_ns, end_ns, duration_ns, self_ns, outcome, depth, across_loss";
		char pushed[400], tried[400];

		snprintf(pushed, sizeof pushed, "SELECT %s FROM calls WHERE index_seq >= %u AND index_seq < %u ORDER BY index_seq", fields,
			 low, high);
		snprintf(tried, sizeof tried, "SELECT %s FROM calls WHERE +index_seq >= %u AND +index_seq < %u ORDER BY index_seq", fields,
			 low, high);
		sql_same(sql, pushed, tried);
	}
	sql_close(sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FIXTURE_TEST(test_random_conditions),
		cmocka_unit_test(test_from_the_last_row_on),
		FIXTURE_TEST(test_last_calls_by_their_events),
		FIXTURE_TEST(test_ties_from_the_last_row_on),
		FIXTURE_TEST(test_ranges_of_calls_in_wild_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
