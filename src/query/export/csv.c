/* CSV: a row a call, with the columns of SQL's table `calls`; or a row an event, as `ada dump --format=csv`. */
#include <errno.h>
#include <stdlib.h>
#include "base/interrupt.h"
#include "query/calls/timeline.h"
#include "query/export/export.h"
#include "query/export/parts.h"
#include "query/export/walk.h"

#define PAUSE_EVENTS 16384u
#define RELEASE_EVENTS (1u << 15)

struct csv {
	struct ada_export *export;
	struct ada_output *output;
	struct ada_export_texts texts;
	const struct ada_thread *thread;
	bool several; /* the session holds several processes: rows say which */
};

static void put_number(struct ada_output *output, uint64_t number)
{
	ada_output_u64(output, number);
	ada_output_bytes(output, ",", 1);
}

static void put_optional(struct ada_output *output, uint64_t number, bool present)
{
	if (present)
		ada_output_u64(output, number);
	ada_output_bytes(output, ",", 1);
}

static void put_text(struct ada_output *output, const char *text)
{
	ada_output_string(output, text);
	ada_output_bytes(output, ",", 1);
}

static void put_process(struct csv *csv, const struct ada_process *process)
{
	if (csv->several) {
		ada_output_bytes(csv->output, ",", 1);
		ada_output_csv(csv->output, process->directory);
	}
	ada_output_bytes(csv->output, "\n", 1);
}

/* --- calls ------------------------------------------------------------------------------------------------------------ */

static int take_thread(void *context, const struct ada_export_thread *thread)
{
	struct csv *csv = context;

	csv->thread = thread->thread;
	return 0;
}

static int take_call(void *context, const struct ada_call *call, bool cut)
{
	struct csv *csv = context;
	struct ada_output *output = csv->output;
	const struct ada_process *process = csv->thread->process;
	bool ended = call->outcome == ADA_OUTCOME_RETURN || call->outcome == ADA_OUTCOME_EXCEPTION;
	bool known = call->outcome != ADA_OUTCOME_UNKNOWN;
	uint64_t duration_ns = ada_call_duration(call);
	const struct ada_export_text *text;

	if (call->start_ns < csv->export->selection->from_ns)
		return 0;
	put_number(output, csv->thread->number);
	put_number(output, csv->thread->tid);
	put_number(output, call->position);
	put_optional(output, call->end_position, ended);
	put_number(output, call->start_ns);
	put_optional(output, call->end_ns, known);
	put_optional(output, duration_ns, known);
	put_optional(output, ada_call_self(call), known);
	put_number(output, call->function_id);
	text = ada_export_text(&csv->texts, csv->export, process, call->function_id, NULL);
	if (!text)
		return -ENOMEM;
	put_text(output, text->function);
	if (call->caller_id != ADA_NO_FUNCTION) {
		text = ada_export_text(&csv->texts, csv->export, process, call->caller_id, NULL);
		if (!text)
			return -ENOMEM;
		ada_output_string(output, text->function);
	}
	ada_output_bytes(output, ",", 1);
	put_number(output, call->depth);
	ada_output_string(output, ada_export_outcome(call->outcome));
	put_process(csv, process);
	return 0;
}

