#include "cli/live/errand.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/ground/live.h"

struct ada_errand {
	pthread_t thread;
	bool ended; /* the thread was joined */
	struct ada_live live;
	char *rule; /* NULL: a mark */
	int result;
	struct ada_error error;
	struct ada_live_mark mark;
	struct ada_live_rule added;
};

static void *errand_run(void *context)
{
	struct ada_errand *errand = context;

	errand->result = errand->rule ? ada_live_add_rule(&errand->live, errand->rule, &errand->added, &errand->error) :
					ada_live_mark(&errand->live, NULL, &errand->mark, &errand->error);
	return NULL;
}

static void errand_release(struct ada_errand *errand)
{
	free(errand->rule);
	free(errand);
}

int ada_errand_begin(struct ada_errand **errand_out, const char *session, const char *rule, struct ada_error *error)
{
	struct ada_errand *errand = calloc(1, sizeof *errand);
	int result;

	*errand_out = NULL;
	if (errand && rule)
		errand->rule = strdup(rule);
	if (!errand || (rule && !errand->rule)) {
		free(errand);
		return ada_error_set(error, ENOMEM, "out of memory");
	}
	result = ada_live_find(&errand->live, session, error);
	if (!result && pthread_create(&errand->thread, NULL, errand_run, errand))
		result = ada_error_set(error, EAGAIN, "can't start a thread");
	if (result)
		errand_release(errand);
	else
		*errand_out = errand;
	return result;
}

bool ada_errand_wait(struct ada_errand *errand, unsigned int ms)
{
	struct timespec until;

	if (errand->ended)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	errand->ended = !pthread_timedjoin_np(errand->thread, NULL, &until);
	return errand->ended;
}

int ada_errand_result(const struct ada_errand *errand, char *said, size_t size, struct ada_error *error)
{
	unsigned long long processes = errand->mark.processes, id = errand->added.id;

	if (errand->result) {
		*error = errand->error;
		return errand->result;
	}
	if (!errand->rule)
		snprintf(said, size, processes == 1 ? "marked in %llu process" : "marked in %llu processes", processes);
	else if (*errand->added.warning)
		snprintf(said, size, "rule %llu: %s", id, errand->added.warning);
	else
		snprintf(said, size, "rule %llu is in force", id);
	return 0;
}

void ada_errand_close(struct ada_errand *errand)
{
	if (!errand)
		return;
	if (errand->ended)
		errand_release(errand);
	else
		pthread_detach(errand->thread);
}
