/* The arena of abi/arena.h: the recorder's main thread makes and writes it, whoever recovers maps it.
 *
 * A block gets its memory when it is taken, all at once, so that a lack of memory is an error, never a SIGBUS: the caller then takes the
 * heap. Blocks given back are taken again first, the last one before all; the system gets back the memory of all but a few free blocks.
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

/* Maps the arena of another process, shared. Checks the header's sizes and offsets and the counts *_used, but not the tables. -EINVAL: no
 * arena, or a damaged one; -ENODATA: it has no header yet, its recorder died at once. */
int ada_arena_attach(struct ada_arena_map *map, int fd, struct ada_error *error);
void ada_arena_detach(struct ada_arena_map *map);
static inline uint8_t *ada_arena_bytes(const struct ada_arena_map *map, uint32_t block)
{
	return map->memory + (uint64_t)block * ADA_ARENA_BLOCK_BYTES;
}
/* The slot that holds, copied. */
void ada_arena_lane_state(const struct ada_arena_lane *lane, struct ada_arena_lane_state *state);
/* A clock that converts as the recorder's would have (ada_clock_close). -EINVAL: the arena doesn't hold enough of it. */
int ada_arena_clock(const struct ada_arena_map *map, struct ada_clock **clock);
/* The segment options in a provider's note, without `shared`: for ada_segment_attach. */
struct ada_segment_options;
void ada_arena_geometry(const struct ada_arena_provider *provider, uint32_t number, struct ada_segment_options *options);

/* The other way round: what of the options a note has. */
void ada_arena_provider_of(const struct ada_segment_options *options, struct ada_arena_provider *provider);

/* --- the recorder ------------------------------------------------------------------------------------------------------- */

struct ada_arena_writer;
struct ada_arena_options {
	uint64_t space_bytes; /* addresses that the recorder has left, or a file may have; UINT64_MAX: no limit */
	uint64_t segment_events, start_ns;
	uint32_t index_mode;
};
/* Makes the session's arena and locks it. Where that fails the recording goes on without: all functions below take NULL for an arena
 * without blocks and notes. */
int ada_arena_open(struct ada_arena_writer **arena, const struct ada_shared *shared, const struct ada_arena_options *options,
		   struct ada_error *error);
int ada_arena_fd(const struct ada_arena_writer *arena); /* the descriptor that has the lock: for the keeper. -1: none */
void ada_arena_end(struct ada_arena_writer *arena);	/* all is on the disk */
void ada_arena_close(struct ada_arena_writer *arena);

void ada_arena_note_clock(struct ada_arena_writer *arena, const struct ada_clock *clock); /* behind each calibration */
/* The layout of segments that lie ready, before there are any. */
void ada_arena_note_ready(struct ada_arena_writer *arena, const struct ada_arena_provider *note);
/* Server threads, one at a time; the provider is STARTING then. */
void ada_arena_note_provider(struct ada_arena_writer *arena, uint32_t number, const struct ada_arena_provider *note);
void ada_arena_note_provider_state(struct ada_arena_writer *arena, uint32_t number, enum ada_arena_provider_state state);

/* A note's handle is its number + 1. 0 is no note: with 0 all of these do nothing. */
uint32_t ada_arena_lane_take(struct ada_arena_writer *arena, uint32_t provider, uint32_t id);
void ada_arena_lane_note(struct ada_arena_writer *arena, uint32_t note, const struct ada_arena_lane_state *state);
void ada_arena_lane_last(struct ada_arena_writer *arena, uint32_t note, const struct ada_shm_thread *last);
void ada_arena_lane_free(struct ada_arena_writer *arena, uint32_t note); /* its provider is FINISHED */

/* Memory for a piece of that lane's file: at most *bytes, which becomes the size it has (4 KiB to 256 KiB). NULL: there is none. */
uint8_t *ada_arena_block_take(struct ada_arena_writer *arena, uint32_t note, uint32_t segment, uint64_t offset, size_t *bytes);
void ada_arena_block_give(struct ada_arena_writer *arena, uint8_t *block); /* its bytes are in the file */
/* Memory for events of that lane's packed segment, at `offset` among its events unpacked. `bytes`: 16 KiB to 1 MiB, each twice the last; more
 * than 256 KiB take 1 MiB. NULL: there is none. */
uint8_t *ada_arena_run_take(struct ada_arena_writer *arena, uint32_t note, uint32_t segment, uint64_t offset, size_t bytes);
/* No more than the first `filled` bytes of the run will ever hold events: before the next run of the segment is taken, which begins there. */
void ada_arena_run_end(struct ada_arena_writer *arena, uint8_t *run, size_t bytes, size_t filled);
void ada_arena_run_give(struct ada_arena_writer *arena, uint8_t *run, size_t bytes); /* a block that holds them is in the file */
#endif
