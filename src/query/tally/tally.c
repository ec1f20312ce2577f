/* Counting a thread's calls.
 *
 * Nearly every event begins a call right below the open one, or ends the open one: tally_quick.c counts these, and tally_packed.c those
 * of packed blocks, as they are decoded. All others go through ada_calls_feed, whose receiver does the same.
 *
 * A selection may begin in the middle of a thread. Its sums don't depend on the calls that are open there, except where the end of an
 * unknown call may set aside known ones: only then these open calls are looked for (stack.h), and join the stack at its bottom.
 */
#include "query/tally/tally.h"
#include <errno.h>
#include <string.h>
#include "atf/session/thread.h"
#include "base/interrupt.h"
#include "query/calls/stack.h"
#include "query/tally/tally_internal.h"

#define BLOCK_EVENTS (1u << 16) /* 2 MiB: how much of a thread is mapped at a time */
#define TAIL_EVENTS (1u << 12)	/* between two looks whether all calls have ended */

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

bool ada_tally_needs_root(const struct ada_tally *tally, size_t count, const struct ada_event *event)
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

int ada_tally_feed(struct ada_tally *tally, const struct ada_event *event, uint64_t position)
{
	if (ada_tally_needs_root(tally, tally->calls.stack.count, event) && find_root(tally, position))
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
		if (i < count && ada_tally_feed(tally, &events[i], position + i))
			tally->result = -ENOMEM;
	}
}

static bool take_in_order(struct ada_tally_way *way, const struct ada_event *event, uint64_t position)
{
	read_events(way->tally, event, 1, position);
	return !way->tally->result;
}

void ada_tally_leave(struct ada_tally *tally, uint64_t from, uint64_t to)
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

const struct ada_event *ada_tally_next(const struct ada_tally *tally, uint64_t position, uint64_t to, uint64_t *count)
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
			const struct ada_event *events = ada_tally_next(tally, from, to, &count);

			read_events(tally, events, count, from);
		}
		from += count;
		ada_tally_leave(tally, from - count, from);
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
