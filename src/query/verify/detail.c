/* Checks of detail files: each by itself and against its index, then all of a process against the manifest's windows. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "atf/session/thread.h"
#include "base/file.h"
#include "query/session/windows.h"
#include "query/verify/verify.h"

#define MARK_SLACK_NS 1000

/* --- files ---------------------------------------------------------------------------------------------------------- */

static bool is_unfinished(const struct ada_thread *thread, const char *path)
{
	struct atf_detail_file *detail = NULL;
	bool unfinished = !thread->process->finalized && !atf_detail_open(&detail, path, NULL) &&
			  atf_detail_completeness(detail) == ATF_NO_FOOTER;

	atf_detail_close(detail);
	return unfinished;
}

/* detail.atf: 0, detail.N.atf: N; the segment that the file goes with. */
static uint32_t segment_number(const char *name)
{
	unsigned int number = 0;

	sscanf(name, "detail.%u.atf", &number);
	return number;
}

static void verify_file(struct ada_verify *verify, const struct ada_thread *thread, const char *name)
{
	const struct atf_index *index = thread->events ? atf_thread_segment(thread->events, segment_number(name)) : NULL;
	char path[PATH_MAX], file[PATH_MAX];
	struct ada_verify_file context = { .verify = verify, .file = file };
	int result;

	if (ada_path(path, "%s/thread_%u/%s", thread->process->path, thread->number, name) ||
	    ada_path(file, "%s/thread_%u/%s", thread->process->directory, thread->number, name))
		return;
	if (!index)
		ada_verify_found(verify, file, "index", false, "has no index file beside it that can be read");
	do {
		ada_verify_file_begin(&context);
		context.unfinished = is_unfinished(thread, path);
		result = atf_detail_verify(path, index, ada_verify_file_found, &context);
		if (result < 0)
			ada_verify_file_found(&context, "readable", false, atf_error_text(result));
	} while (ada_verify_file_again(&context));
}

static int is_detail(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 4 && !strncmp(entry->d_name, "detail.", 7) && !strcmp(entry->d_name + length - 4, ".atf");
}

