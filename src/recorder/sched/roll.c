#include "recorder/sched/roll.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "atf/sched/sched_list.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "recorder/bound/bound.h"

#define SHARE 16u /* of --disk-limit, one for each of the two lanes */
#define PARTS 8u  /* of the share, that a file may have; and of the time of --max-age, as segments */
#define PART_MIN (32u << 10)

struct part { /* a file that is finished */
	uint64_t end_ns, events, bytes;
};

struct ada_roll {
	struct ada_roll_options options;
	struct atf_sched_names names; /* first: of the oldest that is there; end - 1 is being written */
	struct atf_sched_writer *writer;
	ADA_ARRAY(struct part) parts; /* from names.first on */
	struct part open;
	uint64_t start_ns; /* of the file that is being written */
	uint64_t share, part_bytes, part_ns, max_age_ns, parts_bytes;
	bool rolls;
	atomic_uint_fast64_t events, aged;
	atomic_int failed;
};

static int path_of(const struct ada_roll *roll, char path[PATH_MAX], uint32_t number)
{
	char file[NAME_MAX];

	atf_sched_name(file, &roll->names, roll->options.name, number);
	return ada_path(path, "%s/%s", roll->options.directory, file);
}

/* Under a name that nobody looks for until it has its header. */
static int make_file(struct ada_roll *roll, uint32_t number, struct atf_sched_writer **writer)
{
	char path[PATH_MAX], making[PATH_MAX];
	int status;

	if (path_of(roll, path, number) || ada_path(making, "%s.tmp", path))
		return -ENAMETOOLONG;
	errno = 0;
	status = atf_sched_writer_open(writer, making, roll->options.cpus, roll->options.flags);
	if (status)
		return errno ? -errno : -ENOMEM;
	if (!rename(making, path))
		return 0;
	status = -errno;
	atf_sched_writer_close(*writer);
	unlink(making);
	return status;
}

int ada_roll_open(struct ada_roll **opened, const struct ada_roll_options *options, struct ada_error *error)
{
	const struct ada_bound_state limits = ada_bound_state(options->bound);
	struct ada_roll *roll = calloc(1, sizeof *roll);
	int status;

	if (!roll)
		return ada_error_system(error, ENOMEM, "%s.atf", options->name);
	roll->options = *options;
	roll->rolls = limits.disk_limit || limits.max_age_ns;
	roll->names = (struct atf_sched_names){ .plain = !roll->rolls, .end = 1 };
	roll->share = limits.disk_limit ? limits.disk_limit / SHARE : UINT64_MAX;
	roll->part_bytes = roll->share / PARTS > PART_MIN ? roll->share / PARTS : PART_MIN;
	roll->part_ns = ada_bound_segment_ns(options->bound);
	roll->max_age_ns = limits.max_age_ns;
	status = make_file(roll, 0, &roll->writer);
	if (status) {
		ada_error_system(error, -status, "%s/%s.atf", options->directory, options->name);
		ada_roll_free(roll);
		return status;
	}
	*opened = roll;
	return 0;
}

/* --- files that end, and go ---------------------------------------------------------------------------------------------------- */

static void fail(struct ada_roll *roll, int status)
{
	int none = 0;

	atomic_compare_exchange_strong(&roll->failed, &none, status);
}

/* Where there is no room for the next file, this one goes on, and it is tried again with the next events. */
static void begin_next(struct ada_roll *roll)
{
	struct atf_sched_writer *next;

	if (ada_array_reserve(&roll->parts, 1) || make_file(roll, roll->names.end, &next))
		return;
	errno = 0;
	if (atf_sched_writer_leave(roll->writer))
		fail(roll, errno ? -errno : -EIO);
	roll->open.bytes += sizeof(AtfSchedHeader) + sizeof(AtfSchedFooter);
	roll->parts.items[roll->parts.count++] = roll->open;
	roll->parts_bytes += roll->open.bytes;
	roll->open = (struct part){ .end_ns = roll->open.end_ns };
	roll->start_ns = 0;
	roll->writer = next;
	roll->names.end++;
	ada_bound_wrote(roll->options.bound, sizeof(AtfSchedHeader) + sizeof(AtfSchedFooter));
}

