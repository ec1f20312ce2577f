#include "recorder/bound/bound.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"

#define PARTS 16u /* of the limit, that the open segments of all threads may have together */
#define SPARE 8u  /* of the limit, one that folding begins before it is reached */
#define SEGMENT_MIN (64u << 10)
#define SEGMENT_NS_MIN 1000000000ull
#define MEASURE_NS 100000000ull
#define MEASURE_COST 20 /* at most a twentieth of the time goes into measuring */
#define RETRY_NS 1000000000ull
#define JOBS 16u
#define KEPT_PARTS 2u /* of the limit, one that windows may keep */
#define LAST 64u      /* of the limit, one for what isn't events */
#define ROOM 4u	      /* of the limit, one for events at least */

typedef ADA_ARRAY(struct ada_bound_segment) segment_list;

struct ada_bound {
	struct ada_bound_options options;
	char root[PATH_MAX];
	/* Main thread's */
	uint64_t limit;		  /* --disk-limit, or more where that can't be kept; 0: any. Atomic for others */
	segment_list segments;	  /* by end */
	uint64_t share;		  /* bytes of a segment */
	size_t steady;		  /* threads that go on writing */
	uint64_t gone;		  /* segments */
	uint64_t retry_ns;	  /* when a job that failed may come again */
	bool helpless;		  /* nothing can go */
	uint64_t leaving, listed; /* bytes of their segments, and of the others that are closed */
	segment_list kept;	  /* by end */
	segment_list details;	  /* by end; of kept ones, too */
	uint64_t kept_bytes, details_bytes;
	/* A ring: jobs before `taken` are over, those before `filled` are being sent. The thread has those from `done` up to `sent`. */
	size_t filled, taken;
	bool lent; /* the job at `taken` is looked at by whoever took it */
	struct ada_bound_job jobs[JOBS];
	/* What the lock guards */
	pthread_mutex_t lock;
	pthread_cond_t news, quiet;
	pthread_t thread;
	size_t sent, done;
	bool unmeasured; /* jobs were done since the session was measured */
	bool quit;
	/* Atomic: as measured, less what jobs let go since; and what was written until then and until now, less what lanes removed */
	int64_t bytes;
	uint64_t written_then, written;
	uint64_t lasting; /* of the bytes, as measured: names, manifests, sums, and what each thread has always */
	int64_t lanes_kept, lanes_leaving;
	uint64_t gone_ns;
	uint64_t aged_ns; /* main thread's: of all that went into totals, the last event */
};

/* --- the thread ---------------------------------------------------------------------------------------------------------- */

static uint64_t measure(struct ada_bound *bound)
{
	uint64_t start_ns = ada_clock_boottime_ns(), written = __atomic_load_n(&bound->written, __ATOMIC_RELAXED);
	struct ada_bound_size measured;

	measured = ada_bound_measure(bound->root);
	__atomic_store_n(&bound->written_then, written, __ATOMIC_RELAXED);
	__atomic_store_n(&bound->bytes, (int64_t)measured.bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&bound->lasting, measured.lasting, __ATOMIC_RELAXED);
	return ada_clock_boottime_ns() - start_ns;
}

static void wait_until(struct ada_bound *bound, uint64_t due_ns)
{
	uint64_t now = ada_clock_boottime_ns(), pause = due_ns > now ? due_ns - now : 0;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	pause += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(pause / 1000000000);
	until.tv_nsec = (long)(pause % 1000000000);
	pthread_cond_timedwait(&bound->news, &bound->lock, &until);
}

static struct ada_bound_job *job_at(struct ada_bound *bound, size_t number)
{
	return &bound->jobs[number % JOBS];
}

/* A thread's totals say up to where all has gone: behind segments that can't go the next ones don't, either. */
static void fail_with(struct ada_bound_job *job, const struct ada_bound_job *before)
{
	if (job->what != ADA_BOUND_AGE || !before->status || job->segments[0].provider != before->segments[0].provider ||
	    job->segments[0].thread != before->segments[0].thread)
		return;
	job->status = before->status;
	job->error = before->error;
}

/* The oldest one that was sent. The lock is held, but not while the job is done. */
static void do_next(struct ada_bound *bound)
{
	struct ada_bound_job *job = job_at(bound, bound->done);

	if (!job->status) {
		pthread_mutex_unlock(&bound->lock);
		ada_bound_job_do(bound->options.fold, job);
		__atomic_sub_fetch(&bound->bytes, (int64_t)job->freed, __ATOMIC_RELAXED);
		pthread_mutex_lock(&bound->lock);
	}
	for (size_t i = ++bound->done; i < bound->sent; i++)
		fail_with(job_at(bound, i), job);
	bound->unmeasured = true;
}

