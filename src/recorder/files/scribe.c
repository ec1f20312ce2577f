#include "recorder/files/scribe.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "recorder/files/place.h"
#include "recorder/host/say.h"

#define THREADS 4
#define COST 20			    /* times what the last time took passes before a paper is written anew, */
#define PAUSE_MOST_NS 1000000000ull /* or this, where that was waiting */
#define TOLD_MOST 3		    /* files of a session that can't be written: it may have hundreds */

struct ada_scribe {
	pthread_mutex_t lock;
	pthread_cond_t news, done;
	struct ada_paper *head, *tail;
	size_t left; /* papers that wait or are being written */
	bool quit;
	size_t told;
	pthread_t threads[THREADS];
	size_t count; /* number of threads; 0: the caller writes */
};

/* session.json is one, and always told. */
static void tell_failure(struct ada_scribe *scribe, const struct ada_paper *paper, int status, const struct ada_error *error)
{
	bool is_full = status == -ENOSPC || status == -EDQUOT;
	const char *slash = strrchr(paper->path, '/');
	size_t told;

	if (slash && !strcmp(slash, "/session.json")) {
		ada_say("ada: %s\n", error->text);
		return;
	}
	told = __atomic_fetch_add(&scribe->told, 1, __ATOMIC_RELAXED);
	if (told < TOLD_MOST)
		ada_say("ada: %s\n", error->text);
	else if (told == TOLD_MOST)
		ada_say("ada: nor can other files%s\n", is_full ? ": make room there, or record elsewhere (--output=DIR)" : "");
}

static uint64_t pause_behind(uint64_t took_ns, uint64_t worked_ns)
{
	uint64_t pause_ns = COST * took_ns < PAUSE_MOST_NS ? COST * took_ns : PAUSE_MOST_NS;

	return COST * worked_ns > pause_ns ? COST * worked_ns : pause_ns;
}

/* Called under the lock, which is let go during the write. */
static void write_paper(struct ada_scribe *scribe, struct ada_paper *paper)
{
	struct ada_error error = { "" };
	json_object *object = paper->object;
	uint64_t start_ns, worked_ns;
	int status;

	paper->object = NULL;
	paper->soon = paper->first;
	paper->busy = true;
	pthread_mutex_unlock(&scribe->lock);
	start_ns = ada_clock_boottime_ns();
	worked_ns = ada_clock_thread_ns();
	status = ada_paper_replace(paper, object, &error);
	if (status && !paper->failed) /* again and again while the disk is in trouble */
		tell_failure(scribe, paper, status, &error);
	__atomic_store_n(&paper->failed, status != 0, __ATOMIC_RELEASE);
	__atomic_store_n(&paper->pause_ns, pause_behind(ada_clock_boottime_ns() - start_ns, ada_clock_thread_ns() - worked_ns),
			 __ATOMIC_RELEASE);
	__atomic_fetch_add(&paper->written, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&scribe->lock);
	paper->busy = false;
}

static void queue(struct ada_scribe *scribe, struct ada_paper *paper, bool first)
{
	paper->next = first ? scribe->head : NULL;
	if (first || !scribe->head)
		scribe->head = paper;
	else
		scribe->tail->next = paper;
	if (!paper->next)
		scribe->tail = paper;
	pthread_cond_signal(&scribe->news);
}

static void *scribe_run(void *argument)
{
	struct ada_scribe *scribe = argument;

	pthread_mutex_lock(&scribe->lock);
	for (;;) {
		struct ada_paper *paper = scribe->head;

		if (!paper && scribe->quit)
			break;
		if (!paper) {
			pthread_cond_wait(&scribe->news, &scribe->lock);
			continue;
		}
		scribe->head = paper->next;
		write_paper(scribe, paper);
		if (paper->object) { /* came meanwhile: no other thread may write it beside this one */
			queue(scribe, paper, false);
			continue;
		}
		__atomic_store_n(&paper->pending, false, __ATOMIC_RELEASE);
		scribe->left--;
		pthread_cond_broadcast(&scribe->done);
	}
	pthread_mutex_unlock(&scribe->lock);
	return NULL;
}

int ada_scribe_open(struct ada_scribe **result)
{
	struct ada_scribe *scribe = calloc(1, sizeof *scribe);

	*result = scribe;
	if (!scribe)
		return -ENOMEM;
	pthread_mutex_init(&scribe->lock, NULL);
	pthread_cond_init(&scribe->news, NULL);
	pthread_cond_init(&scribe->done, NULL);
	while (scribe->count < THREADS && !pthread_create(&scribe->threads[scribe->count], NULL, scribe_run, scribe))
		scribe->count++;
	return 0;
}

void ada_scribe_write(struct ada_scribe *scribe, struct ada_paper *paper, json_object *object, bool first)
{
	pthread_mutex_lock(&scribe->lock);
	json_object_put(paper->object);
	paper->object = object;
	paper->first = first;
	if (!scribe->count) {
		write_paper(scribe, paper);
	} else if (!paper->pending) {
		__atomic_store_n(&paper->pending, true, __ATOMIC_RELEASE);
		scribe->left++;
		queue(scribe, paper, first);
	}
	pthread_mutex_unlock(&scribe->lock);
}

void ada_scribe_wait(struct ada_scribe *scribe)
{
	pthread_mutex_lock(&scribe->lock);
	while (scribe->left)
		pthread_cond_wait(&scribe->done, &scribe->lock);
	pthread_mutex_unlock(&scribe->lock);
}

void ada_scribe_close(struct ada_scribe *scribe)
{
	if (!scribe)
		return;
	pthread_mutex_lock(&scribe->lock);
	scribe->quit = true;
	pthread_cond_broadcast(&scribe->news);
	pthread_mutex_unlock(&scribe->lock);
	for (size_t i = 0; i < scribe->count; i++)
		pthread_join(scribe->threads[i], NULL);
	pthread_mutex_destroy(&scribe->lock);
	pthread_cond_destroy(&scribe->news);
	pthread_cond_destroy(&scribe->done);
	free(scribe);
}
