#include "recorder/host/own.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"

/* Of which a smaller part than one in so many idles a machine is scarce of time, or full; and full until a larger part does than: */
#define IDLE_PART_SCARCE 10
#define IDLE_PART_FULL 5
#define IDLE_PART_SPARED 3 /* for once the recorder spares it, more idles */
#define IDLE_PART_LEFT 20

static bool read_ticks(const char *root, uint64_t *idle, uint64_t *all)
{
	unsigned long long user, nice, system, idles, waits, interrupts, softly, stolen;
	char path[PATH_MAX], *text;
	size_t length;
	bool found;

	if (ada_path(path, "%s/proc/stat", root) || ada_file_read(path, &text, &length, NULL))
		return false;
	found = sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idles, &waits, &interrupts, &softly,
		       &stolen) == 8;
	free(text);
	if (!found)
		return false;
	*idle = idles + waits;
	*all = *idle + user + nice + system + interrupts + softly + stolen;
	return true;
}

double ada_own_share(struct ada_own *own, const char *root, uint64_t now_ns, uint64_t cpu_ns)
{
	struct ada_own now = { .at_ns = now_ns, .cpu_ns = cpu_ns };

	if (own->at_ns && now_ns < own->at_ns + ADA_OWN_PERIOD_NS)
		return own->share;
	if (read_ticks(root, &now.idle, &now.all)) {
		uint64_t all = now.all - own->all, idle = now.idle - own->idle;

		now.scarce = own->at_ns && now.all > own->all && idle * IDLE_PART_SCARCE < all;
		now.full = own->at_ns && now.all > own->all && idle * (own->full ? IDLE_PART_SPARED : IDLE_PART_FULL) < all;
		now.leaves = now.full && idle * IDLE_PART_LEFT >= all;
		if (now.scarce && own->scarce)
			now.share = (double)(cpu_ns - own->cpu_ns) * (double)sysconf(_SC_CLK_TCK) / 1e9 / (double)(now.all - own->all);
		*own = now;
	}
	return own->share;
}
