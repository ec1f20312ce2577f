/* speedscope's own format: an evented profile a thread. Its rules: events in the order of time, every O with its C, nested.
 *
 * So a call ends where it leaves the stack. A call without a known end ends where it was seen last; so does a call that continues on
 * another stack of its thread (calls.h: aside). Events name no outcome: there is no place for one. Frames come last in the file, when all
 * are known. */
#include <errno.h>
#include <stdio.h>
#include "query/export/export.h"
#include "query/export/parts.h"
#include "query/export/walk.h"
#include "query/session/source.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

struct speedscope {
	struct ada_export *export;
	struct ada_output *output;
	struct ada_export_texts texts;
	const struct ada_thread *thread;
	uint64_t base_ns;
	uint64_t now_ns; /* of the last event: none is earlier */
	uint64_t to_ns;	 /* of what is exported of the thread */
	bool any_profile, any_event, shown;
};

static int put_event(struct speedscope *speedscope, char type, uint64_t function_id, uint64_t ns)
{
	struct ada_output *output = speedscope->output;
	uint32_t frame;

	if (!ada_export_text(&speedscope->texts, speedscope->export, speedscope->thread->process, function_id, &frame))
		return -ENOMEM;
	if (ns > speedscope->now_ns)
		speedscope->now_ns = ns;
	ada_output_string(output, speedscope->any_event ? ",\n{\"type\":\"" : "\n{\"type\":\"");
	ada_output_bytes(output, &type, 1);
	ada_output_string(output, "\",\"frame\":");
	ada_output_u64(output, frame);
	ada_output_string(output, ",\"at\":");
	ada_output_u64(output, speedscope->now_ns - speedscope->base_ns);
	ada_output_string(output, "}");
	speedscope->any_event = true;
	return 0;
}

static void put_profile_name(struct speedscope *speedscope)
{
	const struct ada_thread *thread = speedscope->thread;
	char text[sizeof thread->name + 64];

	snprintf(text, sizeof text, "%s%s%u", thread->name, *thread->name ? " " : "", thread->tid);
	if (speedscope->export->selection->session->processes.count > 1)
		snprintf(text, sizeof text, "%s/%s%s%u", thread->process->directory, thread->name, *thread->name ? " " : "", thread->tid);
	ada_output_json(speedscope->output, text);
}

static int take_thread(void *context, const struct ada_export_thread *thread)
{
	struct speedscope *speedscope = context;
	struct ada_output *output = speedscope->output;

	speedscope->thread = thread->thread;
	speedscope->now_ns = thread->from_ns;
	speedscope->to_ns = thread->to_ns;
	speedscope->any_event = false;
	speedscope->shown = thread->to_ns; /* nothing of other threads lies in the selection */
	if (!speedscope->shown)
		return 0;
	ada_output_string(output, speedscope->any_profile ? ",\n" : "\n");
	speedscope->any_profile = true;
	ada_output_string(output, "{\"type\":\"evented\",\"name\":");
	put_profile_name(speedscope);
	ada_output_string(output, ",\"unit\":\"nanoseconds\",\"startValue\":");
	ada_output_u64(output, thread->from_ns - speedscope->base_ns);
	ada_output_string(output, ",\"events\":[");
	return 0;
}

static int take_thread_done(void *context)
{
	struct speedscope *speedscope = context;

	uint64_t end_ns = speedscope->now_ns > speedscope->to_ns ? speedscope->now_ns : speedscope->to_ns;

	if (!speedscope->shown)
		return 0;
	ada_output_string(speedscope->output, "],\"endValue\":");
	ada_output_u64(speedscope->output, end_ns - speedscope->base_ns);
	ada_output_string(speedscope->output, "}");
	return 0;
}

static int take_begun(void *context, struct ada_call *call)
{
	return put_event(context, 'O', call->function_id, call->start_ns);
}

static int take_left(void *context, struct ada_call *call, uint64_t last_ns)
{
	return put_event(context, 'C', call->function_id, last_ns);
}

static int take_ended(void *context, const struct ada_call *call, bool cut)
{
	return call->aside ? 0 : put_event(context, 'C', call->function_id, call->end_ns);
}

static void put_frame(struct ada_output *output, const struct ada_name *name, const char *quoted)
{
	const char *file;
	uint32_t line;

	ada_output_string(output, "{\"name\":");
	ada_output_string(output, quoted);
	if (name->symbol && ada_module_source(name->of, ada_export_symbol_index(name), &file, &line)) {
		ada_output_string(output, ",\"file\":");
		ada_output_json(output, file);
		ada_output_string(output, ",\"line\":");
		ada_output_u64(output, line);
	} else if (*name->module) {
		ada_output_string(output, ",\"file\":");
		ada_output_json(output, name->module);
	}
	ada_output_string(output, "}");
}

/* The file has no place for what was lost but its name. */
static void put_end(struct speedscope *speedscope)
{
	const struct ada_completeness *completeness = &speedscope->export->completeness;
	struct ada_output *output = speedscope->output;
	const char *path = speedscope->export->selection->session->path;
	char text[256], lost[64] = "";

	ada_output_string(output, "],\n\"shared\":{\"frames\":[");
	for (size_t i = 0; i < speedscope->texts.items.count; i++) {
		ada_output_string(output, i ? ",\n" : "\n");
		put_frame(output, speedscope->export->names.items.items[i], speedscope->texts.items.items[i].function);
	}
	if (completeness->lost)
		snprintf(lost, sizeof lost, " (%llu events lost)", (unsigned long long)completeness->lost);
	else if (!completeness->complete)
		snprintf(lost, sizeof lost, " (not complete)");
	snprintf(text, sizeof text, "%.180s%s", ada_export_base_name(path), lost);
	ada_output_string(output, "]},\n\"activeProfileIndex\":0,\n\"exporter\":\"ada\",\n\"name\":");
	ada_output_json(output, text);
	ada_output_string(output, "}\n");
}

int ada_export_speedscope(struct ada_export *export, struct ada_error *error)
{
	struct speedscope speedscope = { .export = export,
					 .output = export->output,
					 .texts.quoting = ADA_EXPORT_JSON,
					 .base_ns = ada_export_base_ns(export->selection) };
	int result;

	ada_output_string(export->output, "{\"$schema\":\"" SCHEMA "\",\n\"profiles\":[");
	result = ada_export_walk(export,
				 &(struct ada_export_receiver){ .context = &speedscope,
								.thread = take_thread,
								.begun = take_begun,
								.left = take_left,
								.ended = take_ended,
								.thread_done = take_thread_done },
				 error);
	if (!result)
		put_end(&speedscope);
	ada_export_texts_close(&speedscope.texts);
	return result;
}
