/* Rows of events, and their sums. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/clickhouse/rows.h"
#include "query/session/stretch.h"

#define SEEN 16384 /* function keys that were asked for lately */

static bool has_row(const struct ada_event *event)
{
	return event->event_kind >= ADA_EVENT_CALL && event->event_kind <= ADA_EVENT_LOST;
}

/* The session's number of the function; of a loss, how many events it stands for. */
static uint64_t function_of(const struct ada_process *process, const struct ada_event *event)
{
	return event->event_kind == ADA_EVENT_LOST ? event->function_id : ada_process_function_key(process, event->function_id);
}

uint64_t ada_clickhouse_count_rows(const struct ada_thread *thread, uint64_t from, uint64_t to)
{
	struct ada_stretch stretch = { .thread = thread, .next = from, .to = to };
	uint64_t rows = 0;

	while (ada_stretch_next(&stretch))
		for (uint64_t i = 0; i < stretch.count; i++)
			rows += has_row(&stretch.events[i]);
	return rows;
}

/* --- sending ----------------------------------------------------------------------------------------------------------- */

void ada_clickhouse_events_open(struct ada_clickhouse_events *events, const struct ada_clickhouse_content *content,
				const struct ada_clickhouse_piece *pieces, size_t count)
{
	events->content = content;
	events->pieces = pieces;
	events->piece_count = count;
	events->piece = 0;
	events->position = count ? pieces[0].from : 0;
	events->filled = events->used = 0;
}

static char *put_event(char *row, const struct ada_event *event, uint64_t function_id, uint64_t position, uint32_t process, uint32_t thread)
{
	memcpy(row, &event->timestamp_ns, 8);
	memcpy(row + 8, &function_id, 8);
	memcpy(row + 16, &position, 8);
	memcpy(row + 24, &process, 4);
	memcpy(row + 28, &thread, 4);
	memcpy(row + 32, &event->call_depth, 4);
	memcpy(row + 36, &event->detail_seq, 4);
	row[40] = (char)event->event_kind;
	return row + ADA_CLICKHOUSE_EVENT_BYTES;
}

/* Fills in rows of the current piece: as many as lie side by side and have room. */
static void fill_from(struct ada_clickhouse_events *events, const struct ada_clickhouse_piece *piece)
{
	const struct ada_clickhouse_content *content = events->content;
	const struct ada_thread *thread = &content->session->threads.items[piece->thread];
	uint32_t process = content->processes[piece->thread];
	uint64_t room = (sizeof events->buffer - events->filled) / ADA_CLICKHOUSE_EVENT_BYTES, count;
	const struct ada_event *event = atf_thread_run(thread->events, events->position, &count);
	char *row = events->buffer + events->filled;

	if (!event)
		count = piece->to - events->position; /* can't be: the piece lies within the thread */
	if (count > piece->to - events->position)
		count = piece->to - events->position;
	count = count < room ? count : room;
	for (uint64_t i = 0; event && i < count; i++)
		if (has_row(&event[i]))
			row = put_event(row, &event[i], function_of(thread->process, &event[i]), events->position + i, process,
					thread->number);
	events->filled = (size_t)(row - events->buffer);
	events->position += count;
}

static void buffer_fill(struct ada_clickhouse_events *events)
{
	events->filled = events->used = 0;
	while (events->piece < events->piece_count && sizeof events->buffer - events->filled >= ADA_CLICKHOUSE_EVENT_BYTES) {
		const struct ada_clickhouse_piece *piece = &events->pieces[events->piece];

		if (events->position < piece->to) {
			fill_from(events, piece);
			continue;
		}
		atf_thread_release(events->content->session->threads.items[piece->thread].events, piece->from, piece->to);
		if (++events->piece < events->piece_count)
			events->position = piece[1].from;
	}
}

size_t ada_clickhouse_events_read(void *context, char *bytes, size_t size)
{
	struct ada_clickhouse_events *events = context;
	size_t given = 0;

	while (given < size) {
		size_t count = events->filled - events->used;

		if (!count) {
			buffer_fill(events);
			if (!events->filled)
				break;
			continue;
		}
		count = count < size - given ? count : size - given;
		memcpy(bytes + given, events->buffer + events->used, count);
		events->used += count;
		given += count;
	}
	return given;
}

/* --- what there is ----------------------------------------------------------------------------------------------------- */

static int sum_events(struct ada_clickhouse_content *content, const struct ada_thread *thread, struct ada_clickhouse_sums *sums,
		      uint64_t position, const struct ada_event *event, uint64_t count, uint64_t *seen)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t function = function_of(thread->process, &event[i]);
		uint64_t *place = &seen[(function ^ function >> 32) % SEEN];

		if (!has_row(&event[i]))
			continue;
		sums->rows++;
		sums->index_seq += position + i;
		sums->timestamp_ns += event[i].timestamp_ns;
		sums->function_id += function;
		if (event[i].event_kind == ADA_EVENT_LOST || *place == function)
			continue;
		if (!ada_name_list_get(&content->export->names, thread->process, event[i].function_id))
			return -ENOMEM;
		*place = function;
	}
	return 0;
}

static int sum_thread(struct ada_clickhouse_content *content, size_t number, uint64_t *seen)
{
	const struct ada_thread *thread = &content->session->threads.items[number];
	struct ada_stretch stretch = { .thread = thread, .to = thread->count };
	int result = 0;

	while (!result && ada_stretch_next(&stretch)) {
		result = sum_events(content, thread, &content->sums[number], stretch.position, stretch.events, stretch.count, seen);
		if (ada_interrupted())
			result = -EINTR;
	}
	content->events += content->sums[number].rows;
	return result;
}

int ada_clickhouse_content_open(struct ada_clickhouse_content *content, struct ada_export *export, const char *host,
				struct ada_error *error)
{
	const struct ada_session *session = export->selection->session;
	uint64_t *seen = malloc(SEEN * sizeof *seen);
	int result = 0;

	*content = (struct ada_clickhouse_content){ .export = export, .session = session, .host = host };
	content->processes = calloc(session->threads.count + 1, sizeof *content->processes);
	content->sums = calloc(session->threads.count + 1, sizeof *content->sums);
	if (!seen || !content->processes || !content->sums)
		result = -ENOMEM;
	else
		memset(seen, 0xff, SEEN * sizeof *seen);
	for (size_t i = 0; i < session->processes.count && !result; i++)
		for (size_t j = 0; j < session->processes.items[i]->thread_count; j++)
			content->processes[session->processes.items[i]->first_thread + j] = (uint32_t)i;
	for (size_t i = 0; i < session->threads.count && !result; i++)
		result = sum_thread(content, i, seen);
	free(seen);
	if (result)
		return ada_error_system(error, -result, "%s", session->path);
	result = ada_stats_compute(&content->stats, export->selection, 0, error);
	export->completeness = content->stats.completeness;
	return result;
}

void ada_clickhouse_content_close(struct ada_clickhouse_content *content)
{
	ada_stats_free(&content->stats);
	free(content->processes);
	free(content->sums);
}
