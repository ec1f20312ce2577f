/* Reads all threads of a process back from a time, see internal.h. Long ago is read after what has just been, of all threads: a question that
 * is answered by then ends the reading, and what the budget doesn't reach is older than all that was read. */
#include <errno.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/interrupt.h"
#include "query/crash/internal.h"

#define EVENTS_READ (1ull << 18)   /* of each thread */
#define EVENTS_BUDGET (1ull << 25) /* of all threads: a second or two */
#define EVENTS_A_TURN (1u << 16)   /* between two questions whether to stop */
#define FIRST_SLICE_NS (1ull << 20)

struct cursor {
	const struct ada_thread *thread;
	uint64_t at, first; /* what is left to be read: [first, at) */
};

struct reading {
	const struct ada_crash_back *back;
	struct cursor *cursors;
	size_t count;		/* of those that have something left */
	struct ada_table sorts; /* by function */
	uint64_t left;		/* of the budget */
};

static int sort_of(struct reading *reading, uint64_t function_id, unsigned int *sort)
{
	const struct ada_crash_back *back = reading->back;
	uint64_t known;
	int status = 0;

	if (!ada_table_get(&reading->sorts, function_id, &known)) {
		known = back->sort(ada_crash_symbol(back->process, function_id));
		status = ada_table_put(&reading->sorts, function_id, known);
	}
	*sort = (unsigned int)known;
	return status;
}

/* Reads a thread's events down to a time. */
static int read_thread(struct reading *reading, struct cursor *cursor, uint64_t from_ns)
{
	const struct ada_crash_back *back = reading->back;
	unsigned int sort;

	while (cursor->at > cursor->first && reading->left) {
		const struct ada_event *event = atf_thread_get(cursor->thread->events, cursor->at - 1);

		if (event->timestamp_ns < from_ns)
			return 0;
		cursor->at--;
		if (!(--reading->left % EVENTS_A_TURN) && ada_interrupted())
			return -EINTR;
		if (event->event_kind != ADA_EVENT_CALL && event->event_kind != ADA_EVENT_RETURN)
			continue;
		if (sort_of(reading, event->function_id, &sort))
			return -ENOMEM;
		if (sort)
			back->see(back->context, cursor->thread, cursor->at, sort);
	}
	return 0;
}

/* Threads of which nothing is left are not asked again. */
static int read_slice(struct reading *reading, uint64_t from_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < reading->count; i++) {
		struct cursor *cursor = &reading->cursors[i];
		int status = read_thread(reading, cursor, from_ns);

		if (status)
			return status;
		if (cursor->at > cursor->first)
			reading->cursors[kept++] = *cursor;
	}
	reading->count = kept;
	return 0;
}

static int open_reading(struct reading *reading)
{
	const struct ada_crash_back *back = reading->back;
	const struct ada_process *process = back->process;

	reading->cursors = calloc(process->thread_count + 1, sizeof *reading->cursors);
	if (!reading->cursors)
		return -ENOMEM;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		uint64_t end = 0;

		if (thread == back->own)
			end = back->own_end;
		else if (thread->events)
			end = atf_thread_lower_bound(thread->events, back->until_ns);
		if (end)
			reading->cursors[reading->count++] = (struct cursor){ thread, end, end > EVENTS_READ ? end - EVENTS_READ : 0 };
	}
	return 0;
}

int ada_crash_read_back(const struct ada_crash_back *back, uint64_t *read_ns)
{
	struct reading reading = { .back = back, .left = back->budget ? back->budget : EVENTS_BUDGET };
	uint64_t slice_ns = FIRST_SLICE_NS;
	int status = open_reading(&reading);

	*read_ns = back->until_ns;
	while (!status && reading.count && !back->is_answered(back->context)) {
		uint64_t from_ns = *read_ns > slice_ns ? *read_ns - slice_ns : 0;

		status = read_slice(&reading, from_ns);
		if (!reading.left)
			break;
		*read_ns = from_ns;
		slice_ns *= 2;
	}
	free(reading.cursors);
	ada_table_free(&reading.sorts);
	return status;
}
