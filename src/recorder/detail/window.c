#include "recorder/detail/window_list.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ada_windows *ada_windows_open(uint64_t start_ns)
{
	struct ada_windows *windows = calloc(1, sizeof *windows);

	if (windows) {
		windows->start_ns = start_ns;
		windows->ended_ns = UINT64_MAX;
	}
	return windows;
}

static void free_entry(struct ada_window_entry *entry)
{
	ada_array_free(&entry->window.marks);
	ada_array_free(&entry->tickets);
	free(entry);
}

void ada_windows_close(struct ada_windows *windows)
{
	if (!windows)
		return;
	for (size_t i = 0; i < windows->list.count; i++)
		free_entry(windows->list.items[i]);
	ada_array_free(&windows->list);
	ada_array_free(&windows->holes);
	free(windows);
}

size_t ada_windows_find(const struct ada_windows *windows, uint64_t ns)
{
	size_t count = windows->list.count;

	/* The answer is nearly always the last window or none. */
	if (count && windows->list.items[count - 1]->window.end_ns < ns)
		return count;
	return ada_first_not(i, 0, count, windows->list.items[i]->window.end_ns < ns);
}

static void number_from(struct ada_windows *windows, size_t i)
{
	for (; i < windows->list.count; i++)
		windows->list.items[i]->window.id = (uint32_t)i;
}

int ada_windows_insert(struct ada_windows *windows, size_t i, struct ada_window_entry *entry)
{
	struct ada_window_entry **place;

	if (ada_array_push(&windows->list, entry))
		return -ENOMEM;
	place = windows->list.items + i;
	memmove(place + 1, place, (windows->list.count - 1 - i) * sizeof *place);
	*place = entry;
	number_from(windows, i);
	return 0;
}

void ada_windows_remove(struct ada_windows *windows, size_t i)
{
	struct ada_window_entry **place = windows->list.items + i;

	windows->marks_kept -= (*place)->window.marks.count;
	free_entry(*place);
	windows->list.count--;
	memmove(place, place + 1, (windows->list.count - i) * sizeof *place);
	number_from(windows, i);
}

