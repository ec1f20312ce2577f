/* Tells agents that the recorder lives (abi/wire.h, struct ada_presence): a thread that does nothing else holds the page's robust futex
 * and counts beats. So when the other threads wait, even for a disk, that neither hides a death nor looks like one.
 */
#ifndef ADA_RECORDER_PRESENCE_H
#define ADA_RECORDER_PRESENCE_H
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include "abi/wire.h"
#include "base/error.h"

struct ada_presence_held {
	int fd; /* of the page, read-only, for agents. -1: not open */
	int quit;
	struct ada_presence *page;
	pthread_t thread;
	bool running;
	sem_t held;
	struct robust_list_head list; /* the kernel's way to the page: only this thread has it, libc's list is another */
	struct robust_list entry;
};

int ada_presence_open(struct ada_presence_held *presence, struct ada_error *error); /* the page stays where it is until it is closed */
void ada_presence_close(struct ada_presence_held *presence);
#endif
