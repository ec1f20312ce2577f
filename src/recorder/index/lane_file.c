#include "recorder/index/lane_file.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "atf/session/thread.h"
#include "base/directory.h"
#include "base/file.h"
#include "recorder/bound/bound.h"
#include "recorder/index/arena.h"
#include "recorder/index/packed_lane.h"
#include "recorder/index/sink.h"
#include "recorder/squeeze/squeezer.h"

#define CUTS_MOST 16
#define SLOW_EVENTS 65536u /* a file with fewer isn't worth another one */

int ada_lane_told(int status, const struct ada_lane *lane, const char *directory, struct ada_error *error)
{
	int code = status == -ATF_ERROR_SYSTEM ? errno : status == -ATF_ERROR_MEMORY ? ENOMEM : EINVAL;
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

bool ada_lane_file_is_open(const struct ada_lane *lane)
{
	return lane->writer || ada_packed_lane_is_open(lane->packed);
}

bool ada_lane_rest(struct ada_lane *lane)
{
	if (!ada_lane_file_is_open(lane) || lane->rests ||
	    (lane->writer ? atf_index_writer_rest(lane->writer) : ada_packed_lane_rest(lane->packed)))
		return false;
	lane->unflushed = false;
	lane->rests = true;
	return true;
}

/* Of the last segment. */
static int last_path(const struct ada_lane *lane, const char *directory, char path[PATH_MAX])
{
	uint32_t segment = (uint32_t)lane->segments.count - 1;
	char thread[PATH_MAX];

	if (ada_path(thread, "%s/thread_%u", directory, lane->id))
		return -ENAMETOOLONG;
	return (ada_lane_is_packed(lane, segment) ? atf_packed_path : atf_index_path)(path, PATH_MAX, thread, segment) ? -ENAMETOOLONG : 0;
}

int ada_lane_file_wake(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	char path[PATH_MAX];
	int status = 0;

	if (!lane->rests)
		return 0;
	if (last_path(lane, directory, path))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	ada_lane_spare_files(options);
	do
		status = lane->writer ? atf_index_writer_wake(lane->writer, path) : ada_packed_lane_wake(lane->packed, path);
	while (status && ada_lane_room_made(options));
	lane->rests = status;
	return status ? ada_lane_told(status, lane, directory, error) : 0;
}

void ada_lane_take_note(struct ada_lane *lane, const struct ada_lane_options *options)
{
	if (!options->arena || lane->note || lane->noteless)
		return;
	lane->note = ada_arena_lane_take(options->arena, options->provider, lane->id);
	lane->noteless = !lane->note;
}

/* --- after a failure ----------------------------------------------------------------------------------------------------- */

/* How many events the file holds, and how many of them are LOST. */
static uint64_t events_there(const char *path, uint64_t *gaps)
{
	struct atf_message message;
	struct atf_index *index;
	uint64_t at = 0, run, count;

	*gaps = 0;
	if (atf_index_open(&index, path, &message))
		return 0;
	count = atf_index_count(index);
	for (; at < count; at += run) {
		const struct ada_event *events = atf_index_run(index, at, &run);

		for (uint64_t i = 0; i < run; i++)
			*gaps += events[i].event_kind == ADA_EVENT_LOST;
		atf_index_release(index, at, at + run);
	}
	atf_index_close(index);
	return count;
}

#define FOOTER_EVENTS (sizeof(AtfIndexFooter) / sizeof(struct ada_event)) /* that take as much room */

/* Where the last events begin that a file without a footer can give up for one: two events, or a packed block. 0: there are none. */
static off_t last_begin(const char *path)
{
	const struct atf_packed_layout *layout;
	struct atf_message message;
	struct atf_index *index;
	off_t begin = 0;

	if (atf_index_open(&index, path, &message))
		return 0;
	if (!index->packed && index->layout.count >= FOOTER_EVENTS) {
		begin = (off_t)(ATF_EVENTS_OFFSET + (index->layout.count - FOOTER_EVENTS) * sizeof(struct ada_event));
	} else if (index->packed) {
		layout = atf_packed_layout(index->packed);
		if (layout->entries.count)
			begin = (off_t)layout->entries.items[layout->entries.count - 1].offset;
	}
	atf_index_close(index);
	return begin;
}

/* Gives the file its footer; where the disk has no room even for that, the footer takes the place of the last events. */
static void finish_file(const char *path)
{
	struct atf_message message;
	int status = atf_index_recover(path, &message);

	for (int i = 0; i < CUTS_MOST && status == -ATF_ERROR_SYSTEM && (errno == ENOSPC || errno == EDQUOT); i++) {
		off_t begin = last_begin(path);

		if (!begin || truncate(path, begin))
			break;
		status = atf_index_recover(path, &message);
	}
}

/* Counts what the last file really holds; the rest is lost. A LOST event behind the cut was no event of the program: `lost` already counts
 * what it told of. */
static void count_what_is_there(struct ada_lane *lane, const char *directory)
{
	uint64_t *counted, there, gaps, cut;
	char path[PATH_MAX];

	if (!lane->segments.count || last_path(lane, directory, path) || access(path, F_OK))
		return;
	counted = &lane->segments.items[lane->segments.count - 1];
	finish_file(path);
	there = events_there(path, &gaps);
	lane->lost += *counted - there; /* either may be larger */
	lane->events -= *counted - there;
	*counted = there;
	cut = lane->segment_gaps - gaps;
	lane->gaps -= cut;
	lane->lost -= cut;
}

/* --- segments ------------------------------------------------------------------------------------------------------------ */

static int open_plain(struct ada_lane *lane, const struct ada_lane_options *options, const char *path)
{
	const struct atf_index_options writer = { .thread_id = lane->thread_id,
						  .arch = ATF_ARCH_X86_64,
						  .sink = options->sink,
						  .max_events = options->segment_events,
						  .time_min_ns = lane->time_max_ns,
						  .owner = ada_sink_owner(lane->note, (uint32_t)lane->segments.count - 1) };

	return atf_index_writer_open(&lane->writer, path, &writer);
}

static int open_packed(struct ada_lane *lane, const struct ada_lane_options *options, const char *path)
{
	const struct ada_packed_begin begin = { .path = path,
						.thread_id = lane->thread_id,
						.max_events = options->segment_events,
						.note = lane->note,
						.segment = (uint32_t)lane->segments.count - 1,
						.events = lane->events };

	return ada_packed_lane_begin(lane->packed, &begin);
}

/* What keeps account of open calls also while segments are plain. */
static int have_packed(struct ada_lane *lane, const struct ada_lane_options *options)
{
	const struct ada_packed_options packed = {
		.packers = options->packers, .arena = options->arena, .sink = options->sink, .bound = options->bound, .number = lane->id
	};

	if (!options->packers || options->pack == ADA_PACK_NEVER || lane->packed)
		return 0;
	return ada_packed_lane_open(&lane->packed, &packed);
}

static int open_segment(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	bool packed = options->packers && (options->pack == ADA_PACK_ALWAYS || (options->pack == ADA_PACK_AUTO && lane->segments.count));
	char thread[PATH_MAX], path[PATH_MAX], shown[PATH_MAX];
	int status;

	if (ada_path(thread, "%s/thread_%u", directory, lane->id))
		return ada_error_system(error, ENAMETOOLONG, "%s", directory);
	ada_lane_take_note(lane, options);
	if (!lane->segments.count && mkdir(thread, 0700) && errno != EEXIST)
		return ada_error_system(error, errno, "%s can't be made", ada_directory_shown(thread, shown));
	if (ada_array_push(&lane->segments, 0) || have_packed(lane, options))
		return ada_error_system(error, ENOMEM, "%s", thread);
	lane->packed_segments += packed;
	ada_lane_spare_files(options);
	do
		status = last_path(lane, directory, path) ? -ATF_ERROR_RANGE :
			 packed				  ? open_packed(lane, options, path) :
							    open_plain(lane, options, path);
	while (status && ada_lane_room_made(options));
	if (status) {
		int code = errno;

		unlink(path); /* no room for its header: no segment */
		errno = code;
		lane->writer = NULL;
		lane->segments.count--;
		lane->packed_segments -= packed;
		return ada_lane_told(status, lane, directory, error);
	}
	lane->segment_gaps = 0;
	lane->captured = 0;
	lane->has_detail = false;
	return 0;
}

static void tell_closed(const struct ada_lane *lane, const struct ada_lane_options *options, bool last)
{
	uint32_t segment = (uint32_t)lane->segments.count - 1;
	const struct ada_bound_segment closed = { .start_ns = lane->segment_ns,
						  .end_ns = lane->last_ns,
						  .bytes = lane->packed ? ada_packed_lane_bytes(lane->packed) : 0,
						  .provider = options->provider,
						  .thread = lane->id,
						  .segment = segment,
						  .last = last };

	const struct ada_squeeze raw = { options->provider, lane->id, segment, closed.bytes };

	if (lane->segments.items[segment])
		ada_bound_closed(options->bound, &closed);
	if (lane->packed && ada_lane_is_packed(lane, segment) && ada_packed_lane_is_raw(lane->packed))
		ada_squeezer_closed(options->squeezer, &raw);
}

int ada_lane_file_close(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, bool last)
{
	bool open = ada_lane_file_is_open(lane);
	int status = 0, code;

	if (lane->writer) {
		lane->time_max_ns = atf_index_writer_time_max_ns(lane->writer);
		status = atf_index_writer_close(lane->writer, lane->has_detail);
	} else if (ada_packed_lane_is_open(lane->packed)) {
		lane->time_max_ns = lane->last_ns;
		ada_lane_note(lane, options);
		status = ada_packed_lane_end(lane->packed, lane->has_detail);
	}
	if (status == -ATF_ERROR_SYSTEM && errno == EAGAIN)
		return status; /* the file is as it was */
	lane->writer = NULL;
	lane->unflushed = false;
	lane->looked = 0;
	code = errno; /* why it failed, not what counting met */
	if (status)
		count_what_is_there(lane, directory);
	else if (open)
		tell_closed(lane, options, last);
	errno = code;
	return status;
}

int ada_lane_file_roll(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error)
{
	int status = ada_lane_file_close(lane, options, directory, false);

	return status ? ada_lane_told(status, lane, directory, error) : open_segment(lane, options, directory, error);
}

/* The plain file of a thread that has many events is what the disk can't keep up with. */
static bool is_too_much(const struct ada_lane *lane, const struct ada_lane_options *options)
{
	return lane->writer && options->packers && options->pack == ADA_PACK_AUTO && ada_sink_holds_up(options->patient) &&
	       lane->segments.items[lane->segments.count - 1] >= SLOW_EVENTS;
}

/* The share of the limit that one segment may have. */
static bool is_over(const struct ada_lane *lane, const struct ada_lane_options *options)
{
	return options->bound && ada_packed_lane_is_open(lane->packed) &&
	       ada_packed_lane_bytes(lane->packed) >= ada_bound_segment_bytes(options->bound);
}

static int reserve(struct ada_lane *lane, size_t count, struct ada_event **events, size_t *room)
{
	return lane->writer ? atf_index_writer_reserve(lane->writer, count, events, room) :
			      ada_packed_lane_reserve(lane->packed, count, events, room);
}

int ada_lane_file_reserve(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, size_t count,
			  struct ada_event **events, size_t *room, struct ada_error *error)
{
	int status = ada_lane_file_wake(lane, options, directory, error);

	if (!status && (is_too_much(lane, options) || is_over(lane, options)))
		status = ada_lane_file_roll(lane, options, directory, error);
	else if (!status && !ada_lane_file_is_open(lane))
		status = open_segment(lane, options, directory, error);
	if (status)
		return status;
	status = reserve(lane, count, events, room);
	if (status == -ATF_ERROR_FULL) {
		status = ada_lane_file_roll(lane, options, directory, error);
		if (status)
			return status;
		status = reserve(lane, count, events, room);
	}
	return status ? ada_lane_told(status, lane, directory, error) : 0;
}

int ada_lane_file_commit(struct ada_lane *lane, const struct ada_lane_options *options, const struct ada_event *events, size_t count)
{
	int status = 0;

	if (!lane->writer) {
		ada_packed_lane_commit(lane->packed, count);
		return 0;
	}
	if (lane->packed)
		status = ada_packed_lane_pass(lane->packed, lane->thread_id, events, count);
	return status ? status : atf_index_writer_commit(lane->writer, count);
}

int ada_lane_file_flush(struct ada_lane *lane)
{
	return lane->writer ? atf_index_writer_flush(lane->writer) : ada_packed_lane_flush(lane->packed);
}

/* Bound's thread may keep the segment meanwhile: what isn't there under the one name is there under the other. */
static int open_closed(const struct ada_lane *lane, const char *directory, uint32_t segment)
{
	char thread[PATH_MAX], path[PATH_MAX];
	int fd;

	if (ada_path(thread, "%s/thread_%u", directory, lane->id) || atf_index_find(path, sizeof path, thread, segment))
		return -1;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 || errno != ENOENT || atf_kept_path(path, sizeof path, thread, segment))
		return fd;
	return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
}

void ada_lane_has_detail(struct ada_lane *lane, const char *directory, uint32_t segment)
{
	int fd;

	if (ada_lane_file_is_open(lane) && segment + 1 == lane->segments.count) {
		lane->has_detail = true;
		return;
	}
	fd = open_closed(lane, directory, segment);
	if (fd < 0)
		return;
	atf_index_name_detail(fd); /* where that fails the detail file is there, flag or no flag */
	close(fd);
}
