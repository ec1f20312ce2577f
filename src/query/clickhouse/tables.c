/* The tables in ClickHouse, and the servers of a cluster. */
#include "query/clickhouse/tables.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const ada_clickhouse_table_names[ADA_CLICKHOUSE_TABLES] = { "processes", "threads", "modules", "functions", "windows",
									"marks",     "report",	"events",  "sessions" };

/* Columns behind session_id and host, as the rows have them (query/clickhouse/rows.c), and the order of the rows on disk. */
static const struct {
	const char *columns, *order;
} tables[ADA_CLICKHOUSE_TABLES] = {
	[ADA_CLICKHOUSE_PROCESSES] = { "process UInt32, directory String, pid UInt32, program String, start_ns UInt64, end_ns UInt64, "
				       "complete UInt8",
				       "process" },
	[ADA_CLICKHOUSE_THREADS] = { "process UInt32, thread UInt32, tid UInt32, name String, events UInt64, lost UInt64, "
				     "skipped UInt64",
				     "(process, thread)" },
	[ADA_CLICKHOUSE_MODULES] = { "module_id UInt32, module String, path String, build_id String", "module_id" },
	[ADA_CLICKHOUSE_FUNCTIONS] = { "function_id UInt64, function String, mangled String, module String, address UInt64, "
				       "size UInt64",
				       "function_id" },
	[ADA_CLICKHOUSE_WINDOWS] = { "window UInt32, process UInt32, start_ns UInt64, end_ns Nullable(UInt64), trigger String, "
				     "event_count UInt64, marked_count UInt64, short_reason String",
				     "window" },
	[ADA_CLICKHOUSE_MARKS] = { "window UInt32, process UInt32, timestamp_ns UInt64, kind String, label String, "
				   "thread Nullable(UInt32), index_seq Nullable(UInt64), function_id Nullable(UInt64)",
				   "(window, timestamp_ns)" },
	[ADA_CLICKHOUSE_REPORT] = { "function_id UInt64, function String, module String, calls UInt64, total_ns UInt64, "
				    "self_ns UInt64, min_ns Nullable(UInt64), mean_ns Nullable(UInt64), p50_ns Nullable(UInt64), "
				    "p90_ns Nullable(UInt64), p99_ns Nullable(UInt64), max_ns Nullable(UInt64)",
				    "function_id" },
	[ADA_CLICKHOUSE_EVENTS] = { "timestamp_ns UInt64, function_id UInt64, index_seq UInt64, process UInt32, thread UInt32, "
				    "depth UInt32, detail_seq UInt32, "
				    "kind Enum8('call' = 1, 'return' = 2, 'exception' = 3, 'lost' = 4)",
				    "(function_id, timestamp_ns)" },
	[ADA_CLICKHOUSE_SESSIONS] = { "name String, started String, start_ns UInt64, end_ns UInt64, program String, command String, "
				      "ada_version String, events UInt64, lost UInt64, detail_coverage Float64, complete UInt8",
				      "start_ns" },
};

int ada_clickhouse_insert_statement(char **statement, const struct ada_clickhouse_place *place, const char *prefix,
				    enum ada_clickhouse_table table)
{
	const char *rest = tables[table].columns;
	char columns[512];
	size_t used = 0, parentheses = 0;

	/* The first word of each definition. */
	for (bool name = true; *rest; rest++) {
		parentheses += *rest == '(';
		parentheses -= *rest == ')';
		name &= *rest != ' ';
		if (*rest == ',' && !parentheses) {
			name = true;
			columns[used++] = ',';
			rest++;
		} else if (name) {
			columns[used++] = *rest;
		}
	}
	return asprintf(statement, "INSERT INTO %s.%s_%s (%.*s) FORMAT RowBinary", place->database, prefix,
			ada_clickhouse_table_names[table], (int)used, columns) < 0 ?
		       -ENOMEM :
		       0;
}

/* --- servers ----------------------------------------------------------------------------------------------------------- */

void ada_clickhouse_place_close(struct ada_clickhouse_place *place)
{
	for (size_t i = 0; i < place->server_count; i++)
		ada_clickhouse_close(&place->servers[i]);
	free(place->servers);
	place->servers = NULL;
	place->server_count = 0;
}

static int add_server(struct ada_clickhouse_place *place, const char *url, const struct ada_clickhouse_login *login,
		      struct ada_error *error)
{
	struct ada_clickhouse_server *more = realloc(place->servers, (place->server_count + 1) * sizeof *more);

	if (!more)
		return ada_error_system(error, ENOMEM, "--url=%s", url);
	place->servers = more;
	return ada_clickhouse_open(&place->servers[place->server_count++], url, login, error);
}

