/* Windows: which stretches of time of one provider keep their detail. Pure bookkeeping over ns of CLOCK_BOOTTIME; knows no
 * shared memory and writes no file. Main thread only.
 *
 *   mark --> window opened, or widened where they overlap --> tick: closed once its post-roll is over --> settled: its
 *   records are in the files, bounds and counts are final
 *
 * Windows never overlap: those that come to overlap (or touch) are merged, into the older id. A window that is being written
 * (frozen) can't begin earlier any more, and says so. A hole (detail that was not captured or is gone) inside a window cuts
 * it in two, or shortens it: so there is none inside a window, ever.
 */
#ifndef ADA_RECORDER_WINDOW_H
#define ADA_RECORDER_WINDOW_H
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

#define ADA_WINDOW_MARKS_KEPT 1000		/* of each window, the first ones; markedCount counts all */
#define ADA_WINDOW_OPEN UINT64_MAX

struct ada_window_mark {
	uint64_t ns;
	uint64_t rules;			/* slots */
	uint32_t version;		/* of the policy */
	uint32_t thread;		/* UINT32_MAX: none */
	uint32_t segment;		/* index file that index_seq counts in */
	uint64_t index_seq;		/* UINT64_MAX: no event */
	uint64_t function_id, value;
	uint64_t start_ns, end_ns;	/* the window that it asks for; end ADA_WINDOW_OPEN: its post-roll, in events, goes on */
	uint64_t ticket;		/* with an open end: whoever resolves it names this; else 0 */
};

enum ada_window_short {			/* bits: why a window has less than was asked */
	ADA_SHORT_STARTUP = 1,		/* recording began after its pre-roll would have */
	ADA_SHORT_OVERRUN = 2,		/* the buffer no longer held the pre-roll */
	ADA_SHORT_EXIT = 4,		/* the process ended in the post-roll */
	ADA_SHORT_STARVED = 8,		/* no free chunk: detail was not captured; the window was cut there */
	ADA_SHORT_STOPPED = 16,		/* the recording was ended */
	ADA_SHORT_FROZEN = 32,		/* it was being written when a longer pre-roll was asked for */
	ADA_SHORT_DISK = 64,		/* detail files can't be written */
};

struct ada_window {
	uint32_t id;			/* position in the manifest: windows are renumbered by start when settled */
	uint64_t start_ns, end_ns;	/* as cut so far; end ADA_WINDOW_OPEN */
	uint64_t marked_ns;		/* first mark */
	uint64_t asked_start_ns, asked_end_ns;	/* as the marks asked, before any cut */
	uint64_t rules;			/* slots of all marks */
	uint32_t version;		/* of the policy at its first mark */
	uint32_t shorts;		/* enum ada_window_short */
	uint64_t sufficient_bytes;	/* detail buffer that would have held it; 0: it did, or not known */
	uint64_t marked_count;
	ADA_ARRAY(struct ada_window_mark) marks;
	uint64_t event_count;		/* records written, all threads */
	bool closed, frozen, settled;
};

struct ada_windows;
/* start_ns: recording began then; nothing reaches back further. */
struct ada_windows *ada_windows_open(uint64_t start_ns);
void ada_windows_close(struct ada_windows *windows);
int ada_windows_mark(struct ada_windows *windows, const struct ada_window_mark *mark);	/* 0 or -ENOMEM */
void ada_windows_resolve(struct ada_windows *windows, uint64_t ticket, uint64_t end_ns);
/* No detail of some thread between the two (inclusive). `why`: ADA_SHORT_OVERRUN or ADA_SHORT_STARVED. */
void ada_windows_hole(struct ada_windows *windows, uint64_t from_ns, uint64_t to_ns, enum ada_window_short why);
/* Closes what is over at now_ns. True where any window was closed. */
bool ada_windows_tick(struct ada_windows *windows, uint64_t now_ns);
/* The process has ended, or recording has: what is open closes here. */
void ada_windows_end(struct ada_windows *windows, uint64_t end_ns, enum ada_window_short why);
/* By start. Pointers hold until the next call that may change the list. */
size_t ada_windows_count(const struct ada_windows *windows);
struct ada_window *ada_windows_at(const struct ada_windows *windows, size_t i);
/* The window that holds the time, or NULL. */
struct ada_window *ada_windows_of(const struct ada_windows *windows, uint64_t ns);
#endif
