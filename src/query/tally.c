/* Counting a thread's calls.
 *
 * Nearly every event begins a call right below the open one, or ends that one: these are counted here (calls.h: quick), all
 * others through ada_calls_feed, whose receiver does the same.
 *
 * A piece is read without knowing which calls are open where it begins. What its calls count for does not depend on that, but for
 *
 *   ends of calls that began before it, and calls that begin while none of its own is open (before it has one, behind such an
 *   end): they are noted as seams. With them goes how long the calls between two seams took, for whoever they lie below;
 *   recursion: a call counts in total_ns only where none of its function is open above it. With a seam goes its function's sum so
 *   far: if that end was the last open call of the function from before the piece, so much of the sum was counted too much. Of
 *   a function that is still open from before at the end of the piece, all of it.
 *   Calls that are open at the end of the piece: they become those of the thread.
 *
 * The piece fits where no seam sets calls aside: an end is that of the innermost open call, or of none on the stack; a call lies
 * below the innermost.
 * Anything else (losses, calls set aside and their late ends) is read in order: the rest of a piece from where it meets one, or
 * the whole piece where it does not fit.
 */
#include "query/tally.h"
#include <errno.h>
#include "base/interrupt.h"

#define BLOCK_EVENTS (1u << 16)		/* 2 MiB: how much of a thread is mapped at a time */
#define MARGIN_EVENTS (1u << 11)	/* what the kernel maps beside a page that is touched: 64 KiB */
#define SEAMS_MAX (1u << 16)

/* --- calls -------------------------------------------------------------------------------------------------------------- */

static inline void count_begun(struct ada_tally *tally, struct ada_call *call)
{
	struct ada_function_stats *function;

	if (call->position >= tally->to)
		return;
	function = ada_counter_find(tally->counter, call->function_id);
	if (!function) {
		tally->result = -ENOMEM;
		return;
	}
	function->calls++;
	tally->open++;
	/* Only the outermost call adds to the total; the lowest bit of the pointer remembers which it is. */
	call->user = (void *)((uintptr_t)function | !function->active++);
}

static inline struct ada_function_stats *function_of(const struct ada_call *call)
{
	return (struct ada_function_stats *)((uintptr_t)call->user & ~(uintptr_t)1);
}

static inline void count_known(struct ada_tally *tally, struct ada_function_stats *function, const struct ada_call *call)
{
	uint64_t duration_ns = call->end_ns - call->start_ns;

	if ((uintptr_t)call->user & 1)
		function->total_ns += duration_ns;
	function->self_ns += duration_ns > call->children_ns ? duration_ns - call->children_ns : 0;
	if (!call->across_loss && ada_histogram_add(&function->durations, duration_ns))
		tally->result = -ENOMEM;
}

static inline void count_quick_end(struct ada_tally *tally, const struct ada_call *call)
{
	struct ada_function_stats *function = function_of(call);

	if (!function)
		return;
	tally->open--;
	function->active--;
	count_known(tally, function, call);
}

static void on_begun(void *context, struct ada_call *call)
{
	count_begun(context, call);
}

static void on_set_aside(void *context, struct ada_call *call)
{
	struct ada_function_stats *function = function_of(call);

	if (function)
		function->active--;
}

static void on_ended(void *context, const struct ada_call *call)
{
	struct ada_function_stats *function = function_of(call);
	struct ada_tally *tally = context;

	if (!function)
		return;
	tally->open--;
	if (!call->aside)
		function->active--;
	if (call->outcome == ADA_OUTCOME_UNKNOWN)
		function->unknown++;
	else
		count_known(tally, function, call);
}

void ada_tally_open(struct ada_tally *tally, struct ada_counter *counter, const struct ada_thread *thread, struct ada_work *work)
{
	*tally = (struct ada_tally){ .counter = counter, .thread = thread, .work = work, .to = thread->count };
	ada_calls_open(&tally->calls, &(struct ada_calls_receiver){
		.context = tally, .begun = on_begun, .set_aside = on_set_aside, .ended = on_ended });
}

void ada_tally_close(struct ada_tally *tally)
{
	ada_calls_close(&tally->calls);
}

/* --- in order ----------------------------------------------------------------------------------------------------------- */

static int feed(struct ada_tally *tally, const struct ada_event *event, uint64_t position)
{
	if (event->event_kind == ADA_EVENT_LOST && position < tally->to)
		tally->lost += event->function_id;
	return ada_calls_feed(&tally->calls, event, position);
}

static void read_events(struct ada_tally *tally, const struct ada_event *events, uint64_t count, uint64_t position)
{
	for (uint64_t i = 0; i < count; i++) {
		const struct ada_event *event = &events[i];
		struct ada_call *call = NULL;

		if (event->event_kind == ADA_EVENT_CALL) {
			call = ada_calls_quick_begin(&tally->calls, event, position + i);
			if (call)
				count_begun(tally, call);
		} else if (event->event_kind - ADA_EVENT_RETURN <= ADA_EVENT_EXCEPTION - ADA_EVENT_RETURN) {
			call = ada_calls_quick_end(&tally->calls, event, position + i);
			if (call)
				count_quick_end(tally, call);
		}
		if (!call && feed(tally, event, position + i))
			tally->result = -ENOMEM;
	}
}

