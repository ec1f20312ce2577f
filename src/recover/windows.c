/* Windows after the recorder's death, and the detail files that name them.
 *
 * What the manifest knows of windows is older than their records, and what the recorder had in memory never reached the files, more of
 * some threads than of others. A window is a promise that between its bounds every event whose detail was captured has its record. So
 * each region of time (a window of the manifest, what lies between two, what comes behind the last) is cut into pieces at its holes, the
 * events whose record is missing. Of a known window the piece with the most records stays; where the manifest knows no window, each piece
 * that has a good part of the records. Other records keep their place in the files, outside of every window.
 *
 *   thread 0   --r--r--r--r--r--o--o-      r: event with record   o: event without   -: none
 *   thread 1   ---r--r--r-o--o--o--o-
 *   piece      [.........]                 up to the first hole of any thread
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "abi/record.h"
#include "atf/index/index.h"
#include "base/file.h"
#include "recover/internal.h"

#define PIECES_WORTH 16 /* a piece with a smaller part of the records than this becomes no unknown window */

/* A thread's segment: its index, and the detail file beside it. */
struct lane {
	const struct atf_index *index;
	struct atf_detail_file *detail; /* NULL: none, or it can't be read */
	uint64_t records;		/* of events that are in the index */
	/* Where the cutting stands */
	uint64_t ordinal; /* of the first record at or behind where the cutting stands */
	uint64_t hole_ns; /* of the first hole from there on; UINT64_MAX: none up to the region's end */
};

struct lanes {
	struct lane *items;
	size_t count, capacity;
};

struct piece {
	uint64_t start_ns, end_ns, records;
};

static uint64_t record_ns(const struct lane *lane, uint64_t ordinal)
{
	struct atf_detail record;

	return ordinal < lane->records && !atf_detail_get(lane->detail, ordinal, &record) ? record.timestamp_ns : UINT64_MAX;
}

static uint64_t record_seq(const struct lane *lane, uint64_t ordinal)
{
	struct atf_detail record;

	return ordinal < lane->records && !atf_detail_get(lane->detail, ordinal, &record) ? record.index_seq : UINT64_MAX;
}

/* The first record at or behind a time, or of an event at or behind a position. */
static uint64_t first_record(const struct lane *lane, uint64_t (*key)(const struct lane *lane, uint64_t ordinal), uint64_t bound)
{
	return ada_first_not(i, 0, lane->records, key(lane, i) < bound);
}

static uint64_t records_between(const struct lanes *lanes, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t count = 0;

	for (size_t i = 0; i < lanes->count; i++) {
		const struct lane *lane = &lanes->items[i];
		uint64_t end = to_ns == UINT64_MAX ? lane->records : first_record(lane, record_ns, to_ns + 1);
		uint64_t first = first_record(lane, record_ns, from_ns);

		count += end > first ? end - first : 0;
	}
	return count;
}

/* The time of the first event from `from_ns` to `to_ns` whose detail was captured and is not there. */
static uint64_t first_hole(const struct lane *lane, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t i = atf_index_lower_bound(lane->index, from_ns), count = atf_index_count(lane->index), run = 0;
	uint64_t ordinal = first_record(lane, record_seq, i), seq = record_seq(lane, ordinal);
	const struct ada_event *event = NULL;

	for (; i < count; i++, run--, event++) {
		if (!run)
			event = atf_index_run(lane->index, i, &run);
		if (event->timestamp_ns > to_ns)
			break;
		if (!event->event_kind || event->detail_seq == ADA_NO_DETAIL || event->timestamp_ns < from_ns)
			continue; /* the last: of a damaged file, whose times fall */
		if (i != seq)
			return event->timestamp_ns;
		seq = record_seq(lane, ++ordinal);
	}
	return UINT64_MAX;
}

static uint64_t last_record_ns(const struct lanes *lanes, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t last = 0;

	for (size_t i = 0; i < lanes->count; i++) {
		const struct lane *lane = &lanes->items[i];
		uint64_t end = to_ns == UINT64_MAX ? lane->records : first_record(lane, record_ns, to_ns + 1), ns;

		ns = end ? record_ns(lane, end - 1) : 0;
		if (ns != UINT64_MAX && ns >= from_ns && ns > last)
			last = ns;
	}
	return last;
}

