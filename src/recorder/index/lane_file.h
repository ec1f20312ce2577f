/* The file that a lane writes at the time, plain or packed: which kind, when the next one begins, what it holds after a failure. */
#ifndef ADA_RECORDER_LANE_FILE_H
#define ADA_RECORDER_LANE_FILE_H
#include "recorder/index/lane.h"

/* -errno for what a function of libatf returned, and the message of it. */
int ada_lane_told(int status, const struct ada_lane *lane, const char *directory, struct ada_error *error);
void ada_lane_take_note(struct ada_lane *lane, const struct ada_lane_options *options); /* once it has anything to note */
bool ada_lane_file_is_open(const struct ada_lane *lane);
int ada_lane_file_wake(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error);
/* Room for up to `count` events, in the next segment where this one is full. */
int ada_lane_file_reserve(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, size_t count,
			  struct ada_event **events, size_t *room, struct ada_error *error);
/* These events, which are there. The status is libatf's, as in what follows. */
int ada_lane_file_commit(struct ada_lane *lane, const struct ada_lane_options *options, const struct ada_event *events, size_t count);
int ada_lane_file_flush(struct ada_lane *lane);
/* Where it fails, and not with EAGAIN, the lane counts what the file really holds, and the rest as lost. `last`: the thread has ended. */
int ada_lane_file_close(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, bool last);
int ada_lane_file_roll(struct ada_lane *lane, const struct ada_lane_options *options, const char *directory, struct ada_error *error);
#endif
