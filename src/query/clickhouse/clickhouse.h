/* Sessions of many hosts in ClickHouse: `ada export --format=clickhouse`.
 *
 * A session is there once or not at all. Its rows go into staging tables of its own on one server (of a cluster: the session's shard),
 * are counted and summed there, and then move into the tables with one ALTER TABLE ... REPLACE PARTITION each, `sessions` last. Where a
 * run is interrupted, at any byte, the next one goes on with what the staging tables hold.
 */
#ifndef ADA_QUERY_CLICKHOUSE_H
#define ADA_QUERY_CLICKHOUSE_H
#include "query/export/export.h"

struct ada_clickhouse_options {
	const char *const *urls; /* http://HOST:8123; of a cluster one, or one of every server */
	size_t url_count;
	const char *database;	   /* NULL: ada */
	const char *cluster;	   /* NULL: none */
	const char *user;	   /* NULL: none */
	const char *password_file; /* its first line; NULL: none */
	const char *host_name;	   /* NULL: as the session has it */
};

/* Fills in export->completeness. *already: the session was there, nothing was done. The selection must be a whole session that is no
 * longer being recorded. */
int ada_export_clickhouse(struct ada_export *export, const struct ada_clickhouse_options *options, bool *already, struct ada_error *error);
#endif