void ada_verify_thread_detail(struct ada_verify *verify, const struct ada_thread *thread)
{
	struct dirent **entries = NULL;
	char path[PATH_MAX];
	int count = 0;

	if (!ada_path(path, "%s/thread_%u", thread->process->path, thread->number))
		count = scandir(path, &entries, is_detail, versionsort);
	for (int i = 0; i < count; i++) {
		verify_file(verify, thread, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* --- windows -------------------------------------------------------------------------------------------------------- */

/* What the files of a process say of one window of its manifest. */
struct sum {
	uint64_t records, holes;
	bool wider; /* a file's bounds lie outside of the manifest's */
};

struct sums {
	struct sum *windows;
	size_t count;
	uint64_t records, strangers; /* of all files; entries of windows that the manifest doesn't have */
	uint64_t untold;	     /* records of files without a window table */
	uint64_t aged_ns;	     /* up to here detail has gone with the index around it; 0: none has */
	bool recovered;		     /* then some records may belong to no window: entries with id UINT32_MAX */
};

static void sum_file(struct sums *sums, const struct ada_recorded_window *windows, const struct atf_detail_file *file)
{
	AtfDetailWindow entry;

	sums->records += atf_detail_count(file);
	if (!atf_detail_window_count(file))
		sums->untold += atf_detail_count(file);
	for (uint64_t i = 0; !atf_detail_window(file, i, &entry); i++) {
		if (entry.window_id >= sums->count) {
			sums->strangers += !sums->recovered || entry.window_id != UINT32_MAX;
			continue;
		}
		sums->windows[entry.window_id].records += entry.event_count;
		/* A file that was finished before the window ended has an earlier end. */
		if (entry.start_ns < windows[entry.window_id].start_ns || entry.end_ns > windows[entry.window_id].end_ns)
			sums->windows[entry.window_id].wider = true;
	}
}

/* Events of the thread inside the window whose detail was captured and is in no file. */
static uint64_t count_holes(const struct ada_thread *thread, const struct ada_recorded_window *window)
{
	uint64_t holes = 0;
	struct atf_detail record;

	for (uint64_t i = atf_thread_lower_bound(thread->events, window->start_ns); i < thread->count; i++) {
		const struct ada_event *event = atf_thread_get(thread->events, i);

		if (event->timestamp_ns > window->end_ns)
			break;
		if (event->event_kind && event->detail_seq != ADA_NO_DETAIL &&
		    atf_thread_detail(thread->events, i, &record) == ATF_NOT_PERSISTED)
			holes++;
	}
	return holes;
}

static void sum_thread(struct sums *sums, const struct ada_recorded_window *windows, const struct ada_thread *thread)
{
	const struct ada_event *last;
	uint64_t first_ns, last_ns;

	for (uint32_t i = 0; i < atf_thread_segments(thread->events); i++) {
		const struct atf_detail_file *file = atf_thread_detail_file(thread->events, i);

		if (file)
			sum_file(sums, windows, file);
	}
	if (!thread->count)
		return;
	first_ns = atf_thread_get(thread->events, 0)->timestamp_ns;
	last = atf_thread_get(thread->events, thread->count - 1);
	last_ns = last->event_kind ? last->timestamp_ns : UINT64_MAX; /* a crash left it unwritten */
	for (size_t i = 0; i < sums->count; i++)		      /* few of the windows of a short thread */
		if (windows[i].start_ns <= last_ns && windows[i].end_ns >= first_ns)
			sums->windows[i].holes += count_holes(thread, &windows[i]);
}

/* The event that a mark names, if it is there. */
static const struct ada_event *mark_event(const struct ada_process *process, const json_object *mark)
{
	const struct ada_thread *thread;
	uint64_t position;

	return ada_mark_event(process, mark, &thread, &position) ? atf_thread_get(thread->events, position) : NULL;
}

/* How many of the window's marks name an event that isn't there or is another one. Times may have been raised a little where the clock
 * was calibrated anew. */
static uint64_t count_false_marks(const struct ada_recorded_window *window, bool aged)
{
	const json_object *marks = ada_json_get(window->entry, "marks");
	uint64_t wrong = 0;

	for (size_t i = 0; i < ada_json_length(marks); i++) {
		const json_object *mark = json_object_array_get_idx(marks, i);
		uint64_t ns = ada_json_u64(mark, "tsNs", 0);
		const struct ada_event *event;
		bool after;

		if (!json_object_is_type(ada_json_get(mark, "indexSeq"), json_type_int))
			continue; /* of no event: by hand, by a sample */
		if (aged && (ns < window->start_ns || ns > window->end_ns))
			continue; /* where nothing is kept */
		event = mark_event(window->process, mark);
		/* A mark without function is a signal's or an end's, which came after the event. */
		after = !json_object_is_type(ada_json_get(mark, "functionId"), json_type_int);
		wrong += !event || event->function_id != ada_json_u64(mark, "functionId", event->function_id) ||
			 (!after && event->timestamp_ns + MARK_SLACK_NS < ns) || event->timestamp_ns > ns + MARK_SLACK_NS;
	}
	return wrong;
}

/* Whether there are as many records as the manifest says. A file that a disk in trouble gave no tables may hold any window's. */
static bool is_count_right(const struct ada_recorded_window *window, const struct sum *sum, uint64_t *untold)
{
	uint64_t more = window->event_count > sum->records ? window->event_count - sum->records : 0;

	if (more > *untold)
		return false;
	*untold -= more;
	return window->event_count >= sum->records;
}

static void verify_window(struct ada_verify *verify, const char *file, const struct ada_recorded_window *window,
			  const struct ada_recorded_window *before, const struct sum *sum, uint64_t *untold, bool aged)
{
	uint64_t false_marks = aged && window->aged ? 0 : count_false_marks(window, aged);
	char check[32];

	snprintf(check, sizeof check, "window %u", window->id);
	if (window->start_ns > window->end_ns)
		ada_verify_found(verify, file, check, false, "ends before it starts");
	else if (before && window->start_ns < before->end_ns)
		ada_verify_found(verify, file, check, false, "starts before the one in front of it ends");
	else if (sum->wider)
		ada_verify_found(verify, file, check, false, "a thread's detail file has wider bounds for it");
	else if (!is_count_right(window, sum, untold))
		ada_verify_found(verify, file, check, false, "says %" PRIu64 " records where there are %" PRIu64, window->event_count,
				 sum->records);
	else if (sum->holes > window->lost && !window->aged)
		ada_verify_found(verify, file, check, false, "%" PRIu64 " events inside it have no record", sum->holes);
	else if (false_marks)
		ada_verify_found(verify, file, check, false, "%" PRIu64 " of its marks name an event that is another one or not there",
				 false_marks);
	else
		ada_verify_found(verify, file, check, true, "%s", "");
}

/* Up to when detail of the process has gone. */
static uint64_t aged_until(const struct ada_process *process, const json_object *lane)
{
	uint64_t until_ns = ada_json_u64(lane, "agedNs", 0);

	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];
		const AtfTotalsHeader *totals = thread->events ? atf_thread_totals(thread->events) : NULL;

		until_ns = totals && totals->time_end_ns > until_ns ? totals->time_end_ns : until_ns;
	}
	return until_ns;
}

int ada_verify_windows(struct ada_verify *verify, const struct ada_process *process)
{
	const struct ada_session *session = process->session;
	const struct ada_recorded_window *windows = process->window_count ? &session->windows.items[process->first_window] : NULL;
	const json_object *lane = ada_json_get(process->manifest, "detail_lane");
	struct sums sums = { .count = process->window_count, .recovered = ada_json_get(process->manifest, "recovered") != NULL };
	uint64_t says = ada_json_u64(lane, "event_count", 0);
	char file[PATH_MAX];

	if (!process->finalized || ada_path(file, "%s/manifest.json", process->directory))
		return 0;
	sums.windows = calloc(sums.count + 1, sizeof *sums.windows);
	if (!sums.windows)
		return -ENOMEM;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &session->threads.items[process->first_thread + i];

		if (thread->events)
			sum_thread(&sums, windows, thread);
	}
	sums.aged_ns = aged_until(process, lane);
	for (size_t i = 0; i < sums.count; i++)
		verify_window(verify, file, &windows[i], i ? &windows[i - 1] : NULL, &sums.windows[i], &sums.untold,
			      windows[i].start_ns <= sums.aged_ns);
	if (sums.strangers)
		ada_verify_found(verify, file, "windows", false, "detail files hold %" PRIu64 " windows that it doesn't list",
				 sums.strangers);
	if (sums.records != says)
		ada_verify_found(verify, file, "detail", false, "says %" PRIu64 " records where there are %" PRIu64, says, sums.records);
	else
		ada_verify_found(verify, file, "detail", true, "%s", "");
	free(sums.windows);
	return 0;
}
