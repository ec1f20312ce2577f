#include "recorder/index/lane.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/directory.h"
#include "base/file.h"
#include "recorder/index/arena.h"
#include "recorder/index/sink.h"

static int told(int status, const struct ada_lane *lane, const char *directory, struct ada_error *error)
{
	int code = status == -ATF_ERROR_SYSTEM ? errno : status == -ATF_ERROR_MEMORY ? ENOMEM : EIO;
	char shown[PATH_MAX];

	directory = ada_directory_shown(directory, shown);
	if (status == -ATF_ERROR_SYSTEM)
		return ada_error_system(error, code, "%s/thread_%u can't be written", directory, lane->id);
	return ada_error_set(error, code, "%s/thread_%u can't be written: %s", directory, lane->id, atf_error_text(status));
}

void ada_lane_spare_files(const struct ada_lane_options *options)
{
	if (options->spare_some)
		options->spare_some(options->context);
}

bool ada_lane_room_made(const struct ada_lane_options *options)
{
	return ada_lane_short_of_files(-errno) && options->make_room && options->make_room(options->context);
}

bool ada_lane_rest(struct ada_lane *lane)
{
	if (!lane->writer || lane->rests || atf_index_writer_rest(lane->writer))
		return false;
	lane->unflushed = false;
	lane->rests = true;
	return true;
}

static int wake(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	char thread[PATH_MAX], path[PATH_MAX];
	int status = 0;

	if (!lane->rests)
		return 0;
	if (ada_path(thread, "%s/thread_%u", directory, lane->id) ||
	    atf_index_path(path, sizeof path, thread, (uint32_t)lane->segments.count - 1))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	ada_lane_spare_files(options);
	do
		status = atf_index_writer_wake(lane->writer, path);
	while (status && ada_lane_room_made(options));
	lane->rests = status;
	return status ? told(status, lane, directory, error) : 0;
}

/* Called once the lane has anything to note. */
static void take_note(struct ada_lane *lane, const struct ada_lane_options *options)
{
	if (!options->arena || lane->note || lane->noteless)
		return;
	lane->note = ada_arena_lane_take(options->arena, options->provider, lane->id);
	lane->noteless = !lane->note;
}

void ada_lane_note(struct ada_lane *lane, const struct ada_lane_options *options)
{
	size_t segments;
	const struct ada_lane_stretch *stretch;
	struct ada_arena_lane_state state;

	take_note(lane, options);
	if (!lane->note)
		return;
	segments = lane->segments.count;
	stretch = lane->stretches.count ? &lane->stretches.items[lane->stretches.count - 1] : NULL;
	state = (struct ada_arena_lane_state){ .next_seq = lane->next_seq,
					       .events = lane->events,
					       .lost = lane->lost,
					       .overwritten = lane->overwritten,
					       .gaps = lane->gaps,
					       .segment_gaps = lane->segment_gaps,
					       .told_lost = lane->told_lost,
					       .last_ns = lane->last_ns,
					       .captured = lane->captured,
					       .segment = segments ? (uint32_t)segments - 1 : ADA_NONE,
					       .segment_events = segments ? (uint32_t)lane->segments.items[segments - 1] : 0,
					       .thread_id = lane->thread_id,
					       .flags = (lane->closed ? ADA_ARENA_LANE_CLOSED : 0) |
							(lane->given_back ? ADA_ARENA_LANE_GIVEN_BACK : 0) |
							(lane->has_detail ? ADA_ARENA_LANE_DETAIL : 0) };
	if (stretch && stretch->segment + 1 == segments) {
		state.stretch_seq = stretch->seq;
		state.stretch_index_seq = stretch->index_seq;
	}
	ada_arena_lane_note(options->arena, lane->note, &state);
}

void ada_lane_note_last(struct ada_lane *lane, const struct ada_lane_options *options, const struct ada_shm_thread *last)
{
	take_note(lane, options);
	ada_arena_lane_last(options->arena, lane->note, last);
}

void ada_lane_forget(struct ada_lane *lane, const struct ada_lane_options *options)
{
	ada_arena_lane_free(options->arena, lane->note);
	lane->note = 0;
	lane->noteless = true;
}

