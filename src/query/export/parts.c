/* Names, marks and counters for exports. */
#include "query/export/parts.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "query/calls/calls.h"
#include "query/export/walk.h"

/* --- names ------------------------------------------------------------------------------------------------------------ */

static char *prepare(enum ada_export_quoting quoting, const char *text)
{
	if (quoting == ADA_EXPORT_UTF8)
		return ada_output_utf8_copy(text);
	return ada_output_prepare(quoting == ADA_EXPORT_JSON ? ADA_FORMAT_JSON : ADA_FORMAT_CSV, text);
}

const struct ada_export_text *ada_export_text(struct ada_export_texts *texts, struct ada_export *export, const struct ada_process *process,
					      uint64_t function_id, uint32_t *number)
{
	const struct ada_name *name = ada_name_list_get(&export->names, process, function_id);
	struct ada_export_text text;

	if (!name)
		return NULL;
	while (texts->items.count <= name->number) {
		const struct ada_name *next = export->names.items.items[texts->items.count];

		text.function = prepare(texts->quoting, next->function);
		text.module = prepare(texts->quoting, next->module);
		if (!text.function || !text.module || ada_array_push(&texts->items, text)) {
			free(text.function);
			free(text.module);
			return NULL;
		}
	}
	if (number)
		*number = name->number;
	return &texts->items.items[name->number];
}

void ada_export_texts_close(struct ada_export_texts *texts)
{
	for (size_t i = 0; i < texts->items.count; i++) {
		free(texts->items.items[i].function);
		free(texts->items.items[i].module);
	}
	ada_array_free(&texts->items);
}

uint32_t ada_export_symbol_index(const struct ada_name *name)
{
	return (uint32_t)(name->symbol - name->of->symbols);
}

const char *ada_export_outcome(int outcome)
{
	switch (outcome) {
	case ADA_OUTCOME_RETURN: return "return";
	case ADA_OUTCOME_EXCEPTION: return "exception";
	case ADA_OUTCOME_OPEN: return "open";
	}
	return "unknown";
}

uint64_t ada_export_base_ns(const struct ada_selection *selection)
{
	uint64_t base_ns = selection->session->start_ns;

	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];

		if (thread->events && thread->count && atf_thread_get(thread->events, 0)->timestamp_ns < base_ns)
			base_ns = atf_thread_get(thread->events, 0)->timestamp_ns;
	}
	return base_ns;
}

const char *ada_export_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char *ada_export_process_name(const struct ada_process *process)
{
	const char *name = ada_export_base_name(ada_json_text(process->manifest, "program", ""));

	return *name ? name : process->directory;
}

/* --- marks and windows ------------------------------------------------------------------------------------------------ */

/* The thread of the process with this number, if it is selected; else NULL. */
static const struct ada_thread *thread_of(const struct ada_selection *selection, const struct ada_process *process, uint64_t number)
{
	const struct ada_thread *thread = ada_process_thread(process, number);

	return thread && ada_selection_has(selection, thread) ? thread : NULL;
}

static bool has_number(const json_object *entry, const char *key)
{
	return json_object_is_type(ada_json_get(entry, key), json_type_int);
}

/* index_seq counts in its segment; the thread's positions go on over them. */
static bool find_position(const struct ada_thread *thread, const json_object *entry, uint64_t *position)
{
	uint64_t segment = ada_json_u64(entry, "segment", 0);

	if (!thread || !thread->events || !has_number(entry, "indexSeq") || segment >= atf_thread_segments(thread->events))
		return false;
	*position = ada_json_u64(entry, "indexSeq", 0);
	for (uint32_t i = 0; i < segment; i++)
		*position += atf_index_count(atf_thread_segment(thread->events, i));
	return *position < thread->count;
}

static const char *rule_text(const struct ada_process *process, const json_object *entry)
{
	const json_object *rules = ada_json_get(ada_json_get(process->manifest, "marking_policy"), "rules");
	uint64_t id = ada_json_u64(entry, "rule", UINT64_MAX);

	for (size_t i = 0; i < ada_json_length(rules); i++) {
		const json_object *rule = json_object_array_get_idx(rules, i);

		if (ada_json_u64(rule, "id", UINT64_MAX - 1) == id)
			return ada_json_text(rule, "text", NULL);
	}
	return NULL;
}

static int tell_mark(const struct ada_selection *selection, const struct ada_recorded_window *window, uint64_t number,
		     const json_object *entry, const struct ada_export_marks_receiver *receiver)
{
	struct ada_export_mark mark = { .process = window->process,
					.window = number,
					.ns = ada_json_u64(entry, "tsNs", 0),
					.kind = ada_json_text(entry, "kind", NULL),
					.label = ada_json_text(entry, "label", NULL),
					.value = ada_json_get(entry, "value"),
					.more = ada_json_u64(entry, "more", 0) };

	if (mark.ns < selection->from_ns || mark.ns >= selection->to_ns)
		return 0;
	if (has_number(entry, "thread")) {
		mark.thread = thread_of(selection, window->process, ada_json_u64(entry, "thread", 0));
		if (!mark.thread)
			return 0;
	}
	mark.has_position = find_position(mark.thread, entry, &mark.position);
	mark.rule = rule_text(window->process, entry);
	return receiver->mark(receiver->context, &mark);
}

