/* Progress of long work. */
#include "base/progress.h"
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "base/units.h"

#define FIRST_NS 500000000ull
#define INTERVAL_NS 100000000ull

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

void ada_progress_open(struct ada_progress *progress, const char *what, uint64_t total)
{
	*progress = (struct ada_progress){ .what = what, .total = total, .next_ns = now_ns() + FIRST_NS, .enabled = isatty(STDERR_FILENO) };
}

void ada_progress_at(struct ada_progress *progress, uint64_t done)
{
	char text[ADA_UNITS_TEXT], of[ADA_UNITS_TEXT];

	if (!progress->enabled || now_ns() < progress->next_ns)
		return;
	progress->next_ns = now_ns() + INTERVAL_NS;
	progress->shown = true;
	if (progress->total)
		fprintf(stderr, "\r\033[K%s: %s of %s (%.0f %%)", progress->what, ada_format_count(done, text),
			ada_format_count(progress->total, of), 100.0 * done / progress->total);
	else
		fprintf(stderr, "\r\033[K%s: %s", progress->what, ada_format_count(done, text));
}

void ada_progress_close(struct ada_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