static int write_calls(struct csv *csv, struct ada_error *error)
{
	ada_output_string(csv->output, "thread,tid,index_seq,end_index_seq,start_ns,end_ns,duration_ns,self_ns,function_id,function,"
				       "caller,depth,outcome");
	ada_output_string(csv->output, csv->several ? ",process\n" : "\n");
	return ada_export_walk(csv->export,
			       &(struct ada_export_receiver){ .context = csv, .whole = true, .thread = take_thread, .ended = take_call },
			       error);
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

static const char *kind_name(uint32_t kind)
{
	static const char *const names[ADA_EVENT_KINDS] = {
		[ADA_EVENT_CALL] = "call",    [ADA_EVENT_RETURN] = "return", [ADA_EVENT_EXCEPTION] = "exception",
		[ADA_EVENT_LOST] = "lost",    [ADA_EVENT_OBJECT] = "object", [ADA_EVENT_RECORDER] = "recorder",
		[ADA_EVENT_HOLDER] = "holder"
	};

	return kind < ADA_EVENT_KINDS ? names[kind] : NULL;
}

static int put_moment(struct csv *csv, const struct ada_moment *moment)
{
	const struct ada_event *event = moment->event;
	struct ada_output *output = csv->output;
	bool other = event->event_kind >= ADA_EVENT_LOST;
	const struct ada_export_text *text;

	if (!kind_name(event->event_kind))
		return 0;
	put_number(output, event->timestamp_ns);
	put_number(output, moment->thread->number);
	put_number(output, moment->thread->tid);
	put_number(output, moment->position);
	put_text(output, kind_name(event->event_kind));
	if (other) {
		ada_output_string(output, ",,");
	} else {
		text = ada_export_text(&csv->texts, csv->export, moment->thread->process, event->function_id, NULL);
		if (!text)
			return -ENOMEM;
		put_text(output, text->function);
		put_text(output, text->module);
	}
	put_number(output, event->call_depth);
	put_optional(output, event->detail_seq, event->detail_seq != ADA_NO_DETAIL);
	put_optional(output, event->function_id, event->event_kind == ADA_EVENT_LOST);
	put_optional(output, event->function_id, event->event_kind == ADA_EVENT_OBJECT);
	put_optional(output, event->function_id, event->event_kind == ADA_EVENT_RECORDER);
	if (event->event_kind == ADA_EVENT_HOLDER)
		ada_output_u64(output, event->function_id);
	put_process(csv, moment->thread->process);
	return 0;
}

static int put_moments(struct csv *csv, struct ada_timeline *timeline, uint64_t *kept)
{
	const struct ada_session *session = csv->export->selection->session;
	struct ada_moment moment;
	uint64_t done = 0;
	int result = 0;

	while (!result && !csv->output->error && ada_timeline_next(timeline, &moment)) {
		uint64_t *behind = &kept[moment.thread - session->threads.items];

		if (done++ % PAUSE_EVENTS == 0) {
			if (ada_interrupted())
				return -EINTR;
			if (csv->export->progress)
				ada_progress_at(csv->export->progress, done);
		}
		result = put_moment(csv, &moment);
		if (moment.position >= *behind + RELEASE_EVENTS) {
			atf_thread_release(moment.thread->events, *behind, moment.position);
			*behind = moment.position;
		}
	}
	return result;
}

static int write_events(struct csv *csv, struct ada_error *error)
{
	const struct ada_selection *selection = csv->export->selection;
	uint64_t *kept = calloc(selection->session->threads.count + 1, sizeof *kept); /* events before this one were released, by thread */
	struct ada_timeline *timeline;
	int result;

	if (!kept)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	result = ada_timeline_open(&timeline, selection, false, error);
	if (!result) {
		ada_output_string(csv->output,
				  "timestamp_ns,thread,tid,index_seq,kind,function,module,depth,detail_seq,lost,object,waited_ns,holder");
		ada_output_string(csv->output, csv->several ? ",process\n" : "\n");
		result = put_moments(csv, timeline, kept);
		csv->export->completeness = ada_timeline_completeness(timeline);
		ada_timeline_close(timeline);
		if (result && result != -EINTR)
			ada_error_system(error, -result, "%s", selection->session->path);
	}
	free(kept);
	return result;
}

int ada_export_csv(struct ada_export *export, struct ada_error *error)
{
	struct csv csv = { .export = export,
			   .output = export->output,
			   .texts.quoting = ADA_EXPORT_CSV,
			   .several = export->selection->session->processes.count > 1 };
	int result = export->events ? write_events(&csv, error) : write_calls(&csv, error);

	ada_export_texts_close(&csv.texts);
	return result;
}
