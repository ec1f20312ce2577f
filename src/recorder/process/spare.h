/* Segments of processes that have ended. A short one's segment has memory for what such a process needs, and making that memory is most of
 * what a short process costs: emptied, it is the next one's. */
#ifndef ADA_RECORDER_SPARE_H
#define ADA_RECORDER_SPARE_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "recorder/index/segment.h"

#define ADA_SPARES 4

struct ada_spares {
	const struct ada_shared *shared;
	pthread_mutex_t lock;
	struct {
		struct ada_segment segment;
		uint32_t provider; /* whose name it has */
	} items[ADA_SPARES];
	size_t count, promised;
	bool open;  /* for more */
	bool taken; /* one, since ada_spares_tidy */
};

void ada_spares_open(struct ada_spares *spares, const struct ada_shared *shared);
/* Whether this segment, which nobody else has mapped or open, is wanted: then ada_spares_give follows, or
 * ada_spares_close. False: it has grown, there are enough, or none is wanted. */
bool ada_spares_want(struct ada_spares *spares, const struct ada_segment *segment);
/* Takes a segment that is wanted, with its name. */
void ada_spares_give(struct ada_spares *spares, struct ada_segment *segment, uint32_t provider);
/* As ada_segment_create of a brief process, which it spares. False: there is none that suits the options. */
bool ada_spares_take(struct ada_spares *spares, const struct ada_segment_options *options, struct ada_segment *segment, int *agent_fd);
/* Once in a while: lets those go that nobody takes. `wanted`: new segments can be made. */
void ada_spares_tidy(struct ada_spares *spares, bool wanted);
void ada_spares_close(struct ada_spares *spares);
#endif
