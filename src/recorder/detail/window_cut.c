/* What ends windows, and what cuts them (window.h). */
#include <stdlib.h>
#include "recorder/detail/window_list.h"

#define HOLES_KEPT 1024 /* beyond, the two oldest become one: less is kept, never a hole within a window */

size_t ada_windows_hole_at(const struct ada_windows *windows, uint64_t ns)
{
	const struct ada_hole *holes = windows->holes.items;
	size_t count = windows->holes.count;

	return count && holes[count - 1].to < ns ? count : ada_array_below(&windows->holes, to, ns);
}

/* Remembers a hole, merged with those that it overlaps or touches; *told gets the bounds of the whole. False: no memory. */
static bool remember(struct ada_windows *windows, struct ada_hole *told)
{
	struct ada_hole hole = *told;
	size_t i = ada_windows_hole_at(windows, hole.from ? hole.from - 1 : 0), end = i;

	for (; end < windows->holes.count && (hole.to == UINT64_MAX || windows->holes.items[end].from <= hole.to + 1); end++) {
		const struct ada_hole *old = &windows->holes.items[end];

		hole = (struct ada_hole){ old->from < hole.from ? old->from : hole.from, old->to > hole.to ? old->to : hole.to,
					  old->why | hole.why };
	}
	if (i == end) {
		if (ada_array_push(&windows->holes, hole))
			return false;
		end = windows->holes.count - 1;
		memmove(&windows->holes.items[i + 1], &windows->holes.items[i], (end - i) * sizeof hole);
	} else {
		memmove(&windows->holes.items[i + 1], &windows->holes.items[end], (windows->holes.count - end) * sizeof hole);
		windows->holes.count -= end - i - 1;
	}
	windows->holes.items[i] = hole;
	told->from = hole.from;
	told->to = hole.to;
	return true;
}

static void forget(struct ada_windows *windows)
{
	struct ada_hole *holes;

	if (windows->holes.count <= HOLES_KEPT)
		return;
	holes = windows->holes.items;
	holes[1].from = holes[0].from;
	holes[1].why |= holes[0].why;
	memmove(holes, holes + 1, --windows->holes.count * sizeof *holes);
}

/* Moves the marks behind the hole to the right part, with those that were only counted. */
static void share_marks(struct ada_windows *windows, struct ada_window *left, struct ada_window *right, uint64_t to)
{
	uint64_t kept = 0, mine = 0;
	size_t stay = 0;
	uint64_t theirs, untold;

	for (size_t i = 0; i < left->marks.count; i++)
		kept += 1 + left->marks.items[i].more;
	while (stay < left->marks.count && left->marks.items[stay].ns <= to)
		mine += 1 + left->marks.items[stay++].more;
	theirs = kept - mine;
	untold = left->marked_count - kept;
	if (theirs)
		theirs += untold;
	else
		mine += untold;
	right->marked_count = theirs;
	left->marked_count = mine;
	if (!theirs || !mine) { /* all marks are on one side: the other part keeps the times, to tell what it belonged to */
		if (!mine && theirs) {
			right->marks.items = left->marks.items;
			right->marks.count = left->marks.count;
			right->marks.capacity = left->marks.capacity;
			left->marks.items = NULL;
			left->marks.count = left->marks.capacity = 0;
		}
		return;
	}
	right->marked_ns = left->marks.items[stay].ns;
	right->version = left->marks.items[stay].version;
	left->last_marked_ns = left->marks.items[stay - 1].ns;
	for (size_t i = stay; i < left->marks.count; i++)
		windows->marks_kept -= ada_array_push(&right->marks, left->marks.items[i]) != 0;
	left->marks.count = stay;
}

/* Makes two of a window that goes on behind the hole. False: no memory; then the part behind the hole is given up. */
static bool split(struct ada_windows *windows, size_t i, const struct ada_hole *hole)
{
	struct ada_window_entry *left = windows->list.items[i], *right = calloc(1, sizeof *right);
	bool held;

	if (!right)
		return false;
	*right = *left;
	right->tickets.items = NULL;
	right->tickets.count = right->tickets.capacity = 0;
	right->window.marks.items = NULL;
	right->window.marks.count = right->window.marks.capacity = 0;
	right->window.event_count = 0;
	right->window.unwritten = 0;
	right->window.written_ns = 0;
	right->window.frozen = false;
	right->window.start_ns = hole->to + 1;
	right->window.shorts = (left->window.shorts & ~(uint32_t)(ADA_SHORT_STARTUP | ADA_SHORT_FROZEN)) | hole->why;
	held = !ada_array_reserve(&right->tickets, left->tickets.count + 1);
	for (size_t n = 0; held && n < left->tickets.count; n++)
		right->tickets.items[right->tickets.count++] = left->tickets.items[n];
	if (!held || ada_windows_insert(windows, i + 1, right)) {
		ada_array_free(&right->tickets);
		free(right);
		return false;
	}
	share_marks(windows, &left->window, &right->window, hole->to);
	ada_window_entry_bound(right);
	return true;
}

