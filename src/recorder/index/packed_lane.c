#include "recorder/index/packed_lane.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "atf/ground/ground.h"
#include "recorder/bound/bound.h"
#include "recorder/index/arena.h"
#include "recorder/index/packers.h"

#define QUEUED_MOST (16u << 20)	  /* bytes of runs on their way: then the drain waits; the pool has room for more, and is there already */
#define RUN_LEAST (16u << 10)	  /* what a thread with few events costs */
#define TAIL_MOST 8192u		  /* events: a tail that has as many stays as it is, and costs no more encoding */
#define MANY_BYTES (128ull << 20) /* of all runs: from here on each lane's are small */
#define MANY_RUN (64u << 10)

struct ada_packed_lane {
	struct ada_packed_options options;
	struct ada_packed_state state;
	/* The worker's while jobs are pending */
	struct atf_pack_lane calls;
	struct atf_pack_writer *writer; /* NULL: no segment is open */
	uint64_t written, coded;	/* events and bytes of its blocks (atomic) */
	bool raw;			/* some of these aren't compressed */
	/* The main thread's */
	int fd;
	bool ending, named;	    /* its end is on its way; with a header that names the detail file */
	uint64_t max_events, count; /* of the segment */
	uint64_t before;	    /* events of the thread in earlier segments */
	uint32_t note, segment;
	struct ada_packed_run run;		  /* events NULL: none */
	uint32_t filled, handed;		  /* of its events; as of the last tail */
	struct ada_packed_job *done;		  /* kept ready, as `end`: of the run */
	struct ada_packed_job *full, **last_full; /* runs that are full, and not submitted */
	struct ada_packed_job *end;		  /* kept ready, so that no end fails for want of memory */
};

static int fail(int error)
{
	errno = -error;
	return error ? -ATF_ERROR_SYSTEM : 0;
}

/* --- the worker ---------------------------------------------------------------------------------------------------------- */

static int status_of(int status)
{
	return status == -ATF_ERROR_SYSTEM ? -errno : status == -ATF_ERROR_MEMORY ? -ENOMEM : status ? -EINVAL : 0;
}

int ada_packed_lane_work(struct atf_packer *packer, const struct ada_packed_job *job, bool pressed)
{
	struct ada_packed_lane *packed = job->lane;
	struct atf_pack_bytes block;
	int status;

	if (job->what == ADA_PACKED_END)
		return status_of(atf_pack_writer_finish(packed->writer, job->flags));
	status = atf_pack_encode(packer, &packed->calls, job->run.events, job->count, pressed ? ATF_PACK_RAW : ATF_PACK_ZSTD, &block);
	if (!status)
		status = atf_pack_writer_add(packed->writer, &block, job->run.events, job->count, job->what == ADA_PACKED_TAIL);
	if (!status)
		ada_bound_wrote(packed->options.bound, (int64_t)block.length);
	if (!status && job->what == ADA_PACKED_BLOCK) {
		atf_pack_accept(&packed->calls);
		packed->raw |= pressed;
		__atomic_store_n(&packed->coded, atf_pack_writer_bytes(packed->writer), __ATOMIC_RELAXED);
		__atomic_store_n(&packed->written, packed->written + job->count, __ATOMIC_RELAXED);
	}
	return status_of(status);
}

/* --- runs ---------------------------------------------------------------------------------------------------------------- */

static void run_give(struct ada_packers *packers, struct ada_arena_writer *arena, struct ada_packed_run *run)
{
	if (run->taken)
		ada_arena_run_give(arena, (uint8_t *)run->events, run->bytes);
	else
		free(run->events);
	*ada_packers_memory(packers) -= run->events ? run->bytes : 0;
	*run = (struct ada_packed_run){ 0 };
}

void ada_packed_lane_reap(struct ada_packers *packers, struct ada_arena_writer *arena)
{
	struct ada_packed_job *job = packers ? ada_packers_done(packers) : NULL;

	while (job) {
		struct ada_packed_job *next = job->next;

		if (job->what == ADA_PACKED_BLOCK)
			run_give(packers, arena, &job->run);
		free(job);
		job = next;
	}
}

static void reap(struct ada_packed_lane *packed)
{
	ada_packed_lane_reap(packed->options.packers, packed->options.arena);
}

/* As much as the thread has already, so that a quiet one costs little; small ones where many threads are busy. */
static size_t run_size(const struct ada_packed_lane *packed)
{
	uint64_t has = (packed->before + packed->count) * sizeof(struct ada_event), most = ADA_PACKED_RUN_MOST;
	size_t size = RUN_LEAST;

	if (*ada_packers_memory(packed->options.packers) > MANY_BYTES)
		most = MANY_RUN;
	while (2 * size <= has && 2 * size <= most)
		size *= 2;
	return size;
}

/* As ada_packers_wait; where the disk is what keeps it, the sink hears of that, and it's EAGAIN. */
static int wait_for(struct ada_packed_lane *packed, bool all)
{
	int trouble = ada_packers_wait(packed->options.packers, &packed->state, all);
	struct atf_sink *sink = packed->options.sink;

	return fail(trouble && sink->later && sink->later(sink, trouble) ? -EAGAIN : trouble);
}

