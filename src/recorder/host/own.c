#include "recorder/host/own.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"

#define IDLE_PART 10 /* a machine of which a smaller part idles is full */

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
		now.full = own->at_ns && now.all > own->all && (now.idle - own->idle) * IDLE_PART < now.all - own->all;
		if (now.full && own->full)
			now.share = (double)(cpu_ns - own->cpu_ns) * (double)sysconf(_SC_CLK_TCK) / 1e9 / (double)(now.all - own->all);
		*own = now;
	}
	return own->share;
}
