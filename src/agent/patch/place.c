/* The loader's list as it was at the last look: which module each entry is, found by the entry's address. So a dlopen costs no more where
 * thousands of modules are loaded. A module that found the table of modules full is remembered, too, and counted once.
 *
 * A hash table, at most half full, searched from an entry's place on; it has one user at a time (patch.h).
 */
#include "agent/patch/patch.h"

extern struct r_debug _r_debug __attribute__((weak));

#define ROOM_FIRST 64u

static struct ada_place *places;
static uint32_t room, used; /* room: a power of two */

static uint32_t home_of(const struct link_map *map)
{
	return (uint32_t)(((uint64_t)map * 0x9E3779B97F4A7C15ull) >> 32) & (room - 1);
}

/* Where the entry is, or would be. */
static struct ada_place *slot_of(const struct link_map *map)
{
	uint32_t at = home_of(map);

	while (places[at].map && places[at].map != map)
		at = (at + 1) & (room - 1);
	return &places[at];
}

struct ada_place *ada_place_find(const struct link_map *map)
{
	struct ada_place *slot = room ? slot_of(map) : NULL;

	return slot && slot->map ? slot : NULL;
}

static bool grow(void)
{
	struct ada_place *before = places;
	uint32_t room_before = room, more = room ? 2 * room : ROOM_FIRST;
	struct ada_place *larger = ada_sys_map(more * sizeof *larger);

	if (!larger)
		return false;
	places = larger;
	room = more;
	for (uint32_t i = 0; i < room_before; i++)
		if (before[i].map)
			*slot_of(before[i].map) = before[i];
	if (before)
		ada_sys_unmap(before, room_before * sizeof *before);
	return true;
}

bool ada_place_put(const struct link_map *map, uint32_t id)
{
	if (2 * (used + 1) > room && !grow())
		return false;
	*slot_of(map) = (struct ada_place){ .map = map, .bias = map->l_addr, .id = id };
	used++;
	return true;
}

/* Entries behind a gap that would not be found any more move into it. */
static void take_out(uint32_t gap)
{
	for (uint32_t at = (gap + 1) & (room - 1); places[at].map; at = (at + 1) & (room - 1)) {
		uint32_t home = home_of(places[at].map);

		if (((at - home) & (room - 1)) < ((at - gap) & (room - 1)))
			continue;
		places[gap] = places[at];
		gap = at;
	}
	places[gap].map = NULL;
	used--;
}

void ada_places_keep(uint32_t round)
{
	for (uint32_t i = 0; i < room; i++)
		while (places[i].map && places[i].round != round)
			take_out(i);
}

uint32_t ada_places_refused(void)
{
	uint32_t refused = 0;

	for (uint32_t i = 0; i < room; i++)
		refused += places[i].map && places[i].id == ADA_NONE;
	return refused;
}

const struct link_map *ada_places_list(void)
{
	return &_r_debug ? _r_debug.r_map : NULL;
}

struct ada_place *ada_place_of(const struct link_map *map)
{
	struct ada_place *place = ada_place_find(map);

	return place && place->bias == map->l_addr ? place : NULL;
}

bool ada_module_changed(void)
{
	uint32_t listed = 0;

	for (const struct link_map *map = ada_places_list(); map; map = map->l_next, listed++)
		if (!ada_place_of(map))
			return true;
	return listed != used;
}

bool ada_module_settled(void)
{
	return &_r_debug && _r_debug.r_state == RT_CONSISTENT && !ada_module_changed();
}