static void *bound_run(void *argument)
{
	struct ada_bound *bound = argument;
	uint64_t due_ns = 0;

	pthread_setname_np(pthread_self(), "ada-bound");
	pthread_mutex_lock(&bound->lock);
	while (!bound->quit || bound->done != bound->sent) {
		bool any = bound->done != bound->sent;

		if (ada_clock_boottime_ns() >= due_ns || (!any && bound->unmeasured)) {
			pthread_mutex_unlock(&bound->lock);
			due_ns = measure(bound) * MEASURE_COST;
			due_ns = ada_clock_boottime_ns() + (due_ns > MEASURE_NS ? due_ns : MEASURE_NS);
			pthread_mutex_lock(&bound->lock);
			bound->unmeasured = false;
			pthread_cond_signal(&bound->quiet);
		} else if (any) {
			do_next(bound);
		} else {
			wait_until(bound, due_ns);
		}
	}
	pthread_mutex_unlock(&bound->lock);
	return NULL;
}

/* --- the main thread ----------------------------------------------------------------------------------------------------- */

int ada_bound_open(struct ada_bound **result, const struct ada_bound_options *options)
{
	struct ada_bound *bound = calloc(1, sizeof *bound);
	pthread_condattr_t monotonic;
	int status;

	*result = NULL;
	if (!bound)
		return -ENOMEM;
	bound->options = *options;
	bound->limit = options->disk_limit;
	status = ada_path(bound->root, "%s/.", options->session); /* whose path may be a link */
	ada_bound_share(bound, 1, 0);
	pthread_mutex_init(&bound->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&bound->news, &monotonic);
	pthread_cond_init(&bound->quiet, NULL);
	pthread_condattr_destroy(&monotonic);
	status = status ? status : -pthread_create(&bound->thread, NULL, bound_run, bound);
	if (status)
		free(bound);
	else
		*result = bound;
	return status;
}

void ada_bound_close(struct ada_bound *bound)
{
	if (!bound)
		return;
	pthread_mutex_lock(&bound->lock);
	bound->quit = true;
	pthread_cond_signal(&bound->news);
	pthread_mutex_unlock(&bound->lock);
	pthread_join(bound->thread, NULL);
	pthread_cond_destroy(&bound->news);
	pthread_cond_destroy(&bound->quiet);
	pthread_mutex_destroy(&bound->lock);
	ada_array_free(&bound->segments);
	ada_array_free(&bound->kept);
	ada_array_free(&bound->details);
	for (size_t i = 0; i < JOBS; i++)
		ada_array_free(&bound->jobs[i].records);
	free(bound);
}

/* By end. Of a thread ends never fall, but may be alike. */
static bool is_behind(const struct ada_bound_segment *one, const struct ada_bound_segment *other)
{
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns;
	if (one->provider != other->provider)
		return one->provider > other->provider;
	return one->thread != other->thread ? one->thread > other->thread : one->segment > other->segment;
}

/* Without memory the segment stays on the disk. */
static bool list_enter(segment_list *list, const struct ada_bound_segment *segment)
{
	size_t at;

	if (ada_array_reserve(list, 1))
		return false;
	at = list->count++;
	for (; at && is_behind(&list->items[at - 1], segment); at--)
		list->items[at] = list->items[at - 1];
	list->items[at] = *segment;
	return true;
}

static struct ada_bound_segment *list_find(const segment_list *list, const struct ada_bound_segment *segment)
{
	for (size_t i = 0; i < list->count; i++) {
		struct ada_bound_segment *one = &list->items[i];

		if (one->provider == segment->provider && one->thread == segment->thread && one->segment == segment->segment)
			return one;
	}
	return NULL;
}

/* False: it isn't there. */
static bool list_leave(segment_list *list, const struct ada_bound_segment *segment, uint64_t *bytes)
{
	struct ada_bound_segment *one = list_find(list, segment);

	if (!one)
		return false;
	*bytes -= one->bytes;
	list->count--;
	memmove(one, one + 1, (size_t)(list->items + list->count - one) * sizeof *one);
	return true;
}

void ada_bound_closed(struct ada_bound *bound, const struct ada_bound_segment *segment)
{
	if (!bound || !list_enter(&bound->segments, segment))
		return;
	bound->listed += segment->bytes;
}

void ada_bound_detailed(struct ada_bound *bound, const struct ada_bound_segment *segment)
{
	if (bound && bound->options.detail_limit && list_enter(&bound->details, segment))
		bound->details_bytes += segment->bytes;
}

