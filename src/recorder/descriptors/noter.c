#include "recorder/descriptors/noter.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "recorder/descriptors/noted.h"
#include "recorder/policy/policy.h"
#include "recorder/state/provider.h"

#define LEAST_NS 20000000ull /* between two looks, at whatever process */
#define PART 50		     /* of the time, that it may look itself */

struct ada_noter {
	struct ada_recorder *recorder;
	bool redacts; /* nobody knows which paths and addresses are meant: none is noted */
	pthread_mutex_t lock;
	pthread_cond_t news;
	ADA_ARRAY(struct ada_provider *) asked; /* each once, in order */
	bool runs, quit;
	pthread_t thread;
};

struct ada_noter *ada_noter_open(struct ada_recorder *recorder)
{
	struct ada_noter *noter = ada_policy_asked_captures(recorder->policy)->off ? NULL : calloc(1, sizeof *noter);
	pthread_condattr_t attributes;

	if (!noter)
		return NULL;
	noter->recorder = recorder;
	noter->redacts = ada_policy_asked_redactions(recorder->policy)->items.count;
	pthread_mutex_init(&noter->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&noter->news, &attributes);
	pthread_condattr_destroy(&attributes);
	return noter;
}

static size_t running(struct ada_recorder *recorder, pid_t *pids, size_t max)
{
	struct ada_provider *provider;
	size_t count = 0;

	for (size_t i = 0; count < max && (provider = ada_provider_at(recorder, i)); i++)
		if (!__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE))
			pids[count++] = provider->pid;
	return count;
}

/* One whose process has ended, or has become another program, says nothing: its number may be another's. */
static void look_at(struct ada_noter *noter, struct ada_provider *provider)
{
	struct ada_look look = { .pid = provider->pid, .addresses = !noter->redacts };
	pid_t others[ADA_LOOK_PROCESSES + 1];
	size_t count = running(noter->recorder, others, ADA_LOOK_PROCESSES + 1);
	json_object *object;

	if (!provider->noted)
		provider->noted = ada_noted_new();
	if (provider->noted && !ada_look_at(&look, others, count) && !ada_provider_gone(provider) &&
	    !__atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE) && !ada_noted_add(provider->noted, &look, !noter->redacts)) {
		object = ada_noted_json(provider->noted);
		ada_scribe_write(noter->recorder->scribe, &provider->descriptors, object, false);
	}
	ada_look_free(&look);
}

/* Called under the lock. */
static void pause_for(struct ada_noter *noter, uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	while (!noter->quit && !pthread_cond_timedwait(&noter->news, &noter->lock, &until))
		;
}

static void *noter_run(void *argument)
{
	struct ada_noter *noter = argument;

	pthread_setname_np(pthread_self(), "noter");
	pthread_mutex_lock(&noter->lock);
	while (!noter->quit) {
		struct ada_provider *provider;
		uint64_t took_ns;

		if (!noter->asked.count) {
			pthread_cond_wait(&noter->news, &noter->lock);
			continue;
		}
		provider = noter->asked.items[0];
		noter->asked.count--;
		memmove(noter->asked.items, noter->asked.items + 1, noter->asked.count * sizeof(struct ada_provider *));
		pthread_mutex_unlock(&noter->lock);
		took_ns = ada_clock_thread_ns();
		look_at(noter, provider);
		took_ns = ada_clock_thread_ns() - took_ns;
		pthread_mutex_lock(&noter->lock);
		pause_for(noter, took_ns * PART > LEAST_NS ? took_ns * PART : LEAST_NS);
	}
	pthread_mutex_unlock(&noter->lock);
	return NULL;
}

void ada_noter_ask(struct ada_noter *noter, struct ada_provider *provider)
{
	size_t i = 0;

	if (!noter || __atomic_load_n(&provider->gone_ns, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&noter->lock);
	while (i < noter->asked.count && noter->asked.items[i] != provider)
		i++;
	if (i == noter->asked.count && !ada_array_push(&noter->asked, provider))
		pthread_cond_signal(&noter->news);
	if (!noter->runs)
		noter->runs = !pthread_create(&noter->thread, NULL, noter_run, noter);
	pthread_mutex_unlock(&noter->lock);
}

void ada_noter_close(struct ada_noter *noter)
{
	if (!noter)
		return;
	pthread_mutex_lock(&noter->lock);
	noter->quit = true;
	pthread_cond_broadcast(&noter->news);
	pthread_mutex_unlock(&noter->lock);
	if (noter->runs)
		pthread_join(noter->thread, NULL);
	ada_array_free(&noter->asked);
	pthread_mutex_destroy(&noter->lock);
	pthread_cond_destroy(&noter->news);
	free(noter);
}
