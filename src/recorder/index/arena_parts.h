/* Between the files of the arena: arena.c writes it, arena_map.c lays it out and reads it. */
#ifndef ADA_RECORDER_ARENA_PARTS_H
#define ADA_RECORDER_ARENA_PARTS_H
#include <unistd.h>
#include "abi/page.h"
#include "recorder/index/arena.h"

void ada_arena_lay_out(struct ada_arena *header); /* offsets and size, from how many entries the tables have */
int ada_arena_map(struct ada_arena_map *map, const struct ada_arena *layout, int fd);
#endif
