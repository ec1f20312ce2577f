/* Events are cut into pieces of a thread at multiples of PIECE; pieces are sent in inserts of up to PIECE rows, each a block, so a
 * part of the table. What an earlier run sent of a piece is a first part of it. */
#include "query/clickhouse/upload.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"

#define PIECE 1000000ull
#define CONNECTIONS 2 /* one parses while the other one sorts and compresses */

struct sending {
	const struct ada_clickhouse_upload *upload;
	ADA_ARRAY(struct ada_clickhouse_piece) pieces;
	char *statement;
	pthread_mutex_t lock; /* of what follows */
	size_t next;	      /* piece to be sent */
	uint64_t done;	      /* events */
	int result;
	struct ada_error *error;
};

/* --- what is to be sent ------------------------------------------------------------------------------------------------ */

static uint64_t piece_key(uint32_t thread, uint64_t piece)
{
	return (uint64_t)thread << 32 | (uint32_t)piece;
}

/* For each piece that is there in part: where its rest begins, by piece_key. */
static int read_rests(const struct ada_clickhouse_upload *upload, char *answer, struct ada_table *rests, bool *sound)
{
	const struct ada_clickhouse_content *content = upload->content;
	size_t thread = 0;
	char *line;

	*sound = true;
	while (*sound && (line = strsep(&answer, "\n")) && *line) {
		unsigned long long process, number, piece, rows, last;
		const struct ada_thread *of;

		*sound = sscanf(line, "%llu\t%llu\t%llu\t%llu\t%llu", &process, &number, &piece, &rows, &last) == 5;
		/* Both lie in the order of processes and threads. */
		while (*sound && thread < content->session->threads.count &&
		       (content->processes[thread] != process || content->session->threads.items[thread].number != number))
			thread++;
		*sound = *sound && thread < content->session->threads.count && piece <= UINT32_MAX && last / PIECE == piece;
		if (!*sound)
			break;
		of = &content->session->threads.items[thread];
		*sound = of->events && last < of->count && ada_clickhouse_count_rows(of, piece * PIECE, last + 1) == rows;
		if (*sound && ada_table_put(rests, piece_key((uint32_t)thread, piece), last + 1))
			return -ENOMEM;
	}
	return 0;
}

static int add_pieces(struct sending *sending, const struct ada_table *rests)
{
	const struct ada_session *session = sending->upload->content->session;
	int result = 0;

	for (uint32_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		for (uint64_t from = 0; thread->events && from < thread->count && !result; from += PIECE) {
			uint64_t to = thread->count - from < PIECE ? thread->count : from + PIECE, begin = from;

			ada_table_get(rests, piece_key(i, from / PIECE), &begin);
			sending->done += begin - from;
			if (begin < to)
				result = ada_array_push(&sending->pieces, (struct ada_clickhouse_piece){ i, begin, to });
		}
	}
	return result;
}

static int plan(struct sending *sending, struct ada_error *error)
{
	const struct ada_clickhouse_upload *upload = sending->upload;
	struct ada_table rests = {};
	char *answer = NULL;
	bool sound = false;
	int result = ada_clickhouse_ask(
		upload->server, &answer, error,
		"SELECT process, thread, intDiv(index_seq, %llu) AS piece, count(), "
		"max(index_seq) FROM %s.%s_events WHERE session_id = %llu GROUP BY process, thread, piece ORDER BY process, "
		"thread, piece",
		PIECE, upload->place->database, upload->prefix, (unsigned long long)upload->session_id);

	if (result)
		return result;
	result = read_rests(upload, answer, &rests, &sound);
	free(answer);
	/* No run leaves rows like that: we send nothing, ada_clickhouse_compare_events finds the difference, and all is sent anew. */
	if (!result && sound && add_pieces(sending, &rests))
		result = ada_error_system(error, ENOMEM, "%s", upload->content->session->path);
	ada_table_free(&rests);
	return result;
}

/* --- sending ----------------------------------------------------------------------------------------------------------- */

/* Takes the next pieces for one insert; returns how many, 0: none is left, or something failed. */
static size_t rows_take(struct sending *sending, size_t *first)
{
	uint64_t events = 0;
	size_t count = 0;

	pthread_mutex_lock(&sending->lock);
	*first = sending->next;
	while (!sending->result && sending->next < sending->pieces.count) {
		const struct ada_clickhouse_piece *piece = &sending->pieces.items[sending->next];

		if (count && events + piece->to - piece->from > PIECE)
			break;
		events += piece->to - piece->from;
		sending->next++;
		count++;
	}
	pthread_mutex_unlock(&sending->lock);
	return count;
}

