/* Opens a thread: all segments that are there, what was kept of older ones, and the totals of the rest. Segments may go meanwhile. */
#include "atf/session/thread_parts.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 16 /* a segment goes in no less than some ms */

/* The writer has made the file and written nothing yet, or never will, if it was killed. */
static bool is_unwritten(const char *path)
{
	struct stat stat_now;

	return !stat(path, &stat_now) && S_ISREG(stat_now.st_mode) && !stat_now.st_size;
}

/* Stands for each segment that has gone. */
static struct atf_index gone = { .layout.completeness = ATF_COMPLETE };

/* Stands for those that have gone behind one that was kept: a record that says so, for else what follows it would seem to follow at once. */
static struct atf_index *hole_behind(const struct atf_index *kept)
{
	uint64_t count = atf_index_count(kept), run = 0;
	struct atf_index *hole = calloc(1, sizeof *hole + sizeof(struct ada_event));

	if (!hole)
		return &gone;
	hole->layout = (struct atf_layout){ .header = kept->layout.header, .count = 1, .completeness = ATF_COMPLETE };
	*(struct ada_event *)hole->copy = (struct ada_event){ .timestamp_ns = atf_index_run(kept, count - 1, &run)->timestamp_ns,
							      .thread_id = kept->layout.header.thread_id,
							      .event_kind = ADA_EVENT_LOST,
							      .detail_seq = ADA_NO_DETAIL };
	hole->events = (const struct ada_event *)hole->copy;
	return hole;
}

static void set_place(struct atf_thread *thread, uint32_t number, uint64_t begin)
{
	thread->segments[number].start = thread->count;
	thread->segments[number].begin = begin;
	thread->count += atf_index_count(thread->segments[number].index);
}

/* The segments before the first one, where nearly all have gone. */
static void thread_open_kept(struct atf_thread *thread, const char *directory, const struct atf_listing *listing)
{
	struct atf_index *before = &gone, *index;
	uint64_t begin = 0;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < thread->first_segment; i++)
		thread->segments[i].index = &gone;
	for (size_t i = 0; listing && i < listing->kept.count; i++) {
		uint32_t number = listing->kept.items[i];

		/* One that can't be opened has gone since. */
		if (number >= thread->first_segment || atf_kept_path(path, sizeof path, directory, number) ||
		    atf_index_open(&index, path, NULL))
			continue;
		if (atf_index_count(index))
			thread->segments[number].index = index;
		else
			atf_index_close(index);
	}
	for (uint32_t i = 0; i < thread->first_segment; i++) {
		if (thread->segments[i].index == &gone && before != &gone)
			thread->segments[i].index = hole_behind(before);
		before = thread->segments[i].index->packed ? thread->segments[i].index : &gone;
		set_place(thread, i, begin);
		begin = before == &gone ? thread->count : begin;
	}
	thread->live = thread->count;
	thread->segment_count = 0;
}

static int thread_open_segments(struct atf_thread *thread, const char *directory, uint32_t count, struct atf_message *message)
{
	struct atf_message why_incomplete = { "" };
	uint64_t begin = thread->first_segment ? thread->segments[thread->first_segment - 1].begin : 0;
	char path[PATH_MAX];
	uint32_t i;
	int status;

	if (thread->first_segment && !thread->segments[thread->first_segment - 1].index->packed)
		begin = thread->live;
	for (i = thread->first_segment; i < count; i++) {
		struct atf_segment *segment = &thread->segments[i];

		if (atf_index_find(path, sizeof path, directory, i))
			return atf_fail_of(message, directory, ATF_ERROR_RANGE, "path is too long");
		status = atf_index_open(&segment->index, path, message);
		if (status && i > thread->first_segment && i == count - 1 && is_unwritten(path))
			break;
		if (status && i > thread->first_segment && status != -ATF_ERROR_MEMORY) {
			thread->cut = true;
			return 0;
		}
		if (status)
			return status;
		if (message && message->text[0] && !why_incomplete.text[0])
			why_incomplete = *message;
		atf_index_end_at_hole(segment->index, path);
		set_place(thread, i, begin);
		thread->segment_count = i + 1;
	}
	if (message)
		*message = why_incomplete;
	return 0;
}

/* The segments from `first` to `count`, in so far as they can be read, and those that `listing` (NULL: nobody) knows to be kept. Takes the
 * totals, also where it fails. */
