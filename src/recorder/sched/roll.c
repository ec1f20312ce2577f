#include "recorder/sched/roll.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
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
#define KEPT_SHARE 8u	       /* of --disk-limit, one for the files of each lane that windows keep */
#define MOST 2u		       /* times its share the list may have while the main thread is waited for */
#define AGAIN_NS 20000000ull   /* how often that looks again at what it said of files, for windows come */
#define COST 50u	       /* unless a fiftieth of its time went into it */
#define NEVER (UINT64_MAX / 2) /* no time overflows that lies around it */

struct part {			    /* a file that is finished */
	uint64_t from_ns, until_ns; /* what it tells of: from the last event before it to the first one behind it */
	uint64_t start_ns, end_ns, events, bytes;
	uint32_t number;
	enum ada_roll_wish wish;
};

struct ada_roll {
	struct ada_roll_options options;
	struct atf_sched_names names; /* first: of the oldest that is there; end - 1 is being written */
	struct atf_sched_writer *writer;
	struct part open;
	uint64_t share, part_bytes, part_ns, max_age_ns, parts_bytes;
	uint64_t kept_bytes, kept_share, most;
	bool rolls;
	uint64_t again_ns; /* the main thread's: when it looks at all of them again */
	/* The lane's thread alone enters files and takes them off, under the lock; the main thread says what is to become of them. */
	pthread_mutex_t lock;
	ADA_ARRAY(struct part) parts; /* from names.first on */
	ADA_ARRAY(struct part) kept;
	atomic_bool asks, ended;
	atomic_uint_fast64_t events, aged;
	atomic_int failed;
};

static int path_of(const struct ada_roll *roll, char path[PATH_MAX], uint32_t number)
{
	char file[NAME_MAX];

	atf_sched_name(file, &roll->names, roll->options.name, number);
	return ada_path(path, "%s/%s", roll->options.directory, file);
}

static int kept_path(const struct ada_roll *roll, char path[PATH_MAX], uint32_t number)
{
	char file[NAME_MAX];

	atf_sched_kept_name(file, roll->options.name, number);
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
	pthread_mutex_init(&roll->lock, NULL);
	roll->share = limits.disk_limit ? limits.disk_limit / SHARE : UINT64_MAX;
	roll->part_bytes = roll->share / PARTS > PART_MIN ? roll->share / PARTS : PART_MIN;
	roll->most = limits.disk_limit ? MOST * roll->share : UINT64_MAX;
	roll->kept_share = limits.disk_limit ? limits.disk_limit / KEPT_SHARE : UINT64_MAX;
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
	int status;

	pthread_mutex_lock(&roll->lock);
	status = ada_array_reserve(&roll->parts, 1);
	pthread_mutex_unlock(&roll->lock);
	if (status || make_file(roll, roll->names.end, &next))
		return;
	errno = 0;
	if (atf_sched_writer_leave(roll->writer))
		fail(roll, errno ? -errno : -EIO);
	roll->open.bytes += sizeof(AtfSchedHeader) + sizeof(AtfSchedFooter);
	roll->open.number = roll->names.end - 1;
	roll->open.until_ns = NEVER;
	roll->open.wish = ADA_ROLL_ASKED;
	pthread_mutex_lock(&roll->lock);
	roll->parts.items[roll->parts.count++] = roll->open;
	pthread_mutex_unlock(&roll->lock);
	atomic_store(&roll->asks, true);
	roll->parts_bytes += roll->open.bytes;
	roll->open = (struct part){ .from_ns = roll->open.end_ns, .end_ns = roll->open.end_ns };
	roll->writer = next;
	roll->names.end++;
	ada_bound_wrote(roll->options.bound, sizeof(AtfSchedHeader) + sizeof(AtfSchedFooter));
}

static void note_gone(struct ada_roll *roll, const struct part *gone)
{
	ada_bound_wrote(roll->options.bound, -(int64_t)gone->bytes);
	atomic_fetch_add(&roll->aged, gone->events);
	atomic_fetch_sub(&roll->events, gone->events);
}

