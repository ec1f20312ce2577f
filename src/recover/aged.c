/* Threads whose first segments had gone into totals (--disk-limit, --max-age) when their recorder died. Totals are in place before the files go,
 * and before note and manifest say so: what the totals have counts, wherever the rest stood. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "recorder/files/json.h"
#include "recover/internal.h"

uint32_t ada_recover_first_segment(const char *thread)
{
	AtfTotalsHeader *totals;
	uint32_t first = 0;

	if (!atf_totals_read(&totals, thread) && totals)
		first = totals->first_segment;
	free(totals);
	return first;
}

static bool names_detail(const char *path)
{
	AtfIndexHeader header;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	bool names = fd >= 0 && pread(fd, &header, sizeof header, 0) == sizeof header && header.flags & ATF_FLAG_HAS_DETAIL;

	if (fd >= 0)
		close(fd);
	return names;
}

/* Those whose windows were given up: their detail has gone, and they were to follow. */
static int remove_given_up(const char *thread, uint32_t first, struct ada_error *error)
{
	char kept[PATH_MAX], detail[PATH_MAX];

	for (uint32_t i = 0; i < first; i++) {
		if (atf_kept_path(kept, sizeof kept, thread, i) || atf_detail_path(detail, sizeof detail, thread, i))
			return ada_error_system(error, ENAMETOOLONG, "%s", thread);
		if (!access(kept, F_OK) && access(detail, F_OK) && names_detail(kept) && unlink(kept))
			return ada_error_system(error, errno, "%s", kept);
	}
	return 0;
}

/* The detail of one that goes went before its index: one with detail is one that a window wanted. */
int ada_recover_remove_aged(const char *thread, struct ada_error *error)
{
	char path[PATH_MAX], kept[PATH_MAX], detail[PATH_MAX];
	uint32_t first = ada_recover_first_segment(thread);
	bool there = true;

	/* The newest one last to have gone is the first that is still there: they go in order, and leave kept ones behind. */
	for (uint32_t i = first; i-- && there;) {
		int status = 0;

		if (atf_index_find(path, sizeof path, thread, i) || atf_kept_path(kept, sizeof kept, thread, i) ||
		    atf_detail_path(detail, sizeof detail, thread, i))
			return ada_error_system(error, ENAMETOOLONG, "%s", thread);
		if (access(path, F_OK))
			there = !access(kept, F_OK);
		else
			status = path[strlen(path) - 1] == 'p' && !access(detail, F_OK) ? rename(path, kept) : unlink(path);
		if (!there)
			unlink(detail);
		if (status)
			return ada_error_system(error, errno, "%s", path);
	}
	return remove_given_up(thread, first, error);
}

static const AtfTotalsHeader *totals_of(const struct ada_thread *thread)
{
	return thread->events ? atf_thread_totals(thread->events) : NULL;
}

/* Those before the first one that are there. */
static json_object *kept_of(const struct ada_thread *thread)
{
	json_object *list = json_object_new_array();
	char text[32];

	for (uint32_t i = 0; i < atf_thread_first_segment(thread->events); i++) {
		const struct atf_index *index = atf_thread_segment(thread->events, i);
		json_object *segment;

		if (!index->packed)
			continue;
		segment = json_object_new_object();
		snprintf(text, sizeof text, i ? "kept.%u.atp" : "kept.atp", i);
		json_object_object_add(segment, "file", json_object_new_string(text));
		ada_json_count(segment, "events", atf_index_count(index));
		json_object_array_add(list, segment);
	}
	return list;
}

void ada_recover_aged_entry(json_object *entry, const struct ada_thread *thread)
{
	const AtfTotalsHeader *totals = totals_of(thread);
	json_object *list;

	if (!totals)
		return;
	ada_recover_set(entry, "firstSegment", totals->first_segment);
	ada_recover_set(entry, "aged", totals->calls + totals->ends);
	json_object_object_del(entry, "kept");
	list = kept_of(thread);
	if (json_object_array_length(list))
		json_object_object_add(entry, "kept", list);
	else
		json_object_put(list);
}