static int thread_open(struct atf_thread **thread_out, const char *directory, AtfTotalsHeader *totals, uint32_t first, uint32_t count,
		       const struct atf_listing *listing, struct atf_message *message)
{
	struct atf_thread *thread = calloc(1, sizeof *thread + count * sizeof *thread->segments);
	int status;

	if (thread)
		thread->directory = strdup(directory);
	if (!thread || !thread->directory) {
		free(totals);
		free(thread);
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	}
	thread->totals = totals;
	thread->first_segment = first;
	thread_open_kept(thread, directory, listing);
	status = thread_open_segments(thread, directory, count, message);
	if (status) {
		atf_thread_close(thread);
		return status;
	}
	*thread_out = thread;
	return 0;
}

/* *said: the first segment, as the totals have it; UINT32_MAX: they are damaged. */
static int open_now(struct atf_thread **thread, const char *directory, uint32_t *said, struct atf_message *message)
{
	AtfTotalsHeader *totals;
	struct atf_listing listing;
	uint32_t first;
	int status;

	*thread = NULL;
	atf_say(message, "%s", "");
	*said = first = atf_totals_read(&totals, directory) ? UINT32_MAX : totals ? totals->first_segment : 0;
	status = atf_segments_find(directory, first, &listing, message);
	if (!status && !listing.count)
		status = atf_fail_of(message, directory, ATF_ERROR_NOT_ATF, "holds no index.atf");
	first = first == UINT32_MAX ? listing.lowest : first;
	if (!status)
		status = thread_open(thread, directory, totals, first, first + listing.count, &listing, message);
	else
		free(totals);
	ada_array_free(&listing.kept);
	return status;
}

/* Whether segments have gone into totals since they said that `first` is the first one. */
static bool has_aged(const char *directory, uint32_t first)
{
	AtfTotalsHeader *totals;
	bool aged = !atf_totals_read(&totals, directory) && totals && totals->first_segment != first;

	free(totals);
	return aged;
}

/* Segments may go between a look at the totals and the next at the directory. */
int atf_thread_open(struct atf_thread **thread, const char *directory, struct atf_message *message)
{
	for (int tries = 0;; tries++) {
		uint32_t first;
		int status = open_now(thread, directory, &first, message);

		if ((!status && !(*thread)->cut) || tries == TRIES || !has_aged(directory, first))
			return status;
		if (!status)
			atf_thread_close(*thread);
	}
}

int atf_thread_open_closed(struct atf_thread **thread, const char *directory, uint32_t border, struct atf_message *message)
{
	AtfTotalsHeader *totals;
	uint32_t first;
	int status;

	*thread = NULL;
	atf_say(message, "%s", "");
	status = atf_totals_read(&totals, directory);
	if (status)
		return atf_fail_of(message, directory, -status, "its totals are damaged");
	first = totals ? totals->first_segment : 0;
	status = thread_open(thread, directory, totals, first, first > border ? first : border, NULL, message);
	if (!status && (*thread)->cut) {
		atf_thread_close(*thread);
		*thread = NULL;
		status = -ATF_ERROR_CORRUPT;
	}
	return status;
}

int atf_thread_open_known(struct atf_thread **thread, const char *directory, uint32_t segments, struct atf_message *message)
{
	char path[PATH_MAX];

	*thread = NULL;
	/* There is one more than expected: the caller's number is out of date. */
	if (segments && !atf_index_find(path, sizeof path, directory, segments) && access(path, F_OK) &&
	    !atf_totals_path(path, sizeof path, directory) && access(path, F_OK)) {
		int status = thread_open(thread, directory, NULL, 0, segments, NULL, message);

		if (!status && !(*thread)->cut)
			return 0;
		if (!status)
			atf_thread_close(*thread);
		*thread = NULL;
	}
	return atf_thread_open(thread, directory, message);
}

void atf_thread_close(struct atf_thread *thread)
{
	uint32_t i;

	if (!thread)
		return;
	for (i = 0; i < thread->segment_count || i < thread->first_segment; i++) {
		if (thread->segments[i].index != &gone)
			atf_index_close(thread->segments[i].index);
		atf_detail_close(thread->segments[i].detail);
	}
	free(thread->totals);
	free(thread->directory);
	free(thread);
}
