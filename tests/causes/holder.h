/* A thread, begun by start_holder, that holds `lock` while it sleeps: what others of these programs wait for. */
#ifndef HOLDER_H
#define HOLDER_H
#include "causes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held; /* how many threads hold what others are to wait for */
static pthread_t holder;

OUT void compact(int us)
{
	usleep(us);
}

OUT void rebuild(void)
{
	pthread_mutex_lock(&lock);
	held++;
	compact(caused ? LONG_US : 1);
	pthread_mutex_unlock(&lock);
}

static void *background(void *unused)
{
	rebuild();
	return unused;
}

/* Waits until so many threads hold something. */
static void await_held(int count)
{
	while (held < count)
		usleep(100);
}

static void start_holder(void)
{
	pthread_create(&holder, NULL, background, NULL);
	await_held(1);
}

/* All of a program whose `serve` waits for the holder. */
static void serve_beside_holder(int argc, char **argv, void (*serve)(void))
{
	begin(argc, argv);
	start_holder();
	serve();
	pthread_join(holder, NULL);
	end();
}
#endif