/* The next piece at or behind *at, which goes on behind it. False: no record is left before `last_ns`. */
static bool next_piece(struct lanes *lanes, uint64_t *at, uint64_t last_ns, struct piece *piece)
{
	for (;;) {
		uint64_t hole = UINT64_MAX, next = UINT64_MAX, last = 0;

		*piece = (struct piece){ .start_ns = *at };
		for (size_t i = 0; i < lanes->count; i++) {
			struct lane *lane = &lanes->items[i];

			if (lane->hole_ns < *at)
				lane->hole_ns = first_hole(lane, *at, last_ns);
			if (lane->hole_ns < hole)
				hole = lane->hole_ns;
		}
		for (size_t i = 0; i < lanes->count; i++) {
			struct lane *lane = &lanes->items[i];
			uint64_t ns;

			while ((ns = record_ns(lane, lane->ordinal)) < hole && ns <= last_ns) {
				last = ns > last ? ns : last;
				piece->records++;
				lane->ordinal++;
			}
			while ((ns = record_ns(lane, lane->ordinal)) == hole && hole != UINT64_MAX)
				lane->ordinal++;
			if (ns < next)
				next = ns;
		}
		*at = hole == UINT64_MAX || next > last_ns ? UINT64_MAX : next > hole ? next : hole + 1;
		piece->end_ns = last;
		if (piece->records)
			return true;
		if (*at == UINT64_MAX)
			return false;
	}
}

/* Cuts the time between two times, both inclusive, into pieces; what() hears of each. */
static void cut(struct lanes *lanes, uint64_t from_ns, uint64_t to_ns, void (*what)(void *context, const struct piece *piece),
		void *context)
{
	uint64_t last_ns = last_record_ns(lanes, from_ns, to_ns), at = from_ns;
	struct piece piece;

	if (!last_ns)
		return;
	for (size_t i = 0; i < lanes->count; i++) {
		lanes->items[i].ordinal = first_record(&lanes->items[i], record_ns, from_ns);
		lanes->items[i].hole_ns = first_hole(&lanes->items[i], from_ns, last_ns);
	}
	while (at != UINT64_MAX && next_piece(lanes, &at, last_ns, &piece))
		what(context, &piece);
}

static void keep_largest(void *context, const struct piece *piece)
{
	struct piece *largest = context;

	if (piece->records > largest->records)
		*largest = *piece;
}

struct unknown { /* pieces of a region for which no window is known */
	struct ada_saved_windows *windows;
	struct piece largest;
	uint64_t least;
	int result;
};

static void keep_large(void *context, const struct piece *piece)
{
	struct unknown *unknown = context;
	struct ada_saved_window window = { .bounds = { .start_ns = piece->start_ns, .end_ns = piece->end_ns, .marked_ns = piece->start_ns },
					   .records = piece->records,
					   .cut = true };

	if (piece->records >= unknown->least && !unknown->result)
		unknown->result = ada_array_push(&unknown->windows->kept, window);
}

static uint64_t first_record_ns(const struct lanes *lanes, uint64_t from_ns)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < lanes->count; i++) {
		uint64_t ns = record_ns(&lanes->items[i], first_record(&lanes->items[i], record_ns, from_ns));

		first = ns < first ? ns : first;
	}
	return first;
}

/* Adds windows that the manifest never heard of. */
static int add_unknown(struct lanes *lanes, uint64_t from_ns, uint64_t to_ns, struct ada_saved_windows *windows)
{
	struct unknown unknown = { .windows = windows };
	uint64_t start_ns = first_record_ns(lanes, from_ns);

	if (from_ns > to_ns || start_ns > to_ns)
		return 0;
	unknown.least = records_between(lanes, from_ns, to_ns) / PIECES_WORTH + 1;
	cut(lanes, start_ns, to_ns, keep_large, &unknown);
	return unknown.result;
}

/* Adds one of the manifest's windows, which begins at *next_ns at the earliest and ends by `bound_ns`, before the next one. */
static int add_known(struct lanes *lanes, const struct ada_recorded_window *known, uint64_t *next_ns, uint64_t bound_ns,
		     struct ada_saved_windows *windows)
{
	bool closed = ada_json_bool(known->entry, "closed", false), settled = ada_json_bool(known->entry, "settled", false);
	uint64_t start_ns = known->start_ns > *next_ns ? known->start_ns : *next_ns;
	uint64_t end_ns = closed && known->end_ns < bound_ns ? known->end_ns : bound_ns;
	struct ada_saved_window window = { .entry = known->entry };
	struct piece largest = { .records = 0 };

