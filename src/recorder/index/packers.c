#include "recorder/index/packers.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "recorder/index/trouble.h"

#define WORKERS_MAX 4u
#define PRESSED 8u /* jobs in a queue: from here on zstd takes longer than events come */
#define RETRY_NS 20000000
#define HURRIED 4u  /* jobs in a queue: from here on a worker has the drain's priority, for the drain will soon wait for it, or does so */
#define PRIORITY -5 /* the drain's, where allowed */
#define PATIENT 5   /* else, where it may be raised again: a worker shares the processors with a program that is not to wait for it */

struct worker {
	struct ada_packers *packers;
	struct atf_packer *packer;
	pthread_t thread;
	struct ada_packed_job *first, **last;
	unsigned queued;
	int trouble;	       /* -errno of the write that is to be tried again */
	uint64_t since_ns;     /* when that began */
	unsigned asked, tried; /* tries that the sink asked for, and those made */
	int priority;	       /* 0: may not be changed */
};

struct ada_packers {
	pthread_mutex_t lock;
	pthread_cond_t news, done; /* for workers; for the main thread */
	ada_packers_work *work;
	struct worker workers[WORKERS_MAX];
	unsigned count;
	bool started, quit, insists, wrote, awaited; /* the last: the main thread waits */
	uint64_t queued_bytes, finished;	     /* jobs ever finished */
	struct ada_packed_job *finished_first, **finished_last;
	uint64_t memory; /* the main thread's */
};

/* --- the worker ---------------------------------------------------------------------------------------------------------- */

static void rest(struct ada_packers *packers)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += RETRY_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&packers->news, &packers->lock, &until);
}

/* Waits until another try is due. False: there is none. Under the lock. */
static bool may_try(struct worker *worker, const struct ada_packed_state *state)
{
	struct ada_packers *packers = worker->packers;

	while (!packers->quit && !state->error) {
		if (packers->insists) {
			if (ada_clock_boottime_ns() - worker->since_ns > ADA_TROUBLE_PATIENCE_NS)
				return false;
			rest(packers);
			return true;
		}
		if (worker->asked != worker->tried)
			return true;
		pthread_cond_wait(&packers->news, &packers->lock);
	}
	return false;
}

/* Three busy threads, of which two are the recorder's, share two processors as their priorities have it: so the program keeps one of them. */
static void take_pace(struct worker *worker, bool hurried)
{
	int priority = hurried ? PRIORITY : PATIENT;

	if (worker->priority && worker->priority != priority && !setpriority(PRIO_PROCESS, 0, priority)) /* this thread */
		worker->priority = priority;
}

/* Under the lock, which is left while the job is done. */
static int job_do(struct worker *worker, const struct ada_packed_job *job)
{
	struct ada_packers *packers = worker->packers;
	struct ada_packed_state *state = job->state;
	bool pressed = worker->queued >= PRESSED, hurried = worker->queued >= HURRIED || packers->awaited;
	int status = state->error;

	while (!state->error) {
		pthread_mutex_unlock(&packers->lock);
		take_pace(worker, hurried);
		status = packers->work(worker->packer, job, pressed);
		pthread_mutex_lock(&packers->lock);
		if (!status || !ada_trouble_is(status)) {
			worker->trouble = 0;
			worker->tried = worker->asked;
			packers->wrote |= !status;
			break;
		}
		worker->since_ns = worker->trouble ? worker->since_ns : ada_clock_boottime_ns();
		worker->trouble = status;
		worker->tried = worker->asked;
		pthread_cond_broadcast(&packers->done);
		if (!may_try(worker, state))
			break;
	}
	return status;
}

