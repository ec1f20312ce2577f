/* A segment for a test, in a shared memory of its own. */
#ifndef TESTS_RECORDER_MAKE_SEGMENT_H
#define TESTS_RECORDER_MAKE_SEGMENT_H
#include "../test.h"
#include "recorder/index/segment.h"

static inline void make_segment(struct ada_segment *segment, struct ada_segment_options options, int *agent_fd)
{
	struct ada_shared shared;
	struct ada_error error = { "" };

	assert_int_equal(ada_shared_open(&shared, &error), 0);
	options.shared = &shared;
	assert_int_equal(ada_segment_create(segment, &options, agent_fd, &error), 0);
	ada_shared_close(&shared);
}
#endif