static int open_segment(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	char thread[PATH_MAX], path[PATH_MAX], shown[PATH_MAX];
	struct atf_index_options writer = { .thread_id = lane->thread_id,
					    .arch = ATF_ARCH_X86_64,
					    .sink = options->sink,
					    .max_events = options->segment_events,
					    .time_min_ns = lane->time_max_ns };
	int status;

	if (ada_path(thread, "%s/thread_%u", directory, lane->id) ||
	    atf_index_path(path, sizeof path, thread, (uint32_t)lane->segments.count))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	take_note(lane, options);
	writer.owner = ada_sink_owner(lane->note, (uint32_t)lane->segments.count);
	if (!lane->segments.count && mkdir(thread, 0700) && errno != EEXIST)
		return ada_error_system(error, errno, "%s can't be made", ada_directory_shown(thread, shown));
	if (ada_array_reserve(&lane->segments, 1))
		return ada_error_system(error, ENOMEM, "%s", thread);
	ada_lane_spare_files(options);
	do
		status = atf_index_writer_open(&lane->writer, path, &writer);
	while (status && ada_lane_room_made(options));
	if (status) {
		int code = errno;

		unlink(path); /* no room for its header: no segment */
		errno = code;
		lane->writer = NULL;
		return told(status, lane, directory, error);
	}
	lane->segments.items[lane->segments.count++] = 0;
	lane->segment_gaps = 0;
	lane->captured = 0;
	lane->has_detail = false;
	return 0;
}

static int close_segment(struct ada_lane *lane)
{
	int status = 0;

	if (lane->writer) {
		lane->time_max_ns = atf_index_writer_time_max_ns(lane->writer);
		status = atf_index_writer_close(lane->writer, lane->has_detail);
	}
	lane->writer = NULL;
	lane->unflushed = false;
	return status;
}

/* Reserves room for up to `count` events, in the next segment where this one is full. */
static int reserve(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, size_t count,
		   struct ada_event **events, size_t *room, struct ada_error *error)
{
	int status = wake(lane, options, directory, error);

	if (!status && !lane->writer)
		status = open_segment(lane, options, directory, error);
	if (status)
		return status;
	status = atf_index_writer_reserve(lane->writer, count, events, room);
	if (status == -ATF_ERROR_FULL) {
		status = close_segment(lane);
		if (status)
			return told(status, lane, directory, error);
		status = open_segment(lane, options, directory, error);
		if (status)
			return status;
		status = atf_index_writer_reserve(lane->writer, count, events, room);
	}
	return status ? told(status, lane, directory, error) : 0;
}

/* Times must not fall. The writer would raise them, but the event's detail must have the same time. */
static void raise(struct ada_lane *lane, struct ada_event *event, uint64_t seq, bool keep)
{
	event->timestamp_ns = lane->last_ns;
	if (keep && lane->raised.count < ADA_LANE_RAISED_MAX)
		ada_array_push(&lane->raised, (struct ada_lane_raised){ seq, lane->last_ns });
}

/* `detail`: the chunk that goes with them, or ADA_NONE. */
static int commit(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_event *events,
		  size_t count, uint32_t detail, struct ada_error *error)
{
	uint64_t gaps = 0, lost = 0, captured = lane->captured;
	int status;

	ada_clock_convert(options->clock, events, count);
	for (size_t i = 0; i < count; i++) {
		if (__builtin_expect(events[i].timestamp_ns < lane->last_ns, 0))
			raise(lane, &events[i], lane->next_seq + i, detail != ADA_NONE);
		if (__builtin_expect(events[i].event_kind == ADA_EVENT_LOST, 0) && options->details && !options->circular)
			options->listener->lost(options->details, lane->last_ns, lane->ends ? UINT64_MAX : events[i].timestamp_ns,
						events[i].function_id);
		lane->last_ns = events[i].timestamp_ns;
		events[i].detail_seq = detail == ADA_NONE || events[i].detail_seq == ADA_NO_DETAIL ? ADA_NO_DETAIL : (uint32_t)captured++;
		if (__builtin_expect(events[i].event_kind == ADA_EVENT_LOST, 0)) {
			gaps++;
			lost += events[i].function_id;
		}
	}
	status = atf_index_writer_commit(lane->writer, count);
	if (status)
		return told(status, lane, directory, error);
	lane->captured = captured;
	lane->gaps += gaps;
	lane->segment_gaps += gaps;
	lane->lost += lost;
	lane->events += count;
	lane->segments.items[lane->segments.count - 1] += count;
	lane->unflushed = true;
	return 0;
}

