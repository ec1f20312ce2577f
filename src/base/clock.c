/* See clock.h.
 *
 *  ns |                      .'  true time
 *     |                   .*     <- meets it where the next calibration is expected
 *     |               . '/
 *     |           . '  a2        new anchor: on the line of a1, at or after the newest counter converted
 *     |       . ' __--
 *     |   . __--
 *     | a1
 *     +-------------------------- counter
 *
 * A calibration reads (counter, true ns) and estimates the true slope from the reading before. The line in force keeps all that it has
 * said. The new line starts on the old one, inclined so that it meets the true line one interval on. The inclination stays within a half
 * and twice the true slope, so that time never falls or stands still. Where the truth is more than a millisecond ahead (the machine slept
 * with its counter stopped), time steps forward to it. Where the counter itself fell (it slept, and was reset) anchors begin anew behind
 * those from before.
 *
 * Slopes are fixed point, 2^-56 ns a tick: a record costs one 64x64 multiplication, and an hour's rounding is far below
 * 1 ns. The double of an anchor is the authority, from which the multiplier follows.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/clock_source.h"

#define CLOCK_PAIRED_READS 16
#define CLOCK_INTERVAL_NS 100000000 /* what clock.h asks of callers */
#define CLOCK_BASELINE_NS 50000000  /* shorter ones would turn a reading's few ns into a wrong slope */
#define CLOCK_FIRST_NS 4000000	    /* but the first, which somebody waits for */
#define CLOCK_PAUSE_NS 1000000	    /* between two looks whether it is over */
#define CLOCK_STEP_NS 1000000
#define CLOCK_YOUNG_NS 10000000000 /* behind a fall of the counter: calibrations come much more often */
#define CLOCK_TOLERANCE_NS 100	   /* no new anchor while the line stays as near as this */
#define CLOCK_SLOPE_MAX 200.0	   /* ns a tick: less than what a multiplier can say */

struct ada_clock {
	struct ada_clock_source source;
	ADA_ARRAY(struct ada_clock_anchor) anchors;
	struct ada_clock_line line;	   /* the one used last */
	struct ada_clock_reading baseline; /* start of the measurement of the true slope */
	double true_slope;
	uint64_t calibrated_ns;
	uint64_t newest;	     /* highest counter converted */
	struct ada_clock_state past; /* falls of the counter */
};

uint64_t ada_clock_counter(void)
{
#ifdef __x86_64__
	/* Without the fence the counter may be read before what comes earlier in the program. */
	__builtin_ia32_lfence();
	return __builtin_ia32_rdtsc();
#else
	uint64_t counter;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(counter) : : "memory");
	return counter;
#endif
}

