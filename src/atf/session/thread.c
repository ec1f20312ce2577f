/* A thread: its segments index.atf, index.1.atf, ... as one sequence of events. */
#include "atf/index/index.h"
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

struct segment {
	struct atf_index *index;
	uint64_t start; /* position of its first event in the thread */
	struct atf_detail_file *detail;
	int detail_status;  /* of opening it */
	bool detail_wanted; /* it was tried */
};

struct atf_thread {
	uint32_t segment_count;
	uint64_t count;
	char *directory;
	bool cut; /* segments follow that can't be read */
	struct segment segments[];
};

static int segment_path(char *path, size_t size, const char *directory, const char *lane, uint32_t segment)
{
	char number[16] = "";
	int length;

	if (segment)
		snprintf(number, sizeof number, "%u.", segment);
	length = snprintf(path, size, "%s/%s.%satf", directory, lane, number);
	return length < 0 || (size_t)length >= size ? -ATF_ERROR_RANGE : 0;
}

int atf_index_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "index", segment);
}

int atf_detail_path(char *path, size_t size, const char *directory, uint32_t segment)
{
	return segment_path(path, size, directory, "detail", segment);
}

/* The segment's number, or -1 where the name is not one's. */
static int64_t segment_number(const char *name)
{
	char expected[NAME_MAX + 1];
	unsigned int number;

	if (!strcmp(name, "index.atf"))
		return 0;
	if (sscanf(name, "index.%u.atf", &number) != 1 || !number)
		return -1;
	snprintf(expected, sizeof expected, "index.%u.atf", number);
	return strcmp(name, expected) ? -1 : (int64_t)number;
}

/* Counts the segments in the directory: the highest number is *count - 1, or a lower one is missing. Without readdir: its buffer of 32
 * KiB costs more than the few names that there are. */
static int segments_find(const char *directory, uint32_t *count, struct atf_message *message)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	union {
		struct dirent64 first;
		char bytes[2048];
	} names;
	ssize_t length;

	*count = 0;
	if (fd < 0)
		return atf_fail_of(message, directory, ATF_ERROR_SYSTEM, strerror(errno));
	while ((length = getdents64(fd, &names, sizeof names)) > 0)
		for (ssize_t at = 0; at < length;) {
			const struct dirent64 *entry = (const struct dirent64 *)(names.bytes + at);

			*count += segment_number(entry->d_name) >= 0;
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

static int thread_open_segments(struct atf_thread *thread, const char *directory, uint32_t count, struct atf_message *message)
{
	struct atf_message why_incomplete = { "" };
	char path[PATH_MAX];
	uint32_t i;
	int status;

	for (i = 0; i < count; i++) {
		struct segment *segment = &thread->segments[i];

		if (atf_index_path(path, sizeof path, directory, i))
			return atf_fail_of(message, directory, ATF_ERROR_RANGE, "path is too long");
		status = atf_index_open(&segment->index, path, message);
		if (status && i && i == count - 1 && is_unwritten(path))
			break;
		if (status && i && status != -ATF_ERROR_MEMORY) {
			thread->cut = true;
			return 0;
		}
		if (status)
			return status;
		if (message && message->text[0] && !why_incomplete.text[0])
			why_incomplete = *message;
		segment->start = thread->count;
		thread->count += atf_index_count(segment->index);
		thread->segment_count = i + 1;
	}
	if (message)
		*message = why_incomplete;
	return 0;
}

/* These segments, in so far as they can be read. */
static int thread_open(struct atf_thread **thread_out, const char *directory, uint32_t count, struct atf_message *message)
{
	struct atf_thread *thread = calloc(1, sizeof *thread + count * sizeof *thread->segments);
	int status;

	if (thread)
		thread->directory = strdup(directory);
	if (!thread || !thread->directory) {
		free(thread);
		return atf_fail(message, ATF_ERROR_MEMORY, "out of memory");
	}
	status = thread_open_segments(thread, directory, count, message);
	if (status) {
		atf_thread_close(thread);
		return status;
	}
	*thread_out = thread;
	return 0;
}

int atf_thread_open(struct atf_thread **thread, const char *directory, struct atf_message *message)
{
	uint32_t count;
	int status;

	*thread = NULL;
	atf_say(message, "%s", "");
	status = segments_find(directory, &count, message);
	if (status)
		return status;
	if (!count)
		return atf_fail_of(message, directory, ATF_ERROR_NOT_ATF, "holds no index.atf");
	return thread_open(thread, directory, count, message);
}

int atf_thread_open_known(struct atf_thread **thread, const char *directory, uint32_t segments, struct atf_message *message)
{
	char path[PATH_MAX];

	*thread = NULL;
	/* There is one more than expected: the caller's number is out of date. */
	if (segments && !atf_index_path(path, sizeof path, directory, segments) && access(path, F_OK)) {
		int status = thread_open(thread, directory, segments, message);

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
	for (i = 0; i < thread->segment_count; i++) {
		atf_index_close(thread->segments[i].index);
		atf_detail_close(thread->segments[i].detail);
	}
	free(thread->directory);
	free(thread);
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

const struct ada_event *atf_thread_get(const struct atf_thread *thread, uint64_t position)
{
	const struct segment *segment;

	if (position >= thread->count)
		return NULL;
	segment = &thread->segments[segment_of(thread, position)];
	return atf_index_events(segment->index) + (position - segment->start);
}

const struct ada_event *atf_thread_run(const struct atf_thread *thread, uint64_t position, uint64_t *count)
{
	const struct segment *segment;

	*count = 0;
	if (position >= thread->count)
		return NULL;
	segment = &thread->segments[segment_of(thread, position)];
	*count = segment->start + atf_index_count(segment->index) - position;
	return atf_index_events(segment->index) + (position - segment->start);
}

/* A touched page brings others with it: 64 KiB around, or its whole folio, which may reach far back. A release of each piece alone would
 * leave a third of the file mapped. */
#define BEHIND_EVENTS (1u << 16)
#define AHEAD_EVENTS (1u << 11)

void atf_thread_release(const struct atf_thread *thread, uint64_t from, uint64_t to)
{
	from = from > BEHIND_EVENTS ? from - BEHIND_EVENTS : 0;
	to = to < thread->count ? to + AHEAD_EVENTS : to;
	to = to < thread->count ? to : thread->count;
	while (from < to) {
		const struct segment *segment = &thread->segments[segment_of(thread, from)];
		uint64_t end = segment->start + atf_index_count(segment->index);

		end = to < end ? to : end;
		atf_unneed(&segment->index->mapping, segment->index->events + (from - segment->start),
			   segment->index->events + (end - segment->start));
		from = end;
	}
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