/* How many shards the cluster has, and how many servers. */
static int count_shards(struct ada_clickhouse_place *place, struct ada_clickhouse_server *server, uint64_t *shards, struct ada_error *error)
{
	unsigned long long servers = 0, distinct = 0;
	char *answer = NULL;
	int result = ada_clickhouse_ask(server, &answer, error,
					"SELECT uniqExact(shard_num), count() FROM system.clusters WHERE "
					"cluster = '%s'",
					place->cluster);

	if (result)
		return result;
	if (sscanf(answer, "%llu\t%llu", &distinct, &servers) != 2 || !servers)
		result = ada_error_set(error, ENOENT, "%s: knows no cluster '%s': system.clusters lists those of its configuration",
				       server->url, place->cluster);
	else if (servers != distinct)
		result = ada_error_set(error, ENOTSUP,
				       "%s: cluster '%s' has shards of several servers: ada writes to clusters of one "
				       "server a shard",
				       server->url, place->cluster);
	free(answer);
	*shards = distinct;
	return result;
}

/* Adds the servers that the cluster names beside the given one, at the same port. */
static int add_others(struct ada_clickhouse_place *place, const struct ada_clickhouse_login *login, struct ada_error *error)
{
	char *first = place->servers[0].url, *answer = NULL, *rest;
	char *host = strstr(first, "://") + 3;
	char *port = strrchr(host, ':');
	int result = ada_clickhouse_ask(&place->servers[0], &answer, error,
					"SELECT host_name FROM system.clusters WHERE cluster = "
					"'%s' AND NOT is_local ORDER BY shard_num",
					place->cluster);

	rest = answer;
	for (char *name; !result && (name = strsep(&rest, "\n")) && *name;) {
		char *url = NULL;

		if (asprintf(&url, "%.*s%s%s", (int)(host - first), first, name, port && !strchr(port, ']') ? port : "") < 0)
			result = ada_error_system(error, ENOMEM, "%s", name);
		else
			result = add_server(place, url, login, error);
		free(url);
		/* It may have moved. */
		first = place->servers[0].url;
	}
	free(answer);
	return result;
}

static int compare_shards(const void *left, const void *right)
{
	const struct ada_clickhouse_server *a = left, *b = right;

	return (a->shard > b->shard) - (a->shard < b->shard);
}

/* Which shard each server is, by its own account. */
static int order_by_shard(struct ada_clickhouse_place *place, struct ada_error *error)
{
	for (size_t i = 0; i < place->server_count; i++) {
		struct ada_clickhouse_server *server = &place->servers[i];
		char *answer = NULL;
		int result = ada_clickhouse_ask(server, &answer, error,
						"SELECT shard_num FROM system.clusters WHERE cluster = '%s' AND "
						"is_local",
						place->cluster);

		if (result)
			return result;
		server->shard = strtoull(answer, NULL, 10);
		free(answer);
		if (!server->shard)
			return ada_error_set(error, EINVAL, "%s: is not in the cluster '%s' by its own configuration", server->url,
					     place->cluster);
	}
	qsort(place->servers, place->server_count, sizeof *place->servers, compare_shards);
	for (size_t i = 1; i < place->server_count; i++)
		if (place->servers[i].shard == place->servers[i - 1].shard)
			return ada_error_set(error, EINVAL, "%s and %s are the same shard of cluster '%s': give the --url of each server",
					     place->servers[i - 1].url, place->servers[i].url, place->cluster);
	return 0;
}

static int open_cluster(struct ada_clickhouse_place *place, const struct ada_clickhouse_login *login, struct ada_error *error)
{
	uint64_t shards = 0;
	int result = count_shards(place, &place->servers[0], &shards, error);

	if (!result && place->server_count == 1 && shards > 1)
		result = add_others(place, login, error);
	for (size_t i = 1; i < place->server_count && !result; i++)
		result = ada_clickhouse_greet(&place->servers[i], error);
	if (result)
		return result;
	if (place->server_count != shards)
		return ada_error_set(error, EINVAL, "cluster '%s' has %llu servers, and %zu were given: give one --url, or that of each",
				     place->cluster, (unsigned long long)shards, place->server_count);
	return order_by_shard(place, error);
}

int ada_clickhouse_place_open(struct ada_clickhouse_place *place, const char *const *urls, size_t url_count,
			      const struct ada_clickhouse_login *login, struct ada_error *error)
{
	int result = 0;

	if (!url_count)
		return ada_error_set(error, EINVAL, "--format=clickhouse needs --url=http://HOST:8123");
	if (url_count > 1 && !place->cluster)
		return ada_error_set(error, EINVAL, "several --url need --cluster=NAME");
	for (size_t i = 0; i < url_count && !result; i++)
		result = add_server(place, urls[i], login, error);
	if (!result)
		result = ada_clickhouse_greet(&place->servers[0], error);
	if (!result && place->cluster)
		result = open_cluster(place, login, error);
	return result;
}

