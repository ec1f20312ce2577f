/* Counting a thread in pieces, at the same time, and joining them in order.
 *
 * A piece is read without knowing which calls are open where it begins. What its calls count for does not depend on those, except for
 *
 *   ends of calls that began before it, and calls that begin while none of its own is open (before it has one, behind such an
 *   end): they are noted as seams. With them goes how long the calls between two seams took, for whoever they lie below;
 *   waits for ada, which make all open calls shorter: they are noted as seams, too;
 *   recursion: a call counts in total_ns only where none of its function is open above it. With a seam goes its function's sum so
 *   far: if that end was the last open call of the function from before the piece, so much of the sum was counted too much. Of
 *   a function that is still open from before at the end of the piece, all of it.
 *   Calls that are open at the end of the piece: they become those of the thread.
 *
 * The piece fits where no seam sets calls aside: each end is of the innermost open call, or of none on the stack; each call lies below
 * the innermost. Anything else (losses, calls set aside and their late ends) is read in order: the rest of a piece from where it meets
 * one, or the whole piece where it does not fit.
 */
#include <string.h>
#include "atf/session/thread.h"
#include "query/tally/tally_internal.h"

#define SEAMS_MAX (1u << 16)

struct local { /* reading a piece */
	struct ada_tally_way way;
	struct ada_piece *piece;
};
enum verdict { AGAIN, NEXT, END }; /* it can be counted quickly now; it is counted; a piece doesn't know enough for it */

static enum verdict add_seam(struct local *local, const struct ada_event *event, uint64_t position)
{
	bool begins = event->event_kind == ADA_EVENT_CALL;
	struct ada_seam seam = { .event = *event, .position = position, .children_ns = local->way.children_ns };

	if (local->piece->seams.count == SEAMS_MAX)
		return END;
	if (!begins) {
		struct ada_function_stats *function = ada_counter_find(local->way.tally->counter, event->function_id);

		seam.total_ns = function ? function->total_ns : 0;
		if (!function)
			local->way.tally->result = -ENOMEM;
		local->way.tally->calls.last_ns = event->timestamp_ns;
	}
	if (ada_array_push(&local->piece->seams, seam))
		local->way.tally->result = -ENOMEM;
	local->way.children_ns = 0;
	local->way.floor = begins ? (int64_t)event->call_depth - 1 : INT64_MAX;
	if (local->way.tally->result)
		return END;
	return begins ? AGAIN : NEXT;
}

/* All calls waited for ada that are open: the piece's own, and at the seam those from before. */
static enum verdict add_wait(struct local *local, const struct ada_event *event, uint64_t position)
{
	struct ada_seam seam = { .event = *event, .position = position, .children_ns = local->way.children_ns };

	if (local->piece->seams.count == SEAMS_MAX)
		return END;
	if (ada_array_push(&local->piece->seams, seam) || ada_tally_feed(local->way.tally, event, position))
		local->way.tally->result = -ENOMEM;
	local->way.children_ns = 0;
	return local->way.tally->result ? END : NEXT;
}

static enum verdict count_odd(struct local *local, const struct ada_event *event, uint64_t position)
{
	struct ada_calls *calls = &local->way.tally->calls;

	if (event->event_kind == ADA_EVENT_RECORDER)
		return add_wait(local, event, position);
	if (event->event_kind != ADA_EVENT_CALL && !ada_tally_is_end(event))
		return event->event_kind == ADA_EVENT_LOST ? END : NEXT;
	if (!calls->stack.count && (ada_tally_is_end(event) || event->call_depth <= local->way.floor))
		return add_seam(local, event, position);
	return END;
}

/* Returns how many of them it counted. */
static uint64_t count_local(struct local *local, const struct ada_event *events, uint64_t count, uint64_t position)
{
	uint64_t i = 0;

	while (i < count) {
		enum verdict verdict;

		i += ada_tally_quick(local->way.tally, local->way.floor, events + i, count - i, position + i, &local->way.children_ns);
		if (i == count)
			break;
		verdict = count_odd(local, &events[i], position + i);
		if (verdict == END)
			break;
		i += verdict == NEXT;
	}
	return i;
}

static bool take_local(struct ada_tally_way *way, const struct ada_event *event, uint64_t position)
{
	return count_local((struct local *)way, event, 1, position) && !way->tally->result; /* the way is its first member */
}

void ada_tally_piece(struct ada_tally *tally, struct ada_piece *piece)
{
	struct local local = { .way = { .tally = tally, .floor = INT64_MAX, .take = take_local }, .piece = piece };
	uint64_t count = 0, done = 0;

	piece->end = piece->from;
	while (done == count && piece->end < piece->to && !tally->result && !atomic_load(&tally->work->stop)) {
		if (!ada_tally_packed(&local.way, piece->end, piece->to, &count, &done)) {
			const struct ada_event *events = ada_tally_next(tally, piece->end, piece->to, &count);

			done = count_local(&local, events, count, piece->end);
		}
		piece->end += done;
		ada_tally_leave(tally, piece->end - done, piece->end);
	}
	piece->children_ns = local.way.children_ns;
	piece->last_ns = tally->calls.last_ns;
	piece->open.items = tally->calls.stack.items;
	piece->open.count = tally->calls.stack.count;
	piece->open.capacity = tally->calls.stack.capacity;
	tally->calls.stack.items = NULL;
	tally->calls.stack.count = tally->calls.stack.capacity = 0;
}

