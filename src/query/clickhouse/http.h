/* Talks to one ClickHouse server over HTTP: statements with their answers, and inserts whose rows are made while they are sent. A failure
 * is one line that names the server and what it said. Each thread opens a server of its own. */
#ifndef ADA_QUERY_CLICKHOUSE_HTTP_H
#define ADA_QUERY_CLICKHOUSE_HTTP_H
#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "base/error.h"

struct ada_clickhouse_login {
	const char *user; /* NULL: none */
	char password[256];
};

struct ada_clickhouse_server {
	char *url; /* without a slash at its end */
	const struct ada_clickhouse_login *login;
	void *curl;
	uint64_t shard; /* of a cluster, from 1 */
};

/* Connects to nobody yet: prepares only what this process needs. */
int ada_clickhouse_open(struct ada_clickhouse_server *server, const char *url, const struct ada_clickhouse_login *login,
			struct ada_error *error);
void ada_clickhouse_close(struct ada_clickhouse_server *server);
/* Whether a ClickHouse server answers there, within ten seconds. */
int ada_clickhouse_greet(struct ada_clickhouse_server *server, struct ada_error *error);
/* Runs one statement. The caller frees *answer; NULL: not wanted. -EINTR after Ctrl-C; -EREMOTEIO: the server said no. */
int ada_clickhouse_ask(struct ada_clickhouse_server *server, char **answer, struct ada_error *error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Gives the next bytes to send, at most `size`; returns how many, 0 at the end. */
typedef size_t ada_clickhouse_source(void *context, char *bytes, size_t size);
/* `statement` is INSERT INTO ... FORMAT RowBinary; the source gives `length` bytes. */
int ada_clickhouse_insert(struct ada_clickhouse_server *server, const char *statement, uint64_t length, ada_clickhouse_source *source,
			  void *context, struct ada_error *error);
#endif
