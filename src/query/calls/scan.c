/* Reading threads side by side. Nothing is shared meanwhile but the number of the next thread. */
#include "query/calls/scan.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include "base/interrupt.h"

#define WORKERS_MAX 64
#define STRETCH 65536		  /* events between two looks around */
#define RELEASE_EVENTS (1u << 18) /* 8 MiB */

struct ada_scan_job {
	const struct ada_selection *selection;
	atomic_size_t next;
	atomic_uint_least64_t done; /* events read */
	uint64_t *lost;		    /* by thread of the selection */
};

struct position { /* in the thread being read */
	uint64_t at, released;
	bool done;
};

static void tell_begun(void *context, struct ada_call *call)
{
	struct ada_scan *scan = context;
	size_t below = scan->calls.stack.count - 1;

	if (scan->seeding)
		return;
	/* Calls from before the selection lie at the stack's bottom, and leave like any other. */
	if (scan->above.frames.count > below)
		scan->above.frames.count = below;
	if (call->position >= scan->to)
		return;
	scan->receiver->begun(scan, call);
	scan->open += call->user != NULL;
}

static void tell_set_aside(void *context, struct ada_call *call)
{
	struct ada_scan *scan = context;

	if (call->user && scan->receiver->set_aside)
		scan->receiver->set_aside(scan, call);
}

static void tell_ended(void *context, const struct ada_call *call)
{
	struct ada_scan *scan = context;

	if (!call->user)
		return;
	scan->open--;
	scan->receiver->ended(scan, call);
}

/* On the terminal: one worker for all. */
static void tell_progress(struct ada_scan *scan, uint64_t count)
{
	uint64_t done = atomic_fetch_add(&scan->job->done, count) + count;

	if (scan->shows_progress)
		ada_progress_at(scan->job->selection->progress, done);
}

static void expect_progress(const struct ada_selection *selection)
{
	for (size_t i = 0; i < selection->threads.count; i++) {
		uint64_t from, to;

		ada_selection_range(selection, selection->threads.items[i], &from, &to);
		selection->progress->total += to - from;
	}
}

/* Reads the events of the selection's time, and on until the calls begun in it have ended. */
static void scan_stretch(struct ada_scan *scan, struct position *position, uint64_t *lost)
{
	uint64_t count;
	const struct ada_event *event = atf_thread_run(scan->thread->events, position->at, &count);

	if (count > STRETCH)
		count = STRETCH;
	for (uint64_t i = 0; i < count && !scan->result; i++, event++) {
		if (position->at + i < scan->to) {
			scan->events++;
			if (event->event_kind == ADA_EVENT_LOST)
				*lost += event->function_id;
		} else if (!scan->open || scan->clipped) {
			position->done = true;
			return;
		}
		if (ada_calls_feed(&scan->calls, event, position->at + i))
			scan->result = -ENOMEM;
	}
	position->at += count;
	position->done = !count;
	tell_progress(scan, count);
	if (position->at - position->released >= RELEASE_EVENTS) {
		atf_thread_release(scan->thread->events, position->released, position->at);
		position->released = position->at;
	}
}

/* Puts in the calls that are open where the selection's time begins; the receiver hears nothing of them. */
static int begin_open(struct ada_scan *scan, uint64_t position)
{
	int result;

	if (scan->clipped && ada_process_end_ns(scan->thread->process) <= scan->job->selection->from_ns)
		return 0; /* they ended with it */
	result = ada_stack_at(&scan->above, scan->thread, position);
	scan->seeding = true;
	if (!result)
		result = ada_stack_seed(&scan->above, &scan->calls);
	scan->seeding = false;
	for (size_t i = 0; i < scan->calls.stack.count && scan->clipped; i++)
		scan->calls.stack.items[i].start_ns = scan->job->selection->from_ns;
	return result;
}

static void scan_thread(struct ada_scan *scan, size_t number)
{
	const struct ada_selection *selection = scan->job->selection;
	const struct ada_thread *thread = selection->threads.items[number];
	struct position position = {};
	uint64_t end_ns;

	if (!thread->events || !thread->count)
		return;
	scan->thread = thread;
	scan->number = number;
	scan->open = 0;
	scan->to = selection->to_ns == UINT64_MAX ? thread->count : atf_thread_lower_bound(thread->events, selection->to_ns);
	if (selection->from_ns) {
		position.at = position.released = atf_thread_lower_bound(thread->events, selection->from_ns);
		scan->result = begin_open(scan, position.at);
	}
	if (!scan->result && scan->receiver->thread)
		scan->receiver->thread(scan);
	for (size_t i = 0; i < scan->calls.stack.count; i++)
		scan->open += scan->calls.stack.items[i].user != NULL;
	while (!scan->result && !position.done) {
		scan_stretch(scan, &position, &scan->job->lost[number]);
		if (!scan->result && ada_interrupted())
			scan->result = -EINTR;
	}
	end_ns = ada_process_end_ns(thread->process);
	ada_calls_end(&scan->calls, scan->clipped && selection->to_ns < end_ns ? selection->to_ns : end_ns);
	atf_thread_release(thread->events, position.released, position.at);
	ada_stack_close(&scan->above);
}

static void *work(void *context)
{
	struct ada_scan *scan = context;
	size_t number;

	ada_calls_open(&scan->calls, &(struct ada_calls_receiver){
					     .context = scan, .begun = tell_begun, .set_aside = tell_set_aside, .ended = tell_ended });
	while (!scan->result && (number = atomic_fetch_add(&scan->job->next, 1)) < scan->job->selection->threads.count)
		scan_thread(scan, number);
	ada_calls_close(&scan->calls);
	return NULL;
}

unsigned int ada_scan_workers(const struct ada_selection *selection, unsigned int workers)
{
	if (!workers)
		workers = get_nprocs();
	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	if (workers > selection->threads.count)
		workers = selection->threads.count;
	return workers ? workers : 1;
}

int ada_scan_run(const struct ada_selection *selection, const struct ada_scan_receiver *receiver, void *crew, size_t size,
		 unsigned int workers, struct ada_completeness *completeness, struct ada_error *error)
{
	struct ada_scan_job job = { .selection = selection, .lost = calloc(selection->threads.count + 1, sizeof *job.lost) };
	pthread_t threads[WORKERS_MAX];
	unsigned int started = 1;
	uint64_t events = 0;
	int result = 0;

	if (!job.lost)
		return ada_error_system(error, ENOMEM, "%s", selection->session->path);
	if (selection->progress)
		expect_progress(selection);
	for (unsigned int i = 0; i < workers; i++) {
		struct ada_scan *scan = (void *)((char *)crew + i * size);

		scan->receiver = receiver;
		scan->job = &job;
		scan->shows_progress = !i && selection->progress;
	}
	while (started < workers && !pthread_create(&threads[started], NULL, work, (char *)crew + started * size))
		started++;
	work(crew); /* this thread is the first worker; where no other starts it does all */
	for (unsigned int i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < started; i++) {
		const struct ada_scan *scan = (const void *)((const char *)crew + i * size);

		events += scan->events;
		if (!result)
			result = scan->result;
	}
	*completeness = ada_selection_completeness(selection, true, events, job.lost);
	free(job.lost);
	if (result == -EINTR)
		return ada_error_set(error, EINTR, "interrupted");
	return result ? ada_error_system(error, -result, "%s", selection->session->path) : 0;
}
