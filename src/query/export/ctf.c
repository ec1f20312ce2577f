/* CTF: the events of each thread, when it had a CPU, and the marks of each process. The enumeration of the functions has export->names' numbers. */
#include "query/export/ctf.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/interrupt.h"
#include "query/export/parts.h"
#include "query/export/walk.h"
#include "query/session/stretch.h"

#define NO_MODULE UINT32_MAX
#define NAME_MAX_BYTES 4096 /* of a name in a packet: a packet has room for all of them */
#define EVENT_BYTES (8 + 4 + 4 + 4)
#define LOST_BYTES (8 + 4 + 8)
#define CPU_BYTES (4 + 4)

struct ctf {
	struct ada_export *export;
	struct ada_error *error;
	uint64_t done, instance;
};

static uint32_t number_of(const struct ada_session *session, const struct ada_process *process)
{
	uint32_t number = 0;

	while (number < session->processes.count && session->processes.items[number] != process)
		number++;
	return number;
}

static void put_call(struct ada_ctf_stream *stream, const struct ada_event *event, uint64_t position, const struct ada_name *name)
{
	unsigned char *at = ada_ctf_stream_event(stream, (uint8_t)event->event_kind, event->timestamp_ns, EVENT_BYTES);
	uint32_t module = name->of ? name->of->number : NO_MODULE;

	if (!at)
		return;
	memcpy(at, &position, 8);
	memcpy(at + 8, &event->call_depth, 4);
	memcpy(at + 12, &name->number, 4);
	memcpy(at + 16, &module, 4);
}

/* Begins a new packet, so that readers know that the loss lies between the event before and this one. */
static void put_lost(struct ada_ctf_stream *stream, const struct ada_event *event, uint64_t position)
{
	unsigned char *at;

	ada_ctf_stream_cut(stream, event->timestamp_ns, event->function_id);
	at = ada_ctf_stream_event(stream, ADA_EVENT_LOST, event->timestamp_ns, LOST_BYTES);
	if (at) {
		memcpy(at, &position, 8);
		memcpy(at + 8, &event->call_depth, 4);
		memcpy(at + 12, &event->function_id, 8);
	}
	ada_ctf_stream_cut(stream, event->timestamp_ns, 0);
}

static int write_events(struct ctf *ctf, struct ada_ctf_stream *stream, const struct ada_thread *thread, uint64_t position, uint64_t last,
			uint64_t *lost)
{
	struct ada_stretch stretch = { .thread = thread, .next = position, .to = last };

	while (!stream->result && ada_stretch_next(&stretch)) {
		if (ada_interrupted())
			return -EINTR;
		for (uint64_t i = 0; i < stretch.count; i++) {
			const struct ada_event *event = &stretch.events[i];
			const struct ada_name *name;

			if (event->event_kind == ADA_EVENT_LOST) {
				*lost += event->function_id;
				put_lost(stream, event, stretch.position + i);
			} else if (event->event_kind >= ADA_EVENT_CALL && event->event_kind <= ADA_EVENT_EXCEPTION) {
				name = ada_name_list_get(&ctf->export->names, thread->process, event->function_id);
				if (!name)
					return ada_error_system(ctf->error, ENOMEM, "%s", stream->path);
				put_call(stream, event, stretch.position + i, name);
			}
		}
		ctf->done += stretch.count;
		if (ctf->export->progress)
			ada_progress_at(ctf->export->progress, ctf->done);
	}
	return stream->result;
}

static char *name_copy(const char *text)
{
	char *copy = ada_output_utf8_copy(text);

	if (copy && strlen(copy) > NAME_MAX_BYTES)
		copy[NAME_MAX_BYTES] = 0;
	return copy;
}

/* Opens the stream of that class for the thread; its file's name begins with `what`. */
static int open_stream(struct ctf *ctf, struct ada_ctf_stream *stream, const struct ada_thread *thread, const char *what)
{
	char path[PATH_MAX];
	int result;

	stream->thread = thread->number;
	stream->tid = thread->tid;
	stream->process = number_of(ctf->export->selection->session, thread->process);
	stream->instance = ctf->instance++;
	stream->process_name = name_copy(thread->process->directory);
	stream->thread_name = name_copy(thread->name);
	stream->fd = -1;
	result = ada_path(path, "%s/%s_%u_%u", ctf->export->path, what, stream->process, thread->number);
	if (result)
		return stream->result = ada_error_system(ctf->error, -result, "%s", ctf->export->path);
	return ada_ctf_stream_open(stream, path, ctf->error);
}