/* The process's last event in the session: where a window ends that is still open. */
static uint64_t last_event(const struct ada_process *process)
{
	const struct ada_session *session = process->session;
	uint64_t last_ns = 0;

	for (size_t i = process->first_thread; i < process->first_thread + process->thread_count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		if (thread->events && thread->count && atf_thread_get(thread->events, thread->count - 1)->timestamp_ns > last_ns)
			last_ns = atf_thread_get(thread->events, thread->count - 1)->timestamp_ns;
	}
	return last_ns;
}

int ada_export_marks(const struct ada_selection *selection, const struct ada_process *process,
		     const struct ada_export_marks_receiver *receiver)
{
	const struct ada_session *session = selection->session;
	int result = 0;

	for (size_t i = process->first_window; i < process->first_window + process->window_count && !result; i++) {
		const struct ada_recorded_window *recorded = &session->windows.items[i];
		const json_object *marks = ada_json_get(recorded->entry, "marks");
		struct ada_export_window window = { .recorded = recorded,
						    .number = i,
						    .from_ns = recorded->start_ns,
						    .to_ns = recorded->end_ns,
						    .kind = ada_json_text(recorded->entry, "triggerKind", "") };

		if (window.to_ns == UINT64_MAX)
			window.to_ns = last_event(process) > window.from_ns ? last_event(process) : window.from_ns;
		if (window.from_ns < selection->from_ns)
			window.from_ns = selection->from_ns;
		if (window.to_ns >= selection->to_ns)
			window.to_ns = selection->to_ns - 1;
		if (window.from_ns <= window.to_ns)
			result = receiver->window(receiver->context, &window);
		for (size_t k = 0; k < ada_json_length(marks) && !result; k++)
			result = tell_mark(selection, recorded, i, json_object_array_get_idx(marks, k), receiver);
	}
	return result;
}

/* --- counters --------------------------------------------------------------------------------------------------------- */

int ada_export_rates_begin(struct ada_export_rates *rates, const struct ada_selection *selection, const struct ada_process *process)
{
	uint64_t start_ns = UINT64_MAX, end_ns = 0, first, last;

	ada_export_rates_close(rates);
	for (size_t i = 0; i < selection->threads.count; i++) {
		const struct ada_thread *thread = selection->threads.items[i];

		ada_selection_range(selection, thread, &first, &last);
		if (thread->process != process || first == last)
			continue;
		/* In a damaged file the last one may be the earlier one. */
		for (int end = 0; end < 2; end++) {
			uint64_t ns = atf_thread_get(thread->events, end ? last - 1 : first)->timestamp_ns;

			start_ns = ns < start_ns ? ns : start_ns;
			end_ns = ns > end_ns ? ns : end_ns;
		}
	}
	if (start_ns > end_ns)
		return 0;
	rates->bucket_ns = ADA_EXPORT_BUCKET_NS;
	while ((end_ns - start_ns) / rates->bucket_ns >= ADA_EXPORT_BUCKETS)
		rates->bucket_ns *= 2;
	rates->start_ns = start_ns;
	rates->end_ns = end_ns < UINT64_MAX ? end_ns + 1 : end_ns; /* so that the last bucket is seen */
	rates->buckets = (end_ns - start_ns) / rates->bucket_ns + 1;
	rates->events = calloc(rates->buckets, sizeof *rates->events);
	rates->lost = calloc(rates->buckets, sizeof *rates->lost);
	return rates->events && rates->lost ? 0 : -ENOMEM;
}

void ada_export_rates_count(struct ada_export_rates *rates, const struct ada_event *event)
{
	uint64_t bucket = 0;

	if (!rates->buckets)
		return;
	if (event->timestamp_ns > rates->start_ns)
		bucket = (event->timestamp_ns - rates->start_ns) / rates->bucket_ns;
	/* Times that fall, as in damaged files. */
	if (bucket >= rates->buckets)
		bucket = rates->buckets - 1;
	rates->events[bucket]++;
	if (event->event_kind == ADA_EVENT_LOST) {
		rates->lost[bucket] += event->function_id;
		rates->any_lost = true;
	}
}

int ada_export_rates_tell(const struct ada_export_rates *rates, const uint64_t *values, void *context,
			  int (*point)(void *context, uint64_t ns, uint64_t value))
{
	uint64_t before = 0;
	int result = 0;

	for (size_t i = 0; i <= rates->buckets && rates->buckets && !result; i++) {
		uint64_t value = i < rates->buckets ? values[i] : 0;

		if (value != before || !i)
			result = point(context, i < rates->buckets ? rates->start_ns + i * rates->bucket_ns : rates->end_ns, value);
		before = value;
	}
	return result;
}

void ada_export_rates_close(struct ada_export_rates *rates)
{
	free(rates->events);
	free(rates->lost);
	*rates = (struct ada_export_rates){};
}
