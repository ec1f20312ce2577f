/* From the CPU's counter (TSC) to ns of CLOCK_BOOTTIME: piecewise linear, continuous and never falling.
 *
 * A clock is a list of anchors (counter, ns); between two anchors time runs straight, behind the last with the last slope.
 * A new anchor never contradicts what has been handed out: it lies on the line at or after the newest counter converted.
 * Source of the rule: DESIGN 3.10, 1 us an hour against clock_gettime(CLOCK_BOOTTIME).
 */
#ifndef ADA_BASE_CLOCK_H
#define ADA_BASE_CLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ada_clock_anchor {
	uint64_t counter;
	uint64_t ns;
	double ns_per_tick; /* from here to the next anchor */
};
struct ada_clock; /* one writer; conversions on the same thread, or under the owner's lock */

uint64_t ada_clock_counter(void);
uint64_t ada_clock_boottime_ns(void);
uint64_t ada_clock_thread_ns(void);		    /* CPU time of the calling thread */
bool ada_clock_process_ns(pid_t pid, uint64_t *ns); /* CPU time of all threads that the process has, or had. False: not to be had */
int ada_clock_begin(struct ada_clock **clock);	    /* its first calibration takes 4 ms from here on. Until it has settled it only closes */
int ada_clock_settle(struct ada_clock *clock);	    /* waits for what is left of them. 0 or -ENOMEM */
void ada_clock_calibrate(struct ada_clock *clock);  /* call it about every 100 ms while recording */
/* From here on times are rounded down to multiples of so many ns, a power of two of at most ADA_CLOCK_COARSEST (else they stay exact, as a clock
 * begins). What they are rounded from goes on as before. */
#define ADA_CLOCK_COARSEST 1024u
void ada_clock_round(struct ada_clock *clock, uint64_t resolution_ns);
uint64_t ada_clock_resolution(const struct ada_clock *clock);
uint64_t ada_clock_ns(struct ada_clock *clock, uint64_t counter);

/* A piece of the conversion, for a loop that has no time for a call each: as long as the line holds for a counter, ada_clock_line_ns is what
 * ada_clock_ns would say. The loop then tells the clock the highest counter that it has converted. */
struct ada_clock_line {
	uint64_t counter, ns, multiplier;
	uint64_t span; /* ticks that it holds for */
	uint64_t kept; /* bits of a time; the others are less than the clock's resolution */
};
#define ADA_CLOCK_SHIFT 56
/* No line holds for more: ticks have room for the shift that leaves their product's upper half. */
#define ADA_CLOCK_SPAN (1ull << ADA_CLOCK_SHIFT)
static inline bool ada_clock_line_holds(const struct ada_clock_line *line, uint64_t counter)
{
	return counter - line->counter < line->span;
}
static inline uint64_t ada_clock_line_ns(const struct ada_clock_line *line, uint64_t counter)
{
	uint64_t ticks = (counter - line->counter) << (64 - ADA_CLOCK_SHIFT);

	return (line->ns + (uint64_t)((unsigned __int128)ticks * line->multiplier >> 64)) & line->kept;
}
struct ada_clock_line ada_clock_line(const struct ada_clock *clock); /* the one used last */
void ada_clock_converted(struct ada_clock *clock, uint64_t newest);

size_t ada_clock_anchors(const struct ada_clock *clock, const struct ada_clock_anchor **anchors);
/* With the anchors, this makes a clock anew elsewhere, one that converts the same (but isn't calibrated). */
struct ada_clock_state {
	size_t fell, before;  /* the first anchor behind the counter's last fall, and behind the one before; 0: it never fell */
	uint64_t young_until; /* then: what is below was read behind that fall */
	uint64_t resolution_ns;
};
void ada_clock_state(const struct ada_clock *clock, struct ada_clock_state *state);
/* Also takes anchors that someone else wrote: wrong ones make wrong times, no more. -EINVAL: no clock can have been so. */
int ada_clock_rebuild(struct ada_clock **clock, const struct ada_clock_anchor *anchors, size_t count, const struct ada_clock_state *state);
void ada_clock_close(struct ada_clock *clock);
#endif
