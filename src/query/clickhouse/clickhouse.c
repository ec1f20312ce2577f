/* A session's way into ClickHouse, once or not at all.
 *
 *   1  Ask every server whether the session is in its sessions_local: then it is there, and all is done.
 *   2  Take over what an earlier run left: RENAME its staging table of events to a name of this run. ClickHouse delays that until an
 *      insert under way has ended, and later ones find no such table: so what an interrupted run still had in flight is in there or
 *      never will be. The other staging tables are made anew.
 *   3  Ask which events are there. A block of an insert is there from its first row to some row, so of each piece of a thread a
 *      first part is, and the rest is sent.
 *   4  Compare sums of all rows, by thread, with those of the files. Where they differ, all is sent again, once.
 *   5  REPLACE PARTITION, table by table, `sessions` last: it takes parts over by their names, without copying. To do it twice is to
 *      do it once. Readers see a session from the last one on, since all tables that they ask show those of `sessions` alone.
 *   6  Drop the staging tables.
 *
 * All of a session lies on one server, so nothing needs to happen on two at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/file.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "query/clickhouse/clickhouse.h"
#include "query/clickhouse/rows.h"
#include "query/clickhouse/upload.h"

#define PREFIX_BYTES 64

struct run {
	struct ada_clickhouse_content content;
	struct ada_clickhouse_place place;
	struct ada_clickhouse_login login;
	struct ada_clickhouse_server *server; /* that gets or has the session */
	uint64_t id;
	char prefix[PREFIX_BYTES]; /* of this run's staging tables */
	bool resumed;
};

/* --- what is asked for ------------------------------------------------------------------------------------------------- */

static int check_name(const char *option, const char *name, struct ada_error *error)
{
	if (*name && strlen(name) <= 64 &&
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(name) && (*name < '0' || *name > '9'))
		return 0;
	return ada_error_set(error, EINVAL, "%s=%s: a name has letters, digits and '_', and begins with none of the digits", option, name);
}

static int check_selection(const struct ada_selection *selection, struct ada_error *error)
{
	const struct ada_session *session = selection->session;
	size_t processes = ada_json_length(ada_json_get(session->document, "processes"));

	if (selection->from_ns || selection->to_ns != UINT64_MAX || selection->threads.count != session->threads.count)
		return ada_error_set(error, EINVAL, "ClickHouse takes whole sessions: leave out --window, --from, --to and --thread");
	if (!session->document)
		return ada_error_set(error, EBADMSG,
				     "%s has no readable session.json, by which ClickHouse would know the session again: "
				     "export it to another format",
				     session->path);
	if (!ada_json_bool(session->document, "finalized", false))
		return ada_error_set(error, EBUSY,
				     "%s is still being recorded, or was left by a crash: `ada stop` ends a recording, "
				     "and the session can be exported then",
				     session->path);
	/* Where processes are missing there is a problem that says so. */
	if (processes > session->processes.count && !session->problems.count)
		return ada_error_set(error, EINVAL,
				     "%s is one process of a session, and ClickHouse takes whole ones: name the directory "
				     "above it",
				     session->path);
	return 0;
}

static int read_password(struct run *run, const struct ada_clickhouse_options *options, struct ada_error *error)
{
	char *bytes;
	size_t length;
	int result;

	run->login.user = options->user;
	if (!options->password_file)
		return 0;
	if (!options->user)
		run->login.user = "default";
	result = ada_file_read(options->password_file, &bytes, &length, error);
	if (result)
		return result;
	bytes[strcspn(bytes, "\r\n")] = 0;
	if (strlen(bytes) >= sizeof run->login.password)
		result = ada_error_set(error, EINVAL, "--password-file=%s: its first line is longer than a password",
				       options->password_file);
	else
		strcpy(run->login.password, bytes);
	explicit_bzero(bytes, length);
	free(bytes);
	return result;
}