static void sending_finish(struct sending *sending, size_t first, size_t count, int result, const struct ada_error *error)
{
	struct ada_progress *progress = sending->upload->content->export->progress;

	pthread_mutex_lock(&sending->lock);
	for (size_t i = first; i < first + count && !result; i++)
		sending->done += sending->pieces.items[i].to - sending->pieces.items[i].from;
	if (progress)
		ada_progress_at(progress, sending->done);
	if (result && !sending->result) {
		sending->result = result;
		ada_error_set(sending->error, -result, "%s", error->text);
	}
	pthread_mutex_unlock(&sending->lock);
}

static int send_pieces(struct sending *sending, struct ada_clickhouse_server *server, struct ada_clickhouse_events *events, size_t first,
		       size_t count, struct ada_error *error)
{
	const struct ada_clickhouse_content *content = sending->upload->content;
	const struct ada_clickhouse_piece *pieces = sending->pieces.items + first;
	uint64_t rows = 0;

	for (size_t i = 0; i < count; i++)
		rows += ada_clickhouse_count_rows(&content->session->threads.items[pieces[i].thread], pieces[i].from, pieces[i].to);
	ada_clickhouse_events_open(events, content, pieces, count);
	return !rows ? 0 :
		       ada_clickhouse_insert(server, sending->statement, rows * ADA_CLICKHOUSE_EVENT_BYTES, ada_clickhouse_events_read,
					     events, error);
}

struct worker {
	struct sending *sending;
	struct ada_clickhouse_server server;
	struct ada_clickhouse_events *events;
	pthread_t thread;
	bool running;
};

static void *work(void *context)
{
	struct worker *worker = context;
	size_t first, count;

	while ((count = rows_take(worker->sending, &first))) {
		struct ada_error error = {};
		int result = send_pieces(worker->sending, &worker->server, worker->events, first, count, &error);

		sending_finish(worker->sending, first, count, result, &error);
	}
	return NULL;
}

static int run_workers(struct sending *sending, struct ada_error *error)
{
	const struct ada_clickhouse_upload *upload = sending->upload;
	struct worker workers[CONNECTIONS] = {};
	int result = 0;

	for (size_t i = 0; i < CONNECTIONS && !result; i++) {
		workers[i].sending = sending;
		workers[i].events = malloc(sizeof *workers[i].events);
		result = ada_clickhouse_open(&workers[i].server, upload->server->url, upload->login, error);
		if (!result && !workers[i].events)
			result = ada_error_system(error, ENOMEM, "%s", upload->server->url);
	}
	/* This thread is the last of them. */
	for (size_t i = 0; i + 1 < CONNECTIONS && !result; i++)
		workers[i].running = !pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	if (!result)
		work(&workers[CONNECTIONS - 1]);
	for (size_t i = 0; i < CONNECTIONS; i++) {
		if (workers[i].running)
			pthread_join(workers[i].thread, NULL);
		ada_clickhouse_close(&workers[i].server);
		free(workers[i].events);
	}
	return result ? result : sending->result;
}

int ada_clickhouse_upload_events(const struct ada_clickhouse_upload *upload, struct ada_error *error)
{
	struct sending sending = { .upload = upload, .error = error, .lock = PTHREAD_MUTEX_INITIALIZER };
	int result = plan(&sending, error);

	if (!result && ada_clickhouse_insert_statement(&sending.statement, upload->place, upload->prefix, ADA_CLICKHOUSE_EVENTS))
		result = ada_error_system(error, ENOMEM, "%s", upload->server->url);
	if (!result)
		result = run_workers(&sending, error);
	free(sending.statement);
	ada_array_free(&sending.pieces);
	return result;
}

/* --- what arrived ------------------------------------------------------------------------------------------------------ */

int ada_clickhouse_compare_events(const struct ada_clickhouse_upload *upload, bool *same, struct ada_error *error)
{
	const struct ada_clickhouse_content *content = upload->content;
	char *answer = NULL, *rest;
	int result = ada_clickhouse_ask(
		upload->server, &answer, error,
		"SELECT process, thread, count(), sum(index_seq), sum(timestamp_ns), "
		"sum(function_id) FROM %s.%s_events WHERE session_id = %llu GROUP BY process, thread ORDER BY process, thread",
		upload->place->database, upload->prefix, (unsigned long long)upload->session_id);

	if (result)
		return result;
	rest = answer;
	*same = true;
	for (size_t i = 0; i < content->session->threads.count && *same; i++) {
		const struct ada_clickhouse_sums *sums = &content->sums[i];
		char expected[160], *line;

		if (!sums->rows)
			continue;
		snprintf(expected, sizeof expected, "%u\t%u\t%llu\t%llu\t%llu\t%llu", content->processes[i],
			 content->session->threads.items[i].number, (unsigned long long)sums->rows, (unsigned long long)sums->index_seq,
			 (unsigned long long)sums->timestamp_ns, (unsigned long long)sums->function_id);
		line = strsep(&rest, "\n");
		*same = line && !strcmp(line, expected);
	}
	*same = *same && (!rest || !*rest);
	free(answer);
	return 0;
}
