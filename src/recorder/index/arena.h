/* What abi/arena.h describes: made and written by the recorder's main thread, mapped by whoever recovers.
 *
 * Blocks' memory is made when they are taken, all of a block at once, so that too little of it is an error, never a SIGBUS:
 * whoever asked then takes the heap. What was given back is taken again first, the one that was given back last before all; what
 * more than a few blocks have in reserve goes back to the system.
 */
#ifndef ADA_RECORDER_ARENA_H
#define ADA_RECORDER_ARENA_H
#include <stdbool.h>
#include <stddef.h>
#include "abi/arena.h"
#include "base/clock.h"
#include "base/error.h"
#include "recorder/index/shared.h"

/* Where the parts of a mapped arena are. */
struct ada_arena_map {
	struct ada_arena *header;
	struct ada_arena_provider *providers;
	struct ada_arena_lane *lanes;
	struct ada_arena_anchor *anchors;
	struct ada_arena_block *blocks;
	uint8_t *memory;
	uint64_t bytes;
};

/* --- whoever recovers --------------------------------------------------------------------------------------------------- */

/* Maps the arena of another process, shared. What the header says of sizes and offsets is checked, and so are the counts *_used; what
 * tables say is not. -EINVAL: it is none, or damaged; -ENODATA: it has no header yet, its recorder died at once. */
int ada_arena_attach(struct ada_arena_map *map, int fd, struct ada_error *error);
void ada_arena_detach(struct ada_arena_map *map);
static inline uint8_t *ada_arena_bytes(const struct ada_arena_map *map, uint32_t block)
{
	return map->memory + (uint64_t)block * ADA_ARENA_BLOCK_BYTES;
}
/* The slot that holds, copied. */
void ada_arena_lane_state(const struct ada_arena_lane *lane, struct ada_arena_lane_state *state);
/* A clock that converts as the recorder's would have (ada_clock_close). -EINVAL: what it was is not there. */
int ada_arena_clock(const struct ada_arena_map *map, struct ada_clock **clock);
/* Segment options of a provider's note, but for `shared`: for ada_segment_attach. */
struct ada_segment_options;
void ada_arena_geometry(const struct ada_arena_provider *provider, uint32_t number, struct ada_segment_options *options);

/* --- the recorder ------------------------------------------------------------------------------------------------------- */

struct ada_arena_writer;
struct ada_arena_options {
	uint64_t space_bytes; /* addresses that the recorder has left, or a file may have; UINT64_MAX: no limit */
	uint64_t segment_events, start_ns;
	uint32_t index_mode;
};
/* Makes the session's arena and locks it. Where that fails the recording goes on without: NULL is an arena for all that follows, which
 * has no block to take and no note. */
int ada_arena_open(struct ada_arena_writer **arena, const struct ada_shared *shared, const struct ada_arena_options *options,
		   struct ada_error *error);
int ada_arena_fd(const struct ada_arena_writer *arena); /* whose lock it is: for the keeper. -1: none */
void ada_arena_end(struct ada_arena_writer *arena);	/* all is on the disk */
void ada_arena_close(struct ada_arena_writer *arena);

void ada_arena_note_clock(struct ada_arena_writer *arena, const struct ada_clock *clock); /* behind each calibration */
/* Server threads, one at a time; the provider is STARTING then. */
void ada_arena_note_provider(struct ada_arena_writer *arena, uint32_t number, const struct ada_arena_provider *note);
void ada_arena_note_provider_state(struct ada_arena_writer *arena, uint32_t number, enum ada_arena_provider_state state);

/* A note's handle is its number + 1, so that 0 is none: what all of these take without doing anything. */
uint32_t ada_arena_lane_take(struct ada_arena_writer *arena, uint32_t provider, uint32_t id);
void ada_arena_lane_note(struct ada_arena_writer *arena, uint32_t note, const struct ada_arena_lane_state *state);
void ada_arena_lane_last(struct ada_arena_writer *arena, uint32_t note, const struct ada_shm_thread *last);
void ada_arena_lane_free(struct ada_arena_writer *arena, uint32_t note); /* its provider is FINISHED */

/* Memory for a piece of that lane's file: up to *bytes of it, which becomes what it has (16 KiB to 256 KiB). NULL: none is to be had. */
uint8_t *ada_arena_block_take(struct ada_arena_writer *arena, uint32_t note, uint32_t segment, uint64_t offset, size_t *bytes);
void ada_arena_block_give(struct ada_arena_writer *arena, uint8_t *block); /* its bytes are in the file */
#endif
