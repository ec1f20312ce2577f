/* Counting a thread's calls.
 *
 * Nearly every event begins a call right below the open one, or ends the open one: tally_quick.c counts these, and tally_packed.c those
 * of packed blocks, as they are decoded. All others go through ada_calls_feed, whose receiver does the same.
 *
 * A piece is read without knowing which calls are open where it begins. What its calls count for does not depend on those, except for
 *
 *   ends of calls that began before it, and calls that begin while none of its own is open (before it has one, behind such an
 *   end): they are noted as seams. With them goes how long the calls between two seams took, for whoever they lie below;
 *   recursion: a call counts in total_ns only where none of its function is open above it. With a seam goes its function's sum so
 *   far: if that end was the last open call of the function from before the piece, so much of the sum was counted too much. Of
 *   a function that is still open from before at the end of the piece, all of it.
 *   Calls that are open at the end of the piece: they become those of the thread.
 *
 * The piece fits where no seam sets calls aside: each end is of the innermost open call, or of none on the stack; each call lies below
 * the innermost. Anything else (losses, calls set aside and their late ends) is read in order: the rest of a piece from where it meets
 * one, or the whole piece where it does not fit.
 *
 * A selection may begin in the middle of a thread. Its sums don't depend on the calls that are open there, except where the end of an
 * unknown call may set aside known ones: only then these open calls are looked for (stack.h), and join the stack at its bottom.
 */
#include "query/sums/tally.h"
#include <errno.h>
#include <string.h>
#include "atf/session/thread.h"
#include "base/interrupt.h"
#include "query/calls/stack.h"
#include "query/sums/tally_internal.h"

#define BLOCK_EVENTS (1u << 16) /* 2 MiB: how much of a thread is mapped at a time */
#define TAIL_EVENTS (1u << 12)	/* between two looks whether all calls have ended */
#define SEAMS_MAX (1u << 16)

/* --- calls -------------------------------------------------------------------------------------------------------------- */

static void on_begun(void *context, struct ada_call *call)
{
	struct ada_tally *tally = context;
	struct ada_function_stats *function = call->position < tally->to ? ada_tally_find(tally, call->function_id) : NULL;

	if (function)
		call->user = (void *)ada_tally_remember(function);
}

static void on_set_aside(void *context, struct ada_call *call)
{
	struct ada_function_stats *function = ada_tally_function_of(call);

	if (function)
		function->active--;
}

static void on_ended(void *context, const struct ada_call *call)
{
	struct ada_function_stats *function = ada_tally_function_of(call);

	if (!function)
		return;
	if (!call->aside)
		function->active--;
	if (call->outcome != ADA_OUTCOME_UNKNOWN) {
		ada_tally_count(context, (uintptr_t)call->user, ada_call_duration(call), call->children_ns, call->across_loss);
	} else {
		function->calls++;
		function->unknown++;
	}
}

void ada_tally_open(struct ada_tally *tally, struct ada_counter *counter, const struct ada_thread *thread, struct ada_work *work)
{
	*tally = (struct ada_tally){ .counter = counter, .thread = thread, .work = work, .to = thread->count, .rooted = true };
	ada_calls_open(&tally->calls,
		       &(struct ada_calls_receiver){ .context = tally, .begun = on_begun, .set_aside = on_set_aside, .ended = on_ended });
}

void ada_tally_begin(struct ada_tally *tally, uint64_t from)
{
	tally->from = from;
	tally->rooted = !from || (tally->thread->events && from == atf_thread_live(tally->thread->events));
}

void ada_tally_close(struct ada_tally *tally)
{
	ada_calls_close(&tally->calls);
	ada_tally_packed_close(tally);
}

/* --- in order ----------------------------------------------------------------------------------------------------------- */

/* Whether an end that is of none of `count` open calls lies as deep as some of them or less: it may have ended a call around them. */
static bool needs_root(const struct ada_tally *tally, size_t count, const struct ada_event *event)
{
	const struct ada_call *items = tally->calls.stack.items;

	if (tally->rooted || !ada_tally_is_end(event) || !count || items[count - 1].depth < event->call_depth)
		return false;
	while (count && items[count - 1].depth > event->call_depth)
		count--;
	return !count || items[count - 1].depth != event->call_depth || items[count - 1].function_id != event->function_id;
}

/* Finds the calls that began before the thread's first event here and are open at `position`: they don't count. */
static int find_root(struct ada_tally *tally, uint64_t position)
{
	struct ada_calls *calls = &tally->calls;
	struct ada_stack stack;
	size_t count = 0;
	int result = ada_stack_at(&stack, tally->thread, position);

	while (!result && count < stack.frames.count && stack.frames.items[count].position < tally->from)
		count++;
	if (!result)
		result = ada_array_reserve(&calls->stack, count);
	if (!result && count) {
		memmove(calls->stack.items + count, calls->stack.items, calls->stack.count * sizeof *calls->stack.items);
		for (size_t i = 0; i < count; i++)
			calls->stack.items[i] = (struct ada_call){ .function_id = stack.frames.items[i].function_id,
								   .start_ns = stack.frames.items[i].start_ns,
								   .position = stack.frames.items[i].position,
								   .depth = stack.frames.items[i].depth };
		calls->stack.count += count;
	}
	tally->rooted = true;
	ada_stack_close(&stack);
	return result;
}

