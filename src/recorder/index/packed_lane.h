/* The packed segments of one traced thread, as the main thread fills them; packers.h writes them.
 *
 *   reserve, commit: events into a run      submit: full runs on their way      flush: the run so far, too, as the file's tail
 *
 * Events lie in a run, in the arena, until the block that holds them is in the file. What is submitted must be noted before (abi/arena.h):
 * then a file never holds more than its note says, and file and runs together hold all of it.
 *
 * All functions return 0 or an -ATF_ERROR, as those of struct atf_index_writer, and errno EAGAIN where the disk can't just now.
 */
#ifndef ADA_RECORDER_PACKED_LANE_H
#define ADA_RECORDER_PACKED_LANE_H
#include "atf.h"

struct ada_arena_writer;
struct ada_packers;
struct ada_packed_lane;

struct ada_packed_options {
	struct ada_packers *packers;
	struct ada_arena_writer *arena; /* NULL: runs lie in the heap */
	struct atf_sink *sink;		/* opens and closes the files */
	struct ada_bound *bound;	/* is told of what is written; NULL: nobody asks */
	uint32_t number;		/* of the thread */
};
int ada_packed_lane_open(struct ada_packed_lane **packed, const struct ada_packed_options *options); /* 0 or -ENOMEM */
void ada_packed_lane_free(struct ada_packed_lane *packed);					     /* NULL is fine */
/* Events of the thread's plain segments, which come before the packed ones: which calls are open when those begin. */
int ada_packed_lane_pass(struct ada_packed_lane *packed, uint32_t thread_id, const struct ada_event *events, size_t count);

struct ada_packed_begin {
	const char *path;
	uint32_t thread_id;
	uint64_t max_events;	/* 0: as many as can be numbered */
	uint32_t note, segment; /* of the arena */
	uint64_t events;	/* that the thread had before */
};
int ada_packed_lane_begin(struct ada_packed_lane *packed, const struct ada_packed_begin *begin);
bool ada_packed_lane_is_open(const struct ada_packed_lane *packed);   /* NULL: it isn't */
uint64_t ada_packed_lane_bytes(const struct ada_packed_lane *packed); /* of the file, about: with what is on its way */
int ada_packed_lane_reserve(struct ada_packed_lane *packed, size_t count, struct ada_event **events, size_t *room);
void ada_packed_lane_commit(struct ada_packed_lane *packed, size_t count);
void ada_packed_lane_submit(struct ada_packed_lane *packed);	       /* behind each note; NULL is fine */
int ada_packed_lane_flush(struct ada_packed_lane *packed);	       /* likewise behind a note, which counts all that was committed */
bool ada_packed_lane_is_written(const struct ada_packed_lane *packed); /* all that was flushed is in the file; NULL: it is */
int ada_packed_lane_rest(struct ada_packed_lane *packed);
int ada_packed_lane_wake(struct ada_packed_lane *packed, const char *path);
int ada_packed_lane_end(struct ada_packed_lane *packed, bool has_detail); /* behind a note: closes the segment */

bool ada_packed_lane_is_raw(const struct ada_packed_lane *packed); /* behind that: blocks of it aren't compressed */

/* What a packer does (struct ada_packers_work). */
struct ada_packed_job;
struct atf_packer;
int ada_packed_lane_work(struct atf_packer *packer, const struct ada_packed_job *job, bool pressed);
/* Gives back the memory of what is done: now and then, between all others' calls. NULL is fine. */
void ada_packed_lane_reap(struct ada_packers *packers, struct ada_arena_writer *arena);
#endif
