/* Takes hooks out of a running process, and puts them back: stops its threads as a late patch does, and writes their words. */
#ifndef ADA_RECORDER_FLIP_H
#define ADA_RECORDER_FLIP_H
#include "base/error.h"
#include "recorder/budget/words.h"

struct ada_flip {
	const struct ada_words *words;
	bool out;
	size_t first; /* the words before this one have that form, since an earlier stop */
	/* Filled in. 0: done. -EAGAIN: there was no time left for the words from `done` on: those before it have their form, the others either one.
	 * -EBUSY: a thread is in the bytes, or may come back into them. -ESTALE: the memory holds something else. Or another -errno. In all
	 * these cases the words are as they were */
	int status;
	size_t done;
};
/* What a process's earlier stops took, so that the next one is over in time: to let go of a thread, and to write for each ns of reading. */
struct ada_pace {
	double thread_ns, writing;
};
#define ADA_PACE_FIRST ((struct ada_pace){ 10000, 1.5 })

struct ada_flips {
	pid_t pid;
	int memory; /* /proc/PID/mem */
	struct ada_flip *items;
	size_t count;
	uint64_t limit_ns; /* so long the process may stand still, ... */
	uint64_t wait_ns;  /* ... and so long a process of one thread may take until it does */
	struct ada_pace *pace;
	uint64_t from_ns, to_ns; /* filled in: the hooks changed between the two (boot time), ... */
	uint64_t still_ns;	 /* ... how long the process stood still, ... */
	uint64_t cpu_ns;	 /* ... and the CPU time that this took: what is missing, ada waited for a CPU itself */
};
/* 0 where all threads could be stopped; each flip says what became of it. Else -errno with the reason, and nothing has changed. */
int ada_flips_run(struct ada_flips *flips, struct ada_error *error);
#endif