/* Off the list: away, or under the name of those that are kept. */
static bool part_leave(struct ada_roll *roll, const struct part *oldest, bool stays)
{
	char path[PATH_MAX], kept[PATH_MAX];
	int status;

	if (path_of(roll, path, oldest->number))
		return false;
	if (!stays)
		return !unlink(path) || errno == ENOENT;
	if (kept_path(roll, kept, oldest->number))
		return false;
	pthread_mutex_lock(&roll->lock);
	status = ada_array_reserve(&roll->kept, 1);
	pthread_mutex_unlock(&roll->lock);
	return !status && !rename(path, kept);
}

/* The oldest file leaves the list. `waits`: not before the main thread has said whether it stays, which on a busy machine may take its time;
 * else it goes then. False: it is there still. */
static bool let_go(struct ada_roll *roll, bool waits)
{
	struct part oldest;
	bool stays;

	pthread_mutex_lock(&roll->lock);
	oldest = *roll->parts.items;
	pthread_mutex_unlock(&roll->lock);
	stays = oldest.wish > ADA_ROLL_GOES;
	if ((oldest.wish == ADA_ROLL_ASKED && waits && roll->options.keeps) || !part_leave(roll, &oldest, stays))
		return false;
	pthread_mutex_lock(&roll->lock);
	roll->parts.count--;
	memmove(roll->parts.items, roll->parts.items + 1, roll->parts.count * sizeof oldest);
	if (stays)
		roll->kept.items[roll->kept.count++] = oldest;
	pthread_mutex_unlock(&roll->lock);
	roll->names.first++;
	roll->parts_bytes -= oldest.bytes;
	if (stays) {
		roll->kept_bytes += oldest.bytes;
		ada_bound_lanes(roll->options.bound, (int64_t)oldest.bytes, 0);
	} else {
		note_gone(roll, &oldest);
	}
	return true;
}

/* Its file has gone. */
static void take_off(struct ada_roll *roll, size_t number)
{
	struct part gone;

	pthread_mutex_lock(&roll->lock);
	gone = roll->kept.items[number];
	roll->kept.count--;
	memmove(roll->kept.items + number, roll->kept.items + number + 1, (roll->kept.count - number) * sizeof gone);
	pthread_mutex_unlock(&roll->lock);
	roll->kept_bytes -= gone.bytes;
	note_gone(roll, &gone);
	if (gone.wish != ADA_ROLL_GOES)
		ada_bound_lanes(roll->options.bound, -(int64_t)gone.bytes, 0);
	else /* it isn't kept since that was said */
		ada_bound_lanes(roll->options.bound, 0, -(int64_t)gone.bytes);
}

/* The first of those that are kept which goes; NULL: none does. */
static const struct part *find_kept(const struct ada_roll *roll)
{
	const struct part *found = NULL;

	for (size_t i = 0; i < roll->kept.count; i++)
		if (!found || roll->kept.items[i].wish < found->wish)
			found = &roll->kept.items[i];
	return found && (found->wish == ADA_ROLL_GOES || roll->kept_bytes > roll->kept_share) ? found : NULL;
}

/* What no window wants any more; and where there is too much, first the oldest of what is around them. */
static void drop_kept(struct ada_roll *roll)
{
	const struct part *found;
	char path[PATH_MAX];
	struct part gone;

	for (;;) {
		pthread_mutex_lock(&roll->lock);
		found = find_kept(roll);
		gone = found ? *found : (struct part){ .number = 0 };
		pthread_mutex_unlock(&roll->lock);
		if (!found || kept_path(roll, path, gone.number) || (unlink(path) && errno != ENOENT))
			return;
		take_off(roll, (size_t)(found - roll->kept.items));
	}
}

static bool has_to_go(const struct ada_roll *roll, const struct part *part, uint64_t now_ns)
{
	return part->end_ns < ada_bound_gone_ns(roll->options.bound) || (roll->max_age_ns && part->end_ns + roll->max_age_ns < now_ns) ||
	       roll->parts_bytes > roll->share;
}

static bool is_long(const struct ada_roll *roll, uint64_t now_ns)
{
	return roll->open.events && (roll->open.bytes >= roll->part_bytes || now_ns - roll->open.start_ns >= roll->part_ns);
}

void ada_roll_turn(struct ada_roll *roll)
{
	uint64_t now_ns = ada_clock_boottime_ns();

	if (!roll->rolls)
		return;
	if (is_long(roll, now_ns) && !atomic_load(&roll->failed))
		begin_next(roll);
	while (roll->parts.count && has_to_go(roll, roll->parts.items, now_ns) && let_go(roll, roll->parts_bytes <= roll->most))
		;
	drop_kept(roll);
}