/* Takes the hole out of window i. False: the window stays as it is. */
static bool cut(struct ada_windows *windows, size_t i, const struct ada_hole *hole)
{
	struct ada_window_entry *entry = windows->list.items[i];
	struct ada_window *window = &entry->window;
	bool goes_on;

	if (hole->from <= window->start_ns && window->frozen)
		return false; /* too late to say so: the window is written */
	window->shorts |= hole->why;
	if (hole->from <= window->start_ns) { /* where the hole takes the whole window: empty, right behind the hole */
		window->start_ns = hole->to < UINT64_MAX ? hole->to + 1 : UINT64_MAX;
		entry->cap = entry->cap < window->start_ns ? windows->ended_ns : entry->cap;
		ada_window_entry_bound(entry);
		return true;
	}
	goes_on = window->end_ns > hole->to && split(windows, i, hole);
	/* History ends there: an older part without a mark of its own is no part of a pre-roll any more. */
	if (goes_on && hole->why & ADA_SHORT_OVERRUN && !(hole->why & ADA_SHORT_STARVED) && !window->marked_count && !window->frozen) {
		ada_windows_remove(windows, i);
		return true;
	}
	entry->cap = hole->from - 1 < entry->cap ? hole->from - 1 : entry->cap;
	ada_window_entry_bound(entry);
	return true;
}

bool ada_windows_hole(struct ada_windows *windows, uint64_t from_ns, uint64_t to_ns, enum ada_window_short why)
{
	struct ada_hole hole = { from_ns, to_ns, why };
	bool any = false;
	size_t begin;

	if (from_ns > to_ns || !remember(windows, &hole))
		return false;
	begin = ada_windows_find(windows, hole.from);
	for (size_t i = begin; i < windows->list.count && windows->list.items[i]->window.start_ns <= hole.to; i++)
		if (!windows->list.items[i]->window.settled && windows->list.items[i]->window.end_ns >= hole.from)
			any |= cut(windows, i, &hole);
	/* Windows that became empty lie at one place now, perhaps with one that begins there. */
	for (size_t i = begin; i + 1 < windows->list.count && windows->list.items[i]->window.start_ns - 1 <= hole.to;) {
		size_t count = windows->list.count;

		ada_windows_join(windows, i + 1);
		i += count == windows->list.count;
	}
	forget(windows);
	return any;
}

static bool drop_ticket(struct ada_window_entry *entry, uint64_t ticket)
{
	size_t left = 0;
	bool had;

	for (size_t i = 0; i < entry->tickets.count; i++)
		if (entry->tickets.items[i] != ticket)
			entry->tickets.items[left++] = entry->tickets.items[i];
	had = left < entry->tickets.count;
	entry->tickets.count = left;
	return had;
}

void ada_windows_resolve(struct ada_windows *windows, uint64_t ticket, uint64_t end_ns, uint32_t shorts)
{
	for (size_t i = windows->list.count; i-- > windows->settled;) {
		struct ada_window_entry *entry = windows->list.items[i];

		if (entry->window.settled || !drop_ticket(entry, ticket))
			continue;
		entry->known_end = end_ns > entry->known_end ? end_ns : entry->known_end;
		/* A hole cut off the window's beginning, and now it shows that no mark asked for anything behind the hole. */
		if (!entry->tickets.count && !entry->keeps && !entry->window.marked_count && !entry->window.frozen &&
		    entry->known_end < entry->window.start_ns) {
			ada_windows_remove(windows, i);
			continue;
		}
		if (end_ns >= entry->known_end && end_ns <= entry->cap)
			entry->window.shorts |= shorts;
		ada_window_entry_bound(entry);
	}
}

bool ada_windows_tick(struct ada_windows *windows, uint64_t now_ns)
{
	bool closed = false;

	while (windows->settled < windows->list.count && windows->list.items[windows->settled]->window.settled)
		windows->settled++;
	for (size_t i = windows->settled; i < windows->list.count; i++) {
		struct ada_window *window = &windows->list.items[i]->window;

		if (window->end_ns >= now_ns)
			break;
		closed |= !window->closed;
		window->closed = true;
	}
	return closed;
}

void ada_windows_end(struct ada_windows *windows, uint64_t end_ns, enum ada_window_short why)
{
	windows->ended_ns = end_ns;
	windows->ended_why = why;
	for (size_t i = windows->settled; i < windows->list.count; i++) {
		struct ada_window_entry *entry = windows->list.items[i];
		struct ada_window *window = &entry->window;

		if (window->settled)
			continue;
		if (window->end_ns > end_ns) {
			uint64_t asked;

			if (entry->tickets.count || entry->known_end > end_ns)
				window->shorts |= why;
			entry->tickets.count = 0;
			entry->keeps = false;
			entry->cap = end_ns;
			asked = window->asked_end_ns;
			ada_window_entry_bound(entry);
			window->end_ns = end_ns > window->start_ns ? end_ns : window->start_ns;
			window->asked_end_ns = asked;
		}
		window->closed = true;
	}
}