/* False: it is still there. */
static bool drop_oldest(struct ada_roll *roll)
{
	const struct part oldest = *roll->parts.items;
	char path[PATH_MAX];

	if (path_of(roll, path, roll->names.first) || (unlink(path) && errno != ENOENT))
		return false;
	roll->names.first++;
	roll->parts_bytes -= oldest.bytes;
	roll->parts.count--;
	memmove(roll->parts.items, roll->parts.items + 1, roll->parts.count * sizeof oldest);
	atomic_fetch_add(&roll->aged, oldest.events);
	atomic_fetch_sub(&roll->events, oldest.events);
	return true;
}

static bool has_to_go(const struct ada_roll *roll, const struct part *part, uint64_t now_ns)
{
	return part->end_ns < ada_bound_gone_ns(roll->options.bound) || (roll->max_age_ns && part->end_ns + roll->max_age_ns < now_ns) ||
	       roll->parts_bytes > roll->share;
}

static bool is_long(const struct ada_roll *roll, uint64_t now_ns)
{
	return roll->open.events && (roll->open.bytes >= roll->part_bytes || now_ns - roll->start_ns >= roll->part_ns);
}

void ada_roll_turn(struct ada_roll *roll)
{
	uint64_t now_ns = ada_clock_boottime_ns();

	if (!roll->rolls)
		return;
	if (is_long(roll, now_ns) && !atomic_load(&roll->failed))
		begin_next(roll);
	while (roll->parts.count && has_to_go(roll, roll->parts.items, now_ns) && drop_oldest(roll))
		;
}

/* At the limit itself, which segments keep away from: the lane gives way at the rate at which it grows. What went is counted only when the
 * session is measured the next time, so the last file that is finished stays. */
static void make_room(struct ada_roll *roll, uint64_t bytes)
{
	if (roll->parts.count > 1 && !ada_bound_has_room(roll->options.bound, bytes))
		drop_oldest(roll);
}

void ada_roll_append(struct ada_roll *roll, AtfSchedEvent *events, size_t count)
{
	int status;

	if (!count || atomic_load(&roll->failed))
		return;
	ada_roll_turn(roll);
	if (roll->rolls)
		make_room(roll, count * sizeof *events);
	for (size_t i = 0; i < count && events[i].timestamp_ns < roll->open.end_ns; i++)
		events[i].timestamp_ns = roll->open.end_ns;
	errno = 0;
	status = atf_sched_writer_append(roll->writer, events, count);
	if (status) {
		fail(roll, errno ? -errno : -EIO);
		return;
	}
	roll->start_ns = roll->open.events ? roll->start_ns : events[0].timestamp_ns;
	roll->open.end_ns = events[count - 1].timestamp_ns;
	roll->open.events += count;
	roll->open.bytes += count * sizeof *events;
	atomic_fetch_add(&roll->events, count);
	ada_bound_wrote(roll->options.bound, count * sizeof *events);
}

struct ada_roll_counts ada_roll_count(const struct ada_roll *roll)
{
	return (struct ada_roll_counts){ .events = atomic_load(&roll->events),
					 .aged = atomic_load(&roll->aged),
					 .failed = atomic_load(&roll->failed) };
}

/* --- end ----------------------------------------------------------------------------------------------------------------------- */

/* While it recorded nobody waited for the disk. */
static int sync_part(const struct ada_roll *roll, uint32_t number)
{
	char path[PATH_MAX];
	int fd = path_of(roll, path, number) ? -1 : open(path, O_RDONLY | O_CLOEXEC), status;

	if (fd < 0)
		return -errno;
	status = fsync(fd) ? -errno : 0;
	close(fd);
	return status;
}

void ada_roll_end(struct ada_roll *roll)
{
	int status;

	errno = 0;
	if (atf_sched_writer_close(roll->writer))
		fail(roll, errno ? -errno : -EIO);
	for (uint32_t i = roll->names.first; i + 1 < roll->names.end; i++)
		if ((status = sync_part(roll, i)))
			fail(roll, status);
}

void ada_roll_cancel(struct ada_roll *roll)
{
	char path[PATH_MAX];

	atf_sched_writer_close(roll->writer);
	if (!path_of(roll, path, 0))
		unlink(path);
	ada_roll_free(roll);
}

void ada_roll_free(struct ada_roll *roll)
{
	if (!roll)
		return;
	ada_array_free(&roll->parts);
	free(roll);
}
