/* Workers, and how a selection's threads are shared out among them. */
#include "query/tally/parts.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include "atf/session/thread.h"
#include "base/clock.h"
#include "query/session/selection.h"
#include "query/tally/totals.h"

#define WORKERS_MAX 64

struct worker {
	struct ada_job *job;
	pthread_t thread;
	struct ada_counter counter;
	struct ada_counter_place *lent; /* to the piece at hand */
	bool is_first;			/* runs on the caller's thread */
	int result;
};

static void worker_fail(struct worker *worker, int result)
{
	if (!worker->result)
		worker->result = result;
	atomic_store(&worker->job->work.stop, true);
}

/* Where a piece ends that would end at `position`: at a packed block's end, lest both pieces decode it, unless the piece is much longer or
 * shorter then. */
static uint64_t piece_end(const struct ada_track *track, uint64_t position, uint64_t piece_events)
{
	uint64_t block = atf_thread_block(track->thread->events, position);

	return position - block < piece_events / 8 ? block : position;
}

/* Of what is longer than a piece, as much as one. */
static void look_ahead(const struct ada_job *job, const struct ada_track *track, uint64_t from, uint64_t to)
{
	atf_thread_ahead(track->thread->events, from, to - from < job->piece_events ? to : from + job->piece_events);
}

/* While a worker is at a part, the disk reads the one that a worker takes when all the others have taken one, too. The first parts nobody
 * has asked for. */
static void look_beyond(const struct ada_job *job, size_t number)
{
	const struct ada_part *part = &job->parts[number], *next = part + job->workers;

	if (number < job->workers)
		look_ahead(job, part->track, part->piece.from, part->piece.to);
	if (job->part_count - number > job->workers)
		look_ahead(job, next->track, next->piece.from, next->piece.to);
}

/* In steps of a piece, the next of which the disk reads meanwhile. */
static void read_whole(struct ada_tally *tally, const struct ada_job *job, const struct ada_track *track)
{
	uint64_t from, end;

	for (from = track->from; from < track->to && !tally->result; from = end) {
		end = track->to - from > job->piece_events ? piece_end(track, from + job->piece_events, job->piece_events) : track->to;
		look_ahead(job, track, end, track->to);
		ada_tally_read(tally, from, end);
	}
}

/* Counts a thread of one piece straight into the worker's counter. */
static void count_whole(struct worker *worker, struct ada_track *track)
{
	struct ada_tally tally;

	ada_counter_process(&worker->counter, track->thread->process);
	ada_tally_open(&tally, &worker->counter, track->thread, &worker->job->work);
	ada_tally_begin(&tally, track->from);
	tally.to = track->to;
	tally.shows_progress = worker->is_first;
	if (ada_totals_add(&tally, track->known, track->counts))
		tally.result = -ENOMEM;
	read_whole(&tally, worker->job, track);
	ada_tally_finish(&tally);
	track->lost = tally.lost;
	if (tally.result)
		worker_fail(worker, tally.result);
	ada_tally_close(&tally);
}

static void count_part(struct worker *worker, struct ada_part *part)
{
	struct ada_track *track = part->track;
	struct ada_tally tally;

	if (atomic_load(&track->unruly))
		return;
	if (!worker->lent)
		worker->lent = malloc(ADA_COUNTER_PLACES * sizeof *worker->lent);
	if (!worker->lent) {
		worker_fail(worker, -ENOMEM);
		return;
	}
	ada_counter_open_with(&part->piece.counter, worker->lent);
	ada_counter_process(&part->piece.counter, track->thread->process);
	ada_tally_open(&tally, &part->piece.counter, track->thread, &worker->job->work);
	tally.shows_progress = worker->is_first;
	ada_tally_piece(&tally, &part->piece);
	ada_counter_take_cache(&part->piece.counter);
	part->counted = true;
	if (tally.result)
		worker_fail(worker, tally.result);
	ada_tally_close(&tally);
}

static int start_track(struct worker *worker, struct ada_track *track)
{
	int result = ada_counter_open(&track->counter);

	if (result)
		return result;
	ada_counter_process(&track->counter, track->thread->process);
	ada_tally_open(&track->tally, &track->counter, track->thread, &worker->job->work);
	ada_tally_begin(&track->tally, track->from);
	track->tally.to = track->to;
	return ada_totals_add(&track->tally, track->known, track->counts);
}

static void join_part(struct worker *worker, struct ada_track *track, struct ada_part *part)
{
	struct ada_tally *tally = &track->tally;
	int result = part == track->parts ? start_track(worker, track) : 0;

	if (result) {
		worker_fail(worker, result);
		return;
	}
	tally->shows_progress = worker->is_first;
	if (!part->counted)
		ada_tally_read(tally, part->piece.from, part->piece.to);
	else if (!ada_tally_join(tally, &part->piece))
		atomic_store(&track->unruly, true);
	if (part == &track->parts[track->count - 1] && !worker->job->stays) {
		ada_tally_finish(tally);
		track->lost = tally->lost;
		if (!tally->result)
			tally->result = ada_counter_merge(&worker->counter, &track->counter);
		ada_counter_close(&track->counter);
		ada_tally_close(tally);
	}
	if (tally->result)
		worker_fail(worker, tally->result);
}

/* Joins what is ready, unless another worker is at it: then that worker sees the new part. */
static void join_ready(struct worker *worker, struct ada_track *track)
{
	atomic_bool *stop = &worker->job->work.stop;
	size_t joined;

	do {
		if (pthread_mutex_trylock(&track->joining))
			return;
		while (track->joined < track->count && atomic_load(&track->parts[track->joined].ready) && !atomic_load(stop)) {
			join_part(worker, track, &track->parts[track->joined]);
			track->joined++;
		}
		joined = track->joined;
		pthread_mutex_unlock(&track->joining);
	} while (joined < track->count && atomic_load(&track->parts[joined].ready) && !atomic_load(stop));
}

