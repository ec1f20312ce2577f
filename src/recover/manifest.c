/* manifest.json of a process whose recorder died: what the recorder wrote last, with the numbers that the files have. */
#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "abi/record.h"
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/calls/stack.h"
#include "recorder/files/json.h"
#include "recover/internal.h"

struct sums {
	uint64_t events, lost, gaps, records;
};

struct draft {
	const struct ada_recovery *recovery;
	const struct ada_process *process;
	const struct ada_saved_windows *windows;
	const struct ada_salvaged *salvaged; /* NULL: nothing of its memory was there */
	json_object *manifest;
	struct sums sums; /* of all threads */
};

void ada_recover_set(json_object *object, const char *key, uint64_t value)
{
	json_object_object_del(object, key);
	ada_json_count(object, key, value);
}

static void set_text(json_object *object, const char *key, const char *text)
{
	json_object_object_del(object, key);
	json_object_object_add(object, key, text ? ada_json_text_of(text, strlen(text)) : NULL);
}

static void set(json_object *object, const char *key, json_object *value)
{
	json_object_object_del(object, key);
	json_object_object_add(object, key, value);
}

json_object *ada_recover_part(json_object *object, const char *key)
{
	json_object *found = ada_json_get(object, key);

	if (!json_object_is_type(found, json_type_object)) {
		found = json_object_new_object();
		set(object, key, found);
	}
	return found;
}

json_object *ada_recover_note(const struct ada_recovery *recovery)
{
	json_object *note = json_object_new_object();

	set_text(note, "by", recovery->options->by);
	ada_json_count(note, "atNs", recovery->at_ns);
	set_text(note, "at", recovery->at);
	set_text(note, "reason", recovery->options->reason);
	return note;
}

void ada_recover_exit(json_object *object)
{
	json_object *exit = ada_recover_part(object, "exit");

	if (!strcmp(ada_json_text(exit, "kind", "running"), "running"))
		set_text(exit, "kind", "unknown");
}

/* --- threads -------------------------------------------------------------------------------------------------------- */

static json_object *find_thread(json_object *threads, uint32_t number)
{
	for (size_t i = 0; i < ada_json_length(threads); i++)
		if (ada_json_u64(json_object_array_get_idx(threads, i), "id", UINT64_MAX) == number)
			return json_object_array_get_idx(threads, i);
	return NULL;
}

/* A thread that the recorder had not told of yet. */
static json_object *new_thread(json_object *threads, const struct ada_thread *thread)
{
	static const char *const counts[] = { "overwritten", "orphans", "skipped", "unreturned" };
	const struct ada_event *first = thread->count ? atf_thread_get(thread->events, 0) : NULL;
	json_object *object = json_object_new_object();
	char directory[32];

	snprintf(directory, sizeof directory, "thread_%u", thread->number);
	ada_json_count(object, "id", thread->number);
	ada_json_count(object, "tid", thread->tid);
	set_text(object, "name", thread->name);
	set_text(object, "directory", directory);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ada_json_count(object, counts[i], 0);
	ada_json_count(object, "startNs", first ? first->timestamp_ns : 0);
	json_object_array_add(threads, object);
	return object;
}

static void sum_losses(const struct ada_thread *thread, struct sums *sums)
{
	uint64_t position = atf_thread_live(thread->events), count;
	const struct ada_event *events;

	while ((events = atf_thread_run(thread->events, position, &count))) {
		for (uint64_t i = 0; i < count; i++)
			if (events[i].event_kind == ADA_EVENT_LOST) {
				sums->lost += events[i].function_id;
				sums->gaps++;
			}
		atf_thread_release(thread->events, position, position + count);
		position += count;
	}
}

