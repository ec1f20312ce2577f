#include "recorder/process/stock.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "recorder/host/limit.h"
#include "recorder/index/space.h"

#define AT_START 1u		  /* for the program, or for the next one that is executed */
#define AT_MOST 4u		  /* once there are children of forks */
#define FUNCTIONS 16384u	  /* few programs have more */
#define PLENTY_BYTES (1ull << 30) /* the recorder may take so much more: nobody has yet what lies ready */
#define LOOK_AGAIN_S 1		  /* after a look that found less */

struct ready {
	struct ada_segment segment;
	int agent_fd;
};

struct ada_stock {
	struct ada_recorder *recorder;
	struct ada_segment_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct ready ready[AT_MOST];
	size_t count, wanted;
	bool quit;
};

struct ada_segment_options ada_stock_options(const struct ada_recorder *recorder)
{
	const struct ada_trace_options *options = recorder->options;

	return (struct ada_segment_options){ .shared = &recorder->shared,
					     .index_buffer_bytes = options->index_buffer_bytes,
					     .index_mode = options->index_mode,
					     .on_full = options->on_full,
					     .detail_buffer_bytes = options->detail ? options->detail_buffer_bytes : 0,
					     .detail_stack_bytes = options->detail_stack_bytes,
					     .detail_mode = options->detail_mode,
					     .poison = options->poison };
}

/* Whether there is plenty of memory. Where a limit holds, even one shared with others, each process gets what is left when the process
 * comes, and nothing lies ready. */
static bool has_plenty(const struct ada_stock *stock)
{
	const struct ada_recorder *recorder = stock->recorder;
	uint64_t used = __atomic_load_n(&recorder->pool_bytes, __ATOMIC_RELAXED);
	struct statvfs room;

	return recorder->shared.own && ada_limit_room(getpid(), used) > PLENTY_BYTES && ada_space_left(getpid()) == UINT64_MAX &&
	       (fstatvfs(recorder->shared.directory, &room) || !room.f_blocks || room.f_bavail > room.f_blocks / 2);
}

static bool segment_make(const struct ada_stock *stock, struct ready *ready)
{
	if (!has_plenty(stock) || ada_segment_create(&ready->segment, &stock->options, &ready->agent_fd, NULL))
		return false;
	ada_segment_policy_ahead(&ready->segment, FUNCTIONS); /* a part that is missing is made when it is needed */
	return true;
}

static void discard(struct ready *ready)
{
	close(ready->agent_fd);
	ada_segment_destroy(&ready->segment);
}

static void wait_a_while(struct ada_stock *stock)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LOOK_AGAIN_S;
	pthread_cond_timedwait(&stock->changed, &stock->lock, &until);
}

static void *stock_fill(void *argument)
{
	struct ada_stock *stock = argument;
	struct ready ready;
	bool made;

	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 }); /* this thread never takes the CPU from the one that wakes it */
	pthread_mutex_lock(&stock->lock);
	while (!stock->quit) {
		if (stock->count >= stock->wanted) {
			pthread_cond_wait(&stock->changed, &stock->lock);
			continue;
		}
		pthread_mutex_unlock(&stock->lock);
		made = segment_make(stock, &ready);
		pthread_mutex_lock(&stock->lock);
		if (made)
			stock->ready[stock->count++] = ready;
		else if (!stock->quit)
			wait_a_while(stock);
	}
	pthread_mutex_unlock(&stock->lock);
	return NULL;
}

int ada_stock_open(struct ada_stock **result, struct ada_recorder *recorder, struct ada_error *error)
{
	struct ada_stock *stock = calloc(1, sizeof *stock);
	int status;

	if (!stock)
		return ada_error_system(error, ENOMEM, "memory");
	stock->recorder = recorder;
	stock->options = ada_stock_options(recorder);
	stock->wanted = AT_START;
	pthread_mutex_init(&stock->lock, NULL);
	pthread_cond_init(&stock->changed, NULL);
	status = pthread_create(&stock->thread, NULL, stock_fill, stock);
	if (status) {
		free(stock);
		return ada_error_system(error, status, "no thread");
	}
	*result = stock;
	return 0;
}

static bool is_as_wanted(const struct ada_stock *stock, const struct ada_segment_options *options)
{
	return !options->scarce && !options->no_small && options->index_buffer_bytes == stock->options.index_buffer_bytes &&
	       options->detail_buffer_bytes == stock->options.detail_buffer_bytes;
}

int ada_stock_take(struct ada_stock *stock, const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd)
{
	struct ready ready;
	bool found;
	int status;

	if (!stock || !is_as_wanted(stock, options))
		return -ENOENT;
	pthread_mutex_lock(&stock->lock);
	found = stock->count;
	if (found)
		ready = stock->ready[--stock->count];
	pthread_mutex_unlock(&stock->lock);
	if (!found)
		return -ENOENT;
	status = ada_segment_assign(&ready.segment, options);
	if (status) {
		discard(&ready);
		return status;
	}
	*segment = ready.segment;
	*agent_fd = ready.agent_fd;
	return 0;
}

void ada_stock_refill(struct ada_stock *stock, bool forks)
{
	if (!stock)
		return;
	pthread_mutex_lock(&stock->lock);
	if (forks)
		stock->wanted = AT_MOST;
	pthread_cond_signal(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
}

void ada_stock_close(struct ada_stock *stock)
{
	if (!stock)
		return;
	pthread_mutex_lock(&stock->lock);
	stock->quit = true;
	pthread_cond_signal(&stock->changed);
	pthread_mutex_unlock(&stock->lock);
	pthread_join(stock->thread, NULL);
	for (size_t i = 0; i < stock->count; i++)
		discard(&stock->ready[i]);
	pthread_mutex_destroy(&stock->lock);
	pthread_cond_destroy(&stock->changed);
	free(stock);
}
