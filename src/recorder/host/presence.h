/* Tells agents that the recorder lives (abi/wire.h, struct ada_presence): a thread of its own, which does nothing else, holds the
 * page's robust futex and counts beats. So what the others wait for, a disk even, neither hides a death nor looks like one.
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
	int fd; /* of the page, for agents: nobody can write by it. -1: not open */
	int quit;
	struct ada_presence *page;
	pthread_t thread;
	bool running;
	sem_t held;
	struct robust_list_head list; /* the kernel's way to the page: the thread's alone, libc's is another */
	struct robust_list entry;
};

int ada_presence_open(struct ada_presence_held *presence, struct ada_error *error); /* where it stays until it is closed */
void ada_presence_close(struct ada_presence_held *presence);
#endif
