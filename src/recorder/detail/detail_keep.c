/* Windows in a session that is kept within bounds: which segments they want, and what has gone of them. */
#include "recorder/detail/detail_state.h"

#define AROUND_NS 1000000000ull

static bool is_own(const struct ada_window *window, uint64_t from_ns, uint64_t to_ns)
{
	return to_ns >= window->start_ns && (window->end_ns == ADA_WINDOW_OPEN || from_ns <= window->end_ns);
}

static bool wants(const struct ada_window *window, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t pre_ns = window->marked_ns > window->start_ns ? window->marked_ns - window->start_ns : 0;
	uint64_t post_ns = window->end_ns > window->last_marked_ns ? window->end_ns - window->last_marked_ns : 0;

	if (!window->marked_count || window->aged)
		return false;
	pre_ns = window->bare ? 0 : pre_ns > AROUND_NS ? pre_ns : AROUND_NS;
	post_ns = window->bare ? 0 : post_ns > AROUND_NS ? post_ns : AROUND_NS;
	return to_ns + pre_ns >= window->start_ns && (window->end_ns == ADA_WINDOW_OPEN || from_ns <= window->end_ns + post_ns);
}

bool ada_details_want(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = ada_windows_count(details->windows); i--;)
		if (wants(ada_windows_at(details->windows, i), from_ns, to_ns))
			return true;
	return false;
}

bool ada_details_own(const struct ada_details *details, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = ada_windows_count(details->windows); i--;)
		if (wants(ada_windows_at(details->windows, i), from_ns, to_ns) &&
		    is_own(ada_windows_at(details->windows, i), from_ns, to_ns))
			return true;
	return false;
}

void ada_details_give_up(struct ada_details *details, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < ada_windows_count(details->windows); i++) {
		struct ada_window *window = ada_windows_at(details->windows, i);

		if (wants(window, from_ns, to_ns) && window->bare)
			window->aged = true;
		else if (wants(window, from_ns, to_ns))
			window->bare = true;
	}
}

void ada_details_gone(struct ada_details *details, uint32_t thread, uint32_t number, uint64_t records)
{
	struct ada_window *window = number < ada_windows_count(details->windows) ? ada_windows_at(details->windows, number) : NULL;

	if (!window)
		return;
	records = records < window->event_count ? records : window->event_count;
	window->event_count -= records;
	window->aged_count += records;
	window->aged = true;
	details->persisted -= records;
	if (thread < details->threads.count)
		details->threads.items[thread].persisted -= records;
}

uint64_t ada_details_open_bytes(const struct ada_details *details, uint32_t number, uint32_t *segment)
{
	const struct detail_thread *thread = number < details->threads.count ? &details->threads.items[number] : NULL;

	if (!thread || !thread->writer)
		return 0;
	*segment = thread->segment;
	return thread->file_bytes;
}