static int close_stream(struct ada_ctf_stream *stream, int result)
{
	return ada_ctf_stream_close(stream) && !result ? stream->result : result;
}

static int write_thread(struct ctf *ctf, const struct ada_thread *thread, uint64_t *lost)
{
	struct ada_ctf_stream stream = { .class_id = ADA_CTF_THREAD };
	uint64_t first, last;
	int result;

	ada_selection_range(ctf->export->selection, thread, &first, &last);
	if (first >= last)
		return 0;
	result = open_stream(ctf, &stream, thread, "thread");
	if (!result)
		result = write_events(ctf, &stream, thread, first, last, lost);
	return close_stream(&stream, result);
}

/* --- when threads had a CPU -------------------------------------------------------------------------------------------- */

struct cpu_stream {
	struct ctf *ctf;
	const struct ada_thread *thread;
	struct ada_ctf_stream stream;
	bool open;
	uint64_t end_ns;
};

static int put_state(struct cpu_stream *cpu, uint64_t ns, uint32_t state, uint32_t other_tid)
{
	unsigned char *at = ada_ctf_stream_event(&cpu->stream, 0, ns, CPU_BYTES);

	if (at) {
		memcpy(at, &state, 4);
		memcpy(at + 4, &other_tid, 4);
	}
	return cpu->stream.result;
}

static int take_stretch(void *context, const struct ada_export_cpu *stretch)
{
	struct cpu_stream *cpu = context;
	int result = cpu->open ? 0 : open_stream(cpu->ctf, &cpu->stream, cpu->thread, "cpu");

	cpu->open = true;
	cpu->end_ns = stretch->to_ns;
	return result ? result : put_state(cpu, stretch->from_ns, stretch->state, stretch->other_tid);
}

static int write_cpu(struct ctf *ctf, const struct ada_thread *thread)
{
	struct cpu_stream cpu = { .ctf = ctf, .thread = thread, .stream.class_id = ADA_CTF_CPU };
	int result = ada_export_cpu(ctf->export->selection, thread, &cpu, take_stretch);

	if (!cpu.open)
		return result;
	return close_stream(&cpu.stream, result ? result : put_state(&cpu, cpu.end_ns, ADA_CTF_CPU_END, 0));
}

/* --- marks ------------------------------------------------------------------------------------------------------------- */

struct mark {
	uint64_t ns;
	uint32_t window;
	const json_object *entry;
};

static int compare_marks(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	return a->ns != b->ns ? (a->ns > b->ns) - (a->ns < b->ns) : (a->window > b->window) - (a->window < b->window);
}

/* index_seq as everywhere: the manifest counts by segment. -1 where the mark has none. */
static int64_t position_of(const struct ada_process *process, const json_object *entry)
{
	const struct ada_thread *thread = ada_process_thread(process, ada_json_u64(entry, "thread", UINT64_MAX));
	uint64_t segment = ada_json_u64(entry, "segment", 0), position = ada_json_u64(entry, "indexSeq", UINT64_MAX);

	if (!thread || position > INT64_MAX)
		return -1;
	for (uint64_t i = 0; thread->events && i < segment && i < atf_thread_segments(thread->events); i++)
		position += atf_index_count(atf_thread_segment(thread->events, (uint32_t)i));
	return (int64_t)position;
}