static int feed(struct ada_tally *tally, const struct ada_event *event, uint64_t position)
{
	if (needs_root(tally, tally->calls.stack.count, event) && find_root(tally, position))
		return -ENOMEM;
	if (event->event_kind == ADA_EVENT_LOST && position < tally->to)
		tally->lost += event->function_id;
	return ada_calls_feed(&tally->calls, event, position);
}

static void count_kinds(struct ada_kinds *kinds, const struct ada_event *events, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		bool gap = events[i].event_kind == ADA_EVENT_LOST;

		kinds->calls += events[i].event_kind == ADA_EVENT_CALL;
		kinds->ends += ada_tally_is_end(&events[i]);
		kinds->gaps += gap;
		kinds->told += gap ? events[i].function_id : 0;
	}
}

static void read_events(struct ada_tally *tally, const struct ada_event *events, uint64_t count, uint64_t position)
{
	uint64_t of_no_one = 0;

	if (tally->kinds)
		count_kinds(tally->kinds, events, count);
	for (uint64_t i = 0; i < count; i++) {
		i += ada_tally_quick(tally, -1, events + i, count - i, position + i, &of_no_one);
		if (i < count && feed(tally, &events[i], position + i))
			tally->result = -ENOMEM;
	}
}

static bool take_in_order(struct ada_tally_way *way, const struct ada_event *event, uint64_t position)
{
	read_events(way->tally, event, 1, position);
	return !way->tally->result;
}

/* Between two blocks: [from, to) is done. */
static void leave_block(struct ada_tally *tally, uint64_t from, uint64_t to)
{
	struct ada_work *work = tally->work;
	uint64_t done;

	atf_thread_release(tally->thread->events, from, to);
	done = atomic_fetch_add_explicit(&work->done, to - from, memory_order_relaxed) + to - from;
	if (tally->shows_progress && work->progress)
		ada_progress_at(work->progress, done < work->progress->total ? done : work->progress->total);
	if (!tally->result && ada_interrupted())
		tally->result = -EINTR;
	if (tally->result)
		atomic_store(&work->stop, true);
}

/* At most a block of events from `position` on that lie side by side. */
static const struct ada_event *next_block(const struct ada_tally *tally, uint64_t position, uint64_t to, uint64_t *count)
{
	const struct ada_event *events = atf_thread_run(tally->thread->events, position, count);

	if (*count > to - position)
		*count = to - position;
	if (*count > BLOCK_EVENTS)
		*count = BLOCK_EVENTS;
	return events;
}

void ada_tally_read(struct ada_tally *tally, uint64_t from, uint64_t to)
{
	struct ada_tally_way way = { .tally = tally, .floor = -1, .take = take_in_order };
	uint64_t count, done;

	while (from < to && !tally->result && !atomic_load(&tally->work->stop)) {
		if (!ada_tally_packed(&way, from, to, &count, &done)) {
			const struct ada_event *events = next_block(tally, from, to, &count);

			read_events(tally, events, count, from);
		}
		from += count;
		leave_block(tally, from - count, from);
	}
}

static bool any_open(const struct ada_calls *calls)
{
	for (size_t i = 0; i < calls->aside.count; i++)
		if (calls->aside.items[i].user)
			return true;
	for (size_t i = 0; i < calls->stack.count; i++) /* few calls, or none, are from before the selection */
		if (calls->stack.items[i].user)
			return true;
	return false;
}

void ada_tally_finish(struct ada_tally *tally)
{
	uint64_t position = tally->to, count = tally->thread->count;

	while (position < count && any_open(&tally->calls) && !tally->result && !atomic_load(&tally->work->stop)) {
		uint64_t end = count - position < TAIL_EVENTS ? count : position + TAIL_EVENTS;

		ada_tally_read(tally, position, end);
		position = end;
	}
	ada_calls_end(&tally->calls, ada_process_end_ns(tally->thread->process));
}

/* --- in pieces ---------------------------------------------------------------------------------------------------------- */

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

static enum verdict count_odd(struct local *local, const struct ada_event *event, uint64_t position)
{
	struct ada_calls *calls = &local->way.tally->calls;

	if (event->event_kind != ADA_EVENT_CALL && !ada_tally_is_end(event))
		return event->event_kind == ADA_EVENT_LOST || event->event_kind == ADA_EVENT_RECORDER ? END : NEXT;
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
			const struct ada_event *events = next_block(tally, piece->end, piece->to, &count);

			done = count_local(&local, events, count, piece->end);
		}
		piece->end += done;
		leave_block(tally, piece->end - done, piece->end);
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

		if (event->event_kind == ADA_EVENT_CALL) {
			if (top && top->depth >= event->call_depth)
				return false;
		} else if (top && top->depth == event->call_depth && top->function_id == event->function_id) {
			count--;
		} else if (ends_outer(calls, count, event) || needs_root(tally, count, event)) {
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

/* Ends the calls from before, and takes back what recursion makes too much in the piece's sums. */
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
		if (feed(tally, event, seam->position))
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
