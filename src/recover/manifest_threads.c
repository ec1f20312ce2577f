/* threads[] of a manifest, and what their table counts: by the files, and by what memory said last. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "abi/record.h"
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/calls/stack.h"
#include "recorder/files/json.h"
#include "recover/manifest.h"

static uint64_t number_of(const json_object *entry)
{
	return ada_json_u64(entry, "id", 0);
}

int ada_recover_by_number(const void *left, const void *right)
{
	uint64_t a = number_of(*(json_object *const *)left), b = number_of(*(json_object *const *)right);

	return a < b ? -1 : a > b;
}

void ada_recover_sort_threads(struct ada_draft *draft, json_object *threads)
{
	json_object_array_sort(threads, ada_recover_by_number);
	draft->sorted = ada_json_length(threads);
}

/* A program may have had a hundred thousand threads. */
static json_object *find_thread(const struct ada_draft *draft, json_object *threads, uint32_t number)
{
	size_t at = ada_first_not(i, 0, draft->sorted, number_of(json_object_array_get_idx(threads, i)) < number);
	json_object *entry = at < draft->sorted ? json_object_array_get_idx(threads, at) : NULL;

	return entry && number_of(entry) == number ? entry : NULL;
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
	ada_recover_set_text(object, "name", thread->name);
	ada_recover_set_text(object, "directory", directory);
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		ada_json_count(object, counts[i], 0);
	ada_json_count(object, "startNs", first ? first->timestamp_ns : 0);
	json_object_array_add(threads, object);
	return object;
}

static void sum_losses(const struct ada_thread *thread, struct ada_draft_sums *sums)
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
		ada_recover_set_text(segment, "file", name);
		ada_json_count(segment, "events", atf_index_count(atf_thread_segment(thread->events, i)));
		if (*name && name[strlen(name) - 1] == 'p')
			ada_recover_set_object(segment, "packed", json_object_new_boolean(true));
		json_object_array_add(segments, segment);
	}
	ada_recover_set_object(entry, "segments", segments);
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

static uint64_t torn_of(const struct ada_draft *draft, const struct ada_thread *thread)
{
	uint64_t count = 0;

	for (size_t i = 0; i < draft->recovery->torn.count; i++) {
		const struct ada_torn *torn = &draft->recovery->torn.items[i];

		count += torn->thread == thread->number && !strcmp(torn->process, draft->process->directory);
	}
	return count;
}

/* Takes what memory said of the thread last. */
static void take_salvaged(const struct ada_draft *draft, json_object *object, uint32_t number, uint64_t *lost)
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
	ada_recover_set_object(object, "name",
			       ada_json_text_of(thread->entry.name, strnlen(thread->entry.name, sizeof thread->entry.name)));
	ada_recover_set(object, "orphans", thread->entry.orphans);
	ada_recover_set(object, "skipped", thread->entry.skipped);
	ada_recover_set(object, "unreturned", thread->entry.unreturned);
	ada_recover_set(object, "startNs", thread->start_ns);
	ada_json_pointer_set(object, thread->entry.pointer, thread->end_ns);
}

void ada_recover_take_counts(const struct ada_draft *draft, json_object *lane, json_object *recording)
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

json_object *ada_recover_add_thread(struct ada_draft *draft, json_object *threads, const struct ada_thread *thread)
{
	json_object *object = find_thread(draft, threads, thread->number), *note = json_object_new_object();
	const AtfTotalsHeader none = {}, *totals = thread->events ? atf_thread_totals(thread->events) : NULL;
	uint64_t live = thread->events ? atf_thread_live(thread->events) : 0;
	struct ada_draft_sums sums = { .events = thread->count - live + (totals ? totals->event_count : 0) };
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
	ada_recover_set_object(object, "detail", detail_of(thread, &sums.records));
	take_salvaged(draft, object, thread->number, &sums.lost);
	ada_recover_set(object, "events", sums.events);
	ada_recover_set(object, "lost", sums.lost);
	ada_recover_set(object, "gaps", sums.gaps);
	ada_recover_set_object(object, "ended", json_object_new_boolean(true));
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

void ada_recover_add_absent(struct ada_draft *draft, json_object *threads)
{
	for (uint32_t id = 0; draft->salvaged && id < draft->salvaged->threads.count; id++) {
		struct ada_thread thread = { .number = id,
					     .tid = draft->salvaged->threads.items[id].tid,
					     .process = (struct ada_process *)draft->process };

		/* One that has just taken its number has no tid yet, and did nothing; nor do those have one that a damaged count speaks of. */
		if (thread.tid && !find_thread(draft, threads, id))
			json_object_put(ada_recover_add_thread(draft, threads, &thread));
	}
}
