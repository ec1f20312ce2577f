/* What a dead recorder's shared memory still holds, for the parts of a recovery: abi/arena.h says what is where.
 *
 *   salvage.c          which processes, in which order; what is told of them
 *   salvage_files.c    a thread's file: what of it counts, and the blocks that were not written yet
 *   salvage_packed.c   the same of a packed file
 *   salvage_chunks.c   the events that nobody had taken out of a segment, into files of their own behind those
 *   salvage_ready.c    segments that fork's children took, and of which the recorder had not heard yet
 *   salvage_first.c    the manifest of a process whose recorder had written none
 *
 * The arena says what of the files counts, and nothing here changes the arena: whatever came behind that is taken back and done anew. So
 * a recovery that was interrupted simply begins again.
 */
#ifndef ADA_RECOVER_SALVAGE_H
#define ADA_RECOVER_SALVAGE_H
#include "recorder/index/arena.h"
#include "recorder/index/drain.h"
#include "recorder/index/sink.h"
#include "recover/internal.h"

/* A thread's note, and its blocks that are not in the file. */
struct ada_salvage_note {
	uint32_t provider, id, lane;
};
struct ada_salvage_block {
	uint64_t lane;
	uint32_t block;
};

/* A segment that lay ready and that a process took (abi/ready.h). */
struct ada_salvage_ready {
	uint32_t number, parent;
	uint64_t taken_ns;
	struct ada_arena_provider note; /* as the recorder would have written it */
};

struct ada_salvage {
	struct ada_recovery *recovery;
	struct ada_shared shared;
	struct ada_arena_map map;
	struct ada_clock *clock;
	struct ada_sink *sink;
	struct ada_drain *drain;		    /* that is being emptied */
	ADA_ARRAY(struct ada_salvage_note) notes;   /* by provider and id */
	ADA_ARRAY(struct ada_salvage_block) blocks; /* by lane */
	ADA_ARRAY(struct ada_salvage_ready) ready;  /* in the order in which they were taken */
};

struct ada_salvage_process {
	struct ada_salvage *salvage;
	const struct ada_arena_provider *note;
	uint32_t number;
	uint32_t ready; /* number of its segment, which lay ready and has that name still; 0: it has its provider's, or `note` tells */
	char path[PATH_MAX];
	const struct ada_salvage_note *notes;
	size_t note_count;
	struct ada_salvaged *result;
	bool has_events;
};

/* Maps its segment. 0 or -errno. */
int ada_salvage_attach(const struct ada_salvage_process *process, struct ada_segment *segment, struct ada_error *error);
/* Whoever has one of them records no more. True: there are any. */
bool ada_salvage_ready_stop(const struct ada_salvage *salvage);
/* Lists those that have events and no note of the arena's. 0 or -ENOMEM. */
int ada_salvage_ready_list(struct ada_salvage *salvage);
/* Makes the process's directory, with the names of functions that its parent has. 0 or -errno. */
int ada_salvage_ready_place(const struct ada_salvage *salvage, const struct ada_salvage_ready *ready, const char *path,
			    struct ada_error *error);

/* All of these return 0, or -errno for a failure that may not come again. */
int ada_salvage_files(const struct ada_salvage_process *process, struct ada_error *error);
/* Of one thread: its packed file, open for writing. */
int ada_salvage_packed(const struct ada_salvage_process *process, const struct ada_salvage_note *note,
		       const struct ada_arena_lane_state *state, int fd, const char *thread, struct ada_error *error);
int ada_salvage_chunks(struct ada_salvage_process *process, struct ada_error *error);
/* Gives a fork's child the names of functions that its parent has, as far as the recorder had not come to do that. */
void ada_salvage_names(const struct ada_salvage_process *process, const struct ada_segment *segment);
int ada_salvage_first_manifest(const struct ada_salvage_process *process, const struct ada_segment *segment, struct ada_error *error);
#endif
