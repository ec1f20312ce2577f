#include "recorder/host/own.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/file.h"
#include "recorder/host/usage.h"

#define IDLE_PART 20 /* a machine of which a smaller part idles is full */

bool ada_own_ticks(const char *text, uint64_t *idle, uint64_t *all)
{
	unsigned long long user, nice, system, idles, waits, interrupts, softly, stolen;

	if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idles, &waits, &interrupts, &softly,
		   &stolen) != 8)
		return false;
	*idle = idles + waits;
	*all = *idle + user + nice + system + interrupts + softly + stolen;
	return true;
}

void ada_own_note(struct ada_own *own, uint64_t now_ns, uint64_t cpu_ns, uint64_t idle, uint64_t all, double tick_ns)
{
	bool full = own->at_ns && all > own->all && (idle - own->idle) * IDLE_PART < all - own->all;

	own->share = full && own->full ? (double)(cpu_ns - own->cpu_ns) / ((double)(all - own->all) * tick_ns) : 0;
	own->at_ns = now_ns;
	own->cpu_ns = cpu_ns;
	own->idle = idle;
	own->all = all;
	own->full = full;
}

double ada_own_share(struct ada_own *own, uint64_t now_ns)
{
	uint64_t cpu_ns, idle, all;
	char *text = NULL;
	size_t length;

	if (own->at_ns && now_ns < own->at_ns + ADA_OWN_PERIOD_NS)
		return own->share;
	if (!ada_file_read("/proc/stat", &text, &length, NULL) && ada_own_ticks(text, &idle, &all) && ada_usage_cpu_ns(getpid(), &cpu_ns))
		ada_own_note(own, now_ns, cpu_ns, idle, all, 1e9 / (double)sysconf(_SC_CLK_TCK));
	free(text);
	return own->share;
}
