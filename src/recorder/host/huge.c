#include "recorder/host/huge.h"
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REGIONS 64

/* linux/fs.h has these from Linux 6.7 on. */
struct scan {
	uint64_t size, flags, start, end, walk_end, regions, region_count, pages_most;
	uint64_t inverted, all_of, any_of, told;
};
struct region {
	uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
#define IS_HUGE (1u << 6)

uint64_t ada_huge_bytes(const void *start, uint64_t bytes)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t at = (uint64_t)start, end = at + bytes, huge = fd < 0 ? UINT64_MAX : 0;

	while (fd >= 0 && at < end) {
		struct region regions[REGIONS];
		struct scan scan = { .size = sizeof scan,
				     .start = at,
				     .end = end,
				     .regions = (uint64_t)regions,
				     .region_count = REGIONS,
				     .all_of = IS_HUGE,
				     .told = IS_HUGE };
		int count = ioctl(fd, SCAN, &scan);

		if (count < 0) {
			huge = UINT64_MAX;
			break;
		}
		for (int i = 0; i < count; i++)
			huge += regions[i].end - regions[i].start;
		if (scan.walk_end <= at)
			break;
		at = scan.walk_end;
	}
	if (fd >= 0)
		close(fd);
	return huge;
}
