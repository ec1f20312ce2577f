/* Walking through the calls of a selection. Memory: the open calls of one thread; pages behind the walk are given back. */
#include "query/export/walk.h"
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/calls/stack.h"

#define PAUSE_EVENTS 16384u	  /* between looks at the user and the progress: well below a millisecond */
#define RELEASE_EVENTS (1u << 18) /* 8 MiB */

struct walk {
	struct ada_export *export;
	const struct ada_export_receiver *receiver;
	struct ada_export_thread at;
	struct ada_calls calls;
	uint64_t end_ns; /* of the selection */
	uint64_t open;	 /* calls that began in the selection and have not ended */
	bool cut;	 /* the thread goes on behind the selection, which has been reached */
	uint64_t done;	 /* events, of all threads */
	uint64_t *lost;	 /* by thread of the selection */
	int result;
};

static bool is_in(const struct walk *walk, const struct ada_call *call)
{
	return call->start_ns >= walk->export->selection->from_ns && call->start_ns < walk->end_ns;
}

static bool is_behind(const struct walk *walk, const struct ada_call *call)
{
	return call->start_ns >= walk->end_ns;
}

static void keep(struct walk *walk, int result)
{
	if (!walk->result)
		walk->result = result;
}

static void take_begun(void *context, struct ada_call *call)
{
	struct walk *walk = context;

	if (is_behind(walk, call))
		return;
	walk->open += is_in(walk, call);
	if (walk->receiver->begun)
		keep(walk, walk->receiver->begun(walk->receiver->context, call));
}

static void take_left(void *context, struct ada_call *call)
{
	struct walk *walk = context;
	uint64_t last_ns = walk->calls.after_loss ? walk->calls.before_loss_ns : walk->calls.last_ns;

	if (last_ns < walk->at.from_ns)
		last_ns = walk->at.from_ns;
	if (!is_behind(walk, call) && walk->receiver->left)
		keep(walk, walk->receiver->left(walk->receiver->context, call, last_ns));
}

static void take_ended(void *context, const struct ada_call *call)
{
	struct walk *walk = context;

	if (is_behind(walk, call))
		return;
	walk->open -= is_in(walk, call);
	keep(walk, walk->receiver->ended(walk->receiver->context, call,
					 walk->cut && call->outcome == ADA_OUTCOME_OPEN && !(walk->receiver->whole && is_in(walk, call))));
}

uint64_t ada_export_events(const struct ada_selection *selection)
{
	uint64_t events = 0, first, last;

	for (size_t i = 0; i < selection->threads.count; i++) {
		ada_selection_range(selection, selection->threads.items[i], &first, &last);
		events += last - first;
	}
	return events;
}

/* The calls that are open where the selection begins: as if they were called right before. */
static int begin_open(struct walk *walk, uint64_t first)
{
	struct ada_stack stack;
	int result = ada_stack_at(&stack, walk->at.thread, first);

	if (!result)
		result = ada_stack_seed(&stack, &walk->calls);
	ada_stack_close(&stack);
	return result;
}

static int feed_one(struct walk *walk, const struct ada_event *event, uint64_t position)
{
	const struct ada_export_receiver *receiver = walk->receiver;
	int result = 0;

	if (!walk->cut) {
		walk->done++;
		if (receiver->event)
			result = receiver->event(receiver->context, event);
		if (event->event_kind == ADA_EVENT_LOST) {
			walk->lost[walk->at.number] += event->function_id;
			if (!result && receiver->lost)
				result = receiver->lost(receiver->context, event, position);
		}
	}
	if (!result)
		result = ada_calls_feed(&walk->calls, event, position);
	return result ? result : walk->result;
}

static int pause(struct walk *walk)
{
	if (ada_interrupted())
		return -EINTR;
	if (walk->export->progress)
		ada_progress_at(walk->export->progress, walk->done);
	return 0;
}

/* Feeds events [first, last), and goes on to the ends of the calls that began among them, where those are wanted. */
static int feed(struct walk *walk, uint64_t first, uint64_t last)
{
	const struct ada_thread *thread = walk->at.thread;
	uint64_t position = first, kept = first, run = 0;
	const struct ada_event *events = NULL;
	int result = 0;

	for (; !result; position++, run--, events++) {
		if (position == last && last < thread->count)
			walk->cut = true;
		if (position >= last && !(walk->cut && walk->receiver->whole && walk->open))
			break;
		if (!run)
			events = atf_thread_run(thread->events, position, &run);
		if (!events)
			break;
		if (position % PAUSE_EVENTS == 0)
			result = pause(walk);
		if (position - kept >= RELEASE_EVENTS) {
			atf_thread_release(thread->events, kept, position);
			kept = position;
		}
		if (walk->export->output && walk->export->output->error)
			break;
		if (!result)
			result = feed_one(walk, events, position);
	}
	atf_thread_release(thread->events, kept, position);
	return result;
}

bool ada_export_hangs(const struct ada_thread *thread)
{
	struct ada_stack stack;
	bool any = !ada_stack_at(&stack, thread, thread->count) && stack.frames.count;

	ada_stack_close(&stack);
	return any;
}

static int walk_thread(struct walk *walk, size_t number)
{
	const struct ada_selection *selection = walk->export->selection;
	const struct ada_thread *thread = selection->threads.items[number];
	const struct ada_export_receiver *receiver = walk->receiver;
	uint64_t first, last, end_ns = ada_process_end_ns(thread->process);
	bool present; /* something of it is in the selection: events, or calls that are open throughout */
	int result = 0;

	ada_selection_range(selection, thread, &first, &last);
	present = last && (first < thread->count || (selection->from_ns <= end_ns && ada_export_hangs(thread)));
	walk->at = (struct ada_export_thread){ .thread = thread, .number = number, .events = last - first };
	walk->open = 0;
	walk->cut = false;
	if (present) {
		walk->at.from_ns = first ? selection->from_ns : atf_thread_get(thread->events, first)->timestamp_ns;
		walk->at.to_ns = selection->to_ns <= end_ns ? selection->to_ns : end_ns;
	}
	if (receiver->thread)
		result = receiver->thread(receiver->context, &walk->at);
	if (present) {
		if (!result && first)
			result = begin_open(walk, first);
		if (!result)
			result = feed(walk, first, last);
		/* Calls that are open then last beyond; one that is to be followed to its end has none. */
		walk->cut |= selection->to_ns <= end_ns;
		ada_calls_end(&walk->calls, receiver->whole && walk->open ? end_ns : walk->at.to_ns);
	}
	if (!result)
		result = walk->result;
	if (!result && receiver->thread_done)
		result = receiver->thread_done(receiver->context);
	return result;
}

int ada_export_walk(struct ada_export *export, const struct ada_export_receiver *receiver, struct ada_error *error)
{
	const struct ada_selection *selection = export->selection;
	struct walk walk = { .export = export, .receiver = receiver, .end_ns = selection->to_ns };
	int result;

	walk.lost = calloc(selection->threads.count + 1, sizeof *walk.lost);
	if (!walk.lost)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	ada_calls_open(&walk.calls,
		       &(struct ada_calls_receiver){ .context = &walk, .begun = take_begun, .set_aside = take_left, .ended = take_ended });
	result = pause(&walk);
	for (size_t i = 0; i < selection->threads.count && !result && !(export->output && export->output->error); i++)
		result = walk_thread(&walk, i);
	ada_calls_close(&walk.calls);
	if (!result)
		export->completeness = ada_selection_completeness(selection, true, walk.done, walk.lost);
	else if (result != -EINTR)
		ada_error_system(error, -result, "%s", selection->session->path);
	free(walk.lost);
	return result;
}
