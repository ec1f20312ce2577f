/* Statistics per function: workers take pieces of the recording's threads, in order. The worker that ends the piece that a thread waits
 * for joins it to what was counted before. Workers share nothing else. Memory grows with the functions called, not with calls. */
#include "query/sums/stats.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include "atf/session/thread.h"
#include "query/sums/tally.h"
#include "query/sums/totals.h"

#define WORKERS_MAX 64
#define PIECE_EVENTS (1u << 22) /* 128 MiB: beside it, adding up its functions is nothing */

struct part { /* of a track: what one worker takes */
	struct track *track;
	struct ada_piece piece;
	bool counted; /* as a piece; otherwise the part is read when its turn comes */
	atomic_bool ready;
};

struct track { /* a thread of the recording */
	const struct ada_thread *thread;
	uint64_t from, to; /* positions */
	uint64_t live;	   /* of the first event that is not in totals */
	uint64_t lost;
	bool aged; /* what its segments that have gone added up to is asked for, too */
	struct part *parts;
	size_t count;
	struct ada_tally tally; /* where there are several parts, with a counter of its own */
	struct ada_counter counter;
	pthread_mutex_t joining;
	size_t joined;	    /* parts */
	atomic_bool unruly; /* its pieces don't fit: stop trying */
};

struct job {
	struct ada_work work;
	struct track *tracks;
	size_t track_count;
	struct part *parts;
	size_t part_count;
	unsigned int workers; /* that are wanted */
	uint64_t piece_events;
	atomic_size_t next;
};