static bool is_late(const struct ada_job *job)
{
	return job->until_ns && ada_clock_boottime_ns() >= job->until_ns;
}

static void *work(void *context)
{
	struct worker *worker = context;
	struct ada_job *job = worker->job;
	size_t number;

	if (ada_counter_open(&worker->counter))
		worker_fail(worker, -ENOMEM);
	while (!atomic_load(&job->work.stop) && !is_late(job) && (number = atomic_fetch_add(&job->next, 1)) < job->part_count) {
		struct ada_part *part = &job->parts[number];

		look_beyond(job, number);
		if (part->track->count == 1 && !job->stays) {
			count_whole(worker, part->track);
			continue;
		}
		count_part(worker, part);
		atomic_store(&part->ready, true);
		join_ready(worker, part->track);
	}
	return NULL;
}

static unsigned int run_workers(struct worker *workers, unsigned int count)
{
	unsigned int started = 1;

	while (started < count && !pthread_create(&workers[started].thread, NULL, work, &workers[started]))
		started++;
	/* This thread is the first worker: with no other, one does it all. */
	work(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	return started;
}

/* --- sharing out -------------------------------------------------------------------------------------------------------- */

/* What is known of the thread's events before `from`, without reading them: what its totals say, or better its sums, which take those in. */
static void add_known(struct ada_track *track, const struct ada_job *job, bool aged)
{
	const struct atf_thread *events = track->thread->events;
	uint64_t live = events ? atf_thread_live(events) : 0, summed;

	if (!events || track->from != live)
		return;
	track->known = atf_thread_totals(events);
	track->counts = aged;
	if (job->anew || (track->known && !aged) || atf_thread_sums(events, &track->sums, &summed) || !track->sums)
		return;
	if (summed > track->to) /* some of what they tell of isn't asked for */
		return;
	track->known = track->sums;
	track->counts = true;
	track->from = summed;
}

static void add_track(struct ada_job *job, const struct ada_selection *selection, const struct ada_thread *thread)
{
	struct ada_track *track = &job->tracks[job->track_count++];
	bool aged = thread->events && ada_selection_has_aged(selection, thread);

	*track = (struct ada_track){ .thread = thread };
	pthread_mutex_init(&track->joining, NULL);
	ada_selection_range(selection, thread, &track->from, &track->to);
	if (aged) /* what windows have kept of what has gone is in totals, too */
		track->from = atf_thread_live(thread->events);
	track->begin = track->from;
	add_known(track, job, aged);
	track->count = track->known && track->counts;
	if (track->to > track->from)
		track->count = (track->to - track->from - 1) / job->piece_events + 1;
	job->part_count += track->count;
}

static void add_parts(struct ada_job *job, struct ada_track *track, struct ada_part *parts)
{
	track->parts = parts;
	for (size_t i = 0; i < track->count; i++) {
		parts[i].track = track;
		parts[i].piece.from = i ? parts[i - 1].piece.to : track->from;
		parts[i].piece.to = track->to;
		if (i + 1 < track->count)
			parts[i].piece.to = piece_end(track, track->from + (i + 1) * job->piece_events, job->piece_events);
	}
}

int ada_job_open(struct ada_job *job, const struct ada_selection *selection)
{
	struct ada_part *parts;

	if (!job->workers)
		job->workers = get_nprocs();
	if (job->workers > WORKERS_MAX)
		job->workers = WORKERS_MAX;
	if (job->workers == 1 && !job->stays) /* one worker alone has nothing to share */
		job->piece_events = UINT64_MAX;
	job->tracks = calloc(selection->threads.count + 1, sizeof *job->tracks);
	if (!job->tracks)
		return -ENOMEM;
	for (size_t i = 0; i < selection->threads.count; i++)
		add_track(job, selection, selection->threads.items[i]);
	job->parts = parts = calloc(job->part_count + 1, sizeof *job->parts);
	if (!job->parts)
		return -ENOMEM;
	for (size_t i = 0; i < job->track_count; i++) {
		add_parts(job, &job->tracks[i], parts);
		parts += job->tracks[i].count;
		if (job->work.progress && !job->work.by_events) /* else they were counted before */
			job->work.progress->total += job->tracks[i].to - job->tracks[i].from;
	}
	if (job->workers > job->part_count)
		job->workers = job->part_count ? (unsigned int)job->part_count : 1;
	return 0;
}

void ada_job_close(struct ada_job *job)
{
	for (size_t i = 0; i < job->part_count && job->parts; i++)
		ada_piece_close(&job->parts[i].piece);
	for (size_t i = 0; i < job->track_count; i++) {
		/* Of tracks that were given up, or stay. */
		ada_tally_close(&job->tracks[i].tally);
		ada_counter_close(&job->tracks[i].counter);
		pthread_mutex_destroy(&job->tracks[i].joining);
		free(job->tracks[i].sums);
	}
	free(job->parts);
	free(job->tracks);
}

int ada_job_run(struct ada_job *job, struct ada_counter *sum)
{
	struct worker *crew = calloc(job->workers, sizeof *crew);
	int result = crew ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < job->workers && !result; i++)
		crew[i] = (struct worker){ .job = job, .is_first = !i };
	if (!result)
		run_workers(crew, job->workers);
	for (unsigned int i = 0; i < job->workers && !result; i++)
		result = crew[i].result;
	for (unsigned int i = 0; i < job->workers && crew; i++) {
		if (!result)
			result = ada_counter_merge(sum, &crew[i].counter);
		ada_counter_close(&crew[i].counter);
		free(crew[i].lent);
	}
	free(crew);
	return result;
}
