/* Threads whose first segments had gone into totals (--disk-limit, --max-age) when their recorder died. Totals are in place before the files go,
 * and before note and manifest say so: what the totals have counts, wherever the rest stood. */
#include <errno.h>
#include <limits.h>
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

int ada_recover_remove_aged(const char *thread, struct ada_error *error)
{
	char path[PATH_MAX];
	bool there = true;

	/* The newest one last to have gone is the first that is still there: they go in order. */
	for (uint32_t i = ada_recover_first_segment(thread); i-- && there;) {
		if (!atf_detail_path(path, sizeof path, thread, i))
			unlink(path);
		if (atf_index_find(path, sizeof path, thread, i))
			return ada_error_system(error, ENAMETOOLONG, "%s", thread);
		there = !access(path, F_OK);
		if (there && unlink(path))
			return ada_error_system(error, errno, "%s", path);
	}
	return 0;
}

static const AtfTotalsHeader *totals_of(const struct ada_thread *thread)
{
	return thread->events ? atf_thread_totals(thread->events) : NULL;
}

void ada_recover_aged_entry(json_object *entry, const struct ada_thread *thread)
{
	const AtfTotalsHeader *totals = totals_of(thread);

	if (!totals)
		return;
	ada_recover_set(entry, "firstSegment", totals->first_segment);
	ada_recover_set(entry, "aged", totals->calls + totals->ends);
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

static bool is_told(const struct ada_thread *thread)
{
	const AtfTotalsHeader *totals = totals_of(thread);

	return !totals ||
	       (totals->first_segment == ada_json_u64(thread->entry, "firstSegment", 0) &&
		atf_thread_segments(thread->events) - totals->first_segment == ada_json_length(ada_json_get(thread->entry, "segments")));
}

int ada_recover_aged_manifest(const struct ada_process *process, struct ada_error *error)
{
	struct ada_thread *threads = process->session->threads.items + process->first_thread;
	char path[PATH_MAX];
	bool told = true;

	for (size_t i = 0; i < process->thread_count; i++) {
		json_object *entry = (json_object *)threads[i].entry;

		if (ada_path(path, "%s/thread_%u", process->path, threads[i].number))
			return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
		if (ada_recover_remove_aged(path, error))
			return -EIO;
		if (!entry || is_told(&threads[i]))
			continue;
		told = false;
		ada_recover_segments(entry, &threads[i]);
		ada_recover_aged_entry(entry, &threads[i]);
	}
	if (told)
		return 0;
	if (ada_path(path, "%s/manifest.json", process->path))
		return ada_error_system(error, ENAMETOOLONG, "%s", process->path);
	ada_recover_aged_lanes(process->manifest, process);
	return ada_json_replace(path, json_object_get(process->manifest), error);
}
