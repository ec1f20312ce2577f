/* A line on stderr that says how far long work has come; only on a terminal, and not before half a second has passed. */
#ifndef ADA_BASE_PROGRESS_H
#define ADA_BASE_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct ada_progress {
	const char *what; /* "exporting" */
	uint64_t total;	  /* 0: not known */
	uint64_t next_ns; /* when to write again */
	bool enabled, shown;
};

void ada_progress_open(struct ada_progress *progress, const char *what, uint64_t total);
void ada_progress_at(struct ada_progress *progress, uint64_t done); /* cheap, but not for every event: reads the clock */
void ada_progress_close(struct ada_progress *progress);		    /* takes the line away */
#endif
