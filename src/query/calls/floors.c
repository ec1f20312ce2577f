/* See floors.h. */
#include "query/calls/floors.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/sysinfo.h>

#define AHEAD_BLOCKS 64 /* read at a time, to have something to share out: 128 MiB */
#define WORKERS_MAX 8

struct learning { /* blocks from <= number < to, which workers take one after another */
	const struct ada_thread *thread;
	uint64_t to;
	atomic_uint_least64_t next;
};

/* The lowest depth in the block, and one more, for 0 says that nobody has read it. */
static uint32_t read_block(const struct ada_thread *thread, uint64_t number)
{
	uint64_t first = number * ADA_FLOOR_EVENTS, end = first + ADA_FLOOR_EVENTS, count;
	uint32_t low = UINT32_MAX - 1;

	for (uint64_t at = first; at < end; at += count) {
		const struct ada_event *events = atf_thread_run(thread->events, at, &count);

		count = count > end - at ? end - at : count;
		for (uint64_t i = 0; i < count; i++)
			low = events[i].call_depth < low ? events[i].call_depth : low;
	}
	atf_thread_release(thread->events, first, end);
	return low + 1;
}

static void *read_some(void *context)
{
	struct learning *learning = context;
	uint64_t number;

	while ((number = atomic_fetch_add(&learning->next, 1)) < learning->to)
		if (!atomic_load_explicit(&learning->thread->floors[number], memory_order_relaxed))
			atomic_store_explicit(&learning->thread->floors[number], read_block(learning->thread, number),
					      memory_order_relaxed);
	return NULL;
}

static void learn(const struct ada_thread *thread, uint64_t first, uint64_t to)
{
	struct learning learning = { .thread = thread, .to = to, .next = first };
	unsigned int wanted = (unsigned int)get_nprocs(), started = 0;
	pthread_t helpers[WORKERS_MAX];

	wanted = wanted > WORKERS_MAX ? WORKERS_MAX : wanted;
	while (started + 1 < wanted && !pthread_create(&helpers[started], NULL, read_some, &learning))
		started++;
	read_some(&learning); /* where no other starts, this thread does all */
	while (started)
		pthread_join(helpers[--started], NULL);
}

uint64_t ada_floors_skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound)
{
	uint64_t first = (from + ADA_FLOOR_EVENTS - 1) / ADA_FLOOR_EVENTS, number = position / ADA_FLOOR_EVENTS;

	if (!thread->floors || position % ADA_FLOOR_EVENTS || number <= first)
		return position;
	for (; number > first; number--) {
		uint32_t low = atomic_load_explicit(&thread->floors[number - 1], memory_order_relaxed);

		if (!low) {
			learn(thread, number - first > AHEAD_BLOCKS ? number - AHEAD_BLOCKS : first, number);
			low = atomic_load_explicit(&thread->floors[number - 1], memory_order_relaxed);
		}
		if (low <= bound) /* the lowest depth is below it */
			break;
	}
	return number * ADA_FLOOR_EVENTS;
}