int ada_lane_mark_lost(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t count,
		       uint64_t counter, struct ada_error *error)
{
	struct ada_event *place;
	size_t room;
	int status = reserve(lane, options, directory, 1, &place, &room, error);

	if (status)
		return status;
	*place = (struct ada_event){
		.timestamp_ns = counter, .function_id = count, .thread_id = lane->thread_id, .event_kind = ADA_EVENT_LOST
	};
	return commit(lane, options, directory, place, 1, ADA_NONE, error);
}

/* The events between next_seq and seq are missing: readers must see that at this very place. */
static int mark_gap(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t seq, uint64_t counter,
		    struct ada_error *error)
{
	uint64_t missing = seq - lane->next_seq;
	int status = ada_lane_mark_lost(lane, options, directory, missing, counter, error);

	if (status)
		return status;
	if (options->circular)
		lane->overwritten += missing;
	if (options->circular && options->details)
		options->listener->overwritten(options->details, lane->id, lane->next_seq, missing, counter);
	lane->next_seq = seq;
	return 0;
}

static void note_stretch(struct ada_lane *lane, uint64_t seq, uint32_t segment, uint64_t index_seq)
{
	const struct ada_lane_stretch *last = lane->stretches.count ? &lane->stretches.items[lane->stretches.count - 1] : NULL;
	struct ada_lane_stretch stretch = { .seq = seq, .index_seq = index_seq, .segment = segment };

	if (last && last->segment == segment && seq - last->seq == index_seq - last->index_seq)
		return;
	ada_array_push(&lane->stretches, stretch); /* without memory: marks behind it have no place */
}

bool ada_lane_place(const struct ada_lane *lane, uint64_t seq, uint32_t *segment, uint64_t *index_seq)
{
	size_t i = ada_array_below(&lane->stretches, seq, seq + 1);
	const struct ada_lane_stretch *stretch;

	if (!i || seq >= lane->next_seq)
		return false;
	stretch = &lane->stretches.items[i - 1];
	*segment = stretch->segment;
	*index_seq = stretch->index_seq + (seq - stretch->seq);
	return *index_seq < lane->segments.items[stretch->segment];
}

int ada_lane_append(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, uint64_t seq,
		    const struct ada_event *events, size_t count, struct ada_lane_detail detail, struct ada_error *error)
{
	int status = 0;
	uint64_t lost_before;

	if (!options->details && !options->numbers_detail)
		detail.chunk = ADA_NONE;
	if (count && seq > lane->next_seq)
		status = mark_gap(lane, options, directory, seq, events->timestamp_ns, error);
	lost_before = lane->lost;
	while (count && !status) {
		struct ada_event *place;
		size_t room;
		struct ada_details_place where;

		status = reserve(lane, options, directory, count, &place, &room, error);
		if (status)
			break;
		memcpy(place, events, room * sizeof *events);
		where = (struct ada_details_place){ .thread = lane->id,
						    .detail_chunk = detail.chunk,
						    .seq = seq,
						    .count = room,
						    .chunk_seq = detail.chunk_seq,
						    .segment = (uint32_t)lane->segments.count - 1,
						    .index_seq = lane->segments.items[lane->segments.count - 1],
						    .detail_seq = lane->captured,
						    .first_counter = events->timestamp_ns,
						    .last_counter = events[room - 1].timestamp_ns };
		status = commit(lane, options, directory, place, room, detail.chunk, error);
		if (status)
			break;
		note_stretch(lane, seq, where.segment, where.index_seq);
		if (options->details)
			options->listener->drained(options->details, &where);
		seq += room;
		lane->next_seq += room;
		events += room;
		count -= room;
	}
	lane->told_lost += lane->lost - lost_before;
	return status;
}