void ada_recover_segments(json_object *entry, const struct ada_thread *thread)
{
	json_object *segments = json_object_new_array();
	char directory[PATH_MAX], path[PATH_MAX];
	uint32_t i = thread->events ? atf_thread_first_segment(thread->events) : 0;

	for (; thread->events && i < atf_thread_segments(thread->events); i++) {
		json_object *segment = json_object_new_object();
		const char *name;

		if (ada_path(directory, "%s/thread_%u", thread->process->path, thread->number) ||
		    atf_index_find(path, sizeof path, directory, i))
			*path = 0;
		name = *path ? strrchr(path, '/') + 1 : "";
		set_text(segment, "file", name);
		ada_json_count(segment, "events", atf_index_count(atf_thread_segment(thread->events, i)));
		if (*name && name[strlen(name) - 1] == 'p')
			set(segment, "packed", json_object_new_boolean(true));
		json_object_array_add(segments, segment);
	}
	set(entry, "segments", segments);
}

static json_object *detail_of(const struct ada_thread *thread, uint64_t *records)
{
	json_object *object = json_object_new_object(), *files = json_object_new_array();
	char name[32] = "detail.atf", path[PATH_MAX];

	for (uint32_t i = 0; thread->events && i < atf_thread_segments(thread->events); i++) {
		struct atf_detail_file *file;

		if (i)
			snprintf(name, sizeof name, "detail.%u.atf", i);
		if (ada_path(path, "%s/thread_%u/%s", thread->process->path, thread->number, name) || access(path, F_OK))
			continue;
		json_object_array_add(files, json_object_new_string(name));
		if (atf_detail_open(&file, path, NULL))
			continue;
		*records += atf_detail_count(file);
		atf_detail_close(file);
	}
	ada_json_count(object, "events", *records);
	json_object_object_add(object, "files", files);
	return object;
}

/* The innermost call that had not returned. */
static json_object *in_flight(const struct ada_thread *thread)
{
	struct ada_stack stack = { .frames = { .items = NULL } };
	json_object *object = NULL;

	if (thread->events && !ada_stack_at(&stack, thread, thread->count) && stack.frames.count) {
		const struct ada_frame *frame = &stack.frames.items[stack.frames.count - 1];

		object = json_object_new_object();
		ada_json_count(object, "indexSeq", frame->position);
		ada_json_count(object, "functionId", frame->function_id);
		ada_json_count(object, "depth", frame->depth);
		ada_json_count(object, "startNs", frame->start_ns);
	}
	ada_stack_close(&stack);
	return object;
}

static uint64_t torn_of(const struct draft *draft, const struct ada_thread *thread)
{
	uint64_t count = 0;

	for (size_t i = 0; i < draft->recovery->torn.count; i++) {
		const struct ada_torn *torn = &draft->recovery->torn.items[i];

		count += torn->thread == thread->number && !strcmp(torn->process, draft->process->directory);
	}
	return count;
}

/* Takes what memory said of the thread last. */
static void take_salvaged(const struct draft *draft, json_object *object, uint32_t number, uint64_t *lost)
{
	const struct ada_salvaged_thread *thread = draft->salvaged && number < draft->salvaged->threads.count ?
							   &draft->salvaged->threads.items[number] :
							   NULL;

	if (!thread)
		return;
	*lost = thread->lost > *lost ? thread->lost : *lost;
	ada_recover_set(object, "overwritten", thread->overwritten);
	if (!thread->entry.thread_id)
		return;
	set(object, "name", ada_json_text_of(thread->entry.name, strnlen(thread->entry.name, sizeof thread->entry.name)));
	ada_recover_set(object, "orphans", thread->entry.orphans);
	ada_recover_set(object, "skipped", thread->entry.skipped);
	ada_recover_set(object, "unreturned", thread->entry.unreturned);
	ada_recover_set(object, "startNs", thread->start_ns);
}

