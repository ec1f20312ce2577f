/* A thread: its segments index.atf, index.1.atf, ... as one sequence of events. */
#include "atf/session/thread.h"
#include "base/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 16 /* a segment goes in no less than some ms */

struct segment {
	struct atf_index *index;
	uint64_t start; /* position of its first event in the thread */
	uint64_t begin; /* of the first event from which on none have gone until here */
	struct atf_detail_file *detail;
	int detail_status;  /* of opening it */
	bool detail_wanted; /* it was tried */
};

struct atf_thread {
	uint32_t segment_count, first_segment;
	uint64_t live;		 /* position of the first event of first_segment */
	AtfTotalsHeader *totals; /* of the segments before the first one, and all that follows in the file */
	uint64_t count;
	char *directory;
	bool cut; /* segments follow that can't be read */
	struct segment segments[];
};

static int segment_path(char *path, size_t size, const char *directory, const char *lane, uint32_t segment, const char *end)
{
	char number[16] = "";
	int length;

	if (segment)
		snprintf(number, sizeof number, "%u.", segment);
	length = snprintf(path, size, "%s/%s.%s%s", directory, lane, number, end);
	return length < 0 || (size_t)length >= size ? -ATF_ERROR_RANGE : 0;
}

int atf_index_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "index", segment, "atf");
}

int atf_packed_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "index", segment, "atp");
}

int atf_kept_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "kept", segment, "atp");
}

int atf_index_find(char *path, size_t size, const char *directory, uint32_t segment)
{
	int status = atf_index_path(path, size, directory, segment);

	/* While a segment is packed or unpacked there may be both, and say the same. */
	if (status || !access(path, F_OK))
		return status;
	status = atf_packed_path(path, size, directory, segment);
	return status || !access(path, F_OK) ? status : atf_index_path(path, size, directory, segment);
}

int atf_detail_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "detail", segment, "atf");
}

/* The segment's number, or -1 where the name is not one's. */
static int64_t segment_number(const char *name, const char *end)
{
	char expected[NAME_MAX + 1];
	unsigned int number = 0;

	snprintf(expected, sizeof expected, "index.%s", end);
	if (!strcmp(name, expected))
		return 0;
	if (sscanf(name, "index.%u.", &number) != 1 || !number)
		return -1;
	snprintf(expected, sizeof expected, "index.%u.%s", number, end);
	return strcmp(name, expected) ? -1 : (int64_t)number;
}

/* Whether the file counts as a segment: packed ones where the plain one isn't there, too. */
static bool is_segment(int directory, const char *name)
{
	char plain[NAME_MAX + 1];

	if (segment_number(name, "atf") >= 0)
		return true;
	if (segment_number(name, "atp") < 0)
		return false;
	snprintf(plain, sizeof plain, "%.*satf", (int)strlen(name) - 3, name);
	return faccessat(directory, plain, F_OK, 0) != 0;
}

/* The number of a segment's file, of either kind; -1: the name is none's. */
static int64_t number_of(const char *name)
{
	int64_t number = segment_number(name, "atf");

	return number < 0 ? segment_number(name, "atp") : number;
}

/* What a directory holds. */
struct listing {
	uint32_t lowest, count;	  /* segments from a number on */
	ADA_ARRAY(uint32_t) kept; /* numbers of those that windows have kept */
};

static void list_name(struct listing *listing, int fd, const char *name, uint32_t first)
{
	uint32_t number;
	int end = 0;

	if (is_segment(fd, name)) {
		number = (uint32_t)number_of(name);
		listing->count += number >= first || first == UINT32_MAX;
		listing->lowest = number < listing->lowest ? number : listing->lowest;
	} else if (!strcmp(name, "kept.atp")) {
		ada_array_push(&listing->kept, 0);
	} else if (sscanf(name, "kept.%u.atp%n", &number, &end) == 1 && end && !name[end] && number) {
		ada_array_push(&listing->kept, number);
	}
}

/* Counts the segments in the directory from number `first` on (UINT32_MAX: from the lowest on, which `lowest` says): the highest number is
 * first + count - 1, or a lower one is missing. Without readdir: its buffer of 32 KiB costs more than the few names that there are. */
