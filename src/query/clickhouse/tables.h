/* ada's tables in ClickHouse, and the servers that have them.
 *
 *   X_local       MergeTree on each server: rows of whole sessions, a partition each, moved in at once
 *   X_committed   (cluster only) the sessions of one server that are whole: those in its sessions_local
 *   X             what people ask: all whole sessions. Without a cluster a view, else Distributed over X_committed
 *   losses        the events that mark a loss, of X = events
 *   staging_ID_ATTEMPT_X   MergeTree with the same columns, whose session_id and host come by default: one session on its way in
 */
#ifndef ADA_QUERY_CLICKHOUSE_TABLES_H
#define ADA_QUERY_CLICKHOUSE_TABLES_H
#include "query/clickhouse/http.h"

/* In the order in which their rows move in: names before events, sessions last. */
enum ada_clickhouse_table {
	ADA_CLICKHOUSE_PROCESSES,
	ADA_CLICKHOUSE_THREADS,
	ADA_CLICKHOUSE_MODULES,
	ADA_CLICKHOUSE_FUNCTIONS,
	ADA_CLICKHOUSE_WINDOWS,
	ADA_CLICKHOUSE_MARKS,
	ADA_CLICKHOUSE_REPORT,
	ADA_CLICKHOUSE_EVENTS,
	ADA_CLICKHOUSE_SESSIONS,
	ADA_CLICKHOUSE_TABLES,
};
extern const char *const ada_clickhouse_table_names[ADA_CLICKHOUSE_TABLES];

struct ada_clickhouse_place {
	const char *database, *cluster;	       /* names that need no quoting; cluster NULL: none */
	struct ada_clickhouse_server *servers; /* of a cluster, in the order of its shards */
	size_t server_count;
};

/* Opens and greets the servers; of a cluster all of them, whether the urls name all or one. */
int ada_clickhouse_place_open(struct ada_clickhouse_place *place, const char *const *urls, size_t url_count,
			      const struct ada_clickhouse_login *login, struct ada_error *error);
void ada_clickhouse_place_close(struct ada_clickhouse_place *place);
/* Makes the tables that aren't there yet on every server, and checks that those there were made for the same cluster. */
int ada_clickhouse_make_tables(const struct ada_clickhouse_place *place, struct ada_error *error);
/* `prefix`: staging_ID_ATTEMPT. */
int ada_clickhouse_make_staging(const struct ada_clickhouse_place *place, struct ada_clickhouse_server *server, const char *prefix,
				uint64_t session_id, const char *host, struct ada_error *error);
/* INSERT INTO the staging table of the columns that come in the rows. */
int ada_clickhouse_insert_statement(char **statement, const struct ada_clickhouse_place *place, const char *prefix,
				    enum ada_clickhouse_table table);
#endif