static int put_mark(struct ada_ctf_stream *stream, const struct ada_process *process, const struct mark *mark)
{
	char *kind = name_copy(ada_json_text(mark->entry, "kind", "")), *label = name_copy(ada_json_text(mark->entry, "label", ""));
	uint64_t number = ada_json_u64(mark->entry, "thread", UINT64_MAX);
	int32_t thread = number <= INT32_MAX ? (int32_t)number : -1;
	int64_t position = position_of(process, mark->entry);
	unsigned char *at = NULL;

	if (kind && label)
		at = ada_ctf_stream_event(stream, 0, mark->ns, 16 + strlen(kind) + strlen(label) + 2);
	if (at) {
		memcpy(at, &mark->window, 4);
		memcpy(at + 4, &thread, 4);
		memcpy(at + 8, &position, 8);
		strcpy((char *)at + 16, kind);
		strcpy((char *)at + 16 + strlen(kind) + 1, label);
	}
	free(kind);
	free(label);
	return at || stream->result ? stream->result : -ENOMEM;
}

typedef ADA_ARRAY(struct mark) mark_array;

/* Finds a process's marks in the selection's time, in the order of time. */
static int find_marks(const struct ada_selection *selection, const struct ada_process *process, mark_array *marks)
{
	int result = 0;

	for (size_t i = process->first_window; i < process->first_window + process->window_count; i++) {
		const json_object *list = ada_json_get(selection->session->windows.items[i].entry, "marks");

		for (size_t j = 0; j < ada_json_length(list) && !result; j++) {
			const json_object *entry = json_object_array_get_idx(list, j);
			uint64_t ns = ada_json_u64(entry, "tsNs", 0);

			if (ns >= selection->from_ns && ns < selection->to_ns)
				result = ada_array_push(marks, (struct mark){ ns, (uint32_t)i, entry });
		}
	}
	if (marks->count)
		qsort(marks->items, marks->count, sizeof *marks->items, compare_marks);
	return result;
}

static int write_marks(struct ctf *ctf, uint32_t number)
{
	const struct ada_process *process = ctf->export->selection->session->processes.items[number];
	struct ada_ctf_stream stream = { .class_id = ADA_CTF_MARKS, .process = number, .thread = UINT32_MAX, .tid = process->pid };
	mark_array marks = {};
	char path[PATH_MAX];
	int result = find_marks(ctf->export->selection, process, &marks);

	if (!result && marks.count) {
		stream.instance = number;
		stream.process_name = name_copy(process->directory);
		stream.thread_name = name_copy("");
		result = ada_path(path, "%s/marks_%u", ctf->export->path, number);
		stream.fd = -1;
		if (!result)
			result = ada_ctf_stream_open(&stream, path, ctf->error);
		for (size_t i = 0; i < marks.count && !result; i++)
			result = put_mark(&stream, process, &marks.items[i]);
		if (ada_ctf_stream_close(&stream) && !result)
			result = stream.result;
	}
	ada_array_free(&marks);
	return result ? ada_error_system(ctf->error, -result, "%s", ctf->export->path) : 0;
}

/* --- all of it --------------------------------------------------------------------------------------------------------- */

static bool has_threads_of(const struct ada_selection *selection, const struct ada_process *process)
{
	for (size_t i = 0; i < selection->threads.count; i++)
		if (selection->threads.items[i]->process == process)
			return true;
	return false;
}

int ada_export_ctf(struct ada_export *export, struct ada_error *error)
{
	const struct ada_selection *selection = export->selection;
	uint64_t *lost = calloc(selection->threads.count + 1, sizeof *lost);
	struct ctf ctf = { .export = export, .error = error };
	char path[PATH_MAX];
	int result = 0;

	if (!lost)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	if (mkdir(export->path, 0700))
		result = ada_error_system(error, errno, "%s", export->path);
	for (size_t i = 0; i < selection->threads.count && !result; i++)
		result = write_thread(&ctf, selection->threads.items[i], &lost[i]) ?: write_cpu(&ctf, selection->threads.items[i]);
	for (uint32_t i = 0; i < selection->session->processes.count && !result; i++)
		if (has_threads_of(selection, selection->session->processes.items[i]))
			result = write_marks(&ctf, i);
	export->completeness = ada_selection_completeness(selection, true, ctf.done, lost);
	free(lost);
	if (result)
		return result;
	result = ada_path(path, "%s/metadata", export->path);
	return result ? ada_error_system(error, -result, "%s", export->path) : ada_ctf_write_metadata(export, path, error);
}
