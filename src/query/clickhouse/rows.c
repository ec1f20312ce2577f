/* RowBinary: numbers little-endian, strings behind their length in LEB128, Nullable behind a byte (1: null). */
#include "query/clickhouse/rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/interrupt.h"

static void bytes_put(struct ada_rowbinary *rows, const void *bytes, size_t count)
{
	rows->failed |= ada_array_reserve(&rows->bytes, count) != 0;
	if (rows->failed)
		return;
	memcpy(rows->bytes.items + rows->bytes.count, bytes, count);
	rows->bytes.count += count;
}

static void put_u8(struct ada_rowbinary *rows, uint8_t number)
{
	bytes_put(rows, &number, 1);
}

static void put_u32(struct ada_rowbinary *rows, uint32_t number)
{
	bytes_put(rows, &number, 4);
}

static void put_u64(struct ada_rowbinary *rows, uint64_t number)
{
	bytes_put(rows, &number, 8);
}

static void put_text(struct ada_rowbinary *rows, const char *text)
{
	char *clean = ada_output_utf8_copy(text ? text : "");
	size_t length = clean ? strlen(clean) : 0;

	rows->failed |= !clean;
	for (size_t rest = length;; rest >>= 7) {
		put_u8(rows, (rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
		if (rest <= 0x7f)
			break;
	}
	bytes_put(rows, clean, length);
	free(clean);
}

static void put_maybe(struct ada_rowbinary *rows, bool there, uint64_t number, size_t bytes)
{
	put_u8(rows, !there);
	if (there)
		bytes_put(rows, &number, bytes);
}

/* --- the small tables -------------------------------------------------------------------------------------------------- */

static void put_processes(struct ada_rowbinary *rows, const struct ada_session *session)
{
	for (size_t i = 0; i < session->processes.count; i++) {
		const struct ada_process *process = session->processes.items[i];

		put_u32(rows, (uint32_t)i);
		put_text(rows, process->directory);
		put_u32(rows, process->pid);
		put_text(rows, ada_json_text(process->manifest, "program", ""));
		put_u64(rows, ada_json_u64(process->manifest, "startNs", 0));
		put_u64(rows, ada_json_u64(process->manifest, "endNs", 0));
		put_u8(rows, process->complete);
	}
}

static void put_threads(struct ada_rowbinary *rows, const struct ada_clickhouse_content *content)
{
	for (size_t i = 0; i < content->session->threads.count; i++) {
		const struct ada_thread *thread = &content->session->threads.items[i];

		put_u32(rows, content->processes[i]);
		put_u32(rows, thread->number);
		put_u32(rows, thread->tid);
		put_text(rows, thread->name);
		put_u64(rows, content->sums[i].rows);
		put_u64(rows, ada_thread_lost(thread));
		put_u64(rows, thread->skipped);
	}
}

static void put_modules(struct ada_rowbinary *rows, const struct ada_session *session)
{
	for (size_t i = 0; i < session->modules.count; i++) {
		const struct ada_module *module = session->modules.items[i];

		put_u32(rows, module->number);
		put_text(rows, ada_module_name(module));
		put_text(rows, module->path);
		put_text(rows, module->build_id);
	}
}

static void put_functions(struct ada_rowbinary *rows, const struct ada_name_list *names)
{
	for (size_t i = 0; i < names->items.count; i++) {
		const struct ada_name *name = names->items.items[i];

		put_u64(rows, name->key);
		put_text(rows, name->function);
		put_text(rows, name->mangled);
		put_text(rows, name->module);
		put_u64(rows, name->symbol ? name->symbol->address : 0);
		put_u64(rows, name->symbol ? name->symbol->size : 0);
	}
}

static uint32_t number_of(const struct ada_session *session, const struct ada_process *process)
{
	uint32_t number = 0;

	while (number < session->processes.count && session->processes.items[number] != process)
		number++;
	return number;
}

static void put_windows(struct ada_rowbinary *rows, const struct ada_session *session)
{
	for (size_t i = 0; i < session->windows.count; i++) {
		const struct ada_recorded_window *window = &session->windows.items[i];

		put_u32(rows, (uint32_t)i);
		put_u32(rows, number_of(session, window->process));
		put_u64(rows, window->start_ns);
		put_maybe(rows, window->end_ns != UINT64_MAX, window->end_ns, 8);
		put_text(rows, ada_json_text(window->entry, "triggerKind", ""));
		put_u64(rows, window->event_count);
		put_u64(rows, window->marked_count);
		put_text(rows, ada_json_text(window->entry, "shortReason", ""));
	}
}

static bool has_number(const json_object *object, const char *key)
{
	return json_object_is_type(ada_json_get(object, key), json_type_int);
}

/* index_seq as everywhere: the manifest counts by segment. */
static void put_marked_event(struct ada_rowbinary *rows, const struct ada_process *process, const json_object *mark)
{
	uint64_t number = ada_json_u64(mark, "thread", UINT64_MAX), segment = ada_json_u64(mark, "segment", 0), seq;
	const struct ada_thread *thread = ada_process_thread(process, number);
	uint64_t id = ada_json_u64(mark, "functionId", 0);

	seq = ada_json_u64(mark, "indexSeq", 0);
	for (uint64_t i = 0; thread && thread->events && i < segment && i < atf_thread_segments(thread->events); i++)
		seq += atf_index_count(atf_thread_segment(thread->events, (uint32_t)i));
	put_maybe(rows, has_number(mark, "thread"), number, 4);
	put_maybe(rows, has_number(mark, "indexSeq"), seq, 8);
	put_maybe(rows, has_number(mark, "functionId"), ada_process_function_key(process, id), 8);
}

static void put_marks(struct ada_rowbinary *rows, const struct ada_session *session)
{
	for (size_t i = 0; i < session->windows.count; i++) {
		const struct ada_recorded_window *window = &session->windows.items[i];
		const json_object *marks = ada_json_get(window->entry, "marks");

		for (size_t j = 0; j < ada_json_length(marks); j++) {
			const json_object *mark = json_object_array_get_idx(marks, j);

			put_u32(rows, (uint32_t)i);
			put_u32(rows, number_of(session, window->process));
			put_u64(rows, ada_json_u64(mark, "tsNs", 0));
			put_text(rows, ada_json_text(mark, "kind", ""));
			put_text(rows, ada_json_text(mark, "label", ""));
			put_marked_event(rows, window->process, mark);
		}
	}
}

static void put_report(struct ada_rowbinary *rows, const struct ada_clickhouse_content *content)
{
	for (size_t i = 0; i < content->stats.functions.count; i++) {
		const struct ada_function_stats *function = content->stats.functions.items[i];
		const struct ada_histogram *durations = &function->durations;
		uint64_t module = function->module ? function->module->number :
						     content->session->modules.count + ADA_FUNCTION_MODULE(function->function_id);
		char buffer[ADA_NAME_BUFFER];
		bool known = durations->count;

		put_u64(rows, module << 32 | ADA_FUNCTION_SYMBOL(function->function_id));
		put_text(rows, ada_module_function(function->module, function->function_id, buffer));
		put_text(rows, ada_module_name(function->module));
		put_u64(rows, function->calls);
		put_u64(rows, function->total_ns);
		put_u64(rows, function->self_ns);
		put_maybe(rows, known, durations->min, 8);
		put_maybe(rows, known, known ? durations->sum / durations->count : 0, 8);
		put_maybe(rows, known, known ? ada_histogram_percentile(durations, 500) : 0, 8);
		put_maybe(rows, known, known ? ada_histogram_percentile(durations, 900) : 0, 8);
		put_maybe(rows, known, known ? ada_histogram_percentile(durations, 990) : 0, 8);
		put_maybe(rows, known, durations->max, 8);
	}
}

static void put_session(struct ada_rowbinary *rows, const struct ada_clickhouse_content *content)
{
	const json_object *document = content->session->document;
	const struct ada_completeness *completeness = &content->export->completeness;
	json_object *command = ada_json_get(document, "command");

	put_text(rows, ada_json_text(document, "name", ""));
	put_text(rows, ada_json_text(document, "started", ""));
	put_u64(rows, ada_json_u64(document, "startNs", 0));
	put_u64(rows, ada_json_u64(document, "endNs", 0));
	put_text(rows, ada_json_text(document, "program", ""));
	put_text(rows, command ? json_object_to_json_string_ext(command, JSON_C_TO_STRING_PLAIN) : "[]");
	put_text(rows, ada_json_text(document, "adaVersion", ""));
	put_u64(rows, content->events);
	put_u64(rows, completeness->lost);
	bytes_put(rows, &completeness->detail_coverage, 8);
	put_u8(rows, completeness->complete);
}

void ada_clickhouse_rows(struct ada_rowbinary *rows, const struct ada_clickhouse_content *content, enum ada_clickhouse_table table)
{
	const struct ada_session *session = content->session;

	switch (table) {
	case ADA_CLICKHOUSE_PROCESSES: put_processes(rows, session); break;
	case ADA_CLICKHOUSE_THREADS: put_threads(rows, content); break;
	case ADA_CLICKHOUSE_MODULES: put_modules(rows, session); break;
	case ADA_CLICKHOUSE_FUNCTIONS: put_functions(rows, &content->export->names); break;
	case ADA_CLICKHOUSE_WINDOWS: put_windows(rows, session); break;
	case ADA_CLICKHOUSE_MARKS: put_marks(rows, session); break;
	case ADA_CLICKHOUSE_REPORT: put_report(rows, content); break;
	case ADA_CLICKHOUSE_SESSIONS: put_session(rows, content); break;
	default: break;
	}
}