/* Sums of the thread table, and what the header counts. */
static void take_counts(const struct draft *draft, json_object *lane, json_object *recording)
{
	const struct ada_salvaged *salvaged = draft->salvaged;
	uint64_t full = 0, memory = 0, overwritten = 0;

	if (!salvaged)
		return;
	for (size_t i = 0; i < salvaged->threads.count; i++) {
		full += salvaged->threads.items[i].entry.lost_full;
		memory += salvaged->threads.items[i].entry.lost_memory;
		overwritten += salvaged->threads.items[i].overwritten;
	}
	ada_recover_set(lane, "lost_buffer_full", full);
	ada_recover_set(lane, "lost_memory_limit", memory);
	ada_recover_set(lane, "overwritten", overwritten);
	ada_recover_set(recording, "threadsRefused", salvaged->header.threads_refused);
	ada_recover_set(recording, "modulesRefused", salvaged->header.modules_refused);
}

/* Adds the thread's entry in threads[], with what recovery has to say. */
static json_object *add_thread(struct draft *draft, json_object *threads, const struct ada_thread *thread)
{
	json_object *object = find_thread(threads, thread->number), *note = json_object_new_object();
	const AtfTotalsHeader none = {}, *totals = thread->events ? atf_thread_totals(thread->events) : NULL;
	uint64_t live = thread->events ? atf_thread_live(thread->events) : 0;
	struct sums sums = { .events = thread->count - live + (totals ? totals->event_count : 0) };
	uint64_t known = ada_json_u64(object, "events", 0), lost = ada_json_u64(object, "lost", 0);

	if (!object)
		object = new_thread(threads, thread);
	if (draft->salvaged && draft->salvaged->exact && thread->number < draft->salvaged->threads.count) {
		sums.lost = draft->salvaged->threads.items[thread->number].lost;
		sums.gaps = draft->salvaged->threads.items[thread->number].gaps;
	} else if (thread->events) {
		totals = totals ? totals : &none;
		sum_losses(thread, &sums); /* a look at every event */
		sums.lost += totals->told;
		sums.gaps += totals->gaps;
	}
	sums.lost = sums.lost > lost ? sums.lost : lost;
	ada_recover_segments(object, thread);
	ada_recover_aged_entry(object, thread);
	set(object, "detail", detail_of(thread, &sums.records));
	take_salvaged(draft, object, thread->number, &sums.lost);
	ada_recover_set(object, "events", sums.events);
	ada_recover_set(object, "lost", sums.lost);
	ada_recover_set(object, "gaps", sums.gaps);
	set(object, "ended", json_object_new_boolean(true));
	draft->sums.events += sums.events;
	draft->sums.lost += sums.lost;
	draft->sums.gaps += sums.gaps;
	draft->sums.records += sums.records;
	ada_json_count(note, "id", thread->number);
	ada_json_count(note, "recovered", sums.events > known ? sums.events - known : 0);
	ada_json_count(note, "torn", torn_of(draft, thread));
	ada_json_count(note, "lost", sums.lost);
	json_object_object_add(note, "inFlight", in_flight(thread));
	return note;
}

/* Adds threads without a file: none of their events was ever committed. */
static void add_absent(struct draft *draft, json_object *threads)
{
	for (uint32_t id = 0; draft->salvaged && id < draft->salvaged->threads.count; id++) {
		struct ada_thread thread = { .number = id,
					     .tid = draft->salvaged->threads.items[id].tid,
					     .process = (struct ada_process *)draft->process };

		if (!find_thread(threads, id))
			json_object_put(add_thread(draft, threads, &thread));
	}
}

/* --- windows -------------------------------------------------------------------------------------------------------- */

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static const char *policy_version(const struct draft *draft, char text[64])
{
	const json_object *policy = ada_json_get(draft->manifest, "marking_policy");
	const char *version = ada_json_text(policy, "version", ""), *hash = ada_json_text(policy, "hash", "");

	snprintf(text, 64, "%.20s%s%.16s", *version ? version : "v0", *version && *hash ? "-" : "", *version ? hash : "");
	return text;
}