/* Between two blocks: [from, to) is done. */
static void leave_block(struct ada_tally *tally, uint64_t from, uint64_t to)
{
	struct ada_work *work = tally->work;
	uint64_t done;

	atf_thread_release(tally->thread->events, from > MARGIN_EVENTS ? from - MARGIN_EVENTS : 0, to + MARGIN_EVENTS);
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
	uint64_t count;

	while (from < to && !tally->result && !atomic_load(&tally->work->stop)) {
		const struct ada_event *events = next_block(tally, from, to, &count);

		read_events(tally, events, count, from);
		from += count;
		leave_block(tally, from - count, from);
	}
}

void ada_tally_finish(struct ada_tally *tally)
{
	uint64_t position = tally->to, count = tally->thread->count;

	while (position < count && tally->open && !tally->result && !atomic_load(&tally->work->stop)) {
		uint64_t end = count - position < BLOCK_EVENTS / 16 ? count : position + BLOCK_EVENTS / 16;

		ada_tally_read(tally, position, end);
		position = end;
	}
	ada_calls_end(&tally->calls);
}

/* --- in pieces ---------------------------------------------------------------------------------------------------------- */

struct local {				/* reading a piece */
	struct ada_tally *tally;
	struct ada_piece *piece;
	uint64_t children_ns;		/* since the last seam */
	uint64_t lowest;		/* depth that no call without caller lies below since the last seam */
};

static bool add_seam(struct local *local, const struct ada_event *event, uint64_t position)
{
	struct ada_function_stats *function = NULL;
	struct ada_seam seam = { .event = *event, .position = position, .children_ns = local->children_ns };

	if (local->piece->seams.count == SEAMS_MAX)
		return false;
	if (event->event_kind != ADA_EVENT_CALL) {
		function = ada_counter_find(local->tally->counter, event->function_id);
		if (!function)
			local->tally->result = -ENOMEM;
	}
	seam.total_ns = function ? function->total_ns : 0;
	if (ada_array_push(&local->piece->seams, seam))
		local->tally->result = -ENOMEM;
	local->tally->calls.last_ns = event->timestamp_ns;
	local->children_ns = 0;
	local->lowest = event->event_kind == ADA_EVENT_CALL ? event->call_depth : UINT64_MAX;
	return true;
}

/* False: the event is none that a piece can know enough of. */
static inline bool count_local(struct local *local, const struct ada_event *event, uint64_t position)
{
	struct ada_tally *tally = local->tally;
	struct ada_calls *calls = &tally->calls;
	struct ada_call *call;

	if (event->event_kind == ADA_EVENT_CALL) {
		if (!calls->stack.count && event->call_depth < local->lowest && !add_seam(local, event, position))
			return false;
		call = ada_calls_quick_begin(calls, event, position);
		if (!call && calls->stack.count == calls->stack.capacity && !ada_array_reserve(&calls->stack, 1))
			call = ada_calls_quick_begin(calls, event, position);
		if (call)
			count_begun(tally, call);
		return call;
	}
	if (event->event_kind - ADA_EVENT_RETURN > ADA_EVENT_EXCEPTION - ADA_EVENT_RETURN)
		return event->event_kind != ADA_EVENT_LOST;	/* unknown kinds mean nothing */
	call = ada_calls_quick_end(calls, event, position);
	if (call) {
		count_quick_end(tally, call);
		if (!calls->stack.count)
			local->children_ns += call->end_ns - call->start_ns;
		return true;
	}
	return !calls->stack.count && add_seam(local, event, position);
}

void ada_tally_piece(struct ada_tally *tally, struct ada_piece *piece)
{
	struct local local = { .tally = tally, .piece = piece, .lowest = UINT64_MAX };
	bool fits = true;

	piece->end = piece->from;
	while (fits && piece->end < piece->to && !tally->result && !atomic_load(&tally->work->stop)) {
		uint64_t count, i = 0;
		const struct ada_event *events = next_block(tally, piece->end, piece->to, &count);

		while (i < count && (fits = count_local(&local, &events[i], piece->end + i)))
			i++;
		piece->end += i;
		leave_block(tally, piece->end - i, piece->end);
	}
	piece->children_ns = local.children_ns;
	piece->last_ns = tally->calls.last_ns;
	piece->open.items = tally->calls.stack.items;
	piece->open.count = tally->calls.stack.count;
	piece->open.capacity = tally->calls.stack.capacity;
	tally->calls.stack.items = NULL;
	tally->calls.stack.count = tally->calls.stack.capacity = 0;
}

/* Whether it ends a call of these that is not the innermost: those above it then are set aside. */
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
		} else if (ends_outer(calls, count, event)) {
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
			function = function_of(&calls->stack.items[calls->stack.count - 1]);
		before = calls->stack.count;
		if (feed(tally, event, seam->position))
			tally->result = -ENOMEM;
		if (!function || calls->stack.count == before || function->active)
			continue;
		own = ada_counter_find(&piece->counter, event->function_id);
		if (own)
			own->total_ns -= seam->total_ns;
		else
			tally->result = -ENOMEM;
	}
	add_children(calls, piece->children_ns);
	for (size_t i = 0; i < calls->stack.count && !tally->result; i++) {
		own = ada_counter_find(&piece->counter, calls->stack.items[i].function_id);
		if (own && function_of(&calls->stack.items[i]))
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
		call->caller_id = calls->stack.count > 1 ? call[-1].function_id : ADA_NO_FUNCTION;
		call->losses = calls->losses;
		call->user = NULL;
		if (!function)
			return -ENOMEM;
		call->user = (void *)((uintptr_t)function | !function->active++);
		tally->open++;
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
