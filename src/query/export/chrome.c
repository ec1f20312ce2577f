/* Chrome's JSON Trace Event Format: a complete event (X) a call, with its whole duration; times in us with three decimals, so that
 * ns are exact, from the session's start on. Calls that were open when the selection began stand around the others, cut at both
 * ends (args.cut). A call that ended on another stack of its thread (calls.h: aside) would lie across others: it is an async pair
 * (b, e). One without a known end lasts until it was seen last (args.outcome "unknown"). Marks and losses are instants, windows
 * async pairs of their process, and when a thread had a CPU async pairs of the thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "query/export/export.h"
#include "query/export/parts.h"
#include "query/export/walk.h"

struct chrome {
	struct ada_export *export;
	struct ada_output *output;
	struct ada_export_texts texts;
	struct ada_export_rates rates;
	const struct ada_thread *thread;
	const struct ada_process *process; /* whose events `rates` counts */
	const char *curve;		   /* of rates, being written */
	uint64_t base_ns;
	bool any;
};

/* --- pieces ----------------------------------------------------------------------------------------------------------- */

static void chrome_put(struct chrome *chrome, const char *text)
{
	ada_output_string(chrome->output, text);
}

static void put_number(struct chrome *chrome, const char *field, uint64_t number)
{
	ada_output_string(chrome->output, field);
	ada_output_u64(chrome->output, number);
}

static void put_text(struct chrome *chrome, const char *field, const char *text)
{
	ada_output_string(chrome->output, field);
	ada_output_json(chrome->output, text);
}

static void put_us(struct chrome *chrome, const char *field, uint64_t ns)
{
	char text[4] = ".000";

	put_number(chrome, field, ns / 1000);
	for (int i = 3; i >= 1; i--, ns /= 10)
		text[i] = '0' + ns % 10;
	ada_output_bytes(chrome->output, text, sizeof text);
}