/* --- tables ------------------------------------------------------------------------------------------------------------ */

#define KEYS "session_id UInt64, host String"

static int make_table(const struct ada_clickhouse_place *place, struct ada_clickhouse_server *server, enum ada_clickhouse_table table,
		      struct ada_error *error)
{
	const char *name = ada_clickhouse_table_names[table], *database = place->database;
	int result = ada_clickhouse_ask(server, NULL, error,
					"CREATE TABLE IF NOT EXISTS %s.%s_local (" KEYS ", %s) ENGINE = MergeTree "
					"PARTITION BY session_id ORDER BY %s",
					database, name, tables[table].columns, tables[table].order);

	if (!result)
		result = ada_clickhouse_ask(server, NULL, error,
					    "CREATE VIEW IF NOT EXISTS %s.%s%s AS SELECT * FROM %s.%s_local WHERE "
					    "session_id IN (SELECT session_id FROM %s.sessions_local)",
					    database, name, place->cluster ? "_committed" : "", database, name, database);
	if (!result && place->cluster)
		result = ada_clickhouse_ask(server, NULL, error,
					    "CREATE TABLE IF NOT EXISTS %s.%s AS %s.%s_local ENGINE = "
					    "Distributed(%s, %s, %s_committed)",
					    database, name, database, name, place->cluster, database, name);
	return result;
}

/* Tables made without a cluster, or for another one, would not show what is written now. */
static int check_engine(const struct ada_clickhouse_place *place, struct ada_clickhouse_server *server, struct ada_error *error)
{
	char *answer = NULL;
	int result = ada_clickhouse_ask(server, &answer, error,
					"SELECT engine, create_table_query LIKE '%%Distributed(%s, %%' FROM "
					"system.tables WHERE database = '%s' AND name = 'events'",
					place->cluster ? place->cluster : "", place->database);
	bool fits;

	if (result)
		return result;
	fits = place->cluster ? !strncmp(answer, "Distributed\t1", 13) : !strncmp(answer, "View\t", 5);
	free(answer);
	if (fits)
		return 0;
	return place->cluster ? ada_error_set(error, EINVAL,
					      "%s: database '%s' has ada's tables without the cluster '%s': choose another one with "
					      "--database",
					      server->url, place->database, place->cluster) :
				ada_error_set(error, EINVAL,
					      "%s: the tables in database '%s' belong to a cluster: name it with --cluster, or choose "
					      "another database with --database",
					      server->url, place->database);
}

int ada_clickhouse_make_tables(const struct ada_clickhouse_place *place, struct ada_error *error)
{
	const char *database = place->database;
	int result = 0;

	for (size_t i = 0; i < place->server_count && !result; i++) {
		struct ada_clickhouse_server *server = &place->servers[i];

		result = ada_clickhouse_ask(server, NULL, error, "CREATE DATABASE IF NOT EXISTS %s", database);
		/* sessions first: the others' views ask it. */
		for (size_t j = ADA_CLICKHOUSE_TABLES; j > 0 && !result; j--)
			result = make_table(place, server, j - 1, error);
		if (!result)
			result = ada_clickhouse_ask(server, NULL, error,
						    "CREATE VIEW IF NOT EXISTS %s.losses AS SELECT session_id, "
						    "host, process, thread, index_seq, timestamp_ns, function_id AS lost FROM "
						    "%s.events WHERE kind = 'lost'",
						    database, database);
		if (!result)
			result = check_engine(place, server, error);
	}
	return result;
}

int ada_clickhouse_make_staging(const struct ada_clickhouse_place *place, struct ada_clickhouse_server *server, const char *prefix,
				uint64_t session_id, const char *host, struct ada_error *error)
{
	char *quoted = malloc(2 * strlen(host) + 1), *end = quoted;
	int result = 0;

	if (!quoted)
		return ada_error_system(error, ENOMEM, "%s", server->url);
	for (const char *c = host; *c; c++) {
		if (*c == '\'' || *c == '\\')
			*end++ = '\\';
		*end++ = *c;
	}
	*end = 0;
	for (size_t i = 0; i < ADA_CLICKHOUSE_TABLES && !result; i++)
		result = ada_clickhouse_ask(server, NULL, error,
					    "CREATE TABLE IF NOT EXISTS %s.%s_%s (session_id UInt64 DEFAULT %llu, "
					    "host String DEFAULT '%s', %s) ENGINE = MergeTree PARTITION BY session_id ORDER BY %s",
					    place->database, prefix, ada_clickhouse_table_names[i], (unsigned long long)session_id, quoted,
					    tables[i].columns, tables[i].order);
	free(quoted);
	return result;
}
