/* The threads of a session side by side: opened, read by workers, opened again, closed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include "atf/session/thread.h"
#include "query/zoom/internal.h"

#define WORKERS_MAX 64
#define WORTH_KEEPING (4u << 20) /* events: fewer are read as fast as a file of what was found */

struct crew {
	struct ada_zoom *zoom;
	atomic_size_t next;
	atomic_int status;
};

void ada_zoom_enter(const struct ada_zoom_thread *thread)
{
	pthread_mutex_lock(&thread->builder->turn);
	pthread_mutex_lock(&thread->builder->lock);
	pthread_mutex_unlock(&thread->builder->turn);
}

void ada_zoom_leave(const struct ada_zoom_thread *thread)
{
	pthread_mutex_unlock(&thread->builder->lock);
}

static int build_thread(struct crew *crew, struct ada_zoom_thread *zoomed)
{
	bool finish = !crew->zoom->live || zoomed->thread->process->finalized;
	bool keep = crew->zoom->keeps && finish && zoomed->thread->count >= WORTH_KEEPING;
	int status;

	if (keep && !zoomed->read) {
		bool taken;

		ada_zoom_enter(zoomed);
		taken = ada_zoom_take(zoomed);
		ada_zoom_leave(zoomed);
		if (taken) {
			atomic_fetch_add(&crew->zoom->done, zoomed->read);
			return 0;
		}
	}
	status = ada_zoom_read(zoomed, finish, crew->zoom->until_ns, &crew->zoom->done, &crew->status);
	if (!status && keep && zoomed->whole)
		ada_zoom_keep(zoomed);
	return status;
}

static void *build_some(void *context)
{
	struct crew *crew = context;
	size_t number;

	while (!atomic_load(&crew->status) && (number = atomic_fetch_add(&crew->next, 1)) < crew->zoom->thread_count) {
		struct ada_zoom_thread *zoomed = &crew->zoom->threads[number];
		int status = zoomed->thread->events && !zoomed->whole ? build_thread(crew, zoomed) : 0, none = 0;

		if (status)
			atomic_compare_exchange_strong(&crew->status, &none, status);
	}
	return NULL;
}

int ada_zoom_build(struct ada_zoom *zoom, unsigned int workers)
{
	struct crew crew = { .zoom = zoom };
	pthread_t helpers[WORKERS_MAX];
	unsigned int started = 1;

	if (!workers)
		workers = (unsigned int)get_nprocs();
	if (workers > WORKERS_MAX)
		workers = WORKERS_MAX;
	while (started < workers && started < zoom->thread_count && !pthread_create(&helpers[started], NULL, build_some, &crew))
		started++;
	build_some(&crew);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(helpers[i], NULL);
	return atomic_load(&crew.status);
}

int ada_zoom_thread_open(struct ada_zoom_thread *zoomed, const struct ada_thread *thread)
{
	const AtfTotalsHeader *totals = thread->events ? atf_thread_totals(thread->events) : NULL;

	zoomed->thread = thread;
	zoomed->first_segment = totals ? totals->first_segment : 0;
	zoomed->live = thread->events ? atf_thread_live(thread->events) : 0;
	zoomed->builder = calloc(1, sizeof *zoomed->builder);
	if (!zoomed->builder)
		return -ENOMEM;
	zoomed->builder->zoomed = zoomed;
	pthread_mutex_init(&zoomed->builder->turn, NULL);
	pthread_mutex_init(&zoomed->builder->lock, NULL);
	return 0;
}

