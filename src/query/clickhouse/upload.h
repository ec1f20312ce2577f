/* Sends the events of a session that aren't in its staging table yet, over several connections at once. */
#ifndef ADA_QUERY_CLICKHOUSE_UPLOAD_H
#define ADA_QUERY_CLICKHOUSE_UPLOAD_H
#include "query/clickhouse/rows.h"

struct ada_clickhouse_upload {
	const struct ada_clickhouse_content *content;
	const struct ada_clickhouse_place *place;
	struct ada_clickhouse_server *server;
	const struct ada_clickhouse_login *login;
	const char *prefix; /* of the staging tables */
	uint64_t session_id;
};

int ada_clickhouse_upload_events(const struct ada_clickhouse_upload *upload, struct ada_error *error);
/* Whether the table holds exactly the events of the files: how many, and the sums of their columns, by thread. */
int ada_clickhouse_compare_events(const struct ada_clickhouse_upload *upload, bool *same, struct ada_error *error);
#endif