/* The same for the same recording, wherever its directory lies: what session.json says of who ran what and when. */
static int identify(const struct ada_session *session, uint64_t *id)
{
	static const char *const fields[] = { "name", "started", "startNs", "endNs", "program", "command", "host", "processes" };
	struct ada_rowbinary text = {};
	int result = 0;

	for (size_t i = 0; i < sizeof fields / sizeof *fields && !result; i++) {
		json_object *field = ada_json_get(session->document, fields[i]);
		const char *value = field ? json_object_to_json_string_ext(field, JSON_C_TO_STRING_PLAIN) : "";
		size_t length = strlen(value) + 1;

		result = ada_array_reserve(&text.bytes, length);
		if (result)
			break;
		memcpy(text.bytes.items + text.bytes.count, value, length);
		text.bytes.count += length;
	}
	*id = ada_hash_bytes(text.bytes.items, text.bytes.count);
	ada_array_free(&text.bytes);
	return result;
}

/* --- what is there ----------------------------------------------------------------------------------------------------- */

static int find_committed(struct run *run, bool *found, struct ada_error *error)
{
	*found = false;
	for (size_t i = 0; i < run->place.server_count && !*found; i++) {
		char *answer = NULL;
		int result = ada_clickhouse_ask(&run->place.servers[i], &answer, error,
						"SELECT count() FROM %s.sessions_local WHERE "
						"session_id = %llu",
						run->place.database, (unsigned long long)run->id);

		if (result)
			return result;
		*found = strtoull(answer, NULL, 10);
		free(answer);
	}
	return 0;
}

/* The staging tables of this session on a server, a line each, `name`_events first. */
static int list_staging(struct run *run, struct ada_clickhouse_server *server, char **answer, struct ada_error *error)
{
	return ada_clickhouse_ask(server, answer, error,
				  "SELECT name FROM system.tables WHERE database = '%s' AND name LIKE "
				  "'staging\\\\_%016llx\\\\_%%' ORDER BY name LIKE '%%events' DESC, name",
				  run->place.database, (unsigned long long)run->id);
}

static int drop_staging(struct run *run, struct ada_clickhouse_server *server, const char *keep, struct ada_error *error)
{
	char *answer = NULL, *rest, *name;
	int result = list_staging(run, server, &answer, error);

	rest = answer;
	while (!result && (name = strsep(&rest, "\n")) && *name)
		if (!keep || strcmp(name, keep))
			result = ada_clickhouse_ask(server, NULL, error, "DROP TABLE IF EXISTS %s.%s", run->place.database, name);
	free(answer);
	return result;
}

/* Of the servers, the one on which an earlier run began; with its events under this run's name. */
static int take_over(struct run *run, struct ada_error *error)
{
	char keep[PREFIX_BYTES + 16];
	int result = 0;

	snprintf(keep, sizeof keep, "%s_events", run->prefix);
	for (size_t i = 0; i < run->place.server_count && !result; i++) {
		struct ada_clickhouse_server *server = &run->place.servers[i];
		char *answer = NULL;

		result = list_staging(run, server, &answer, error);
		if (result)
			break;
		answer[strcspn(answer, "\n")] = 0;
		if (!run->resumed && strlen(answer) > 7 && !strcmp(answer + strlen(answer) - 7, "_events")) {
			result = ada_clickhouse_ask(server, NULL, error, "RENAME TABLE %s.%s TO %s.%s", run->place.database, answer,
						    run->place.database, keep);
			run->server = server;
			run->resumed = true;
		}
		free(answer);
		if (!result)
			result = drop_staging(run, server, keep, error);
	}
	return result;
}

/* --- bringing it there ------------------------------------------------------------------------------------------------- */

struct small {
	const struct ada_rowbinary *rows;
	size_t used;
};

static size_t read_small(void *context, char *bytes, size_t size)
{
	struct small *small = context;
	size_t count = small->rows->bytes.count - small->used;

	count = count < size ? count : size;
	memcpy(bytes, small->rows->bytes.items + small->used, count);
	small->used += count;
	return count;
}

static int send_small(struct run *run, enum ada_clickhouse_table table, struct ada_error *error)
{
	struct ada_rowbinary rows = {};
	struct small small = { .rows = &rows };
	char *statement = NULL;
	int result;

	ada_clickhouse_rows(&rows, &run->content, table);
	result = rows.failed ? -ENOMEM : ada_clickhouse_insert_statement(&statement, &run->place, run->prefix, table);
	if (result)
		ada_error_system(error, -result, "%s", run->content.session->path);
	else if (rows.bytes.count)
		result = ada_clickhouse_insert(run->server, statement, rows.bytes.count, read_small, &small, error);
	free(statement);
	ada_array_free(&rows.bytes);
	return result;
}