void ada_bound_share(struct ada_bound *bound, size_t threads, size_t steady)
{
	uint64_t share;

	if (!bound)
		return;
	bound->steady = steady;
	share = bound->limit ? bound->limit / (PARTS * (threads ? threads : 1)) : UINT64_MAX;
	share = share > SEGMENT_MIN ? share : SEGMENT_MIN;
	bound->share = bound->options.segment_bytes && share > bound->options.segment_bytes ? bound->options.segment_bytes : share;
}

uint64_t ada_bound_segment_bytes(const struct ada_bound *bound)
{
	return bound ? bound->share : UINT64_MAX;
}

uint64_t ada_bound_segment_ns(const struct ada_bound *bound)
{
	uint64_t part = bound && bound->options.max_age_ns ? bound->options.max_age_ns / PARTS : UINT64_MAX;

	return part > SEGMENT_NS_MIN ? part : SEGMENT_NS_MIN;
}

static uint64_t bytes_now(const struct ada_bound *bound)
{
	uint64_t then = __atomic_load_n(&bound->written_then, __ATOMIC_RELAXED), now = __atomic_load_n(&bound->written, __ATOMIC_RELAXED);
	int64_t bytes = __atomic_load_n(&bound->bytes, __ATOMIC_RELAXED) + (int64_t)(now - then); /* which may have fallen */

	return bytes > 0 ? (uint64_t)bytes : 0;
}

void ada_bound_wrote(struct ada_bound *bound, int64_t bytes)
{
	if (bound)
		__atomic_add_fetch(&bound->written, (uint64_t)bytes, __ATOMIC_RELAXED);
}

static uint64_t leaving_now(const struct ada_bound *bound)
{
	return bound->leaving + (uint64_t)__atomic_load_n(&bound->lanes_leaving, __ATOMIC_RELAXED);
}

/* Also once so many bytes have gone. */
static bool is_too_much(const struct ada_bound *bound, uint64_t go)
{
	uint64_t limit = bound->limit;

	return limit && bytes_now(bound) > limit - limit / SPARE + go;
}

static bool is_too_old(const struct ada_bound *bound, const struct ada_bound_segment *segment, uint64_t now_ns)
{
	return bound->options.max_age_ns && segment->end_ns + bound->options.max_age_ns < now_ns;
}

static bool has_place(const struct ada_bound *bound)
{
	return bound->filled - bound->taken < JOBS;
}

const struct ada_bound_segment *ada_bound_next(const struct ada_bound *bound, uint64_t now_ns)
{
	const struct ada_bound_segment *first = bound && bound->segments.count ? bound->segments.items : NULL;

	if (!first || !has_place(bound) || now_ns < bound->retry_ns)
		return NULL;
	return is_too_much(bound, leaving_now(bound)) || is_too_old(bound, first, now_ns) ? first : NULL;
}

/* The segment behind those that the job has. */
static bool is_next(const struct ada_bound_segment *segment, const struct ada_bound_job *job)
{
	return segment->provider == job->segments[0].provider && segment->thread == job->segments[0].thread &&
	       segment->segment == job->border;
}

static struct ada_bound_job *job_begin(struct ada_bound *bound, enum ada_bound_what what, const struct ada_bound_segment *segment,
				       const char *directory)
{
	struct ada_bound_job *job = job_at(bound, bound->filled++);

	*job = (struct ada_bound_job){ .what = what, .segments = { *segment }, .count = 1, .border = segment->segment };
	memcpy(job->directory, directory, strlen(directory) + 1);
	return job;
}

struct ada_bound_job *ada_bound_go(struct ada_bound *bound, const char *directory, uint32_t tid)
{
	struct ada_bound_segment *segments = bound->segments.items;
	struct ada_bound_job *job = job_begin(bound, ADA_BOUND_AGE, &segments[0], directory);
	size_t count = 0;

	job->tid = tid;
	for (; count < bound->segments.count && is_next(&segments[count], job) && count < ADA_BOUND_TOGETHER; count++) {
		if (count && !is_too_much(bound, leaving_now(bound)))
			break;
		job->segments[count] = segments[count];
		job->border++;
		job->last = segments[count].last;
		job->leaves += segments[count].bytes;
		bound->leaving += segments[count].bytes;
		bound->listed -= segments[count].bytes;
	}
	job->count = (uint32_t)count;
	bound->segments.count -= count;
	memmove(segments, segments + count, bound->segments.count * sizeof *segments);
	return job;
}

