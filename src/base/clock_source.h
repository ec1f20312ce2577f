/* Private to the clock and its tests: where a clock reads the true time. */
#ifndef ADA_BASE_CLOCK_SOURCE_H
#define ADA_BASE_CLOCK_SOURCE_H
#include "base/clock.h"

struct ada_clock_reading {
	uint64_t counter;
	uint64_t ns; /* the true time at that counter */
};

struct ada_clock_source {
	struct ada_clock_reading (*read)(void *context);
	void (*pause)(void *context); /* lets a few ms pass, while the first calibration waits for its end */
	void *context;
};

int ada_clock_begin_source(struct ada_clock **clock, const struct ada_clock_source *source);
#endif
