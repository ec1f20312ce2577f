/* See floors.h. */
#include "query/calls/floors.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/sysinfo.h>
#include "atf/session/thread.h"

#define AHEAD_BLOCKS 64 /* read at a time, to have something to share out: 128 MiB */
#define WORKERS_MAX 8

struct learning { /* blocks from <= number < to, which workers take one after another */
	const struct ada_thread *thread;
	uint64_t to;
	atomic_uint_least64_t next;
};

/* What a block's word says: the lowest depth in it and one more (0: nobody has read it; DEPTH_MASK: that or more), and above that a bit for each
 * OBJECT event's object, the same one for some others. */
#define DEPTH_MASK 0xffffu
#define OBJECT_SHIFT 16

static uint32_t object_bit(uint64_t object)
{
	return 1u << (OBJECT_SHIFT + (object * 0x9E3779B97F4A7C15u >> 60));
}

static uint32_t read_block(const struct ada_thread *thread, uint64_t number)
{
	uint64_t first = number * ADA_FLOOR_EVENTS, end = first + ADA_FLOOR_EVENTS, count;
	uint32_t low = DEPTH_MASK - 1, objects = 0;

	for (uint64_t at = first; at < end; at += count) {
		const struct ada_event *events = atf_thread_run(thread->events, at, &count);

		count = count > end - at ? end - at : count;
		for (uint64_t i = 0; i < count; i++) {
			low = events[i].call_depth < low ? events[i].call_depth : low;
			if (events[i].event_kind == ADA_EVENT_OBJECT)
				objects |= object_bit(events[i].function_id);
		}
	}
	atf_thread_release(thread->events, first, end);
	return (low + 1) | objects;
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

/* Passes over blocks whose lowest depth is `bound` at least, and that have none of these objects. */
static uint64_t skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound, uint32_t objects)
{
	uint64_t first = (from + ADA_FLOOR_EVENTS - 1) / ADA_FLOOR_EVENTS, number = position / ADA_FLOOR_EVENTS;

	if (!thread->floors || position % ADA_FLOOR_EVENTS || number <= first)
		return position;
	for (; number > first; number--) {
		uint32_t word = atomic_load_explicit(&thread->floors[number - 1], memory_order_relaxed);

		if (!word) {
			learn(thread, number - first > AHEAD_BLOCKS ? number - AHEAD_BLOCKS : first, number);
			word = atomic_load_explicit(&thread->floors[number - 1], memory_order_relaxed);
		}
		if ((word & DEPTH_MASK) <= bound || word & objects)
			break;
	}
	return number * ADA_FLOOR_EVENTS;
}

uint64_t ada_floors_skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound)
{
	return skip(thread, position, from, bound, 0);
}

uint64_t ada_floors_skip_without(const struct ada_thread *thread, uint64_t position, uint64_t from, uint64_t object)
{
	uint64_t at = atf_thread_calls_from(thread->events, position);

	at = at > from ? at : from;
	return at < position ? at : skip(thread, position, from, 0, object_bit(object));
}