static void *worker_run(void *argument)
{
	struct worker *worker = argument;
	struct ada_packers *packers = worker->packers;

	pthread_setname_np(pthread_self(), "ada-pack");
	worker->priority = setpriority(PRIO_PROCESS, 0, PRIORITY) ? 0 : PRIORITY;
	pthread_mutex_lock(&packers->lock);
	while (worker->first || !packers->quit) {
		struct ada_packed_job *job = worker->first;
		struct ada_packed_state *state;
		int status;

		if (!job) {
			worker->trouble = 0; /* nobody is left who would know better */
			worker->tried = worker->asked;
			pthread_cond_broadcast(&packers->done);
			pthread_cond_wait(&packers->news, &packers->lock);
			continue;
		}
		status = job_do(worker, job);
		state = job->state;
		state->error = state->error ? state->error : status;
		state->pending--;
		worker->first = job->next;
		worker->last = worker->first ? worker->last : &worker->first;
		worker->queued--;
		packers->queued_bytes -= job->what == ADA_PACKED_BLOCK ? job->run.bytes : 0;
		packers->finished++;
		job->next = NULL;
		*packers->finished_last = job;
		packers->finished_last = &job->next;
		pthread_cond_broadcast(&packers->done);
	}
	pthread_mutex_unlock(&packers->lock);
	return NULL;
}

/* --- the main thread ----------------------------------------------------------------------------------------------------- */

int ada_packers_open(struct ada_packers **result, ada_packers_work *work, unsigned workers)
{
	struct ada_packers *packers = calloc(1, sizeof *packers);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_condattr_t monotonic;

	*result = packers;
	if (!packers)
		return -ENOMEM;
	packers->work = work;
	packers->count = workers ? workers : processors > 2 ? (unsigned)processors / 2 : 1;
	packers->count = packers->count < WORKERS_MAX ? packers->count : WORKERS_MAX;
	packers->finished_last = &packers->finished_first;
	pthread_mutex_init(&packers->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&packers->news, &monotonic);
	pthread_cond_init(&packers->done, NULL);
	pthread_condattr_destroy(&monotonic);
	return 0;
}

/* Where not all threads can be had, fewer do it. */
static int start(struct ada_packers *packers)
{
	unsigned wanted = packers->count;
	int status = 0;

	packers->count = 0;
	while (packers->count < wanted && !status) {
		struct worker *worker = &packers->workers[packers->count];

		*worker = (struct worker){ .packers = packers, .packer = atf_packer_new() };
		worker->last = &worker->first;
		status = worker->packer ? -pthread_create(&worker->thread, NULL, worker_run, worker) : -ENOMEM;
		if (status)
			atf_packer_free(worker->packer);
		else
			packers->count++;
	}
	packers->started = packers->count;
	packers->count = packers->started ? packers->count : wanted;
	return packers->started ? 0 : status;
}

void ada_packers_close(struct ada_packers *packers)
{
	struct ada_packed_job *job;

	if (!packers)
		return;
	pthread_mutex_lock(&packers->lock);
	packers->quit = true;
	pthread_cond_broadcast(&packers->news);
	pthread_mutex_unlock(&packers->lock);
	for (unsigned i = 0; packers->started && i < packers->count; i++) {
		pthread_join(packers->workers[i].thread, NULL);
		atf_packer_free(packers->workers[i].packer);
	}
	while ((job = packers->finished_first)) {
		packers->finished_first = job->next;
		if (!job->run.taken && job->what == ADA_PACKED_BLOCK)
			free(job->run.events);
		free(job);
	}
	pthread_cond_destroy(&packers->news);
	pthread_cond_destroy(&packers->done);
	pthread_mutex_destroy(&packers->lock);
	free(packers);
}

int ada_packers_submit(struct ada_packers *packers, struct ada_packed_job *job)
{
	struct ada_packed_state *state = job->state;
	struct worker *worker;
	int status = packers->started ? 0 : start(packers);

	if (status)
		return status;
	job->next = NULL;
	pthread_mutex_lock(&packers->lock);
	worker = &packers->workers[state->worker % packers->count];
	*worker->last = job;
	worker->last = &job->next;
	worker->queued++;
	state->pending++;
	packers->queued_bytes += job->what == ADA_PACKED_BLOCK ? job->run.bytes : 0;
	pthread_cond_broadcast(&packers->news);
	pthread_mutex_unlock(&packers->lock);
	return 0;
}

