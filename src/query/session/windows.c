/* Windows from the manifest; records from the detail files. */
#include "query/session/windows.h"
#include <stdio.h>
#include <stdlib.h>
#include "base/output.h"

int ada_windows_add(struct ada_process *process)
{
	struct ada_session *session = process->session;
	const json_object *list = ada_json_get(ada_json_get(process->manifest, "detail_lane"), "windows");
	int result = 0;

	process->first_window = session->windows.count;
	for (size_t i = 0; i < ada_json_length(list) && !result; i++) {
		const json_object *entry = json_object_array_get_idx(list, i);

		if (!json_object_is_type(entry, json_type_object)) {
			ada_session_problem(session, "%s/manifest.json: window %zu is not an object", process->directory, i);
			break;
		}
		result = ada_array_push(&session->windows, (struct ada_recorded_window){
								   .process = process,
								   .entry = entry,
								   .id = (uint32_t)i,
								   .start_ns = ada_json_u64(entry, "startNs", 0),
								   .end_ns = ada_json_u64(entry, "endNs", UINT64_MAX),
								   .event_count = ada_json_u64(entry, "eventCount", 0),
								   .lost = ada_json_u64(entry, "lostCount", 0),
								   .aged = ada_json_get(entry, "agedCount") != NULL,
								   .marked_count = ada_json_u64(entry, "markedCount", 0),
							   });
	}
	process->window_count = session->windows.count - process->first_window;
	return result;
}

char *ada_window_kinds(const json_object *entry)
{
	const json_object *kinds = ada_json_get(entry, "triggerKinds");
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	bool failed = !file;

	for (size_t i = 0; i < ada_json_length(kinds) && !failed; i++) {
		const char *kind = json_object_get_string(json_object_array_get_idx(kinds, i));
		char *quoted = ada_output_prepare(ADA_FORMAT_CSV, kind ? kind : "");

		failed = !quoted || fprintf(file, "%s%s", i ? "," : "", quoted) < 0;
		free(quoted);
	}
	if (file && fclose(file))
		failed = true;
	if (!failed)
		return text;
	free(text);
	return NULL;
}

bool ada_mark_event(const struct ada_process *process, const json_object *mark, const struct ada_thread **thread, uint64_t *position)
{
	uint64_t number = ada_json_u64(mark, "thread", UINT64_MAX), segment = ada_json_u64(mark, "segment", 0);
	uint64_t at = ada_json_u64(mark, "indexSeq", UINT64_MAX);
	const struct ada_thread *one = ada_process_thread(process, number);

	if (!one || !one->events || at == UINT64_MAX || segment >= atf_thread_segments(one->events) ||
	    at >= atf_index_count(atf_thread_segment(one->events, (uint32_t)segment)))
		return false;
	for (uint32_t i = 0; i < segment; i++) /* its number counts in its segment */
		at += atf_index_count(atf_thread_segment(one->events, i));
	*thread = one;
	*position = at;
	return true;
}

/* The CALL of that very time. */
static uint64_t call_at(const struct ada_thread *thread, uint64_t ns)
{
	for (uint64_t i = atf_thread_lower_bound(thread->events, ns); i < thread->count; i++) {
		const struct ada_event *event = atf_thread_get(thread->events, i);

		if (!event || event->timestamp_ns != ns)
			break;
		if (event->event_kind == ADA_EVENT_CALL)
			return i;
	}
	return UINT64_MAX;
}

bool ada_mark_span(const struct ada_process *process, const json_object *mark, struct ada_mark_span *span)
{
	const json_object *begin = ada_json_get(mark, "begin");
	json_object *key = ada_json_get(mark, "key");
	const struct ada_thread *thread = ada_process_thread(process, ada_json_u64(begin, "thread", UINT64_MAX));

	*span = (struct ada_mark_span){ .begin_ns = ada_json_u64(begin, "tsNs", 0), .position = UINT64_MAX };
	if (!span->begin_ns)
		return false;
	if (!json_object_is_type(key, json_type_int)) /* null where --redact drops it */
		snprintf(span->key, sizeof span->key, "(redacted)");
	else if (json_object_get_int64(key) >> 32 == 0 || json_object_get_int64(key) < 0)
		snprintf(span->key, sizeof span->key, "%s", json_object_get_string(key));
	else
		snprintf(span->key, sizeof span->key, "%#llx", (unsigned long long)json_object_get_uint64(key));
	if (thread && thread->events) {
		span->thread = thread;
		span->position = call_at(thread, span->begin_ns);
	}
	return true;
}

void ada_thread_detail_damaged(const struct ada_thread *thread)
{
	struct ada_session *session = thread->process->session;
	struct ada_thread *own = &session->threads.items[thread - session->threads.items];

	if (!thread->detail_named && thread->process->finalized)
		ada_session_problem(session, "%s/thread_%u: some of its detail is damaged", thread->process->directory, thread->number);
	own->detail_named = true;
}

int ada_thread_detail(const struct ada_thread *thread, uint64_t position, struct atf_detail *record)
{
	int status = atf_thread_detail(thread->events, position, record);

	if (status < 0)
		ada_thread_detail_damaged(thread);
	return status;
}

uint64_t ada_detail_before(const struct atf_detail_file *file, uint64_t ns, uint64_t index_seq)
{
	struct atf_detail record;

	return ada_first_not(i, 0, atf_detail_count(file),
			     !atf_detail_get(file, i, &record) && (record.timestamp_ns < ns || record.index_seq < index_seq));
}

static uint64_t before(const struct atf_detail_file *file, bool by_time, uint64_t bound)
{
	return ada_detail_before(file, by_time ? bound : 0, by_time ? 0 : bound);
}

static uint64_t records_between(const struct atf_detail_file *file, bool by_time, uint64_t from, uint64_t to)
{
	uint64_t end = to == UINT64_MAX ? atf_detail_count(file) : before(file, by_time, to);

	return from ? end - before(file, by_time, from) : end;
}

uint64_t ada_thread_details(const struct ada_thread *thread, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	for (uint32_t i = 0; thread->events && i < atf_thread_segments(thread->events); i++) {
		const struct atf_detail_file *file = atf_thread_detail_file(thread->events, i);

		count += file ? records_between(file, true, from_ns, to_ns) : 0;
	}
	return count;
}

uint64_t ada_thread_details_at(const struct ada_thread *thread, uint64_t first, uint64_t end)
{
	uint64_t count = 0, base = 0, events;

	for (uint32_t i = 0; thread->events && i < atf_thread_segments(thread->events) && base < end; i++, base += events) {
		const struct atf_detail_file *file;

		events = atf_index_count(atf_thread_segment(thread->events, i));
		if (base + events <= first)
			continue;
		file = atf_thread_detail_file(thread->events, i);
		count += file ? records_between(file, false, first > base ? first - base : 0, end - base) : 0;
	}
	return count;
}