void ada_lane_has_detail(struct ada_lane *lane, const char *directory, uint32_t segment)
{
	char thread[PATH_MAX], path[PATH_MAX];
	uint32_t flags;
	int fd;
	off_t place;

	if (lane->writer && segment + 1 == lane->segments.count) {
		lane->has_detail = true;
		return;
	}
	if (ada_path(thread, "%s/thread_%u", directory, lane->id) || atf_index_path(path, sizeof path, thread, segment))
		return;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	place = offsetof(AtfIndexHeader, flags);
	if (pread(fd, &flags, sizeof flags, place) == sizeof flags) {
		ssize_t written;

		flags |= ATF_FLAG_HAS_DETAIL;
		written = pwrite(fd, &flags, sizeof flags, place);
		(void)written; /* the detail file is there, flag or no flag */
	}
	close(fd);
}

int ada_lane_flush(struct ada_lane *lane, const char *directory, struct ada_error *error)
{
	int status;

	if (!lane->writer || !lane->unflushed)
		return 0;
	lane->unflushed = false;
	status = atf_index_writer_flush(lane->writer);
	return status ? told(status, lane, directory, error) : 0;
}

/* How many LOST events the file holds. */
static uint64_t gaps_there(const char *path)
{
	struct atf_message message;
	struct atf_index *index;
	uint64_t gaps = 0;
	const struct ada_event *events;

	if (atf_index_open(&index, path, &message))
		return 0;
	events = atf_index_events(index);
	for (uint64_t i = 0; i < atf_index_count(index); i++)
		gaps += events[i].event_kind == ADA_EVENT_LOST;
	atf_index_close(index);
	return gaps;
}

#define FOOTER_EVENTS (sizeof(AtfIndexFooter) / sizeof(struct ada_event)) /* that take as much room */

static uint64_t whole_events(const char *path)
{
	struct stat info;
	uint64_t bytes = stat(path, &info) ? 0 : (uint64_t)info.st_size;

	return bytes < sizeof(AtfIndexHeader) ? 0 : (bytes - sizeof(AtfIndexHeader)) / sizeof(struct ada_event);
}

/* Gives the file its footer; where the disk has no room even for that, the footer takes the place of the last events. Returns how many
 * events there are then. */
static uint64_t finish_file(const char *path)
{
	struct atf_message message;
	int status = atf_index_recover(path, &message);
	uint64_t there = whole_events(path);

	if (status == -ATF_ERROR_SYSTEM && (errno == ENOSPC || errno == EDQUOT) && there >= FOOTER_EVENTS) {
		there -= FOOTER_EVENTS;
		if (!truncate(path, (off_t)(sizeof(AtfIndexHeader) + there * sizeof(struct ada_event))))
			status = atf_index_recover(path, &message);
		there = whole_events(path);
	}
	return status ? there : there - FOOTER_EVENTS;
}

/* After a failed write: counts what the last file really holds; the rest is lost. A LOST event behind the cut was no event of the
 * program: `lost` already counts what it told of. */
static void files_settle(struct ada_lane *lane, const char *directory)
{
	char thread[PATH_MAX], path[PATH_MAX];
	uint64_t *counted, there, cut;

	if (!lane->segments.count || ada_path(thread, "%s/thread_%u", directory, lane->id) ||
	    atf_index_path(path, sizeof path, thread, (uint32_t)lane->segments.count - 1) || access(path, F_OK))
		return;
	counted = &lane->segments.items[lane->segments.count - 1];
	there = finish_file(path);
	lane->lost += *counted - there; /* either may be larger */
	lane->events -= *counted - there;
	*counted = there;
	cut = lane->segment_gaps - gaps_there(path);
	lane->gaps -= cut;
	lane->lost -= cut;
}

int ada_lane_close(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	int status, code;

	lane->closed = true;
	status = wake(lane, options, directory, error);
	if (status)
		return status;
	status = close_segment(lane);
	if (!status)
		return 0;
	code = errno; /* why it failed, not what settling met */
	files_settle(lane, directory);
	errno = code;
	return told(status, lane, directory, error);
}

void ada_lane_free(struct ada_lane *lane)
{
	if (lane->writer)
		atf_index_writer_abandon(lane->writer);
	lane->writer = NULL;
	ada_array_free(&lane->segments);
	ada_array_free(&lane->raised);
	ada_array_free(&lane->stretches);
}