/* At the limit itself, which segments keep away from: the lane gives way at the rate at which it grows. Others may grow faster, so the last
 * file that is finished stays. */
static void make_room(struct ada_roll *roll, uint64_t bytes)
{
	if (roll->parts.count > 1 && !ada_bound_has_room(roll->options.bound, bytes) && let_go(roll, roll->parts_bytes <= roll->share))
		drop_kept(roll);
}

/* The first event of a file says up to when the one before it tells. */
static void note_first(struct ada_roll *roll, uint64_t ns)
{
	roll->open.start_ns = ns;
	pthread_mutex_lock(&roll->lock);
	if (roll->parts.count)
		roll->parts.items[roll->parts.count - 1].until_ns = ns;
	pthread_mutex_unlock(&roll->lock);
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
	if (!roll->open.events)
		note_first(roll, events[0].timestamp_ns);
	roll->open.end_ns = events[count - 1].timestamp_ns;
	roll->open.events += count;
	roll->open.bytes += count * sizeof *events;
	atomic_fetch_add(&roll->events, count);
	ada_bound_wrote(roll->options.bound, (int64_t)(count * sizeof *events));
}

/* --- the main thread's -------------------------------------------------------------------------------------------------------- */

static void answer_list(struct ada_roll *roll, const struct ada_roll_wants *wants, bool again)
{
	for (size_t i = 0; i < roll->parts.count; i++) {
		struct part *part = &roll->parts.items[i];

		if (again || part->wish == ADA_ROLL_ASKED)
			part->wish = wants->wants(wants->context, part->from_ns, part->until_ns);
	}
}

static void answer_kept(struct ada_roll *roll, const struct ada_roll_wants *wants)
{
	for (size_t i = 0; i < roll->kept.count; i++) {
		struct part *part = &roll->kept.items[i];

		if (part->wish == ADA_ROLL_GOES)
			continue;
		part->wish = wants->wants(wants->context, part->from_ns, part->until_ns);
		if (part->wish != ADA_ROLL_GOES)
			continue;
		ada_bound_lanes(roll->options.bound, -(int64_t)part->bytes, (int64_t)part->bytes);
	}
}

void ada_roll_answer(struct ada_roll *roll, const struct ada_roll_wants *wants)
{
	bool again = wants->now_ns > roll->again_ns;
	uint64_t start_ns, took_ns;

	if (!roll->rolls || (!atomic_exchange(&roll->asks, false) && !wants->anew && !again))
		return;
	start_ns = ada_clock_boottime_ns();
	pthread_mutex_lock(&roll->lock);
	answer_list(roll, wants, again);
	if (wants->anew)
		answer_kept(roll, wants);
	pthread_mutex_unlock(&roll->lock);
	took_ns = (ada_clock_boottime_ns() - start_ns) * COST;
	if (again)
		roll->again_ns = wants->now_ns + (took_ns > AGAIN_NS ? took_ns : AGAIN_NS);
	if (atomic_load(&roll->ended))
		drop_kept(roll);
}

struct ada_roll_counts ada_roll_count(const struct ada_roll *roll)
{
	return (struct ada_roll_counts){ .events = atomic_load(&roll->events),
					 .aged = atomic_load(&roll->aged),
					 .failed = atomic_load(&roll->failed) };
}

/* --- end ----------------------------------------------------------------------------------------------------------------------- */

/* While it recorded nobody waited for the disk. */
static void sync_part(struct ada_roll *roll, int no_path, const char *path)
{
	int fd = no_path ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd))
		fail(roll, -errno);
	if (fd >= 0)
		close(fd);
}

void ada_roll_end(struct ada_roll *roll)
{
	char path[PATH_MAX];

	errno = 0;
	if (atf_sched_writer_close(roll->writer))
		fail(roll, errno ? -errno : -EIO);
	for (uint32_t i = roll->names.first; i + 1 < roll->names.end; i++)
		sync_part(roll, path_of(roll, path, i), path);
	for (size_t i = 0; i < roll->kept.count; i++)
		sync_part(roll, kept_path(roll, path, roll->kept.items[i].number), path);
	atomic_store(&roll->ended, true);
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
	ada_array_free(&roll->kept);
	pthread_mutex_destroy(&roll->lock);
	free(roll);
}
