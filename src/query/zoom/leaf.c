/* The calls of one leaf: its events, fed to the rules of calls.h behind the calls that are open at its beginning. */
#include <errno.h>
#include "query/zoom/internal.h"

struct leaf_reading {
	const struct ada_zoom_thread *thread;
	const struct ada_zoom_reader *reader;
	struct ada_calls calls;
	bool at_end; /* of a thread that is whole: what is open there ends there */
};

static void tell_begin(void *context, struct ada_call *call)
{
	struct leaf_reading *reading = context;

	if (reading->reader->begun)
		reading->reader->begun(reading->reader->context, &reading->calls, call);
}

/* A call that didn't end in this leaf ended in another, or never. */
static void tell_end(void *context, const struct ada_call *call)
{
	struct leaf_reading *reading = context;
	struct ada_call told = *call;
	const struct ada_zoom_open *open;

	if (call->outcome == ADA_OUTCOME_UNKNOWN || (call->outcome == ADA_OUTCOME_OPEN && !reading->at_end)) {
		open = ada_zoom_open_at(&reading->thread->open, call->position);
		if (!open)
			open = ada_zoom_open_at(&reading->thread->strays, call->position);
		told.end_ns = open ? open->end_ns : UINT64_MAX;
	}
	reading->reader->ended(reading->reader->context, &told);
}

/* Puts in what is open at the leaf's beginning, outermost first. */
static int open_seed(struct leaf_reading *reading, const struct ada_zoom_node *node)
{
	const struct ada_zoom_open *table = reading->thread->open.items;
	ADA_ARRAY(uint32_t) numbers = {};
	int status = 0;

	for (uint32_t number = node->open; number != ADA_ZOOM_NONE && !status; number = table[number].caller)
		status = ada_array_push(&numbers, number);
	while (!status && numbers.count) {
		const struct ada_zoom_open *open = &table[numbers.items[--numbers.count]];
		struct ada_event event = { .timestamp_ns = open->start_ns,
					   .function_id = open->function_id,
					   .event_kind = ADA_EVENT_CALL,
					   .call_depth = open->depth };

		status = ada_calls_feed(&reading->calls, &event, open->position);
	}
	ada_array_free(&numbers);
	reading->calls.after_loss = node->before_loss_ns;
	reading->calls.before_loss_ns = node->before_loss_ns;
	return status;
}

static int feed(struct leaf_reading *reading, const struct ada_event *event, uint64_t position)
{
	const struct ada_zoom_reader *reader = reading->reader;
	struct ada_call *call = ada_zoom_feed_plain(&reading->calls, event, position);

	if (!call)
		return ada_calls_feed(&reading->calls, event, position);
	if (event->event_kind != ADA_EVENT_CALL)
		reader->ended(reader->context, call);
	else if (reader->begun)
		reader->begun(reader->context, &reading->calls, call);
	return 0;
}

int ada_zoom_leaf_read(const struct ada_zoom_thread *thread, size_t leaf, const struct ada_zoom_reader *reader)
{
	uint64_t position = ada_zoom_leaf_first(thread, leaf), end = position + ADA_ZOOM_LEAF, count;
	struct leaf_reading reading = { .thread = thread, .reader = reader, .at_end = thread->whole && end >= thread->read };
	int status;

	ada_calls_open(&reading.calls, &(struct ada_calls_receiver){ .context = &reading, .begun = tell_begin, .ended = tell_end });
	status = open_seed(&reading, &thread->levels[0].nodes.items[leaf]);
	if (end > thread->read)
		end = thread->read;
	while (!status && position < end) {
		const struct ada_event *events = atf_thread_run(thread->thread->events, position, &count);

		if (!count)
			break;
		if (count > end - position)
			count = end - position;
		for (uint64_t i = 0; i < count && !status; i++)
			status = feed(&reading, &events[i], position + i);
		position += count;
	}
	ada_calls_end(&reading.calls, reading.at_end ? ada_process_end_ns(thread->thread->process) : 0);
	ada_calls_close(&reading.calls);
	return status;
}
