/* What becomes of a detail file that could not be finished: as with the index (lane_file.c), what it holds counts, and the rest is lost. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include "atf/detail/detail.h"
#include "base/file.h"
#include "recorder/detail/detail_state.h"

#define CUTS_MOST 16
#define ROOM_LEFT (64u << 10) /* of what is given up for the tables, for the manifest and others that are still to come */

bool ada_detail_share_begin(struct detail_thread *thread, uint32_t window)
{
	size_t count = thread->shares.count;

	return (count && thread->shares.items[count - 1].window == window) ||
	       !ada_array_push(&thread->shares, ((struct detail_share){ .window = window }));
}

void ada_detail_unwritten(struct ada_details *details, struct ada_window *window, uint64_t records)
{
	window->unwritten += records;
	window->shorts |= ADA_SHORT_DISK;
	details->unwritten += records;
}

static struct ada_window *window_of(const struct ada_details *details, const struct detail_share *share)
{
	return share->window < ada_windows_count(details->windows) ? ada_windows_at(details->windows, share->window) : NULL;
}

struct rest {
	AtfDetailWindow *windows; /* of the records, as far as they are there */
	size_t count;
	off_t end, less; /* of the records; where to cut so that tables have room */
};

static uint64_t tables_bytes(uint64_t records, size_t windows)
{
	return records * sizeof(uint64_t) + windows * sizeof(AtfDetailWindow) + sizeof(AtfDetailFooter) + sizeof(uint64_t);
}

/* The last window ends with the last record: behind it events are without one. */
static void find_windows(const struct ada_details *details, const struct detail_thread *thread, uint64_t last_ns, struct rest *rest)
{
	for (size_t i = 0; i < thread->shares.count; i++) {
		const struct ada_window *window = window_of(details, &thread->shares.items[i]);

		if (window && thread->shares.items[i].count && window->start_ns <= last_ns)
			rest->windows[rest->count++] = ada_detail_entry(window, last_ns);
	}
}

static bool look_at_file(const struct ada_details *details, const struct detail_thread *thread, const char *path, struct rest *rest)
{
	struct atf_detail_file *file;
	struct atf_message message;
	struct atf_detail last;
	uint64_t kept;

	rest->count = 0;
	if (atf_detail_open(&file, path, &message))
		return false;
	kept = file->count;
	rest->end = (off_t)file->end;
	if (kept && !atf_detail_get(file, kept - 1, &last))
		find_windows(details, thread, last.timestamp_ns, rest);
	rest->less = rest->end;
	while (kept && (uint64_t)(rest->end - rest->less) < tables_bytes(kept, rest->count) + ROOM_LEFT)
		rest->less = (off_t)file->offsets[--kept];
	atf_detail_close(file);
	return true;
}

/* Gives the file its tables; where the disk has no room for them, they take the place of the last records. */
static void finish_file(const struct ada_details *details, const struct detail_thread *thread, const char *path)
{
	struct rest rest = { .windows = malloc((thread->shares.count + 1) * sizeof *rest.windows) };
	struct atf_message message;

	for (int i = 0; i < CUTS_MOST && rest.windows && look_at_file(details, thread, path, &rest); i++) {
		int status = atf_detail_recover_windows(path, rest.windows, rest.count, &message);

		if (status != -ATF_ERROR_SYSTEM || (errno != ENOSPC && errno != EDQUOT) || rest.less == rest.end ||
		    truncate(path, rest.less))
			break;
	}
	free(rest.windows);
}

static void count_share(struct ada_details *details, struct detail_thread *thread, const struct detail_share *share, uint64_t there)
{
	struct ada_window *window = window_of(details, share);
	uint64_t gone = share->count - there; /* either may be larger */

	if (!window || !gone)
		return;
	window->event_count -= gone;
	thread->persisted -= gone;
	details->persisted -= gone;
	if (window->settled)
		details->settled_events -= gone;
	ada_detail_unwritten(details, window, gone);
}

/* Records and shares are by time. */
static void count_what_is_there(struct ada_details *details, struct detail_thread *thread, const char *path)
{
	struct atf_detail_file *file = NULL;
	struct atf_message message;
	uint64_t count, at = 0;

	count = atf_detail_open(&file, path, &message) ? 0 : atf_detail_count(file);
	for (size_t i = 0; i < thread->shares.count; i++) {
		const struct ada_window *window = window_of(details, &thread->shares.items[i]);
		uint64_t before = at;
		struct atf_detail record;

		while (window && at < count && !atf_detail_get(file, at, &record) && record.timestamp_ns <= window->end_ns)
			at++;
		count_share(details, thread, &thread->shares.items[i], at - before);
	}
	atf_detail_close(file);
}

void ada_detail_cut(struct ada_details *details, struct detail_thread *thread, uint32_t number)
{
	char directory[PATH_MAX], path[PATH_MAX];

	if (ada_path(directory, "%s/thread_%u", details->drain->directory, number) ||
	    atf_detail_path(path, sizeof path, directory, thread->segment))
		return;
	finish_file(details, thread, path);
	count_what_is_there(details, thread, path);
	thread->shares.count = 0;
}