static void put_head(struct chrome *chrome, char phase, const struct ada_process *process, uint32_t tid)
{
	chrome_put(chrome, chrome->any ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
	chrome->any = true;
	ada_output_bytes(chrome->output, &phase, 1);
	put_number(chrome, "\",\"pid\":", process->pid);
	put_number(chrome, ",\"tid\":", tid);
}

static uint64_t since(const struct chrome *chrome, uint64_t ns)
{
	return ns > chrome->base_ns ? ns - chrome->base_ns : 0;
}

static void put_name(struct chrome *chrome, const char *what, const struct ada_process *process, uint32_t tid, const char *name)
{
	put_head(chrome, 'M', process, tid);
	put_text(chrome, ",\"name\":", what);
	put_text(chrome, ",\"args\":{\"name\":", name);
	chrome_put(chrome, "}}");
}

/* --- counters --------------------------------------------------------------------------------------------------------- */

static int put_point(void *context, uint64_t ns, uint64_t value)
{
	struct chrome *chrome = context;
	char name[96];

	snprintf(name, sizeof name, "%s per %" PRIu64 " ms", chrome->curve, chrome->rates.bucket_ns / 1000000);
	put_head(chrome, 'C', chrome->process, chrome->process->pid);
	put_us(chrome, ",\"ts\":", since(chrome, ns));
	put_text(chrome, ",\"name\":", name);
	put_number(chrome, ",\"args\":{\"events\":", value);
	chrome_put(chrome, "}}");
	return 0;
}

/* --- marks and windows ------------------------------------------------------------------------------------------------ */

static int put_window(void *context, const struct ada_export_window *window)
{
	struct chrome *chrome = context;
	const struct ada_process *process = window->recorded->process;

	for (int end = 0; end <= 1; end++) {
		put_head(chrome, end ? 'e' : 'b', process, process->pid);
		put_us(chrome, ",\"ts\":", since(chrome, end ? window->to_ns : window->from_ns));
		put_number(chrome, ",\"cat\":\"window\",\"id\":\"window ", window->number);
		put_number(chrome, "\",\"name\":\"window ", window->number);
		put_text(chrome, "\",\"args\":{\"kind\":", window->kind);
		put_number(chrome, ",\"marks\":", window->recorded->marked_count);
		put_number(chrome, ",\"events\":", window->recorded->event_count);
		chrome_put(chrome, "}}");
	}
	return 0;
}

static int put_mark(void *context, const struct ada_export_mark *mark)
{
	struct chrome *chrome = context;

	put_head(chrome, 'i', mark->process, mark->thread ? mark->thread->tid : mark->process->pid);
	put_us(chrome, ",\"ts\":", since(chrome, mark->ns));
	put_text(chrome, ",\"cat\":\"mark\",\"s\":", mark->thread ? "t" : "p");
	put_text(chrome, ",\"name\":", mark->label ? mark->label : mark->kind ? mark->kind : "mark");
	put_number(chrome, ",\"args\":{\"window\":", mark->window);
	if (mark->kind)
		put_text(chrome, ",\"kind\":", mark->kind);
	if (mark->rule)
		put_text(chrome, ",\"rule\":", mark->rule);
	if (mark->has_position)
		put_number(chrome, ",\"index_seq\":", mark->position);
	if (mark->value) {
		chrome_put(chrome, ",\"value\":");
		chrome_put(chrome, json_object_to_json_string_ext((json_object *)mark->value, JSON_C_TO_STRING_PLAIN));
	}
	if (mark->more)
		put_number(chrome, ",\"more\":", mark->more);
	chrome_put(chrome, "}}");
	return 0;
}

/* --- when a thread had a CPU ------------------------------------------------------------------------------------------- */

static int put_stretch(void *context, const struct ada_export_cpu *stretch)
{
	struct chrome *chrome = context;
	const struct ada_thread *thread = chrome->thread;

	for (int end = 0; end <= 1; end++) {
		put_head(chrome, end ? 'e' : 'b', thread->process, thread->tid);
		put_us(chrome, ",\"ts\":", since(chrome, end ? stretch->to_ns : stretch->from_ns));
		put_number(chrome, ",\"cat\":\"cpu\",\"id\":\"cpu ", thread - chrome->export->selection->session->threads.items);
		put_text(chrome, "\",\"name\":", ada_export_cpu_name(stretch->state));
		chrome_put(chrome, ",\"args\":{");
		if (stretch->other_tid)
			put_number(chrome, "\"by_tid\":", stretch->other_tid);
		chrome_put(chrome, "}}");
	}
	return 0;
}

/* --- processes and threads -------------------------------------------------------------------------------------------- */

static void end_process(struct chrome *chrome)
{
	if (!chrome->process)
		return;
	chrome->curve = "events";
	ada_export_rates_tell(&chrome->rates, chrome->rates.events, chrome, put_point);
	chrome->curve = "lost events";
	if (chrome->rates.any_lost)
		ada_export_rates_tell(&chrome->rates, chrome->rates.lost, chrome, put_point);
}

static int begin_process(struct chrome *chrome, const struct ada_process *process)
{
	const struct ada_selection *selection = chrome->export->selection;
	int result;

	chrome->process = process;
	put_name(chrome, "process_name", process, process->pid, ada_export_process_name(process));
	result = ada_export_marks(selection, process,
				  &(struct ada_export_marks_receiver){ .context = chrome, .window = put_window, .mark = put_mark });
	return result ? result : ada_export_rates_begin(&chrome->rates, selection, process);
}

static int take_thread(void *context, const struct ada_export_thread *thread)
{
	struct chrome *chrome = context;
	int result = 0;

	chrome->thread = thread->thread;
	if (thread->thread->process != chrome->process) {
		end_process(chrome);
		result = begin_process(chrome, thread->thread->process);
	}
	if (*thread->thread->name)
		put_name(chrome, "thread_name", thread->thread->process, thread->thread->tid, thread->thread->name);
	return result ? result : ada_export_cpu(chrome->export->selection, thread->thread, chrome, put_stretch);
}

static int take_event(void *context, const struct ada_event *event)
{
	struct chrome *chrome = context;

	ada_export_rates_count(&chrome->rates, event);
	return 0;
}

static int take_lost(void *context, const struct ada_event *event, uint64_t position)
{
	struct chrome *chrome = context;

	put_head(chrome, 'i', chrome->thread->process, chrome->thread->tid);
	put_us(chrome, ",\"ts\":", since(chrome, event->timestamp_ns));
	put_number(chrome, ",\"cat\":\"lost\",\"s\":\"t\",\"name\":\"events lost\",\"args\":{\"lost\":", event->function_id);
	put_number(chrome, ",\"index_seq\":", position);
	chrome_put(chrome, "}}");
	return 0;
}

/* --- calls ------------------------------------------------------------------------------------------------------------ */

static int take_left(void *context, struct ada_call *call, uint64_t last_ns)
{
	call->user = (void *)(uintptr_t)last_ns;
	return 0;
}

/* Name, category and arguments of a call. */
static void put_call(struct chrome *chrome, const struct ada_call *call, const struct ada_export_text *text, bool cut)
{
	chrome_put(chrome, ",\"name\":");
	chrome_put(chrome, text->function);
	chrome_put(chrome, ",\"cat\":");
	chrome_put(chrome, text->module);
	put_number(chrome, ",\"args\":{\"index_seq\":", call->position);
	put_number(chrome, ",\"depth\":", call->depth);
	if (call->outcome != ADA_OUTCOME_RETURN && !cut)
		put_text(chrome, ",\"outcome\":", ada_export_outcome(call->outcome));
	if (call->across_loss)
		chrome_put(chrome, ",\"across_loss\":true");
	chrome_put(chrome, cut ? ",\"cut\":true}}" : "}}");
}

static int take_ended(void *context, const struct ada_call *call, bool cut)
{
	struct chrome *chrome = context;
	const struct ada_selection *selection = chrome->export->selection;
	uint64_t start_ns = call->start_ns, end_ns = call->end_ns;
	bool around = start_ns < selection->from_ns;
	const struct ada_export_text *text;

	if (call->outcome == ADA_OUTCOME_UNKNOWN)
		end_ns = (uintptr_t)call->user;
	if (around) {
		start_ns = selection->from_ns;
		if (end_ns > selection->to_ns)
			end_ns = selection->to_ns;
	}
	if (end_ns < start_ns)
		end_ns = start_ns;
	text = ada_export_text(&chrome->texts, chrome->export, chrome->thread->process, call->function_id, NULL);
	if (!text)
		return -ENOMEM;
	if (!call->aside || call->outcome == ADA_OUTCOME_UNKNOWN) {
		put_head(chrome, 'X', chrome->thread->process, chrome->thread->tid);
		put_us(chrome, ",\"ts\":", since(chrome, start_ns));
		put_us(chrome, ",\"dur\":", end_ns - start_ns);
		put_call(chrome, call, text, around);
		return 0;
	}
	for (int end = 0; end <= 1; end++) {
		put_head(chrome, end ? 'e' : 'b', chrome->thread->process, chrome->thread->tid);
		put_us(chrome, ",\"ts\":", since(chrome, end ? end_ns : start_ns));
		put_number(chrome, ",\"id\":\"", chrome->thread - selection->session->threads.items);
		put_number(chrome, ":", call->position);
		chrome_put(chrome, "\"");
		put_call(chrome, call, text, around);
	}
	return 0;
}

int ada_export_chrome(struct ada_export *export, struct ada_error *error)
{
	struct chrome chrome = { .export = export,
				 .output = export->output,
				 .texts.quoting = ADA_EXPORT_JSON,
				 .base_ns = ada_export_base_ns(export->selection) };
	const struct ada_completeness *completeness = &export->completeness;
	char coverage[32];
	int result;

	chrome_put(&chrome, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	result = ada_export_walk(export,
				 &(struct ada_export_receiver){ .context = &chrome,
								.whole = true,
								.thread = take_thread,
								.left = take_left,
								.ended = take_ended,
								.lost = take_lost,
								.event = take_event },
				 error);
	if (!result) {
		end_process(&chrome);
		snprintf(coverage, sizeof coverage, "%.6g", completeness->detail_coverage);
		put_number(&chrome, "\n],\"otherData\":{\"clock\":\"CLOCK_BOOTTIME\",\"startNs\":\"", chrome.base_ns);
		put_number(&chrome, "\",\"events\":", completeness->events);
		put_number(&chrome, ",\"lost\":", completeness->lost);
		chrome_put(&chrome, ",\"detailCoverage\":");
		chrome_put(&chrome, coverage);
		if (completeness->muted)
			put_number(&chrome, ",\"mutedFunctions\":", completeness->muted);
		chrome_put(&chrome, completeness->complete ? ",\"complete\":true}}\n" : ",\"complete\":false}}\n");
	}
	ada_export_rates_close(&chrome.rates);
	ada_export_texts_close(&chrome.texts);
	return result;
}