/* Makes the entry of a window that the recorder never wrote down. */
static json_object *new_window(const struct draft *draft)
{
	static const char *const zero[] = { "requestedPreRollSec", "requestedPostRollSec" };
	json_object *object = json_object_new_object();
	char version[64];

	set_text(object, "triggerKind", "");
	json_object_object_add(object, "triggerKinds", json_object_new_array());
	set_text(object, "keySymbolVersion", policy_version(draft, version));
	for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
		json_object_object_add(object, zero[i], json_object_new_double(0));
	json_object_object_add(object, "marks", json_object_new_array());
	set_text(object, "shortReason", "its recorder died before it had written down what marked it");
	return object;
}

/* A mark whose event was lost with the recorder names none any more. */
static void check_mark(const struct draft *draft, json_object *mark)
{
	const struct ada_session *session = draft->process->session;
	uint64_t seq = ada_json_u64(mark, "indexSeq", UINT64_MAX), number = ada_json_u64(mark, "thread", UINT64_MAX);

	if (seq == UINT64_MAX)
		return;
	for (size_t i = 0; i < draft->process->thread_count; i++) {
		const struct ada_thread *thread = &session->threads.items[draft->process->first_thread + i];
		uint32_t segment = (uint32_t)ada_json_u64(mark, "segment", 0);

		if (thread->number == number && thread->events && segment < atf_thread_segments(thread->events) &&
		    seq < atf_index_count(atf_thread_segment(thread->events, segment)))
			return;
	}
	set(mark, "indexSeq", NULL);
	set(mark, "segment", NULL);
}

static void say_cut(json_object *object, const char *what)
{
	const char *before = ada_json_text(object, "shortReason", "");
	char text[1024];

	snprintf(text, sizeof text, "%.800s%s%s", before, *before ? "; " : "", what);
	set_text(object, "shortReason", text);
}

static json_object *window_of(const struct draft *draft, const struct ada_saved_window *window)
{
	const AtfDetailWindow *bounds = &window->bounds;
	json_object *object = NULL, *marks;
	uint64_t last_ns = bounds->start_ns;

	if (!window->entry || json_object_deep_copy((json_object *)window->entry, &object, NULL))
		object = new_window(draft);
	marks = ada_json_get(object, "marks");
	for (size_t i = 0; i < ada_json_length(marks); i++) {
		uint64_t ns = ada_json_u64(json_object_array_get_idx(marks, i), "tsNs", 0);

		check_mark(draft, json_object_array_get_idx(marks, i));
		last_ns = ns > last_ns ? ns : last_ns;
	}
	ada_recover_set(object, "id", bounds->window_id);
	ada_recover_set(object, "startNs", bounds->start_ns);
	ada_recover_set(object, "endNs", bounds->end_ns);
	ada_recover_set(object, "event_count", window->records);
	ada_recover_set(object, "eventCount", window->records);
	ada_recover_set(object, "markedNs", bounds->marked_ns);
	ada_recover_set(object, "markedCount", bounds->marked_count);
	if (window->cut) {
		uint64_t pre = bounds->marked_ns > bounds->start_ns ? bounds->marked_ns - bounds->start_ns : 0;

		set(object, "preRollSec", json_object_new_double(seconds(pre)));
		set(object, "postRollSec", json_object_new_double(seconds(bounds->end_ns > last_ns ? bounds->end_ns - last_ns : 0)));
		if (window->entry)
			say_cut(object, "its recorder died, and it was cut to what was in the files of all threads");
		set(object, "recovered", json_object_new_boolean(true));
	}
	set(object, "closed", json_object_new_boolean(true));
	set(object, "settled", json_object_new_boolean(true));
	return object;
}