struct worker {
	struct job *job;
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
static uint64_t piece_end(const struct track *track, uint64_t position, uint64_t piece_events)
{
	uint64_t block = atf_thread_block(track->thread->events, position);

	return position - block < piece_events / 8 ? block : position;
}

/* Of what is longer than a piece, as much as one. */
static void look_ahead(const struct job *job, const struct track *track, uint64_t from, uint64_t to)
{
	atf_thread_ahead(track->thread->events, from, to - from < job->piece_events ? to : from + job->piece_events);
}

/* While a worker is at a part, the disk reads the one that a worker takes when all the others have taken one, too. The first parts nobody
 * has asked for. */
static void look_beyond(const struct job *job, size_t number)
{
	const struct part *part = &job->parts[number], *next = part + job->workers;

	if (number < job->workers)
		look_ahead(job, part->track, part->piece.from, part->piece.to);
	if (job->part_count - number > job->workers)
		look_ahead(job, next->track, next->piece.from, next->piece.to);
}

/* In steps of a piece, the next of which the disk reads meanwhile. */
static void read_whole(struct ada_tally *tally, const struct job *job, const struct track *track)
{
	uint64_t from, end;

	for (from = track->from; from < track->to && !tally->result; from = end) {
		end = track->to - from > job->piece_events ? piece_end(track, from + job->piece_events, job->piece_events) : track->to;
		look_ahead(job, track, end, track->to);
		ada_tally_read(tally, from, end);
	}
}

/* Counts a thread of one piece straight into the worker's counter. */
static void count_whole(struct worker *worker, struct track *track)
{
	struct ada_tally tally;

	ada_counter_process(&worker->counter, track->thread->process);
	ada_tally_open(&tally, &worker->counter, track->thread, &worker->job->work);
	ada_tally_begin(&tally, track->from);
	tally.to = track->to;
	tally.shows_progress = worker->is_first;
	if (track->from == track->live && ada_totals_take(&tally, track->aged))
		tally.result = -ENOMEM;
	read_whole(&tally, worker->job, track);
	ada_tally_finish(&tally);
	track->lost = tally.lost;
	if (tally.result)
		worker_fail(worker, tally.result);
	ada_tally_close(&tally);
}

static void count_part(struct worker *worker, struct part *part)
{
	struct track *track = part->track;
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

static int start_track(struct worker *worker, struct track *track)
{
	int result = ada_counter_open(&track->counter);

	if (result)
		return result;
	ada_counter_process(&track->counter, track->thread->process);
	ada_tally_open(&track->tally, &track->counter, track->thread, &worker->job->work);
	ada_tally_begin(&track->tally, track->from);
	track->tally.to = track->to;
	return track->from != track->live ? 0 : ada_totals_take(&track->tally, track->aged);
}

static void join_part(struct worker *worker, struct track *track, struct part *part)
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
	if (part == &track->parts[track->count - 1]) {
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
static void join_ready(struct worker *worker, struct track *track)
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

static void *work(void *context)
{
	struct worker *worker = context;
	struct job *job = worker->job;
	size_t number;

	if (ada_counter_open(&worker->counter))
		worker_fail(worker, -ENOMEM);
	while (!atomic_load(&job->work.stop) && (number = atomic_fetch_add(&job->next, 1)) < job->part_count) {
		struct part *part = &job->parts[number];

		look_beyond(job, number);
		if (part->track->count == 1) {
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

static void add_track(struct job *job, const struct ada_selection *selection, const struct ada_thread *thread, uint64_t piece_events)
{
	struct track *track = &job->tracks[job->track_count++];

	*track = (struct track){ .thread = thread };
	pthread_mutex_init(&track->joining, NULL);
	ada_selection_range(selection, thread, &track->from, &track->to);
	track->aged = thread->events && ada_selection_has_aged(selection, thread);
	track->live = thread->events ? atf_thread_live(thread->events) : 0;
	if (track->aged) /* what windows have kept of what has gone is in totals, too */
		track->from = track->live;
	track->count = track->aged;
	if (track->to > track->from)
		track->count = (track->to - track->from - 1) / piece_events + 1;
	job->part_count += track->count;
}

static void add_parts(struct job *job, struct track *track, struct part *parts, uint64_t piece_events)
{
	track->parts = parts;
	for (size_t i = 0; i < track->count; i++) {
		parts[i].track = track;
		parts[i].piece.from = i ? parts[i - 1].piece.to : track->from;
		parts[i].piece.to = track->to;
		if (i + 1 < track->count)
			parts[i].piece.to = piece_end(track, track->from + (i + 1) * piece_events, piece_events);
	}
}

static int share_out(struct job *job, const struct ada_selection *selection, uint64_t piece_events)
{
	struct part *parts;

	job->tracks = calloc(selection->threads.count + 1, sizeof *job->tracks);
	if (!job->tracks)
		return -ENOMEM;
	for (size_t i = 0; i < selection->threads.count; i++)
		add_track(job, selection, selection->threads.items[i], piece_events);
	job->parts = parts = calloc(job->part_count + 1, sizeof *job->parts);
	if (!job->parts)
		return -ENOMEM;
	for (size_t i = 0; i < job->track_count; i++) {
		add_parts(job, &job->tracks[i], parts, piece_events);
		parts += job->tracks[i].count;
	}
	return 0;
}

static void close_job(struct job *job)
{
	for (size_t i = 0; i < job->part_count && job->parts; i++)
		ada_piece_close(&job->parts[i].piece);
	for (size_t i = 0; i < job->track_count; i++) {
		/* Of tracks that were given up. */
		ada_tally_close(&job->tracks[i].tally);
		ada_counter_close(&job->tracks[i].counter);
		pthread_mutex_destroy(&job->tracks[i].joining);
	}
	free(job->parts);
	free(job->tracks);
}

/* --- the answer --------------------------------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
	const struct ada_function_stats *const *a = left, *const *b = right;

	return (*a)->key < (*b)->key ? -1 : (*a)->key > (*b)->key;
}

static int job_run(struct job *job, struct ada_counter *sum, unsigned int workers)
{
	struct worker *crew = calloc(workers, sizeof *crew);
	int result = crew ? 0 : -ENOMEM;

	for (unsigned int i = 0; i < workers && !result; i++)
		crew[i] = (struct worker){ .job = job, .is_first = !i };
	if (!result)
		run_workers(crew, workers);
	for (unsigned int i = 0; i < workers && !result; i++)
		result = crew[i].result;
	for (unsigned int i = 0; i < workers && crew; i++) {
		if (!result)
			result = ada_counter_merge(sum, &crew[i].counter);
		ada_counter_close(&crew[i].counter);
		free(crew[i].lent);
	}
	free(crew);
	return result;
}

static int stats_answer(struct ada_stats *stats, struct ada_counter *sum, const struct job *job, const struct ada_selection *selection)
{
	uint64_t *lost = calloc(selection->threads.count + 1, sizeof *lost), events = 0;

	if (!lost)
		return -ENOMEM;
	for (size_t i = 0; i < job->track_count; i++) {
		lost[i] = job->tracks[i].lost;
		events += job->tracks[i].to - job->tracks[i].from;
	}
	if (sum->functions.count)
		qsort(sum->functions.items, sum->functions.count, sizeof *sum->functions.items, compare_keys);
	for (size_t i = 0; i < sum->functions.count; i++)
		sum->functions.items[i]->calls += sum->functions.items[i]->durations.count;
	stats->functions.items = sum->functions.items;
	stats->functions.count = sum->functions.count;
	stats->functions.capacity = sum->functions.capacity;
	sum->functions.items = NULL;
	sum->functions.count = 0;
	stats->completeness = ada_selection_completeness(selection, true, events, lost);
	free(lost);
	return 0;
}

static int compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, uint64_t piece_events,
		   bool by_events)
{
	struct job job = { .work.progress = selection->progress, .work.by_events = by_events };
	struct ada_counter sum = {};
	int result;

	/* One worker alone has nothing to share. */
	result = share_out(&job, selection, workers == 1 ? UINT64_MAX : piece_events);
	for (size_t i = 0; i < job.track_count && selection->progress && !by_events; i++)
		selection->progress->total += job.tracks[i].to - job.tracks[i].from;
	if (workers > job.part_count)
		workers = job.part_count ? job.part_count : 1;
	job.workers = workers;
	job.piece_events = piece_events;
	if (!result)
		result = job_run(&job, &sum, workers);
	if (!result)
		result = stats_answer(stats, &sum, &job, selection);
	ada_counter_close(&sum);
	close_job(&job);
	return result;
}

int ada_stats_compute_pieces(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, uint64_t piece_events,
			     struct ada_error *error)
{
	int result;

	*stats = (struct ada_stats){};
	if (!workers)
		workers = get_nprocs();
	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	result = compute(stats, selection, workers, piece_events, false);
	if (result == -EBADMSG) /* of such a block all events are lost, which only shows when they are decoded */
		result = compute(stats, selection, workers, piece_events, true);
	if (result == -EINTR)
		return ada_error_set(error, EINTR, "interrupted");
	return result ? ada_error_system(error, -result, "%s", selection->session->path) : 0;
}

int ada_stats_compute(struct ada_stats *stats, const struct ada_selection *selection, unsigned int workers, struct ada_error *error)
{
	return ada_stats_compute_pieces(stats, selection, workers, PIECE_EVENTS, error);
}

void ada_stats_free(struct ada_stats *stats)
{
	for (size_t i = 0; i < stats->functions.count; i++) {
		ada_histogram_free(&stats->functions.items[i]->durations);
		free(stats->functions.items[i]);
	}
	ada_array_free(&stats->functions);
	*stats = (struct ada_stats){};
}

const struct ada_function_stats *ada_stats_of(const struct ada_stats *stats, uint64_t key)
{
	for (size_t i = 0; i < stats->functions.count; i++)
		if (stats->functions.items[i]->key == key)
			return stats->functions.items[i];
	return NULL;
}