static int run_take(struct ada_packed_lane *packed)
{
	struct ada_packed_run *run = &packed->run;
	uint64_t offset = packed->count * sizeof(struct ada_event);
	int status = 0;

	while (!status && ada_packers_queued(packed->options.packers) > QUEUED_MOST)
		status = wait_for(packed, false);
	if (status)
		return status;
	reap(packed);
	packed->done = packed->done ? packed->done : calloc(1, sizeof *packed->done);
	if (!packed->done)
		return -ATF_ERROR_MEMORY;
	run->bytes = run_size(packed);
	run->events = (struct ada_event *)ada_arena_run_take(packed->options.arena, packed->note, packed->segment, offset, run->bytes);
	run->taken = run->events;
	if (!run->events)
		run->events = aligned_alloc(RUN_LEAST, run->bytes);
	if (!run->events)
		return -ATF_ERROR_MEMORY;
	*ada_packers_memory(packed->options.packers) += run->bytes;
	packed->filled = packed->handed = 0;
	return 0;
}

/* The run is done: it waits for the note. */
static void run_done(struct ada_packed_lane *packed)
{
	struct ada_packed_job *job = packed->done;
	struct ada_packed_run *run = &packed->run;

	if (run->taken) /* the next run's events begin where these end */
		ada_arena_run_end(packed->options.arena, (uint8_t *)run->events, run->bytes, packed->filled * sizeof *run->events);
	*job = (struct ada_packed_job){
		.lane = packed, .state = &packed->state, .run = *run, .what = ADA_PACKED_BLOCK, .count = packed->filled
	};
	*packed->last_full = job;
	packed->last_full = &job->next;
	*run = (struct ada_packed_run){ 0 };
	packed->done = NULL;
	packed->filled = packed->handed = 0;
}

/* --- a thread ------------------------------------------------------------------------------------------------------------ */

int ada_packed_lane_open(struct ada_packed_lane **result, const struct ada_packed_options *options)
{
	struct ada_packed_lane *packed = calloc(1, sizeof *packed);

	*result = packed;
	if (!packed)
		return -ENOMEM;
	packed->options = *options;
	packed->options.sink = options->sink ? options->sink : &atf_sink_pwrite;
	packed->state.worker = options->number;
	packed->last_full = &packed->full;
	packed->fd = -1;
	atf_pack_lane_open(&packed->calls, 0);
	return 0;
}

void ada_packed_lane_free(struct ada_packed_lane *packed)
{
	struct ada_packed_job *job;

	if (!packed)
		return;
	ada_packers_drop(packed->options.packers, &packed->state);
	ada_packers_wait(packed->options.packers, &packed->state, true);
	reap(packed);
	while ((job = packed->full)) {
		packed->full = job->next;
		run_give(packed->options.packers, packed->options.arena, &job->run);
		free(job);
	}
	run_give(packed->options.packers, packed->options.arena, &packed->run);
	free(packed->end);
	free(packed->done);
	if (packed->writer)
		atf_pack_writer_abandon(packed->writer);
	if (packed->fd >= 0)
		packed->options.sink->close(packed->options.sink, packed->fd, false);
	atf_pack_lane_close(&packed->calls);
	free(packed);
}

int ada_packed_lane_pass(struct ada_packed_lane *packed, uint32_t thread_id, const struct ada_event *events, size_t count)
{
	packed->calls.thread_id = thread_id;
	return atf_pack_lane_skip(&packed->calls, events, (uint32_t)count);
}

/* --- a segment ----------------------------------------------------------------------------------------------------------- */

int ada_packed_lane_begin(struct ada_packed_lane *packed, const struct ada_packed_begin *begin)
{
	struct atf_sink *sink = packed->options.sink;
	int fd, status;

	packed->end = packed->end ? packed->end : calloc(1, sizeof *packed->end);
	if (!packed->end)
		return -ATF_ERROR_MEMORY;
	fd = sink->open(sink, begin->path);
	if (fd < 0)
		return fail(fd);
	status = atf_pack_writer_begin(&packed->writer, fd, begin->thread_id, ATF_ARCH_X86_64);
	if (status) {
		int code = errno;

		sink->close(sink, fd, false);
		errno = code;
		return status;
	}
	atf_pack_writer_unchecked(packed->writer);
	packed->fd = fd;
	packed->calls.thread_id = begin->thread_id;
	atf_pack_lane_segment(&packed->calls);
	packed->max_events = begin->max_events && begin->max_events < UINT32_MAX ? begin->max_events : UINT32_MAX;
	packed->count = packed->written = packed->coded = 0;
	packed->raw = false;
	packed->before = begin->events;
	packed->note = begin->note;
	packed->segment = begin->segment;
	packed->ending = false;
	return 0;
}

bool ada_packed_lane_is_open(const struct ada_packed_lane *packed)
{
	return packed && packed->writer;
}