void ada_bound_lanes(struct ada_bound *bound, int64_t kept, int64_t leaving)
{
	if (!bound)
		return;
	__atomic_add_fetch(&bound->lanes_kept, kept, __ATOMIC_RELAXED);
	__atomic_add_fetch(&bound->lanes_leaving, leaving, __ATOMIC_RELAXED);
}

static uint64_t kept_now(const struct ada_bound *bound)
{
	return bound->kept_bytes + (uint64_t)__atomic_load_n(&bound->lanes_kept, __ATOMIC_RELAXED);
}

const struct ada_bound_segment *ada_bound_kept_over(const struct ada_bound *bound)
{
	uint64_t limit = bound->limit;
	bool over = limit && (kept_now(bound) > limit / KEPT_PARTS || (!bound->segments.count && is_too_much(bound, leaving_now(bound))));

	return over && bound->kept.count && has_place(bound) ? &bound->kept.items[0] : NULL;
}

void ada_bound_detail_wrote(struct ada_bound *bound, const struct ada_bound_segment *segment)
{
	struct ada_bound_segment *kept = bound ? list_find(&bound->kept, segment) : NULL;

	ada_bound_wrote(bound, (int64_t)segment->bytes);
	if (kept) {
		kept->bytes += segment->bytes;
		bound->kept_bytes += segment->bytes;
	}
}

const struct ada_bound_segment *ada_bound_kept(const struct ada_bound *bound, size_t number)
{
	return number < bound->kept.count ? &bound->kept.items[number] : NULL;
}

uint64_t ada_bound_detail_bytes(const struct ada_bound *bound, size_t threads)
{
	uint64_t share = bound && bound->options.detail_limit ? bound->options.detail_limit / (PARTS * (threads ? threads : 1)) :
								UINT64_MAX;

	return share > SEGMENT_MIN ? share : SEGMENT_MIN;
}

const struct ada_bound_segment *ada_bound_detail_over(const struct ada_bound *bound, uint64_t open)
{
	uint64_t limit = bound->options.detail_limit;
	bool over = limit && bound->details_bytes + open > limit - limit / SPARE;

	return over && bound->details.count && has_place(bound) ? &bound->details.items[0] : NULL;
}

bool ada_bound_drop(struct ada_bound *bound, enum ada_bound_what what, const struct ada_bound_segment *segment, const char *directory,
		    uint32_t tid)
{
	const struct ada_bound_segment gone = *segment; /* which may be of the list */
	struct ada_bound_job *job;

	if (!has_place(bound))
		return false;
	job = job_begin(bound, what, &gone, directory);
	job->tid = tid;
	if (what == ADA_BOUND_DROP && list_leave(&bound->kept, &gone, &bound->kept_bytes))
		job->leaves = gone.bytes;
	bound->leaving += job->leaves;
	list_leave(&bound->details, &gone, &bound->details_bytes);
	return true;
}

void ada_bound_send(struct ada_bound *bound)
{
	if (bound->filled == bound->sent) /* which this thread alone changes */
		return;
	pthread_mutex_lock(&bound->lock);
	for (; bound->sent < bound->filled; bound->sent++)
		for (size_t i = bound->taken + bound->lent; i < bound->done; i++)
			fail_with(job_at(bound, bound->sent), job_at(bound, i));
	pthread_cond_signal(&bound->news);
	pthread_mutex_unlock(&bound->lock);
}

/* Its segments are the first to go once more. */
static void come_again(struct ada_bound *bound, const struct ada_bound_job *job)
{
	bound->retry_ns = ada_clock_boottime_ns() + RETRY_NS;
	for (uint32_t i = 0; i < job->count; i++)
		ada_bound_closed(bound, &job->segments[i]);
}

static void take_done(struct ada_bound *bound, const struct ada_bound_job *job)
{
	for (uint32_t i = 0; i < job->count && job->what == ADA_BOUND_AGE; i++) {
		bool kept = job->keeps[i] && list_enter(&bound->kept, &job->segments[i]);

		bound->aged_ns = job->segments[i].end_ns > bound->aged_ns ? job->segments[i].end_ns : bound->aged_ns;
		bound->kept_bytes += kept ? job->segments[i].bytes : 0;
		bound->gone += !kept;
		if (!kept)
			list_leave(&bound->details, &job->segments[i], &bound->details_bytes);
	}
	bound->gone += job->what == ADA_BOUND_DROP;
}

static uint64_t first_start(const segment_list *list, uint64_t ns)
{
	for (size_t i = 0; i < list->count; i++)
		ns = list->items[i].start_ns < ns ? list->items[i].start_ns : ns;
	return ns;
}

