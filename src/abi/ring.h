/* What agents and recorder do with a lane's pool in shared memory: maps of what is free, and rings of sealed chunks (where they lie:
 * abi/wire.h). Any thread of any process, any time; no locks, and no one waits for anyone: each may be preempted anywhere, on a busy
 * machine for longer than the others need for a whole lap of a ring, or killed.
 *
 *   map, a bit each, 1 = free
 *     ada_map_take      clears the lowest bit from `least` on (acquire: whoever set it has read what was there). From 0 on, as few as
 *                       possible are in use
 *     ada_map_give      sets it again (release)
 *     ada_map_has       is it free? (acquire)
 *
 *   ring. Place n is entry n % count: above, the lap, n / count + 1; below, the chunk's number
 *     ada_ring_put      compare-and-swap of the next entry (release: who finds it finds the chunk whole); then the head goes on
 *     ada_ring_at       what lies at a place (acquire)
 *     ada_ring_oldest   likewise, at the tail
 *     ada_ring_take     compare-and-swap of the tail (acquire, release): the oldest is the caller's
 *
 *                        a second put            a second take           the recorder's own tail (index lane, streaming)
 *     ada_ring_put       one gets the place,     in no one's way: a      likewise
 *                        the other the next one  chunk is in the ring
 *                                                once at most, so there
 *                                                is always room
 *     ada_ring_take                              one gets the chunk,     never both: agents take from that ring in circular mode
 *                                                the other looks again   only, and then the recorder doesn't
 *
 * A place is reserved and filled by the same store, and whoever finds one filled that the head has not passed moves the head. An entry
 * has its lap in it: who comes back after a lap finds another one there, and a store that comes too late fails. Entries are never
 * cleared; the tail says what has been taken, and given back where the recorder gives chunks back.
 */
#ifndef ADA_ABI_RING_H
#define ADA_ABI_RING_H
#include <stdbool.h>
#include <stdint.h>

static inline bool ada_map_take(uint64_t *map, uint32_t least, uint32_t count, uint32_t *number)
{
	uint64_t wanted = UINT64_MAX << least % 64;

	for (uint32_t word = least / 64; word < (count + 63) / 64; word++, wanted = UINT64_MAX) {
		uint64_t bits = __atomic_load_n(&map[word], __ATOMIC_RELAXED);

		while (bits & wanted) {
			uint64_t lowest = bits & wanted & -(bits & wanted);

			if (__atomic_compare_exchange_n(&map[word], &bits, bits & ~lowest, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
				*number = word * 64 + (uint32_t)__builtin_ctzll(lowest);
				return true;
			}
		}
	}
	return false;
}

static inline void ada_map_give(uint64_t *map, uint32_t number)
{
	__atomic_fetch_or(&map[number / 64], 1ull << number % 64, __ATOMIC_RELEASE);
}

static inline bool ada_map_has(const uint64_t *map, uint32_t number)
{
	return __atomic_load_n(&map[number / 64], __ATOMIC_ACQUIRE) >> number % 64 & 1;
}

struct ada_ring {
	uint64_t *entries, *head, *tail;
	uint32_t count;
};
#define ADA_RING_TRIES 1000 /* each means that another one got a chunk; but the memory is the program's */

static inline uint64_t ada_ring_entry(uint64_t place, uint32_t count, uint32_t number)
{
	return (place / count + 1) << 32 | number;
}

/* False: the place isn't filled yet, or was filled anew. */
static inline bool ada_ring_at(const struct ada_ring *ring, uint64_t place, uint32_t *number)
{
	uint64_t entry = __atomic_load_n(&ring->entries[place % ring->count], __ATOMIC_ACQUIRE);

	*number = (uint32_t)entry;
	return entry >> 32 == (uint32_t)(place / ring->count + 1);
}

static inline void ada_ring_put(const struct ada_ring *ring, uint32_t number)
{
	for (bool done = false; !done;) {
		uint64_t place = __atomic_load_n(ring->head, __ATOMIC_ACQUIRE);
		uint64_t *entry = &ring->entries[place % ring->count], filled = ada_ring_entry(place, ring->count, number);
		uint64_t found = __atomic_load_n(entry, __ATOMIC_ACQUIRE);

		/* Of an earlier lap: neither filled yet nor, where `place` was read long ago, by a later lap. */
		if ((int32_t)((uint32_t)(found >> 32) - (uint32_t)(filled >> 32)) < 0)
			done = __atomic_compare_exchange_n(entry, &found, filled, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
		__atomic_compare_exchange_n(ring->head, &place, place + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}

/* False: the ring is empty. *tail is what ada_ring_take wants to see unchanged. */
static inline bool ada_ring_oldest(const struct ada_ring *ring, uint64_t *tail, uint32_t *number)
{
	for (uint32_t tries = 0; ring->count && tries < ADA_RING_TRIES; tries++) {
		bool filled;

		*tail = __atomic_load_n(ring->tail, __ATOMIC_ACQUIRE);
		filled = ada_ring_at(ring, *tail, number);
		if (*tail >= __atomic_load_n(ring->head, __ATOMIC_ACQUIRE))
			return false;
		if (filled)
			return true;
	}
	return false;
}

static inline bool ada_ring_take(const struct ada_ring *ring, uint64_t tail)
{
	return __atomic_compare_exchange_n(ring->tail, &tail, tail + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static inline bool ada_ring_take_oldest(const struct ada_ring *ring, uint32_t *number)
{
	uint64_t tail;

	for (uint32_t tries = 0; tries < ADA_RING_TRIES && ada_ring_oldest(ring, &tail, number); tries++)
		if (ada_ring_take(ring, tail))
			return true;
	return false;
}
#endif
