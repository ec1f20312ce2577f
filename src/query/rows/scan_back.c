/* Reads events for the SQL tables from the last to the first: a question for the latest of something needn't look at all before.
 *
 * Each thread has a place, behind the event that comes next. Thread by thread, the last thread is read to its beginning, then the one
 * before. Merged, the threads are a heap with the latest event on top (of several the last thread's), so that the rows come in exactly
 * the reverse order. */
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/rows/rows.h"

#define PIECE (1u << 18) /* events that stay in memory: 8 MiB */
#define LOOK_TURNS (1u << 16)

struct place {
	uint64_t first, at; /* positions: events [first, at) are to come */
	uint64_t kept;	    /* from here on pages are given back */
	uint64_t ns;	    /* of the event before `at` */
	size_t number;	    /* in the query's threads */
};

struct ada_sql_back {
	struct place *heap; /* those with events to come; thread by thread the last one is next */
	size_t count;
	uint64_t piece;
};

static const struct ada_event *event_before(const struct ada_sql_scan *scan, const struct place *place)
{
	return atf_thread_get(scan->query->threads.items[place->number]->events, place->at - 1);
}

static bool comes_first(const struct place *a, const struct place *b)
{
	return a->ns != b->ns ? a->ns > b->ns : a->number > b->number;
}

static void sink(struct ada_sql_back *back, size_t number)
{
	struct place place = back->heap[number];
	size_t child;

	while ((child = 2 * number + 1) < back->count) {
		if (child + 1 < back->count && comes_first(&back->heap[child + 1], &back->heap[child]))
			child++;
		if (!comes_first(&back->heap[child], &place))
			break;
		back->heap[number] = back->heap[child];
		number = child;
	}
	back->heap[number] = place;
}

static void give_back(const struct ada_sql_scan *scan, struct place *place)
{
	if (place->kept - place->at < scan->back->piece)
		return;
	atf_thread_release(scan->query->threads.items[place->number]->events, place->at, place->kept);
	place->kept = place->at;
}

int ada_sql_back_open(struct ada_sql_scan *scan)
{
	size_t count = scan->query->threads.count;
	struct ada_sql_back *back = calloc(1, sizeof *back);

	scan->back = back;
	if (back)
		back->heap = calloc(count + 1, sizeof *back->heap);
	if (!back || !back->heap)
		return SQLITE_NOMEM;
	back->piece = PIECE / (count + 1) > 4096 ? PIECE / (count + 1) : 4096;
	for (size_t i = 0; i < count; i++) {
		struct place *place = &back->heap[back->count];

		ada_sql_position_range(scan->query, scan->query->threads.items[i], scan->from_ns, scan->to_ns, &place->first, &place->at);
		place->kept = place->at;
		place->number = i;
		if (place->at == place->first)
			continue;
		place->ns = scan->query->merged ? event_before(scan, place)->timestamp_ns : 0;
		back->count++;
	}
	for (size_t i = back->count / 2; i-- > 0 && scan->query->merged;)
		sink(back, i);
	return ada_sql_back_next(scan);
}

/* The next event of all, wanted or not; false: there is none. */
static bool step(struct ada_sql_scan *scan)
{
	struct ada_sql_back *back = scan->back;
	bool merged = scan->query->merged;
	struct place *place = &back->heap[merged || !back->count ? 0 : back->count - 1];

	scan->event = NULL;
	if (!back->count)
		return false;
	scan->event = event_before(scan, place);
	scan->position = --place->at;
	scan->thread = scan->query->threads.items[place->number];
	scan->sql->visited++;
	if (place->at == place->first) {
		atf_thread_release(scan->thread->events, place->at + 1, place->kept);
		*place = back->heap[--back->count];
	} else if (merged) {
		place->ns = event_before(scan, place)->timestamp_ns;
	}
	if (merged && back->count)
		sink(back, 0);
	return true;
}

int ada_sql_back_next(struct ada_sql_scan *scan)
{
	struct ada_sql_back *back = scan->back;

	do {
		if (!(++scan->turns % LOOK_TURNS)) {
			if (ada_interrupted())
				return SQLITE_INTERRUPT;
			for (size_t i = 0; i < back->count; i++)
				give_back(scan, &back->heap[i]);
		}
	} while (step(scan) && !ada_sql_scan_fits(scan));
	return SQLITE_OK;
}

void ada_sql_back_close(struct ada_sql_scan *scan)
{
	for (size_t i = 0; i < scan->back->count && scan->back->heap; i++)
		give_back(scan, &scan->back->heap[i]);
	free(scan->back->heap);
	free(scan->back);
	scan->back = NULL;
}
