/* One CPU's ring of perf records, and the next of them in terms of sched.atf. */
#ifndef ADA_RECORDER_SCHED_RING_H
#define ADA_RECORDER_SCHED_RING_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "abi/sched.h"

struct perf_event_mmap_page;

struct ada_sched_ring {
	int fd;
	uint16_t cpu;
	struct perf_event_mmap_page *page; /* the ring's data lie behind it; NULL: it is closed, and empty */
	uint64_t data_bytes, head, tail;   /* head: as last looked at */
	bool known;			   /* `next` is the event at the tail, which is next_bytes long */
	AtfSchedEvent next;
	uint64_t next_bytes;
};

/* Of a thread, and all that it begins. Whether the kernel counts faults that it meets for the program, too: only who may look into the kernel
 * gets those. 0 or -errno. */
int ada_sched_ring_open(struct ada_sched_ring *ring, pid_t pid, uint16_t cpu, uint32_t pages, bool kernel_faults);
/* A descriptor of another thread's event, whose records go to the same ring, or -errno. */
int ada_sched_ring_join(const struct ada_sched_ring *ring, pid_t pid, bool kernel_faults);
/* Its CPU is all that it knows then, and it may be opened again. What was closed may be. */
void ada_sched_ring_close(struct ada_sched_ring *ring);
/* Whether the kernel is to write records, of the threads that this descriptor's event follows; at first it isn't. None is on its way behind
 * this. */
void ada_sched_ring_record(int fd, bool on);
void ada_sched_ring_look(struct ada_sched_ring *ring); /* takes note of what came */
/* The next event; NULL: none has come. It stays until ada_sched_ring_pass. */
const AtfSchedEvent *ada_sched_ring_next(struct ada_sched_ring *ring);
void ada_sched_ring_pass(struct ada_sched_ring *ring);
#endif
