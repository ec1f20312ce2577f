/* The books of a thread: how many calls and ends it made, and where they are. One pass over its files. */
#include "atf/session/thread.h"

#include <string.h>

/* Events after which the pages read so far may go. */
#define STRETCH (1u << 20)

static void count_event(struct atf_books *books, const struct ada_event *event)
{
	switch (event->event_kind) {
	case 0: books->torn++; break;
	case ADA_EVENT_CALL: books->calls++; break;
	case ADA_EVENT_RETURN:
	case ADA_EVENT_EXCEPTION: books->ends++; break;
	case ADA_EVENT_LOST:
		books->gaps++;
		books->told += event->function_id;
		books->others++;
		break;
	default: books->others++;
	}
}

static void count_events(struct atf_books *books, const struct atf_thread *thread)
{
	uint64_t position = atf_thread_live(thread), run;
	const struct ada_event *events;

	while ((events = atf_thread_run(thread, position, &run))) {
		run = run < STRETCH ? run : STRETCH;
		for (uint64_t i = 0; i < run; i++)
			count_event(books, &events[i]);
		atf_thread_release(thread, position, position + run);
		position += run;
	}
	books->event_count = position - atf_thread_live(thread);
}

void atf_thread_books(const struct atf_thread *thread, uint64_t aged, uint64_t lost, struct atf_books *books)
{
	memset(books, 0, sizeof *books);
	if (thread)
		count_events(books, thread);
	books->aged = aged;
	books->lost = lost == ATF_BOOKS_UNKNOWN ? books->told : lost;
	books->captured = books->event_count - books->torn - books->others + books->aged + books->lost;
}