static uint64_t clock_now(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t ada_clock_boottime_ns(void)
{
	return clock_now(CLOCK_BOOTTIME);
}

uint64_t ada_clock_thread_ns(void)
{
	return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

bool ada_clock_process_ns(pid_t pid, uint64_t *ns)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
		return false;
	*ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	return true;
}

/* The tightest of several counter-time-counter sandwiches: an interrupt or a preemption widens one, never all. */
static struct ada_clock_reading clock_read(void *context)
{
	struct ada_clock_reading best = { 0 };
	uint64_t tightest = UINT64_MAX;

	for (int i = 0; i < CLOCK_PAIRED_READS; i++) {
		uint64_t before = ada_clock_counter();
		uint64_t ns = ada_clock_boottime_ns();
		uint64_t width = ada_clock_counter() - before;

		if (width < tightest) {
			tightest = width;
			best = (struct ada_clock_reading){ before + width / 2, ns };
		}
	}
	return best;
}

static void clock_pause(void *context)
{
	nanosleep(&(struct timespec){ .tv_nsec = CLOCK_PAUSE_NS }, NULL);
}

static const struct ada_clock_source clock_machine = { .read = clock_read, .pause = clock_pause };

static uint64_t clock_scale(uint64_t ticks, uint64_t multiplier)
{
	return (uint64_t)((unsigned __int128)ticks * multiplier >> ADA_CLOCK_SHIFT);
}

static uint64_t clock_multiplier(double slope)
{
	return (uint64_t)(slope * (double)((uint64_t)1 << ADA_CLOCK_SHIFT));
}

/* To the nanosecond. What lies before the first anchor is on its line too, drawn backwards. */
static uint64_t clock_line_ns(const struct ada_clock_line *line, uint64_t counter)
{
	if (counter < line->counter)
		return line->ns - clock_scale(line->counter - counter, line->multiplier);
	return line->ns + clock_scale(counter - line->counter, line->multiplier);
}

static struct ada_clock_line clock_line_at(const struct ada_clock *clock, uint64_t counter)
{
	const struct ada_clock_anchor *anchors = clock->anchors.items;
	bool young = counter < clock->past.young_until;
	/* anchors[low] is the last one at or before the counter, or the first, of those on its side of a fall */
	size_t low = young ? clock->past.fell : clock->past.before,
	       high = young || !clock->past.fell ? clock->anchors.count : clock->past.fell, end = high;
	uint64_t span;

	high = ada_first_not(i, low + 1, high, anchors[i].counter <= counter);
	low = high - 1;
	span = (high < end ? anchors[high].counter : young ? clock->past.young_until : UINT64_MAX) - anchors[low].counter;
	return (struct ada_clock_line){
		.counter = anchors[low].counter,
		.ns = anchors[low].ns,
		.multiplier = clock_multiplier(anchors[low].ns_per_tick),
		.span = span < ADA_CLOCK_SPAN ? span : ADA_CLOCK_SPAN,
		.kept = ~(clock->past.resolution_ns - 1),
	};
}

uint64_t ada_clock_ns(struct ada_clock *clock, uint64_t counter)
{
	if (counter > clock->newest)
		clock->newest = counter;
	if (!ada_clock_line_holds(&clock->line, counter))
		clock->line = clock_line_at(clock, counter);
	return clock_line_ns(&clock->line, counter) & clock->line.kept;
}

void ada_clock_round(struct ada_clock *clock, uint64_t resolution_ns)
{
	bool possible = resolution_ns && resolution_ns <= ADA_CLOCK_COARSEST && !(resolution_ns & (resolution_ns - 1));

	clock->past.resolution_ns = possible ? resolution_ns : 1;
	clock->line.span = 0; /* it is made anew for the next counter */
}

uint64_t ada_clock_resolution(const struct ada_clock *clock)
{
	return clock->past.resolution_ns;
}

struct ada_clock_line ada_clock_line(const struct ada_clock *clock)
{
	return clock->line;
}

void ada_clock_converted(struct ada_clock *clock, uint64_t newest)
{
	if (newest > clock->newest)
		clock->newest = newest;
}

/* Where memory for another anchor is missing, the line in force goes on: off by a little, never wrong in order. */
static void clock_anchor(struct ada_clock *clock, uint64_t counter, uint64_t ns, double slope)
{
	struct ada_clock_anchor anchor = { counter, ns, slope };

	if (ada_array_push(&clock->anchors, anchor))
		return;
	clock->line = clock_line_at(clock, counter);
}

static void clock_measure_slope(struct ada_clock *clock, struct ada_clock_reading now, uint64_t shortest_ns)
{
	if (now.ns - clock->baseline.ns < shortest_ns)
		return;
	clock->true_slope = (double)(now.ns - clock->baseline.ns) / (double)(now.counter - clock->baseline.counter);
	clock->baseline = now;
}

/* Ticks until the next calibration is to be expected: as many as since the last one. */
static double clock_expected_ticks(const struct ada_clock *clock, uint64_t interval_ns)
{
	if (interval_ns < CLOCK_INTERVAL_NS)
		interval_ns = CLOCK_INTERVAL_NS;
	return (double)interval_ns / clock->true_slope;
}

/* How far the next conversions may be ahead of a calibration. */
static uint64_t clock_young_ticks(const struct ada_clock *clock)
{
	return (uint64_t)((double)CLOCK_YOUNG_NS / clock->true_slope);
}

/* Starts a line on `old` that meets the truth `ticks` further on, unless `old` stays near enough until then. */
static void clock_incline(struct ada_clock *clock, const struct ada_clock_line *old, struct ada_clock_reading now, double ticks)
{
	double old_slope = clock->anchors.items[clock->anchors.count - 1].ns_per_tick, truth = clock->true_slope;
	uint64_t start = now.counter, start_ns;
	double error, slope;

	/* A record from further ahead can only be a torn one: it must not drag every thread's time along. */
	if (clock->newest > start && (double)(clock->newest - start) < ticks)
		start = clock->newest;
	start_ns = clock_line_ns(old, start);
	error = (double)(int64_t)(now.ns - start_ns) + (double)(start - now.counter) * truth;
	if (fabs(error) < CLOCK_TOLERANCE_NS && fabs(error + (truth - old_slope) * ticks) < CLOCK_TOLERANCE_NS)
		return;
	slope = fmin(fmax(truth + error / ticks, truth / 2), truth * 2);
	clock_anchor(clock, start, start_ns, slope);
}

/* The counter fell: the machine slept, and the counter began anew. Values read since are small, values that were read before and come
 * late are large, as long as the counter is far from where it was; by the time it comes near, all old values have been read. */
static void clock_begin_anew(struct ada_clock *clock, struct ada_clock_reading now)
{
	size_t before = clock->anchors.count;

	clock_anchor(clock, now.counter, now.ns, clock->true_slope);
	if (clock->anchors.count == before)
		return;
	clock->past.before = clock->past.fell;
	clock->past.fell = before;
	clock->newest = now.counter;
	clock->baseline = now;
	clock->calibrated_ns = now.ns;
	clock->past.young_until = now.counter + clock_young_ticks(clock);
	clock->line = clock_line_at(clock, now.counter);
}

void ada_clock_calibrate(struct ada_clock *clock)
{
	struct ada_clock_reading now = clock->source.read(clock->source.context);
	struct ada_clock_line line = clock_line_at(clock, clock->past.fell ? clock->past.young_until - 1 : UINT64_MAX);
	uint64_t interval_ns = now.ns - clock->calibrated_ns;

	if (now.ns <= clock->baseline.ns)
		return;
	if (now.counter < clock->baseline.counter) {
		clock_begin_anew(clock, now);
		return;
	}
	if (now.counter <= line.counter || now.counter == clock->baseline.counter)
		return;
	if (clock->past.fell)
		clock->past.young_until = now.counter + clock_young_ticks(clock);
	clock->calibrated_ns = now.ns;
	if ((int64_t)(now.ns - clock_line_ns(&line, now.counter)) > CLOCK_STEP_NS) {
		clock->baseline = now;
		clock_anchor(clock, now.counter, now.ns, clock->true_slope);
		return;
	}
	clock_measure_slope(clock, now, CLOCK_BASELINE_NS);
	clock_incline(clock, &line, now, clock_expected_ticks(clock, interval_ns));
}

int ada_clock_begin_source(struct ada_clock **clock, const struct ada_clock_source *source)
{
	struct ada_clock *new = calloc(1, sizeof *new);

	*clock = new;
	if (!new)
		return -ENOMEM;
	new->source = *source;
	ada_clock_round(new, 1);
	new->baseline = source->read(source->context);
	return 0;
}

int ada_clock_begin(struct ada_clock **clock)
{
	return ada_clock_begin_source(clock, &clock_machine);
}

int ada_clock_settle(struct ada_clock *clock)
{
	struct ada_clock_reading now = clock->source.read(clock->source.context);

	while (now.ns < clock->baseline.ns + CLOCK_FIRST_NS || now.counter <= clock->baseline.counter) {
		clock->source.pause(clock->source.context);
		now = clock->source.read(clock->source.context);
	}
	clock_measure_slope(clock, now, 1);
	clock->calibrated_ns = now.ns;
	clock_anchor(clock, now.counter, now.ns, clock->true_slope);
	return clock->anchors.count ? 0 : -ENOMEM;
}

size_t ada_clock_anchors(const struct ada_clock *clock, const struct ada_clock_anchor **anchors)
{
	*anchors = clock->anchors.items;
	return clock->anchors.count;
}

void ada_clock_state(const struct ada_clock *clock, struct ada_clock_state *state)
{
	*state = clock->past;
}

/* So that neither the multiplier nor the search for an anchor can go astray. */
static bool clock_could_be(const struct ada_clock_anchor *anchors, size_t count, const struct ada_clock_state *state)
{
	if (!count || state->fell >= count || state->before > state->fell)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!(anchors[i].ns_per_tick > 0 && anchors[i].ns_per_tick < CLOCK_SLOPE_MAX))
			return false;
	return true;
}

int ada_clock_rebuild(struct ada_clock **clock, const struct ada_clock_anchor *anchors, size_t count, const struct ada_clock_state *state)
{
	struct ada_clock *new;

	*clock = NULL;
	if (!clock_could_be(anchors, count, state))
		return -EINVAL;
	new = calloc(1, sizeof *new);
	if (!new)
		return -ENOMEM;
	new->source = clock_machine;
	new->past = *state;
	ada_clock_round(new, state->resolution_ns);
	if (ada_array_reserve(&new->anchors, count)) {
		free(new);
		return -ENOMEM;
	}
	memcpy(new->anchors.items, anchors, count * sizeof *anchors);
	new->anchors.count = count;
	new->true_slope = anchors[count - 1].ns_per_tick;
	*clock = new;
	return 0;
}

void ada_clock_close(struct ada_clock *clock)
{
	if (!clock)
		return;
	ada_array_free(&clock->anchors);
	free(clock);
}