/* Whether the event ends one of these calls other than the innermost: then the calls above that one are set aside. */
static bool ends_outer(const struct ada_calls *calls, size_t count, const struct ada_event *event)
{
	while (count && calls->stack.items[count - 1].depth > event->call_depth)
		count--;
	return count && calls->stack.items[count - 1].depth == event->call_depth &&
	       calls->stack.items[count - 1].function_id == event->function_id;
}

static bool seams_fit(const struct ada_tally *tally, const struct ada_piece *piece)
{
	const struct ada_calls *calls = &tally->calls;
	size_t count = calls->stack.count;

	if (calls->after_loss)
		return false;
	for (size_t i = 0; i < piece->seams.count; i++) {
		const struct ada_event *event = &piece->seams.items[i].event;
		const struct ada_call *top = count ? &calls->stack.items[count - 1] : NULL;

		if (event->event_kind == ADA_EVENT_RECORDER)
			continue;
		if (event->event_kind == ADA_EVENT_CALL) {
			if (top && top->depth >= event->call_depth)
				return false;
		} else if (top && top->depth == event->call_depth && top->function_id == event->function_id) {
			count--;
		} else if (ends_outer(calls, count, event) || ada_tally_needs_root(tally, count, event)) {
			return false;
		}
	}
	return true;
}

static void add_children(struct ada_calls *calls, uint64_t ns)
{
	if (calls->stack.count)
		calls->stack.items[calls->stack.count - 1].children_ns += ns;
}

/* Ends the calls from before, with what they waited for ada, and takes back what recursion makes too much in the piece's sums. */
static void join_seams(struct ada_tally *tally, struct ada_piece *piece)
{
	struct ada_calls *calls = &tally->calls;
	struct ada_function_stats *own;
	size_t before;

	for (size_t i = 0; i < piece->seams.count && !tally->result; i++) {
		const struct ada_seam *seam = &piece->seams.items[i];
		const struct ada_event *event = &seam->event;
		struct ada_function_stats *function = NULL;

		add_children(calls, seam->children_ns);
		if (event->event_kind == ADA_EVENT_CALL)
			continue;
		if (calls->stack.count)
			function = ada_tally_function_of(&calls->stack.items[calls->stack.count - 1]);
		before = calls->stack.count;
		if (ada_tally_feed(tally, event, seam->position))
			tally->result = -ENOMEM;
		if (!function || calls->stack.count == before || function->active)
			continue;
		own = ada_counter_look_up(&piece->counter, event->function_id);
		if (own)
			own->total_ns -= seam->total_ns;
		else
			tally->result = -ENOMEM;
	}
	add_children(calls, piece->children_ns);
	for (size_t i = 0; i < calls->stack.count && !tally->result; i++) {
		own = ada_counter_look_up(&piece->counter, calls->stack.items[i].function_id);
		if (own && ada_tally_function_of(&calls->stack.items[i]))
			own->total_ns = 0;
	}
}

/* The calls open at the end of the piece are the thread's from now on. Their functions have counted them already. */
static int join_open(struct ada_tally *tally, const struct ada_piece *piece)
{
	struct ada_calls *calls = &tally->calls;

	if (ada_array_reserve(&calls->stack, piece->open.count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < piece->open.count; i++) {
		struct ada_function_stats *function = ada_counter_find(tally->counter, piece->open.items[i].function_id);
		struct ada_call *call = &calls->stack.items[calls->stack.count++];

		*call = piece->open.items[i];
		call->losses = calls->losses;
		call->user = NULL;
		if (!function)
			return -ENOMEM;
		call->user = (void *)ada_tally_remember(function);
	}
	return 0;
}

bool ada_tally_join(struct ada_tally *tally, struct ada_piece *piece)
{
	bool fits = seams_fit(tally, piece);

	if (fits && piece->end > piece->from) {
		join_seams(tally, piece);
		if (!tally->result)
			tally->result = ada_counter_merge(tally->counter, &piece->counter);
		if (!tally->result)
			tally->result = join_open(tally, piece);
		if (piece->seams.count)
			tally->calls.last_ns = piece->last_ns;
	}
	ada_tally_read(tally, fits ? piece->end : piece->from, piece->to);
	fits &= piece->end == piece->to;
	ada_piece_close(piece);
	return fits;
}

void ada_piece_close(struct ada_piece *piece)
{
	ada_array_free(&piece->seams);
	ada_array_free(&piece->open);
	ada_counter_close(&piece->counter);
}