static void add_windows(struct draft *draft, json_object *note)
{
	json_object *lane = ada_recover_part(draft->manifest, "detail_lane"), *list = json_object_new_array(),
		    *gone = json_object_new_array();
	double ratio = draft->sums.events ? (double)draft->sums.records / (double)draft->sums.events : 0;
	uint64_t cut = 0;

	for (size_t i = 0; i < draft->windows->kept.count; i++) {
		json_object_array_add(list, window_of(draft, &draft->windows->kept.items[i]));
		cut += draft->windows->kept.items[i].cut;
	}
	for (size_t i = 0; i < draft->windows->gone.count; i++)
		json_object_array_add(gone, json_object_get((json_object *)draft->windows->gone.items[i]));
	set(lane, "windows", list);
	ada_recover_set(lane, "event_count", draft->sums.records);
	set(lane, "coverage_ratio", json_object_new_double(ratio < 1 ? ratio : 1));
	ada_json_count(note, "windowsCut", cut);
	json_object_object_add(note, "windowsGone", gone);
}

/* --- modules -------------------------------------------------------------------------------------------------------- */

/* The fourth field of a table's first line. */
static void read_base(const char *table, char base[24])
{
	FILE *file = table ? fopen(table, "re") : NULL;
	char *line = NULL, *field;
	unsigned long long value;
	size_t size = 0;

	snprintf(base, 24, "0x0");
	if (file && getline(&line, &size, file) > 0) {
		field = strrchr(line, '\t');
		if (field && sscanf(field, "\t0x%llx", &value) == 1)
			snprintf(base, 24, "0x%llx", value);
	}
	free(line);
	if (file)
		fclose(file);
}

/* A module whose table the recorder had written, but that it had not told of yet. */
static json_object *new_module(const struct draft *draft, const struct ada_module *module, size_t id)
{
	static const char *const counts[] = { "loadNs", "loads", "functions", "hooked", "mismatched", "imports" };
	bool is_main = !strcmp(module->path, ada_json_text(draft->manifest, "program", ""));
	json_object *object = json_object_new_object();
	char base[24];

	read_base(module->table_path, base);
	ada_json_count(object, "id", id);
	set_text(object, "path", module->path);
	set_text(object, "buildId", *module->build_id ? module->build_id : NULL);
	set_text(object, "base", base);
	set_text(object, "kind", is_main ? "main" : "library");
	json_object_object_add(object, "traced", json_object_new_boolean(false));
	set_text(object, "problem", "its recorder died before it had written down more of it");
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ada_json_count(object, counts[i], 0);
	json_object_object_add(object, "unloadNs", NULL);
	json_object_object_add(object, "skipped", json_object_new_object());
	return object;
}

/* For a table that the recorder had written, but not told of yet. */
static void add_checksum(json_object *object, const char *table)
{
	char *text, checksum[9];
	size_t length;

	if (ada_json_text(object, "crc32", NULL) || ada_file_read_regular(table, &text, &length, NULL))
		return;
	snprintf(checksum, sizeof checksum, "%08" PRIx32, libdeflate_crc32(0, text, length));
	set_text(object, "crc32", checksum);
	free(text);
}

static json_object *find_module(json_object *modules, size_t id)
{
	for (size_t i = 0; i < ada_json_length(modules); i++)
		if (ada_json_u64(json_object_array_get_idx(modules, i), "id", UINT64_MAX) == id)
			return json_object_array_get_idx(modules, i);
	return NULL;
}

static void add_modules(struct draft *draft)
{
	json_object *modules = ada_json_get(draft->manifest, "modules");
	char symbols[40], path[PATH_MAX];

	for (size_t id = 0; id < draft->process->modules.count; id++) {
		const struct ada_module *module = draft->process->modules.items[id];
		json_object *object = find_module(modules, id);

		if (!module)
			continue;
		if (!object) {
			object = new_module(draft, module, id);
			json_object_array_add(modules, object);
		}
		snprintf(symbols, sizeof symbols, "modules/%zu.tsv", id);
		if (ada_path(path, "%s/%s", draft->process->path, symbols) || access(path, F_OK)) {
			set_text(object, "symbols", NULL);
			set_text(object, "crc32", NULL);
		} else {
			set_text(object, "symbols", symbols);
			add_checksum(object, path);
		}
	}
}

