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

/* The two bits of an object among those of a block: of a hundred objects, each on two, few others have both. */
static void object_bits(uint64_t object, uint32_t bits[2])
{
	uint64_t hash = object * 0x9E3779B97F4A7C15u;

	bits[0] = (uint32_t)(hash >> 32) % (ADA_FLOOR_OBJECTS * 64);
	bits[1] = (uint32_t)(hash >> 48) % (ADA_FLOOR_OBJECTS * 64);
}

static bool has_object(const struct ada_floor *floor, const uint32_t bits[2])
{
	for (size_t i = 0; i < 2; i++)
		if (!(atomic_load_explicit(&floor->objects[bits[i] / 64], memory_order_relaxed) >> bits[i] % 64 & 1))
			return false;
	return true;
}

static uint32_t read_events(const struct ada_thread *thread, uint64_t first, uint64_t end, uint64_t objects[ADA_FLOOR_OBJECTS])
{
	uint32_t low = UINT32_MAX - 1;
	uint64_t count;

	for (uint64_t at = first; at < end; at += count) {
		const struct ada_event *events = atf_thread_run(thread->events, at, &count);

		count = count > end - at ? end - at : count;
		for (uint64_t i = 0; i < count; i++) {
			uint32_t bits[2];

			low = events[i].call_depth < low ? events[i].call_depth : low;
			if (events[i].event_kind != ADA_EVENT_OBJECT)
				continue;
			object_bits(events[i].function_id, bits);
			objects[bits[0] / 64] |= 1ull << bits[0] % 64;
			objects[bits[1] / 64] |= 1ull << bits[1] % 64;
		}
	}
	return low;
}

/* Whoever sees the depth sees the objects, too. */
static void read_block(const struct ada_thread *thread, uint64_t number)
{
	uint64_t first = number * ADA_FLOOR_EVENTS, objects[ADA_FLOOR_OBJECTS] = {};
	struct ada_floor *floor = &thread->floors[number];
	uint32_t low = read_events(thread, first, first + ADA_FLOOR_EVENTS, objects);

	for (size_t i = 0; i < ADA_FLOOR_OBJECTS; i++)
		atomic_store_explicit(&floor->objects[i], objects[i], memory_order_relaxed);
	atomic_store_explicit(&floor->depth, low + 1, memory_order_release);
	atf_thread_release(thread->events, first, first + ADA_FLOOR_EVENTS);
}

static void *read_some(void *context)
{
	struct learning *learning = context;
	uint64_t number;

	while ((number = atomic_fetch_add(&learning->next, 1)) < learning->to)
		if (!atomic_load_explicit(&learning->thread->floors[number].depth, memory_order_relaxed))
			read_block(learning->thread, number);
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

/* Passes over blocks whose lowest depth is `bound` at least, and that have no OBJECT of `object` (NULL: whatever they have). */
static uint64_t skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound, const uint64_t *object, bool learns)
{
	uint64_t first = (from + ADA_FLOOR_EVENTS - 1) / ADA_FLOOR_EVENTS, number = position / ADA_FLOOR_EVENTS;
	uint32_t bits[2] = {};

	if (!thread->floors || position % ADA_FLOOR_EVENTS || number <= first)
		return position;
	if (object)
		object_bits(*object, bits);
	for (; number > first; number--) {
		struct ada_floor *floor = &thread->floors[number - 1];
		uint32_t depth = atomic_load_explicit(&floor->depth, memory_order_acquire);

		if (!depth && learns) {
			learn(thread, number - first > AHEAD_BLOCKS ? number - AHEAD_BLOCKS : first, number);
			depth = atomic_load_explicit(&floor->depth, memory_order_acquire);
		}
		if (depth <= bound || (object && has_object(floor, bits)))
			break;
	}
	return number * ADA_FLOOR_EVENTS;
}

uint64_t ada_floors_skip(const struct ada_thread *thread, uint64_t position, uint64_t from, uint32_t bound)
{
	return skip(thread, position, from, bound, NULL, true);
}

uint64_t ada_floors_skip_without(const struct ada_thread *thread, uint64_t position, uint64_t from, uint64_t object, bool learns)
{
	uint64_t at = atf_thread_calls_from(thread->events, position);

	at = at > from ? at : from;
	return at < position ? at : skip(thread, position, from, 0, &object, learns);
}
