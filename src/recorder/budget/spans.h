/* The words of many flips, read and written while a process stands still: those of a page of code at once, for each system call takes as
 * long as ten words do. Of data only the words themselves: the kernel may write beside them (io_uring, aio) though all threads are stopped. */
#ifndef ADA_RECORDER_SPANS_H
#define ADA_RECORDER_SPANS_H
#include "recorder/budget/flip.h"

struct ada_span {
	uint64_t at;
	size_t bytes, offset; /* where its bytes are in `now` and `kept` */
	int status;	      /* 0: `now` is what is there; -EAGAIN: it wasn't looked at; -ESTALE: there is nothing */
	bool changed;
};
struct ada_spans {
	pid_t pid;
	int memory;
	ADA_ARRAY(struct ada_span) items; /* of the first flip's words first */
	ADA_ARRAY(size_t) of;		  /* each word's span, flip by flip */
	uint8_t *now, *kept;
};
/* Before the process stands still. 0 or -ENOMEM. */
int ada_spans_open(struct ada_spans *spans, pid_t pid, int memory, const struct ada_flip *flips, size_t count);
/* Reads them, until that time (boot time): flips, of which not all words were read or some are in neither form, get their status; `done`: those
 * before it are known. */
void ada_spans_read(struct ada_spans *spans, struct ada_flip *flips, size_t count, uint64_t until_ns);
/* Writes what is known of the words, until that time. Where one can't be written all is as before, and the flips have its error. */
void ada_spans_write(struct ada_spans *spans, struct ada_flip *flips, size_t count, uint64_t until_ns);
void ada_spans_close(struct ada_spans *spans);
/* Until when words may be read where so many threads are held until `deadline_ns`: what was read is written, and all are let go of by then.
 * 0: there is no time for any. */
uint64_t ada_pace_reads_until(const struct ada_pace *pace, size_t threads, uint64_t now_ns, uint64_t deadline_ns);
/* Until when words may be written: then all are let go of. */
uint64_t ada_pace_writes_until(const struct ada_pace *pace, size_t threads, uint64_t deadline_ns);
/* What one took. What the machine held up once counts no more than twice as much as was thought. */
void ada_pace_note(struct ada_pace *pace, size_t threads, uint64_t read_ns, uint64_t written_ns, uint64_t released_ns);
#endif