static int segments_find(const char *directory, uint32_t first, struct listing *listing, struct atf_message *message)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	union {
		struct dirent64 first;
		char bytes[2048];
	} names;
	ssize_t length;

	*listing = (struct listing){ .lowest = UINT32_MAX };
	if (fd < 0)
		return atf_fail_of(message, directory, ATF_ERROR_SYSTEM, strerror(errno));
	while ((length = getdents64(fd, &names, sizeof names)) > 0)
		for (ssize_t at = 0; at < length;) {
			const struct dirent64 *entry = (const struct dirent64 *)(names.bytes + at);

			list_name(listing, fd, entry->d_name, first);
			at += entry->d_reclen;
		}
	close(fd);
	return 0;
}

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
static void thread_open_kept(struct atf_thread *thread, const char *directory, const struct listing *listing)
{
	struct atf_index *before = &gone;
	uint64_t begin = 0;
	char path[PATH_MAX];

	for (uint32_t i = 0; i < thread->first_segment; i++)
		thread->segments[i].index = &gone;
	for (size_t i = 0; listing && i < listing->kept.count; i++) {
		uint32_t number = listing->kept.items[i];

		/* One that can't be opened has gone since. */
		if (number >= thread->first_segment || atf_kept_path(path, sizeof path, directory, number) ||
		    atf_index_open(&thread->segments[number].index, path, NULL))
			continue;
		if (!atf_index_count(thread->segments[number].index)) {
			atf_index_close(thread->segments[number].index);
			thread->segments[number].index = &gone;
		}
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
		struct segment *segment = &thread->segments[i];

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
		       const struct listing *listing, struct atf_message *message)
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
	struct listing listing;
	uint32_t first;
	int status;

	*thread = NULL;
	atf_say(message, "%s", "");
	*said = first = atf_totals_read(&totals, directory) ? UINT32_MAX : totals ? totals->first_segment : 0;
	status = segments_find(directory, first, &listing, message);
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

const AtfTotalsHeader *atf_thread_totals(const struct atf_thread *thread)
{
	return thread->totals;
}

uint32_t atf_thread_first_segment(const struct atf_thread *thread)
{
	return thread->first_segment;
}

uint64_t atf_thread_live(const struct atf_thread *thread)
{
	return thread->live;
}

bool atf_thread_is_cut(const struct atf_thread *thread)
{
	return thread->cut;
}

uint32_t atf_thread_segments(const struct atf_thread *thread)
{
	return thread->segment_count;
}

const struct atf_index *atf_thread_segment(const struct atf_thread *thread, uint32_t segment)
{
	return segment < thread->segment_count ? thread->segments[segment].index : NULL;
}

uint64_t atf_thread_count(const struct atf_thread *thread)
{
	return thread->count;
}

/* Of a position that there is. */
static uint32_t segment_of(const struct atf_thread *thread, uint64_t position)
{
	return (uint32_t)ada_first_not(i, 1, thread->segment_count, thread->segments[i].start <= position) - 1;
}

const struct ada_event *atf_thread_run(const struct atf_thread *thread, uint64_t position, uint64_t *count)
{
	const struct segment *segment;

	*count = 0;
	if (position >= thread->count)
		return NULL;
	segment = &thread->segments[segment_of(thread, position)];
	return atf_index_run(segment->index, position - segment->start, count);
}

const struct ada_event *atf_thread_get(const struct atf_thread *thread, uint64_t position)
{
	uint64_t count;

	return atf_thread_run(thread, position, &count);
}

bool atf_thread_walk(const struct atf_thread *thread, struct atf_packed_walk *walk, uint64_t position, uint64_t most)
{
	const struct segment *segment = &thread->segments[segment_of(thread, position)];

	return atf_index_walk(segment->index, walk, position - segment->start, most);
}

uint64_t atf_thread_block(const struct atf_thread *thread, uint64_t position)
{
	const struct segment *segment = &thread->segments[segment_of(thread, position)];

	return segment->start + atf_index_block(segment->index, position - segment->start);
}

uint64_t atf_thread_calls_from(const struct atf_thread *thread, uint64_t position)
{
	while (position) {
		const struct segment *segment = &thread->segments[segment_of(thread, position - 1)];
		uint64_t from = segment->start + atf_index_calls_from(segment->index, position - segment->start);

		if (from == position)
			break;
		position = from;
		if (from > segment->start)
			break;
	}
	return position;
}

int atf_thread_open_calls(const struct atf_thread *thread, uint64_t position, struct atf_packed_open_calls *open, uint64_t *from)
{
	const struct segment *segment = &thread->segments[segment_of(thread, position)];
	int status = atf_index_open_calls(segment->index, position - segment->start, open);

	*from = segment->start + open->first_seq;
	/* What lies before the segment here may have come long before it. */
	for (size_t i = 0; i < open->frames.count; i++) {
		open->frames.items[i].position += segment->start;
		if ((int64_t)open->frames.items[i].position < (int64_t)segment->begin)
			open->frames.items[i].position = UINT64_MAX;
	}
	return status;
}

uint64_t atf_thread_begin(const struct atf_thread *thread, uint64_t position)
{
	return thread->count ? thread->segments[segment_of(thread, position < thread->count ? position : thread->count - 1)].begin : 0;
}

/* A touched page brings others with it: 64 KiB around, or its whole folio, which may reach far back. A release of each piece alone would
 * leave a third of the file mapped. */
#define BEHIND_EVENTS (1u << 16)
#define AHEAD_EVENTS (1u << 11)

/* Of a mapped file, what lies around as well; of a packed one, no block that isn't whole: its events may be in use. */
static void release_segment(const struct segment *segment, uint64_t from, uint64_t to)
{
	uint64_t count = atf_index_count(segment->index), end = segment->start + count;

	if (!segment->index->packed) {
		from = from > BEHIND_EVENTS ? from - BEHIND_EVENTS : 0;
		to = to < end ? to + AHEAD_EVENTS : to;
	}
	from = from > segment->start ? from - segment->start : 0;
	to = to > segment->start ? to - segment->start : 0;
	if (from < count && from < to)
		atf_index_release(segment->index, from, to < count ? to : count);
}

void atf_thread_release(const struct atf_thread *thread, uint64_t from, uint64_t to)
{
	uint32_t number;

	if (from >= to || from >= thread->count)
		return;
	/* What lies around may be in the segment before. */
	number = segment_of(thread, from);
	if (number && from - thread->segments[number].start < BEHIND_EVENTS)
		number--;
	for (; number < thread->segment_count && thread->segments[number].start < to; number++)
		release_segment(&thread->segments[number], from, to);
}

/* Segments are few and each is in order: the first that has an answer has it. */
uint64_t atf_thread_lower_bound(const struct atf_thread *thread, uint64_t ns)
{
	uint32_t i;

	for (i = 0; i < thread->segment_count; i++) {
		const struct segment *segment = &thread->segments[i];
		uint64_t seq = atf_index_lower_bound(segment->index, ns);

		if (seq < atf_index_count(segment->index))
			return segment->start + seq;
	}
	return thread->count;
}

/* Opens a segment's detail file when it is first asked for. 0, ATF_NOT_PERSISTED where there is none, or < 0. */
static int detail_open(struct atf_thread *thread, uint32_t number)
{
	struct segment *segment = &thread->segments[number];
	char path[PATH_MAX];

	if (segment->detail_wanted)
		return segment->detail_status;
	segment->detail_wanted = true;
	segment->detail_status = atf_detail_path(path, sizeof path, thread->directory, number);
	if (!segment->detail_status)
		segment->detail_status = atf_detail_open(&segment->detail, path, NULL);
	if (segment->detail_status == -ATF_ERROR_SYSTEM && errno == ENOENT)
		segment->detail_status = ATF_NOT_PERSISTED;
	return segment->detail_status;
}

const struct atf_detail_file *atf_thread_detail_file(struct atf_thread *thread, uint32_t segment)
{
	return segment < thread->segment_count && !detail_open(thread, segment) ? thread->segments[segment].detail : NULL;
}

int atf_thread_detail(struct atf_thread *thread, uint64_t position, struct atf_detail *record)
{
	const struct ada_event *event = atf_thread_get(thread, position);
	struct segment *segment;
	uint64_t index_seq;
	uint32_t number;
	int status;

	if (!event)
		return -ATF_ERROR_RANGE;
	if (event->detail_seq == ADA_NO_DETAIL)
		return ATF_NOT_PERSISTED;
	number = segment_of(thread, position);
	segment = &thread->segments[number];
	index_seq = position - segment->start;
	status = detail_open(thread, number);
	if (status)
		return status;
	if (atf_detail_window_count(segment->detail))
		status = atf_detail_find(segment->detail, event->detail_seq, record);
	else
		status = atf_detail_find_index(segment->detail, (uint32_t)index_seq, record);
	if (status)
		return status;
	record->detail_seq = event->detail_seq;
	return record->index_seq == index_seq ? 0 : -ATF_ERROR_CORRUPT;
}
