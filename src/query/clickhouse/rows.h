/* A session's rows in ClickHouse's RowBinary, in the columns of query/clickhouse/tables.c. */
#ifndef ADA_QUERY_CLICKHOUSE_ROWS_H
#define ADA_QUERY_CLICKHOUSE_ROWS_H
#include "query/clickhouse/tables.h"
#include "query/export/export.h"
#include "query/tally/stats.h"

#define ADA_CLICKHOUSE_EVENT_BYTES (3 * 8 + 4 * 4 + 1)

/* The sums over the rows of a thread's events: the server must have the same before the rows become visible. */
struct ada_clickhouse_sums {
	uint64_t rows, index_seq, timestamp_ns, function_id;
};

struct ada_clickhouse_content {
	struct ada_export *export;
	const struct ada_session *session;
	const char *host;
	uint32_t *processes;		  /* by thread of the session: its process's position */
	struct ada_clickhouse_sums *sums; /* by thread of the session */
	uint64_t events;		  /* rows of all threads */
	struct ada_stats stats;
};

/* Reads all events once. 0, -EINTR, -ENOMEM or another with the reason. */
int ada_clickhouse_content_open(struct ada_clickhouse_content *content, struct ada_export *export, const char *host,
				struct ada_error *error);
void ada_clickhouse_content_close(struct ada_clickhouse_content *content);

struct ada_rowbinary {
	ADA_ARRAY(char) bytes;
	bool failed; /* no memory */
};
/* All rows of a table but `events`. */
void ada_clickhouse_rows(struct ada_rowbinary *rows, const struct ada_clickhouse_content *content, enum ada_clickhouse_table table);

/* Rows of events, made while they are sent. A piece is the events [from, to) of one thread. */
struct ada_clickhouse_piece {
	uint32_t thread;
	uint64_t from, to;
};
struct ada_clickhouse_events {
	const struct ada_clickhouse_content *content;
	const struct ada_clickhouse_piece *pieces;
	size_t piece_count, piece; /* the one being read */
	uint64_t position;	   /* in its thread */
	size_t filled, used;	   /* of buffer */
	char buffer[ADA_CLICKHOUSE_EVENT_BYTES * 4096];
};
void ada_clickhouse_events_open(struct ada_clickhouse_events *events, const struct ada_clickhouse_content *content,
				const struct ada_clickhouse_piece *pieces, size_t count);
size_t ada_clickhouse_events_read(void *events, char *bytes, size_t size); /* an ada_clickhouse_source */
/* How many rows the events [from, to) of a thread make: those of kinds that the tables know. */
uint64_t ada_clickhouse_count_rows(const struct ada_thread *thread, uint64_t from, uint64_t to);
#endif