/* Takes the crash record that the program wrote as it died, and that nobody has put into the manifest yet. */
static void take_crash(const struct draft *draft)
{
	const struct ada_crash *crash = draft->salvaged ? &draft->salvaged->header.crash : NULL;
	json_object *exit = ada_recover_part(draft->manifest, "exit");

	if (!crash || !crash->present || ada_json_get(draft->manifest, "crash"))
		return;
	set(draft->manifest, "crash", ada_json_crash_of(crash, draft->salvaged->crash_ns));
	if (crash->signal && !strcmp(ada_json_text(exit, "kind", "running"), "running")) {
		set_text(exit, "kind", "signal");
		ada_recover_set(exit, "signal", crash->signal);
	}
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

/* Arrays that others read by position must be there, whatever the recorder wrote. */
static json_object *array(json_object *object, const char *key)
{
	json_object *found = ada_json_get(object, key);

	if (!json_object_is_type(found, json_type_array)) {
		found = json_object_new_array();
		set(object, key, found);
	}
	return found;
}

static int by_id(const void *left, const void *right)
{
	uint64_t a = ada_json_u64(*(json_object *const *)left, "id", 0), b = ada_json_u64(*(json_object *const *)right, "id", 0);

	return a < b ? -1 : a > b;
}

static void draft_fill(struct draft *draft)
{
	const struct ada_process *process = draft->process;
	json_object *manifest = draft->manifest, *threads = array(manifest, "threads"), *note = ada_recover_note(draft->recovery);
	json_object *lane = ada_recover_part(manifest, "index_lane"), *recording = ada_recover_part(manifest, "recording"),
		    *notes = json_object_new_array();
	uint64_t last_ns = ada_session_last_ns(process->session, process->first_thread, process->thread_count);
	char reason[256];

	for (size_t i = 0; i < process->thread_count; i++)
		json_object_array_add(notes, add_thread(draft, threads, &process->session->threads.items[process->first_thread + i]));
	add_absent(draft, threads);
	json_object_array_sort(threads, by_id);
	ada_recover_set(lane, "event_count", draft->sums.events);
	ada_recover_set(lane, "lost", draft->sums.lost);
	ada_recover_set(lane, "gaps", draft->sums.gaps);
	ada_recover_aged_lanes(manifest, process);
	take_counts(draft, lane, recording);
	add_windows(draft, note);
	ada_recover_set(ada_recover_part(manifest, "metrics"), "persisted_events", draft->sums.records);
	array(manifest, "modules");
	add_modules(draft);
	json_object_array_sort(ada_json_get(manifest, "modules"), by_id);
	if (!json_object_is_type(ada_json_get(manifest, "endNs"), json_type_int))
		ada_recover_set(manifest, "endNs", last_ns ? last_ns : ada_json_u64(manifest, "startNs", 0));
	take_crash(draft);
	ada_recover_exit(manifest);
	if (strcmp(ada_json_text(recording, "state", ""), "failed") && strcmp(ada_json_text(recording, "state", ""), "stopped")) {
		snprintf(reason, sizeof reason, "%s: what %s is missing", draft->recovery->options->reason,
			 draft->salvaged ? "came after that" : "it had in memory");
		set_text(recording, "state", "failed");
		set_text(recording, "reason", reason);
	}
	json_object_object_add(note, "threads", notes);
	set(manifest, "recovered", note);
	set(manifest, "finalized", json_object_new_boolean(true));
}

int ada_recover_manifest(const struct ada_recovery *recovery, const struct ada_process *process, const struct ada_saved_windows *windows,
			 struct ada_error *error)
{
	struct draft draft = {
		.recovery = recovery, .process = process, .windows = windows, .salvaged = ada_recover_salvaged(recovery, process->directory)
	};
	char path[PATH_MAX];

	if (ada_path(path, "%s/manifest.json", process->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	if (json_object_deep_copy(process->manifest, &draft.manifest, NULL))
		return ada_error_system(error, ENOMEM, "%s", path);
	draft_fill(&draft);
	return ada_json_replace(path, draft.manifest, error);
}