uint64_t ada_packed_lane_bytes(const struct ada_packed_lane *packed)
{
	uint64_t coded = __atomic_load_n(&packed->coded, __ATOMIC_RELAXED), written = __atomic_load_n(&packed->written, __ATOMIC_RELAXED);

	return written ? (uint64_t)((double)coded / (double)written * (double)packed->count) : packed->count;
}

int ada_packed_lane_reserve(struct ada_packed_lane *packed, size_t count, struct ada_event **events, size_t *room)
{
	uint64_t left = packed->max_events - packed->count;
	int status = packed->run.events ? 0 : fail(ada_packers_error(packed->options.packers, &packed->state));

	*room = 0;
	if (status)
		return status;
	if (!left)
		return -ATF_ERROR_FULL;
	if (!packed->run.events && (status = run_take(packed))) /* where that fails nothing is lost: the run has no events */
		return status;
	*events = packed->run.events + packed->filled;
	*room = packed->run.bytes / sizeof **events - packed->filled;
	*room = *room < count ? *room : count;
	*room = *room < left ? *room : (size_t)left;
	return 0;
}

void ada_packed_lane_commit(struct ada_packed_lane *packed, size_t count)
{
	packed->filled += (uint32_t)count;
	packed->count += count;
	if (packed->filled * sizeof(struct ada_event) == packed->run.bytes)
		run_done(packed);
}

void ada_packed_lane_submit(struct ada_packed_lane *packed)
{
	while (packed && packed->full) {
		struct ada_packed_job *job = packed->full, *next = job->next;

		if (ada_packers_submit(packed->options.packers, job))
			return; /* no thread can be had now */
		packed->full = next;
		packed->last_full = next ? packed->last_full : &packed->full;
	}
}

int ada_packed_lane_flush(struct ada_packed_lane *packed)
{
	struct ada_packed_job *job;

	if (packed->filled >= TAIL_MOST)
		run_done(packed);
	ada_packed_lane_submit(packed);
	if (packed->full || packed->filled == packed->handed)
		return 0;
	job = malloc(sizeof *job);
	if (!job)
		return -ATF_ERROR_MEMORY;
	*job = (struct ada_packed_job){
		.lane = packed, .state = &packed->state, .run = packed->run, .what = ADA_PACKED_TAIL, .count = packed->filled
	};
	if (ada_packers_submit(packed->options.packers, job))
		free(job);
	else
		packed->handed = packed->filled;
	return 0;
}

bool ada_packed_lane_is_written(const struct ada_packed_lane *packed)
{
	return !packed || (!packed->full && ada_packers_is_done(packed->options.packers, &packed->state));
}

/* All that is submitted is in the file. */
static int settle(struct ada_packed_lane *packed)
{
	int status = wait_for(packed, true);

	reap(packed);
	if (status)
		return status;
	return fail(packed->full ? -ENOMEM : ada_packers_error(packed->options.packers, &packed->state));
}

int ada_packed_lane_rest(struct ada_packed_lane *packed)
{
	int status = packed->options.sink->reopen ? ada_packed_lane_flush(packed) : fail(-ENOTSUP);

	if (!status)
		status = settle(packed);
	if (status)
		return status;
	status = packed->options.sink->close(packed->options.sink, packed->fd, false);
	packed->fd = -1;
	return fail(status);
}

int ada_packed_lane_wake(struct ada_packed_lane *packed, const char *path)
{
	int fd = packed->options.sink->reopen(packed->options.sink, path);

	if (fd < 0)
		return fail(fd);
	packed->fd = fd;
	atf_pack_writer_goes_on(packed->writer, fd);
	return 0;
}

bool ada_packed_lane_is_raw(const struct ada_packed_lane *packed)
{
	return packed->raw;
}

/* The last block, and the file's end. */
static int submit_end(struct ada_packed_lane *packed, bool has_detail)
{
	if (packed->filled)
		run_done(packed);
	ada_packed_lane_submit(packed);
	if (packed->full)
		return -ATF_ERROR_MEMORY;
	*packed->end = (struct ada_packed_job){
		.lane = packed, .state = &packed->state, .what = ADA_PACKED_END, .flags = has_detail ? ATF_FLAG_HAS_DETAIL : 0
	};
	if (ada_packers_submit(packed->options.packers, packed->end))
		return -ATF_ERROR_MEMORY;
	packed->end = NULL;
	packed->ending = true;
	packed->named = has_detail;
	return 0;
}

int ada_packed_lane_end(struct ada_packed_lane *packed, bool has_detail)
{
	int status = packed->ending ? 0 : submit_end(packed, has_detail), code, closed;

	if (!status)
		status = settle(packed);
	if (status == -ATF_ERROR_SYSTEM && errno == EAGAIN)
		return status;
	if (!status && has_detail && !packed->named)
		status = fail(atf_pack_name_detail(packed->fd));
	code = errno;
	atf_pack_writer_abandon(packed->writer);
	packed->writer = NULL;
	run_give(packed->options.packers, packed->options.arena, &packed->run);
	closed = packed->options.sink->close(packed->options.sink, packed->fd, !status);
	packed->fd = -1;
	errno = status ? code : -closed;
	return status ? status : fail(closed);
}