void ada_recover_aged_lanes(json_object *manifest, const struct ada_process *process)
{
	uint64_t aged = 0, until_ns = 0;

	for (size_t i = 0; i < process->thread_count; i++) {
		const AtfTotalsHeader *totals = totals_of(&process->session->threads.items[process->first_thread + i]);

		aged += totals ? totals->calls + totals->ends : 0;
		until_ns = totals && totals->time_end_ns > until_ns ? totals->time_end_ns : until_ns;
	}
	if (!aged)
		return;
	ada_recover_set(ada_recover_part(manifest, "index_lane"), "aged", aged);
	ada_recover_set(ada_recover_part(manifest, "detail_lane"), "agedNs", until_ns);
}

/* What the manifest's windows have in files still, where a window was given up and nobody had said so. True where that changed something. */
static bool recount_windows(const struct ada_process *process)
{
	json_object *lane = (json_object *)ada_json_get(process->manifest, "detail_lane");
	const json_object *windows = ada_json_get(lane, "windows");
	size_t count = ada_json_length(windows);
	uint64_t *records = calloc(count + 1, sizeof *records), all = 0;
	bool changed = false;
	AtfDetailWindow window;

	for (size_t i = 0; records && i < process->thread_count; i++) {
		struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];

		for (uint32_t j = 0; thread->events && j < atf_thread_segments(thread->events); j++) {
			const struct atf_detail_file *file = atf_thread_detail_file(thread->events, j);

			for (uint64_t k = 0; file && !atf_detail_window(file, k, &window); k++)
				records[window.window_id < count ? window.window_id : count] += window.event_count;
			all += file ? atf_detail_count(file) : 0;
		}
	}
	for (size_t i = 0; records && i < count; i++) {
		json_object *entry = json_object_array_get_idx(windows, i);
		uint64_t said = ada_json_u64(entry, "eventCount", 0);

		if (said <= records[i])
			continue;
		ada_recover_set(entry, "eventCount", records[i]);
		ada_recover_set(entry, "event_count", records[i]);
		ada_recover_set(entry, "agedCount", ada_json_u64(entry, "agedCount", 0) + said - records[i]);
		ada_recover_set(lane, "event_count", all);
		changed = true;
	}
	free(records);
	return changed;
}

static size_t kept_count(const struct ada_thread *thread)
{
	json_object *list = kept_of(thread);
	size_t count = json_object_array_length(list);

	json_object_put(list);
	return count;
}

/* What was left of segments that had gone is gone, or kept, since the thread was opened. */
static void open_anew(struct ada_thread *thread, const char *directory)
{
	struct atf_thread *events;

	if (!totals_of(thread) || atf_thread_open(&events, directory, NULL))
		return;
	atf_thread_close(thread->events);
	thread->events = events;
	thread->count = atf_thread_count(events);
}

static bool is_told(const struct ada_thread *thread)
{
	const AtfTotalsHeader *totals = totals_of(thread);

	return !totals ||
	       (kept_count(thread) == ada_json_length(ada_json_get(thread->entry, "kept")) &&
		totals->first_segment == ada_json_u64(thread->entry, "firstSegment", 0) &&
		atf_thread_segments(thread->events) - totals->first_segment == ada_json_length(ada_json_get(thread->entry, "segments")));
}

int ada_recover_aged_manifest(const struct ada_process *process, struct ada_error *error)
{
	struct ada_thread *threads = process->session->threads.items + process->first_thread;
	bool told = true, aged = false;
	char path[PATH_MAX];

	for (size_t i = 0; i < process->thread_count; i++) {
		json_object *entry = (json_object *)threads[i].entry;

		if (ada_path(path, "%s/thread_%u", process->path, threads[i].number))
			return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
		if (ada_recover_remove_aged(path, error))
			return -EIO;
		open_anew(&threads[i], path);
		aged |= totals_of(&threads[i]) != NULL;
		if (!entry || is_told(&threads[i]))
			continue;
		told = false;
		ada_recover_segments(entry, &threads[i]);
		ada_recover_aged_entry(entry, &threads[i]);
	}
	if (aged && recount_windows(process))
		told = false;
	if (told)
		return 0;
	if (ada_path(path, "%s/manifest.json", process->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	ada_recover_aged_lanes(process->manifest, process);
	return ada_json_replace(path, json_object_get(process->manifest), error);
}