static int send_all(struct run *run, struct ada_error *error)
{
	bool same = false;
	int result = 0;

	for (int attempt = 0; attempt < 2 && !same && !result; attempt++) {
		struct ada_clickhouse_upload upload = { .content = &run->content,
							.place = &run->place,
							.server = run->server,
							.login = &run->login,
							.prefix = run->prefix,
							.session_id = run->id };

		if (attempt)
			result = ada_clickhouse_ask(run->server, NULL, error, "DROP TABLE IF EXISTS %s.%s_events", run->place.database,
						    run->prefix);
		if (!result)
			result = ada_clickhouse_make_staging(&run->place, run->server, run->prefix, run->id, run->content.host, error);
		if (!result)
			result = ada_clickhouse_upload_events(&upload, error);
		if (!result)
			result = ada_clickhouse_compare_events(&upload, &same, error);
	}
	for (enum ada_clickhouse_table i = 0; i < ADA_CLICKHOUSE_TABLES && !result; i++)
		if (i != ADA_CLICKHOUSE_EVENTS)
			result = send_small(run, i, error);
	if (!result && !same)
		result = ada_error_set(error, EIO,
				       "%s: the events that arrived are not those that were sent: does anything else write to "
				       "%s.%s_events?",
				       run->server->url, run->place.database, run->prefix);
	return result;
}

static int commit(struct run *run, struct ada_error *error)
{
	int result = 0;

	for (size_t i = 0; i < ADA_CLICKHOUSE_TABLES && !result; i++)
		result = ada_clickhouse_ask(run->server, NULL, error, "ALTER TABLE %s.%s_local REPLACE PARTITION %llu FROM %s.%s_%s",
					    run->place.database, ada_clickhouse_table_names[i], (unsigned long long)run->id,
					    run->place.database, run->prefix, ada_clickhouse_table_names[i]);
	return result;
}

static int bring(struct run *run, struct ada_export *export, struct ada_error *error)
{
	uint32_t attempt;
	int result;

	if (getrandom(&attempt, sizeof attempt, 0) != sizeof attempt)
		return ada_error_system(error, errno, "getrandom");
	snprintf(run->prefix, sizeof run->prefix, "staging_%016llx_%08x", (unsigned long long)run->id, attempt);
	result = ada_clickhouse_content_open(&run->content, export, run->content.host, error);
	if (!result)
		result = take_over(run, error);
	if (!run->server)
		run->server = &run->place.servers[run->id % run->place.server_count];
	if (!result)
		result = send_all(run, error);
	if (!result)
		result = commit(run, error);
	return result;
}

int ada_export_clickhouse(struct ada_export *export, const struct ada_clickhouse_options *options, bool *already, struct ada_error *error)
{
	const struct ada_session *session = export->selection->session;
	struct run run = { .place = { .database = options->database ? options->database : "ada", .cluster = options->cluster } };
	int result = check_selection(export->selection, error);

	*already = false;
	run.content.host = options->host_name ? options->host_name : ada_json_text(ada_json_get(session->document, "host"), "name", "");
	if (!result)
		result = check_name("--database", run.place.database, error);
	if (!result && options->cluster)
		result = check_name("--cluster", options->cluster, error);
	if (!result)
		result = read_password(&run, options, error);
	if (!result && identify(session, &run.id))
		result = ada_error_system(error, ENOMEM, "%s", session->path);
	if (!result)
		result = ada_clickhouse_place_open(&run.place, options->urls, options->url_count, &run.login, error);
	if (!result)
		result = ada_clickhouse_make_tables(&run.place, error);
	if (!result)
		result = find_committed(&run, already, error);
	if (!result && *already)
		export->completeness = ada_session_completeness(session);
	else if (!result)
		result = bring(&run, export, error);
	/* The session is there: what can't be dropped now, the next run drops. */
	for (size_t i = 0; i < run.place.server_count && !result; i++)
		drop_staging(&run, &run.place.servers[i], NULL, NULL);
	ada_clickhouse_content_close(&run.content);
	ada_clickhouse_place_close(&run.place);
	explicit_bzero(&run.login, sizeof run.login);
	return result;
}