void ada_zoom_thread_close(struct ada_zoom_thread *zoomed)
{
	for (size_t i = 0; i < zoomed->ahead.count; i++) {
		ada_zoom_thread_close(zoomed->ahead.items[i]);
		free(zoomed->ahead.items[i]);
	}
	ada_array_free(&zoomed->ahead);
	for (unsigned int level = 0; level < ADA_ZOOM_LEVELS; level++)
		ada_array_free(&zoomed->levels[level].nodes);
	ada_array_free(&zoomed->cells);
	ada_array_free(&zoomed->open);
	ada_array_free(&zoomed->strays);
	ada_array_free(&zoomed->losses);
	if (!zoomed->builder)
		return;
	ada_calls_close(&zoomed->builder->calls);
	ada_array_free(&zoomed->builder->places);
	pthread_mutex_destroy(&zoomed->builder->turn);
	pthread_mutex_destroy(&zoomed->builder->lock);
	free(zoomed->builder);
}

int ada_zoom_open(struct ada_zoom *zoom, const struct ada_session *session)
{
	*zoom = (struct ada_zoom){ .session = session, .threads = calloc(session->threads.count + 1, sizeof *zoom->threads) };
	if (!zoom->threads)
		return -ENOMEM;
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct ada_thread *thread = &session->threads.items[i];

		zoom->thread_count = i + 1;
		if (ada_zoom_thread_open(&zoom->threads[i], thread)) {
			ada_zoom_close(zoom);
			return -ENOMEM;
		}
		if (thread->events)
			zoom->total += thread->count;
	}
	return 0;
}

struct pairing { /* of the processes of a session with those that it had before */
	const struct ada_process *now, *before;
	size_t next; /* of those before: mostly the next process is this one */
};

static const struct ada_process *process_before(const struct ada_session *session, const struct ada_process *now, struct pairing *pairing)
{
	size_t count = session->processes.count;

	if (pairing->now == now)
		return pairing->before;
	*pairing = (struct pairing){ .now = now, .next = pairing->next };
	for (size_t i = 0; i < count; i++) {
		size_t at = (pairing->next + i) % count;

		if (!strcmp(session->processes.items[at]->directory, now->directory)) {
			pairing->before = session->processes.items[at];
			pairing->next = at + 1;
			break;
		}
	}
	return pairing->before;
}

/* The same thread of the session as it was; NULL: it is new, or its first segments went, so that its events have other positions. */
static struct ada_zoom_thread *find_before(const struct ada_zoom *zoom, const struct ada_zoom_thread *now, struct pairing *pairing)
{
	const struct ada_process *process = process_before(zoom->session, now->thread->process, pairing);
	const struct ada_thread *thread = process ? ada_process_thread(process, now->thread->number) : NULL;
	struct ada_zoom_thread *before = thread ? &zoom->threads[thread - zoom->session->threads.items] : NULL;

	if (!before || !before->builder || before->first_segment != now->first_segment || before->live != now->live)
		return NULL;
	return (before->whole ? before->read == now->thread->count : before->read <= now->thread->count) ? before : NULL;
}

int ada_zoom_follow(struct ada_zoom *zoom, const struct ada_session *session)
{
	struct pairing pairing = {};
	struct ada_zoom next;
	uint64_t done = 0;

	if (ada_zoom_open(&next, session))
		return -ENOMEM;
	for (size_t i = 0; i < next.thread_count; i++) {
		struct ada_zoom_thread *before = find_before(zoom, &next.threads[i], &pairing), now = next.threads[i];

		if (!before || !now.thread->events)
			continue;
		next.threads[i] = *before;
		next.threads[i].thread = now.thread;
		next.threads[i].builder->zoomed = &next.threads[i];
		for (size_t j = 0; j < next.threads[i].ahead.count; j++)
			next.threads[i].ahead.items[j]->thread = now.thread;
		*before = now;
		done += next.threads[i].read;
	}
	next.live = zoom->live;
	next.keeps = zoom->keeps;
	ada_zoom_close(zoom);
	*zoom = next;
	atomic_store(&zoom->done, done);
	return 0;
}

void ada_zoom_close(struct ada_zoom *zoom)
{
	for (size_t i = 0; i < zoom->thread_count; i++)
		ada_zoom_thread_close(&zoom->threads[i]);
	free(zoom->threads);
	*zoom = (struct ada_zoom){};
}
