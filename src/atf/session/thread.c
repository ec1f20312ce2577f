/* A thread: its segments index.atf, index.1.atf, ... as one sequence of events. thread_open.c opens it. */
#include "atf/session/thread_parts.h"

#include <errno.h>
#include <limits.h>

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
	const struct atf_segment *segment;

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
	const struct atf_segment *segment = &thread->segments[segment_of(thread, position)];

	return atf_index_walk(segment->index, walk, position - segment->start, most);
}

uint64_t atf_thread_block(const struct atf_thread *thread, uint64_t position)
{
	const struct atf_segment *segment = &thread->segments[segment_of(thread, position)];

	return segment->start + atf_index_block(segment->index, position - segment->start);
}

void atf_thread_ahead(const struct atf_thread *thread, uint64_t from, uint64_t to)
{
	while (from < to) {
		const struct atf_segment *segment = &thread->segments[segment_of(thread, from)];
		uint64_t end = segment->start + atf_index_count(segment->index);

		end = end < to ? end : to;
		atf_index_ahead(segment->index, from - segment->start, end - segment->start);
		from = end;
	}
}

uint64_t atf_thread_calls_from(const struct atf_thread *thread, uint64_t position)
{
	while (position) {
		const struct atf_segment *segment = &thread->segments[segment_of(thread, position - 1)];
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
	const struct atf_segment *segment = &thread->segments[segment_of(thread, position)];
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
static void release_segment(const struct atf_segment *segment, uint64_t from, uint64_t to)
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
		const struct atf_segment *segment = &thread->segments[i];
		uint64_t seq = atf_index_lower_bound(segment->index, ns);

		if (seq < atf_index_count(segment->index))
			return segment->start + seq;
	}
	return thread->count;
}

/* Opens a segment's detail file when it is first asked for. 0, ATF_NOT_PERSISTED where there is none, or < 0. */
static int detail_open(struct atf_thread *thread, uint32_t number)
{
	struct atf_segment *segment = &thread->segments[number];
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
	struct atf_segment *segment;
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