/* A segment that is there still, also for a window alone, may begin before the end of one that went. */
static void note_gone(struct ada_bound *bound)
{
	uint64_t gone_ns = first_start(&bound->kept, first_start(&bound->segments, bound->aged_ns));

	for (size_t i = bound->taken; i < bound->filled; i++) {
		const struct ada_bound_job *job = job_at(bound, i);

		for (uint32_t j = 0; j < job->count && job->what == ADA_BOUND_AGE; j++)
			gone_ns = job->segments[j].start_ns < gone_ns ? job->segments[j].start_ns : gone_ns;
	}
	__atomic_store_n(&bound->gone_ns, gone_ns, __ATOMIC_RELAXED);
}

static void give_back(struct ada_bound *bound)
{
	ada_array_free(&job_at(bound, bound->taken)->records);
	bound->taken++;
	bound->lent = false;
	note_gone(bound);
}

const struct ada_bound_job *ada_bound_done(struct ada_bound *bound)
{
	const struct ada_bound_job *job;
	bool is_done;

	if (!bound)
		return NULL;
	if (bound->lent)
		give_back(bound);
	pthread_mutex_lock(&bound->lock);
	is_done = bound->taken != bound->done;
	pthread_mutex_unlock(&bound->lock);
	if (!is_done)
		return NULL;
	job = job_at(bound, bound->taken);
	bound->lent = true;
	bound->leaving -= job->leaves;
	if (job->status)
		come_again(bound, job);
	else
		take_done(bound, job);
	return job;
}

void ada_bound_wait(struct ada_bound *bound)
{
	if (!bound)
		return;
	pthread_mutex_lock(&bound->lock);
	while (bound->done != bound->sent || bound->unmeasured)
		pthread_cond_wait(&bound->quiet, &bound->lock);
	pthread_mutex_unlock(&bound->lock);
}

bool ada_bound_is_short(const struct ada_bound *bound)
{
	return bound && is_too_much(bound, leaving_now(bound) + bound->listed);
}

void ada_bound_looked(struct ada_bound *bound)
{
	bound->helpless = ada_bound_is_short(bound) && bound->taken == bound->filled && !bound->segments.count && !bound->kept.count;
}

bool ada_bound_is_near(const struct ada_bound *bound)
{
	return bound && is_too_much(bound, 0);
}

bool ada_bound_is_full(const struct ada_bound *bound, uint64_t coming)
{
	return ada_bound_is_near(bound) && bytes_now(bound) + coming >= bound->limit - bound->limit / LAST;
}

/* Events would wait for room that what lasts has taken, or do so as each thread has a file open. */
static bool is_too_little(const struct ada_bound *bound)
{
	uint64_t lasting = __atomic_load_n(&bound->lasting, __ATOMIC_RELAXED);

	return bound->helpless || lasting > bound->limit - bound->limit / ROOM ||
	       (lasting + bound->steady * SEGMENT_MIN / 2 > bound->limit && ada_bound_is_full(bound, 0));
}

bool ada_bound_raise(struct ada_bound *bound)
{
	bool raised = false;

	while (bound->limit && is_too_little(bound)) {
		__atomic_store_n(&bound->limit, 2 * bound->limit, __ATOMIC_RELAXED);
		bound->helpless = false;
		raised = true;
	}
	return raised;
}

bool ada_bound_has_room(const struct ada_bound *bound, uint64_t bytes)
{
	uint64_t limit = bound ? __atomic_load_n(&bound->limit, __ATOMIC_RELAXED) : 0;

	return !limit || bytes_now(bound) + bytes < limit;
}

uint64_t ada_bound_gone_ns(const struct ada_bound *bound)
{
	return bound ? __atomic_load_n(&bound->gone_ns, __ATOMIC_RELAXED) : 0;
}

struct ada_bound_state ada_bound_state(const struct ada_bound *bound)
{
	if (!bound)
		return (struct ada_bound_state){ 0 };
	return (struct ada_bound_state){ .disk_limit = __atomic_load_n(&bound->limit, __ATOMIC_RELAXED),
					 .disk_limit_asked = bound->options.disk_limit,
					 .detail_limit = bound->options.detail_limit,
					 .max_age_ns = bound->options.max_age_ns,
					 .bytes = bytes_now(bound),
					 .steady = bound->steady,
					 .lasting = __atomic_load_n(&bound->lasting, __ATOMIC_RELAXED),
					 .segments = bound->gone,
					 .kept = kept_now(bound),
					 .detail = bound->details_bytes };
}
