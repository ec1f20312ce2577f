/* Windows: which stretches of time of one provider keep their detail. Pure bookkeeping over ns of CLOCK_BOOTTIME; knows no
 * shared memory and writes no file. Main thread only.
 *
 *   mark --> window opened, or widened where they overlap --> tick: closed once its post-roll is over --> settled: its
 *   records are in the files, bounds and counts are final
 *
 * Windows never overlap: those that come to overlap (or touch) are merged, into the older id. A window that is being written (frozen)
 * can't begin earlier any more, and says so. A hole (detail that was not captured or is gone) cuts a window in two, or shortens it: so no
 * window ever has a hole inside.
 */
#ifndef ADA_RECORDER_WINDOW_H
#define ADA_RECORDER_WINDOW_H
#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

#define ADA_WINDOW_MARKS_KEPT 1000 /* of each window, the first ones; markedCount counts all */
#define ADA_WINDOW_MARKS_FEW 10	   /* once all windows together keep ADA_WINDOWS_MARKS_KEPT */
#define ADA_WINDOWS_MARKS_KEPT 100000
#define ADA_WINDOW_OPEN UINT64_MAX

struct ada_window_mark {
	uint64_t ns;
	uint64_t rules;	    /* slots */
	uint32_t version;   /* of the policy */
	uint32_t thread;    /* UINT32_MAX: none */
	uint32_t segment;   /* index file that index_seq counts in */
	uint64_t index_seq; /* UINT64_MAX: no event, or its place is not known yet */
	uint64_t seq;	    /* the same as the ring counts */
	uint64_t function_id, value;
	uint64_t key, begin_ns; /* of a rule of spans; begin_ns 0: of none */
	uint32_t begin_thread;
	uint64_t more;		   /* how many further marks this one stands for (the ring was full) */
	bool none;		   /* no mark at all: it only keeps all (--detail-mode=streaming) */
	uint64_t start_ns, end_ns; /* the window that the mark asks for; end ADA_WINDOW_OPEN: its post-roll, in events, goes on */
	uint64_t ticket;	   /* with an open end: names it for whoever resolves it. Several marks may share a ticket */
	uint64_t pre_ns, pre_events, post_ns, post_events; /* the rolls that were asked for */
	uint64_t pin_start;				   /* chunks were pinned for the mark from this counter on */
	uint32_t shorts;				   /* reasons known from the start: its thread had no more events before it */
};

enum ada_window_short {				/* bits: why a window has less than was asked */
			ADA_SHORT_STARTUP = 1,	/* recording began after its pre-roll would have */
			ADA_SHORT_OVERRUN = 2,	/* the buffer no longer held the pre-roll */
			ADA_SHORT_EXIT = 4,	/* the process ended in the post-roll */
			ADA_SHORT_STARVED = 8,	/* no free chunk: detail was not captured; the window was cut there */
			ADA_SHORT_STOPPED = 16, /* the recording was ended */
			ADA_SHORT_FROZEN = 32,	/* it was being written when a longer pre-roll was asked for */
			ADA_SHORT_DISK = 64,	/* some of its records could not be written */
			ADA_SHORT_THREAD = 128, /* its thread ended in a post-roll counted in events */
			ADA_SHORT_LOST = 256,	/* the index lost events that may have belonged to it */
			ADA_SHORT_LATE = 512,	/* events were committed when it was written, and drained when their detail was gone */
			ADA_SHORT_QUIET = 1024, /* no event came for a second in a post-roll counted in events */
			ADA_SHORT_OVERWRITTEN = 2048, /* beside OVERRUN: it was the index that held it no more (--index-mode=circular) */
};

struct ada_window {
	uint32_t id;		   /* position in the manifest, by start; final once this window and all before it are frozen or settled */
	uint64_t start_ns, end_ns; /* as cut so far, inclusive; end ADA_WINDOW_OPEN */
	uint64_t marked_ns, last_marked_ns;		   /* outside the bounds where a hole took the marked event's detail */
	uint64_t asked_start_ns, asked_end_ns;		   /* as the marks asked, before any cut */
	uint64_t pre_ns, pre_events, post_ns, post_events; /* the longest rolls of its marks */
	uint64_t pin_start;				   /* the lowest pin_start of its marks; UINT64_MAX: none */
	uint64_t rules;					   /* slots of all marks */
	uint32_t version;				   /* of the policy at its first mark */
	uint32_t shorts;				   /* enum ada_window_short */
	uint64_t sufficient_bytes; /* size of a detail buffer that would have held the window; 0: the buffer did, or not known */
	uint64_t marked_count;
	ADA_ARRAY(struct ada_window_mark) marks;
	uint64_t lost;	      /* events that the index lost, at most, once it is settled (ADA_SHORT_LOST) */
	bool bare;	      /* what lies around it is kept no more */
	bool aged;	      /* some of it has gone: --disk-limit, --detail-limit */
	uint64_t aged_count;  /* records that have */
	uint64_t unwritten;   /* records that couldn't be written (ADA_SHORT_DISK) */
	uint64_t event_count; /* records written, all threads, and still there; whoever writes sets it, and: */
	uint64_t written_ns;  /* records up to here are written: a post-roll whose end is known late takes nothing back */
	/* The engine sets `closed`; whoever writes sets `frozen` (the first record is written) and `settled`, in order of start. A
	 * settled window's bounds never change. A frozen and closed window isn't extended either: a new window begins right behind it. */
	bool closed, frozen, settled;
};

struct ada_windows;
/* start_ns: when recording began; nothing reaches back further. */
struct ada_windows *ada_windows_open(uint64_t start_ns);
void ada_windows_close(struct ada_windows *windows);
int ada_windows_mark(struct ada_windows *windows, const struct ada_window_mark *mark); /* 0 or -ENOMEM */
/* The post-roll of all marks with this ticket ends here. `shorts`: why earlier than asked; 0: as asked. */
void ada_windows_resolve(struct ada_windows *windows, uint64_t ticket, uint64_t end_ns, uint32_t shorts);
/* Some thread has no detail between the two times (inclusive). `why`: ADA_SHORT_OVERRUN, with or without OVERWRITTEN, or ADA_SHORT_STARVED. The hole is remembered:
 * windows of later marks are cut, too. A hole changes no settled window: the caller tells holes before. True where any window changed:
 * one that was moved behind this hole may have come into another hole. */
bool ada_windows_hole(struct ada_windows *windows, uint64_t from_ns, uint64_t to_ns, enum ada_window_short why);
/* Closes windows that are over at now_ns. True where any window was closed. */
bool ada_windows_tick(struct ada_windows *windows, uint64_t now_ns);
/* The process has ended, or recording has: open windows close here. */
void ada_windows_end(struct ada_windows *windows, uint64_t end_ns, enum ada_window_short why);
/* By start. Pointers hold until the next call that may change the list. */
size_t ada_windows_count(const struct ada_windows *windows);
struct ada_window *ada_windows_at(const struct ada_windows *windows, size_t i);
/* The window that holds the time, or NULL. */
struct ada_window *ada_windows_of(const struct ada_windows *windows, uint64_t ns);
/* Does any window hold some of the time between the two? */
bool ada_windows_any(const struct ada_windows *windows, uint64_t from_ns, uint64_t to_ns);
#endif
