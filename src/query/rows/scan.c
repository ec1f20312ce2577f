/* Reads events for the SQL tables: thread by thread, or merged by time. Between pieces of some milliseconds the scan looks whether it
 * shall end, and gives back the pages behind it. */
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"
#include "query/rows/rows.h"

#define PIECE (1u << 18) /* events: 8 MiB */

bool ada_sql_scan_fits(struct ada_sql_scan *scan)
{
	const struct ada_event *event = scan->event;

	if (event->event_kind >= ADA_EVENT_KINDS || !(scan->query->kinds >> event->event_kind & 1))
		return false;
	return !scan->by_function ||
	       ada_sql_fits_function(scan->query, ada_sql_function_of(scan->sql, scan->thread->process, event->function_id));
}

/* --- thread by thread --------------------------------------------------------------------------------------------------- */

/* The next piece: of this thread, or of one behind it. */
static int next_piece(struct ada_sql_scan *scan)
{
	uint64_t count;

	scan->event = scan->run_end = NULL;
	if (ada_interrupted())
		return SQLITE_INTERRUPT;
	if (scan->thread && scan->position > scan->run_first) {
		atf_thread_release(scan->thread->events, scan->run_first, scan->position);
		scan->sql->visited += scan->position - scan->run_first;
		scan->run_first = scan->position;
	}
	while (!scan->thread || scan->position >= scan->end) {
		if (scan->next == scan->query->threads.count)
			return SQLITE_OK;
		scan->thread = scan->query->threads.items[scan->next++];
		ada_sql_position_range(scan->query, scan->thread, scan->from_ns, scan->to_ns, &scan->position, &scan->end);
	}
	scan->event = atf_thread_run(scan->thread->events, scan->position, &count);
	if (!scan->event)
		return SQLITE_OK;
	if (count > scan->end - scan->position)
		count = scan->end - scan->position;
	scan->run_first = scan->position;
	scan->run_end = scan->event + (count > PIECE ? PIECE : count);
	return SQLITE_OK;
}

static int row_find(struct ada_sql_scan *scan)
{
	for (;;) {
		int result;

		while (scan->event < scan->run_end) {
			if (ada_sql_scan_fits(scan))
				return SQLITE_OK;
			scan->event++;
			scan->position++;
		}
		result = next_piece(scan);
		if (result != SQLITE_OK || !scan->event)
			return result;
	}
}

/* --- merged ------------------------------------------------------------------------------------------------------------- */

static int open_merge(struct ada_sql_scan *scan)
{
	size_t count = scan->query->threads.count;

	scan->sources = calloc(count + 1, sizeof *scan->sources);
	scan->kept = calloc(count + 1, sizeof *scan->kept);
	if (!scan->sources || !scan->kept)
		return SQLITE_NOMEM;
	/* In memory stays a piece of all threads together, or a few pages of each. */
	scan->merge_piece = PIECE / (count + 1) > 4096 ? PIECE / (count + 1) : 4096;
	for (size_t i = 0; i < count; i++) {
		uint64_t end;

		scan->sources[i] = scan->query->threads.items[i]->events;
		ada_sql_position_range(scan->query, scan->query->threads.items[i], scan->from_ns, scan->to_ns, &scan->kept[i], &end);
	}
	return atf_merge_open(&scan->merge, scan->sources, count, scan->from_ns, scan->to_ns) ? SQLITE_NOMEM : SQLITE_OK;
}

static int next_merged(struct ada_sql_scan *scan)
{
	size_t number;

	for (;;) {
		if (!(++scan->turns % (1u << 16)) && ada_interrupted())
			return SQLITE_INTERRUPT;
		if (!atf_merge_next(scan->merge, &number, &scan->position, &scan->event)) {
			scan->event = NULL;
			return SQLITE_OK;
		}
		scan->sql->visited++;
		scan->thread = scan->query->threads.items[number];
		if (scan->position >= scan->kept[number] + scan->merge_piece) {
			atf_thread_release(scan->thread->events, scan->kept[number], scan->position);
			scan->kept[number] = scan->position;
		}
		if (ada_sql_fits_number(scan->query, ADA_SQL_POSITION, (int64_t)scan->position) && ada_sql_scan_fits(scan))
			return SQLITE_OK;
	}
}

/* ------------------------------------------------------------------------------------------------------------------------ */

int ada_sql_scan_open(struct ada_sql_scan *scan, struct ada_sql *sql, struct ada_sql_query *query)
{
	int result;

	*scan = (struct ada_sql_scan){ .sql = sql, .query = query, .by_function = !query->any_function };
	scan->plain = query->kinds == ADA_SQL_KINDS_ALL && !scan->by_function;
	ada_sql_time_range(query, sql, &scan->from_ns, &scan->to_ns);
	if (query->nothing || scan->from_ns >= scan->to_ns)
		return SQLITE_OK;
	if (query->backwards)
		return ada_sql_back_open(scan);
	if (!query->merged)
		return row_find(scan);
	result = open_merge(scan);
	return result == SQLITE_OK ? next_merged(scan) : result;
}

int ada_sql_scan_next(struct ada_sql_scan *scan)
{
	if (scan->back)
		return ada_sql_back_next(scan);
	if (scan->merge)
		return next_merged(scan);
	scan->event++;
	scan->position++;
	if (scan->plain && scan->event < scan->run_end && scan->event->event_kind - ADA_EVENT_CALL < ADA_EVENT_KINDS - ADA_EVENT_CALL)
		return SQLITE_OK;
	return row_find(scan);
}

void ada_sql_scan_close(struct ada_sql_scan *scan)
{
	if (scan->merge)
		atf_merge_close(scan->merge);
	if (scan->back) {
		ada_sql_back_close(scan);
		scan->thread = NULL;
	}
	free(scan->sources);
	free(scan->kept);
	/* A single row needs no more than its page. */
	if (scan->thread && !scan->merge && scan->position > scan->run_first) {
		scan->sql->visited += scan->position - scan->run_first;
		if (scan->position - scan->run_first > PIECE / 4)
			atf_thread_release(scan->thread->events, scan->run_first, scan->position);
	}
	*scan = (struct ada_sql_scan){};
}