	*next_ns = end_ns == UINT64_MAX ? end_ns : end_ns + 1;
	if (settled && records_between(lanes, start_ns, end_ns) == known->event_count && known->event_count) {
		largest = (struct piece){ start_ns, end_ns, known->event_count };
	} else {
		cut(lanes, start_ns, end_ns, keep_largest, &largest);
		window.cut = true;
	}
	if (!largest.records)
		return ada_array_push(&windows->gone, known->entry);
	window.bounds = (AtfDetailWindow){ .start_ns = largest.start_ns,
					   .end_ns = largest.end_ns,
					   .marked_ns = ada_json_u64(known->entry, "markedNs", largest.start_ns),
					   .marked_count = (uint32_t)ada_json_u64(known->entry, "markedCount", 0) };
	window.records = largest.records;
	return ada_array_push(&windows->kept, window);
}

static int add_all(struct lanes *lanes, const struct ada_process *process, struct ada_saved_windows *windows)
{
	const struct ada_recorded_window *known = process->window_count ? &process->session->windows.items[process->first_window] : NULL;
	uint64_t next_ns = 0;
	int result = 0;

	for (size_t i = 0; i < process->window_count && !result; i++) {
		uint64_t bound_ns = i + 1 < process->window_count ? known[i + 1].start_ns : UINT64_MAX;

		if (known[i].start_ns)
			result = add_unknown(lanes, next_ns, known[i].start_ns - 1, windows);
		if (!result)
			result = add_known(lanes, &known[i], &next_ns, bound_ns && bound_ns != UINT64_MAX ? bound_ns - 1 : bound_ns,
					   windows);
	}
	if (!result)
		result = add_unknown(lanes, next_ns, UINT64_MAX, windows);
	for (size_t i = 0; i < windows->kept.count; i++)
		windows->kept.items[i].bounds.window_id = (uint32_t)i;
	return result;
}

static bool detail_path(char *path, const struct ada_thread *thread, uint32_t segment)
{
	char directory[PATH_MAX];

	return !ada_path(directory, "%s/thread_%u", thread->process->path, thread->number) &&
	       !atf_detail_path(path, PATH_MAX, directory, segment) && !access(path, F_OK);
}

static int open_lanes(struct lanes *lanes, const struct ada_process *process)
{
	char path[PATH_MAX];
	int result = 0;

	for (size_t i = 0; i < process->thread_count && !result; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];

		for (uint32_t j = 0; thread->events && j < atf_thread_segments(thread->events) && !result; j++) {
			struct lane lane = { .index = atf_thread_segment(thread->events, j) };
			struct atf_message message;

			if (detail_path(path, thread, j) && !atf_detail_open(&lane.detail, path, &message))
				lane.records = atf_detail_count(lane.detail);
			/* Behind the index's end: recovery cuts them off. */
			while (lane.records && record_seq(&lane, lane.records - 1) >= atf_index_count(lane.index))
				lane.records--;
			result = ada_array_push(lanes, lane);
			if (result)
				atf_detail_close(lane.detail);
		}
	}
	return result;
}

int ada_recover_windows(const struct ada_process *process, struct ada_saved_windows *windows)
{
	struct lanes lanes = { .items = NULL };
	int result = open_lanes(&lanes, process);

	if (!result)
		result = add_all(&lanes, process, windows);
	for (size_t i = 0; i < lanes.count; i++)
		atf_detail_close(lanes.items[i].detail);
	ada_array_free(&lanes);
	return result;
}

void ada_saved_windows_free(struct ada_saved_windows *windows)
{
	ada_array_free(&windows->kept);
	ada_array_free(&windows->gone);
}

int ada_recover_detail(struct ada_recovery *recovery, const struct ada_process *process, const struct ada_saved_windows *windows,
		       struct ada_error *error)
{
	AtfDetailWindow *bounds = calloc(windows->kept.count + 1, sizeof *bounds);
	struct atf_message message;
	char path[PATH_MAX];
	int status = 0;

	if (!bounds)
		return ada_error_system(error, ENOMEM, "%s", process->path);
	for (size_t i = 0; i < windows->kept.count; i++)
		bounds[i] = windows->kept.items[i].bounds;
	for (size_t i = 0; i < process->thread_count; i++) {
		const struct ada_thread *thread = &process->session->threads.items[process->first_thread + i];

		for (uint32_t j = 0; thread->events && j < atf_thread_segments(thread->events); j++) {
			if (!detail_path(path, thread, j))
				continue;
			errno = 0;
			status = atf_detail_recover_windows(path, bounds, windows->kept.count, &message);
			if (status == -ATF_ERROR_SYSTEM || status == -ATF_ERROR_MEMORY) {
				status = ada_error_set(error, errno ? errno : EIO, "%s", message.text);
				goto done;
			}
			if (status)
				ada_recover_problem(recovery, "%s", message.text);
			status = 0;
		}
	}
done:
	free(bounds);
	return status;
}