struct ada_packed_job *ada_packers_done(struct ada_packers *packers)
{
	struct ada_packed_job *jobs;

	pthread_mutex_lock(&packers->lock);
	jobs = packers->finished_first;
	packers->finished_first = NULL;
	packers->finished_last = &packers->finished_first;
	pthread_mutex_unlock(&packers->lock);
	return jobs;
}

static int trouble_of(const struct ada_packers *packers)
{
	int trouble = 0;

	for (unsigned i = 0; packers->started && i < packers->count && !trouble; i++)
		trouble = packers->workers[i].trouble;
	return trouble;
}

int ada_packers_wait(struct ada_packers *packers, const struct ada_packed_state *state, bool all)
{
	uint64_t before;
	int status = 0;

	pthread_mutex_lock(&packers->lock);
	before = packers->finished;
	packers->awaited = true;
	while (all ? state->pending : packers->finished == before && packers->queued_bytes) {
		status = packers->insists || state->error ? 0 : trouble_of(packers);
		if (status)
			break;
		pthread_cond_wait(&packers->done, &packers->lock);
	}
	packers->awaited = false;
	pthread_mutex_unlock(&packers->lock);
	return status;
}

bool ada_packers_is_done(struct ada_packers *packers, const struct ada_packed_state *state)
{
	bool done;

	pthread_mutex_lock(&packers->lock);
	done = !state->pending && !state->error;
	pthread_mutex_unlock(&packers->lock);
	return done;
}

int ada_packers_error(struct ada_packers *packers, const struct ada_packed_state *state)
{
	int error;

	pthread_mutex_lock(&packers->lock);
	error = state->error;
	pthread_mutex_unlock(&packers->lock);
	return error;
}

void ada_packers_drop(struct ada_packers *packers, struct ada_packed_state *state)
{
	pthread_mutex_lock(&packers->lock);
	state->error = state->error ? state->error : -ECANCELED;
	pthread_cond_broadcast(&packers->news);
	pthread_mutex_unlock(&packers->lock);
}

uint64_t ada_packers_queued(struct ada_packers *packers)
{
	uint64_t bytes;

	pthread_mutex_lock(&packers->lock);
	bytes = packers->queued_bytes;
	pthread_mutex_unlock(&packers->lock);
	return bytes;
}

uint64_t *ada_packers_memory(struct ada_packers *packers)
{
	return &packers->memory;
}

int ada_packers_trouble(struct ada_packers *packers, bool *wrote)
{
	int trouble;

	*wrote = false;
	if (!packers || !packers->started)
		return 0;
	pthread_mutex_lock(&packers->lock);
	trouble = trouble_of(packers);
	*wrote = packers->wrote;
	packers->wrote = false;
	pthread_mutex_unlock(&packers->lock);
	return trouble;
}

int ada_packers_retry(struct ada_packers *packers)
{
	int trouble = 0;

	if (!packers || !packers->started)
		return 0;
	pthread_mutex_lock(&packers->lock);
	for (unsigned i = 0; i < packers->count; i++)
		packers->workers[i].asked += packers->workers[i].trouble != 0;
	pthread_cond_broadcast(&packers->news);
	for (unsigned i = 0; i < packers->count; i++)
		while (packers->workers[i].asked != packers->workers[i].tried)
			pthread_cond_wait(&packers->done, &packers->lock);
	trouble = trouble_of(packers);
	pthread_mutex_unlock(&packers->lock);
	return trouble;
}

void ada_packers_insist(struct ada_packers *packers, bool insists)
{
	if (!packers)
		return;
	pthread_mutex_lock(&packers->lock);
	packers->insists = insists;
	pthread_cond_broadcast(&packers->news);
	pthread_mutex_unlock(&packers->lock);
}
