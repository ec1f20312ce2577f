/* The genlock: the clock that all recordings share. */
#include "atf.h"

#include <time.h>

uint64_t ada_get_timestamp_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