void ada_window_entry_bound(struct ada_window_entry *entry)
{
	struct ada_window *window = &entry->window;
	bool open = entry->tickets.count || entry->keeps;
	uint64_t end = open ? ADA_WINDOW_OPEN : entry->known_end > window->written_ns ? entry->known_end : window->written_ns;

	window->asked_end_ns = entry->tickets.count ? ADA_WINDOW_OPEN : entry->known_end;
	end = end < entry->cap ? end : entry->cap;
	window->end_ns = end > window->start_ns ? end : window->start_ns;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Keeps marks sorted by time; a mark without room only counts. */
static void keep_mark(struct ada_windows *windows, struct ada_window *window, const struct ada_window_mark *mark)
{
	size_t room = windows->marks_kept < ADA_WINDOWS_MARKS_KEPT ? ADA_WINDOW_MARKS_KEPT : ADA_WINDOW_MARKS_FEW;
	size_t i;

	if (window->marks.count >= room || ada_array_push(&window->marks, *mark))
		return;
	i = window->marks.count - 1;
	for (; i && window->marks.items[i - 1].ns > mark->ns; i--)
		window->marks.items[i] = window->marks.items[i - 1];
	window->marks.items[i] = *mark;
	windows->marks_kept++;
}

/* Adds to a window what a mark brings apart from bounds. `here`: the mark itself lies in the window, not only a part of what it asked
 * for. */
static void note_mark(struct ada_windows *windows, struct ada_window *window, const struct ada_window_mark *mark, bool here)
{
	bool first;

	window->rules |= mark->rules;
	window->asked_start_ns = least_of(window->asked_start_ns, mark->start_ns);
	window->pre_ns = most(window->pre_ns, mark->pre_ns);
	window->post_ns = most(window->post_ns, mark->post_ns);
	window->pre_events = most(window->pre_events, mark->pre_events);
	window->post_events = most(window->post_events, mark->post_events);
	window->pin_start = least_of(window->pin_start, mark->pin_start);
	here &= !mark->none;
	first = !window->marked_count;
	if (!here && !first)
		return;
	if (first || mark->ns < window->marked_ns) {
		window->marked_ns = mark->ns;
		window->version = mark->version;
	}
	window->last_marked_ns = first ? mark->ns : most(window->last_marked_ns, mark->ns);
	if (!here)
		return;
	window->marked_count += 1 + mark->more;
	keep_mark(windows, window, mark);
}

static bool has_ticket(const struct ada_window_entry *entry, uint64_t ticket)
{
	for (size_t i = 0; i < entry->tickets.count; i++)
		if (entry->tickets.items[i] == ticket)
			return true;
	return false;
}

/* Moves what `from` knows to `to`; the caller sets the bounds. */
static void take_over(struct ada_windows *windows, struct ada_window_entry *to, const struct ada_window_entry *from)
{
	const struct ada_window *source = &from->window;
	struct ada_window *window = &to->window;

	if (source->marked_count && (!window->marked_count || source->marked_ns < window->marked_ns)) {
		window->marked_ns = source->marked_ns;
		window->version = source->version;
	}
	if (source->marked_count)
		window->last_marked_ns = window->marked_count ? most(window->last_marked_ns, source->last_marked_ns) :
								source->last_marked_ns;
	window->marked_count += source->marked_count;
	window->rules |= source->rules;
	window->shorts |= source->shorts;
	window->asked_start_ns = least_of(window->asked_start_ns, source->asked_start_ns);
	window->pre_ns = most(window->pre_ns, source->pre_ns);
	window->post_ns = most(window->post_ns, source->post_ns);
	window->pre_events = most(window->pre_events, source->pre_events);
	window->post_events = most(window->post_events, source->post_events);
	window->pin_start = least_of(window->pin_start, source->pin_start);
	window->sufficient_bytes = most(window->sufficient_bytes, source->sufficient_bytes);
	window->written_ns = most(window->written_ns, source->written_ns);
	window->event_count += source->event_count;
	window->unwritten += source->unwritten;
	window->aged_count += source->aged_count;
	window->aged |= source->aged;
	window->bare |= source->bare;
	for (size_t i = 0; i < source->marks.count; i++)
		keep_mark(windows, window, &source->marks.items[i]);
	for (size_t i = 0; i < from->tickets.count; i++)
		if (!has_ticket(to, from->tickets.items[i]))
			ada_array_push(&to->tickets, from->tickets.items[i]);
	to->known_end = most(to->known_end, from->known_end);
	to->cap = least_of(to->cap, from->cap);
	to->keeps |= from->keeps;
}

/* Whether nothing may be added to the window any more. */
static bool is_final(const struct ada_window *window)
{
	return window->settled || (window->frozen && window->closed);
}

static bool touch(const struct ada_window *left, const struct ada_window *right)
{
	return left->end_ns == UINT64_MAX || right->start_ns <= left->end_ns + 1;
}

void ada_windows_join(struct ada_windows *windows, size_t i)
{
	struct ada_window_entry *entry;

	while (i && touch(&windows->list.items[i - 1]->window, &windows->list.items[i]->window) &&
	       !is_final(&windows->list.items[i - 1]->window) && !windows->list.items[i]->window.frozen)
		i--;
	entry = windows->list.items[i];
	while (i + 1 < windows->list.count && touch(&entry->window, &windows->list.items[i + 1]->window) &&
	       !windows->list.items[i + 1]->window.frozen && !is_final(&entry->window)) {
		take_over(windows, entry, windows->list.items[i + 1]);
		ada_windows_remove(windows, i + 1);
		entry->window.closed = false;
		ada_window_entry_bound(entry);
	}
}

/* One stretch without a hole of what a mark asks for. */
static int add_stretch(struct ada_windows *windows, const struct ada_window_mark *mark, uint64_t start, uint64_t cap, uint32_t shorts,
		       bool here)
{
	struct ada_window_entry *entry = calloc(1, sizeof *entry);
	bool over, open;
	int status;
	size_t i;

	if (!entry)
		return -ENOMEM;
	over = windows->ended_ns != UINT64_MAX;
	open = mark->end_ns == ADA_WINDOW_OPEN;
	entry->window = (struct ada_window){ .start_ns = start, .asked_start_ns = UINT64_MAX, .pin_start = UINT64_MAX, .shorts = shorts };
	entry->known_end = open ? over ? windows->ended_ns : mark->ns : most(mark->end_ns, mark->ns);
	entry->cap = over ? least_of(cap, windows->ended_ns) : cap;
	entry->keeps = mark->none && open && !over;
	status = open && !entry->keeps && !over ? ada_array_push(&entry->tickets, mark->ticket) : 0;
	note_mark(windows, &entry->window, mark, here);
	ada_window_entry_bound(entry);
	i = ada_windows_find(windows, start);
	while (i < windows->list.count && windows->list.items[i]->window.start_ns <= start)
		i++;
	status = status ? status : ada_windows_insert(windows, i, entry);
	if (status) {
		windows->marks_kept -= entry->window.marks.count;
		free_entry(entry);
		return status;
	}
	ada_windows_join(windows, i);
	return 0;
}

/* The common case, without memory or search: the mark lies in the last window, and so does all that the mark asks for, except perhaps its
 * end. */
static bool add_to_last(struct ada_windows *windows, const struct ada_window_mark *mark, uint64_t start, uint32_t shorts)
{
	struct ada_window_entry *entry;
	struct ada_window *window;

	if (!windows->list.count || mark->none || windows->ended_ns != UINT64_MAX)
		return false;
	entry = windows->list.items[windows->list.count - 1];
	window = &entry->window;
	if (is_final(window) || start < window->start_ns || mark->ns > window->end_ns ||
	    ada_windows_hole_at(windows, start) < windows->holes.count ||
	    (mark->end_ns == ADA_WINDOW_OPEN && !has_ticket(entry, mark->ticket)))
		return false;
	note_mark(windows, window, mark, true);
	window->shorts |= shorts;
	entry->known_end = most(entry->known_end, mark->end_ns == ADA_WINDOW_OPEN ? mark->ns : mark->end_ns);
	ada_window_entry_bound(entry);
	window->closed = false;
	return true;
}

/* The mark asks only for time whose windows are final. */
static int enter_late(struct ada_windows *windows, const struct ada_window_mark *mark)
{
	struct ada_window *window = ada_windows_of(windows, mark->ns);

	if (window && !window->settled)
		note_mark(windows, window, mark, true);
	return 0;
}

/* The last window whose beginning is final. */
static const struct ada_window *last_frozen(const struct ada_windows *windows)
{
	for (size_t i = windows->list.count; i-- > 0;) {
		const struct ada_window *window = &windows->list.items[i]->window;

		if (window->settled || window->frozen)
			return window;
	}
	return NULL;
}

/* The stretches of [next, end] between holes, one after the other. */
struct stretch {
	uint64_t next, end;
	size_t hole;
	bool over;
	uint64_t from, cap;
	uint32_t carried, why;
};

static bool next_stretch(const struct ada_windows *windows, struct stretch *stretch)
{
	while (!stretch->over) {
		const struct ada_hole *hole = stretch->hole < windows->holes.count ? &windows->holes.items[stretch->hole] : NULL;
		bool some;

		if (hole && hole->from > stretch->end)
			hole = NULL;
		some = !hole || hole->from > stretch->next;
		stretch->from = stretch->next;
		stretch->cap = hole ? hole->from - 1 : UINT64_MAX;
		stretch->why = stretch->carried | (hole ? hole->why : 0);
		stretch->carried = hole ? hole->why : 0;
		stretch->over = !hole || hole->to >= stretch->end;
		if (!stretch->over)
			stretch->next = hole->to + 1;
		stretch->hole++;
		if (some)
			return true;
	}
	return false;
}

/* The mark itself goes with the stretch that holds its time, else with the last one before it, else with the first. */
static int add_stretches(struct ada_windows *windows, const struct ada_window_mark *mark, uint64_t start, uint64_t end, uint32_t shorts)
{
	const struct stretch all = { .next = start, .end = end, .hole = ada_windows_hole_at(windows, start), .carried = shorts };
	struct stretch stretch = all;
	uint64_t home = 0;
	size_t count = 0;
	int status = 0;

	while (next_stretch(windows, &stretch))
		if (!count++ || stretch.from <= mark->ns)
			home = stretch.from;
	if (!count) { /* the whole is in one hole: an empty window right behind that */
		const struct ada_hole *hole = &windows->holes.items[all.hole];
		uint64_t behind = hole->to == UINT64_MAX ? hole->to : hole->to + 1;

		return add_stretch(windows, mark, behind, UINT64_MAX, shorts | hole->why, true);
	}
	for (stretch = all; !status && next_stretch(windows, &stretch);) {
		/* History ends there: older stretches are no part of a pre-roll any more. */
		if (stretch.from < home && stretch.carried & ADA_SHORT_OVERRUN)
			continue;
		status = add_stretch(windows, mark, stretch.from, stretch.cap, stretch.why, stretch.from == home);
	}
	return status;
}

int ada_windows_mark(struct ada_windows *windows, const struct ada_window_mark *mark)
{
	uint64_t start = least_of(mark->start_ns, mark->ns), end = most(mark->end_ns, mark->ns);
	uint32_t shorts = mark->shorts;
	const struct ada_window *fixed;

	if (start < windows->start_ns) {
		start = windows->start_ns;
		shorts |= ADA_SHORT_STARTUP;
	}
	if (add_to_last(windows, mark, start, shorts))
		return 0;
	fixed = last_frozen(windows);
	if (fixed && is_final(fixed) && start <= fixed->end_ns) {
		if (end <= fixed->end_ns || fixed->end_ns == UINT64_MAX)
			return enter_late(windows, mark);
		start = fixed->end_ns + 1;
		shorts |= ADA_SHORT_FROZEN;
	} else if (fixed && start < fixed->start_ns) {
		if (end < fixed->start_ns)
			return enter_late(windows, mark);
		start = fixed->start_ns;
		shorts |= ADA_SHORT_FROZEN;
	}
	if (windows->ended_ns != UINT64_MAX && end > windows->ended_ns) {
		end = most(windows->ended_ns, start);
		shorts |= windows->ended_why;
	}
	return add_stretches(windows, mark, start, most(start, end), shorts);
}

size_t ada_windows_count(const struct ada_windows *windows)
{
	return windows->list.count;
}

struct ada_window *ada_windows_at(const struct ada_windows *windows, size_t i)
{
	return &windows->list.items[i]->window;
}

struct ada_window *ada_windows_of(const struct ada_windows *windows, uint64_t ns)
{
	size_t i = ada_windows_find(windows, ns);

	return i < windows->list.count && windows->list.items[i]->window.start_ns <= ns ? &windows->list.items[i]->window : NULL;
}

bool ada_windows_any(const struct ada_windows *windows, uint64_t from_ns, uint64_t to_ns)
{
	size_t i = ada_windows_find(windows, from_ns);

	return i < windows->list.count && windows->list.items[i]->window.start_ns <= to_ns;
}
