#include "recorder/detail/mark.h"
#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "recorder/detail/quiet.h"

#define STUCK_NS 1000000000ull		/* a place reserved but not written for so long is given up */
#define PLACES_MISSING 16		/* of a window, then the rest is looked up another time */
#define NO_THREAD_POST_NS 1000000000ull /* for a post-roll in events of a mark without thread */

struct post_roll { /* one a thread: the furthest that its marks asked for */
	uint32_t thread;
	uint64_t seq;	   /* ends with this event */
	uint64_t least_ns; /* but not before */
	uint64_t mark_ns;  /* of the last of its marks */
	struct ada_quiet quiet;
};

struct ada_marks {
	struct ada_segment *segment;
	struct ada_windows *windows;
	struct ada_mark_source source;
	ADA_ARRAY(struct post_roll) open;
	uint64_t tail;		       /* places before it are read */
	uint64_t read[ADA_MARKS / 64]; /* which places behind it are read: bit n % ADA_MARKS */
	uint64_t stuck, stuck_ns;      /* place that was not ready, and since when */
	size_t placed;		       /* so many windows are settled and have their marks' places */
	struct ada_mark_last last;
};

int ada_marks_open(struct ada_marks **result, struct ada_segment *segment, struct ada_windows *windows,
		   const struct ada_mark_source *source)
{
	struct ada_marks *marks = calloc(1, sizeof *marks);

	if (!marks)
		return -ENOMEM;
	marks->segment = segment;
	marks->windows = windows;
	marks->source = *source;
	marks->stuck = UINT64_MAX;
	*result = marks;
	return 0;
}

void ada_marks_close(struct ada_marks *marks)
{
	if (!marks)
		return;
	ada_array_free(&marks->open);
	free(marks);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* --- Times ------------------------------------------------------------------------------------------------------------- */

static uint64_t ns_of(const struct ada_marks *marks, uint64_t counter)
{
	return marks->source.ns(marks->source.context, counter);
}

/* For a counter that may lie before the clock's own beginning: its time would wrap round. */
static uint64_t ns_before(const struct ada_marks *marks, uint64_t counter, uint64_t bound)
{
	uint64_t ns = ns_of(marks, counter);

	return ns > bound ? 0 : ns;
}

/* The ns from which a rule's ticks were computed, to the very ns. */
static uint64_t roll_of(const struct ada_marks *marks, uint64_t ticks, uint64_t counter)
{
	uint64_t ns;

	if (!ticks)
		return 0;
	if (marks->source.ns_per_tick > 0)
		return (uint64_t)((double)ticks * marks->source.ns_per_tick + 0.5);
	ns = ns_of(marks, counter);
	return ticks < counter ? ns - ns_before(marks, counter - ticks, ns) : ns;
}

static enum ada_mark_answer time_of(const struct ada_marks *marks, uint32_t thread, uint64_t seq, uint64_t *ns)
{
	return marks->source.time(marks->source.context, thread, seq, ns);
}

/* Time of the event nearest to `seq` that is still there, looked for between `seq` and `known`, which is there. Older events go first. */
static uint64_t nearest(const struct ada_marks *marks, uint32_t thread, uint64_t seq, uint64_t known, uint64_t known_ns)
{
	while (known > seq ? known - seq > 1 : seq - known > 1) {
		uint64_t middle = known > seq ? seq + (known - seq) / 2 : known + (seq - known) / 2, ns;

		if (time_of(marks, thread, middle, &ns) == ADA_MARK_KNOWN) {
			known = middle;
			known_ns = ns;
		} else {
			seq = middle;
		}
	}
	return known_ns;
}

/* --- Rolls in events ---------------------------------------------------------------------------------------------------- */

static void pre_roll(const struct ada_marks *marks, const struct ada_mark *mark, struct ada_window_mark *window)
{
	uint64_t wanted = mark->pre_events <= mark->seq ? mark->seq - mark->pre_events : 0, ns;

	if (window->thread == ADA_NONE) {
		window->start_ns = 0; /* unknown: all that there is */
		return;
	}
	if (mark->pre_events > mark->seq)
		window->shorts |= ADA_SHORT_STARTUP;
	if (time_of(marks, mark->thread, wanted, &ns) != ADA_MARK_KNOWN) {
		ns = nearest(marks, mark->thread, wanted, mark->seq, window->ns);
		window->shorts |= ADA_SHORT_OVERRUN;
	}
	if (ns < window->start_ns)
		window->start_ns = ns;
}

/* Where a post-roll ends, if that is known: with its last event, or with its thread. */
static bool post_roll_end(const struct ada_marks *marks, const struct post_roll *roll, bool final, uint64_t *end_ns, uint32_t *shorts)
{
	uint64_t ns;
	/* Ask this first: then all events that the thread wrote before its end are there. */
	bool ended = !final && marks->source.ended(marks->source.context, roll->thread);
	uint64_t committed = marks->source.committed(marks->source.context, roll->thread);
	enum ada_mark_answer answer = time_of(marks, roll->thread, roll->seq, &ns);

	*shorts = 0;
	/* An event whose time is known is there, though the chunk that holds it is still on its way to the drain. */
	if (answer != ADA_MARK_KNOWN && (answer == ADA_MARK_LATER || committed <= roll->seq)) {
		if (!ended)
			return false;
		*shorts = ADA_SHORT_THREAD;
		if (!committed || time_of(marks, roll->thread, committed - 1, &ns) != ADA_MARK_KNOWN)
			ns = roll->mark_ns;
	} else if (answer == ADA_MARK_GONE) { /* as far as its events reach: behind them is a hole */
		uint64_t next = roll->seq + 1;

		while (next < committed && next < roll->seq + ADA_CHUNK_EVENTS && time_of(marks, roll->thread, next, &ns) != ADA_MARK_KNOWN)
			next++;
		if (next == committed || next == roll->seq + ADA_CHUNK_EVENTS)
			ns = roll->mark_ns;
	}
	*end_ns = later(ns, roll->least_ns);
	return true;
}

static int post_roll(struct ada_marks *marks, const struct ada_mark *mark, struct ada_window_mark *window)
{
	struct post_roll roll = { .thread = mark->thread, .least_ns = window->end_ns, .mark_ns = window->ns };
	size_t i = 0;
	uint32_t shorts;
	struct post_roll *old;

	if (window->thread == ADA_NONE) {
		if (!mark->post_ticks)
			window->end_ns += NO_THREAD_POST_NS;
		return 0;
	}
	roll.seq = mark->post_events < UINT64_MAX - mark->seq ? mark->seq + mark->post_events : UINT64_MAX;
	if (post_roll_end(marks, &roll, false, &window->end_ns, &shorts)) {
		window->shorts |= shorts;
		return 0;
	}
	while (i < marks->open.count && marks->open.items[i].thread != mark->thread)
		i++;
	if (i == marks->open.count && ada_array_push(&marks->open, roll))
		return -ENOMEM;
	old = &marks->open.items[i];
	old->seq = later(old->seq, roll.seq);
	old->least_ns = later(old->least_ns, roll.least_ns);
	old->mark_ns = later(old->mark_ns, roll.mark_ns);
	window->end_ns = ADA_WINDOW_OPEN;
	window->ticket = (uint64_t)mark->thread + 1;
	return 0;
}

/* The thread hangs, or waits: what it records after this belongs to another story. Events on their way to the drain are no quiet. */
static bool end_quiet(const struct ada_marks *marks, struct post_roll *roll, uint64_t *end_ns, uint32_t *shorts)
{
	uint64_t committed = marks->source.committed(marks->source.context, roll->thread);

	if (!ada_quiet_look(&roll->quiet, committed, ada_clock_boottime_ns()) || committed > roll->seq)
		return false;
	*end_ns = later(ns_of(marks, ada_clock_counter()), roll->least_ns);
	*shorts = ADA_SHORT_QUIET;
	return true;
}

static bool resolve(struct ada_marks *marks, bool final)
{
	bool changed = false;

	for (size_t i = 0; i < marks->open.count;) {
		struct post_roll *roll = &marks->open.items[i];
		uint64_t end_ns;
		uint32_t shorts;

		if (!post_roll_end(marks, roll, final, &end_ns, &shorts) && (final || !end_quiet(marks, roll, &end_ns, &shorts))) {
			i++;
			continue;
		}
		ada_windows_resolve(marks->windows, (uint64_t)roll->thread + 1, end_ns, shorts);
		*roll = marks->open.items[--marks->open.count];
		changed = true;
	}
	return changed;
}

/* --- The ring ----------------------------------------------------------------------------------------------------------- */

static void note(struct ada_marks *marks, const struct ada_window_mark *window)
{
	if (window->ns >= marks->last.ns)
		marks->last = (struct ada_mark_last){ window->ns, window->rules, window->version };
}

/* Reads a mark of the ring, for which nobody vouches. */
static bool mark_enter(struct ada_marks *marks, const struct ada_mark *mark)
{
	bool event;
	struct ada_window_mark window;

	if (mark->counter > ada_clock_counter() || !mark->rules)
		return false;
	/* No test of seq: while the event's chunk is on its way to the drain, committed() may not count it yet. */
	event = mark->thread < ada_segment_threads_seen(marks->segment) && mark->seq != UINT64_MAX;
	window = (struct ada_window_mark){ .ns = ns_of(marks, mark->counter),
					   .rules = mark->rules,
					   .version = mark->version,
					   .thread = event ? mark->thread : ADA_NONE,
					   .seq = mark->seq,
					   .index_seq = UINT64_MAX,
					   .function_id = mark->function_id,
					   .value = mark->value,
					   .pre_ns = roll_of(marks, mark->pre_ticks, mark->counter),
					   .pre_events = mark->pre_events,
					   .post_ns = roll_of(marks, mark->post_ticks, mark->counter),
					   .post_events = mark->post_events,
					   .pin_start = mark->pin_start };
	if (mark->begin_counter && mark->begin_counter <= mark->counter) {
		window.key = mark->key;
		window.begin_ns = ns_before(marks, mark->begin_counter, window.ns);
		window.begin_thread = mark->begin_thread;
	}
	window.start_ns = window.pre_ns < window.ns ? window.ns - window.pre_ns : 0;
	window.end_ns = window.post_ns < ADA_WINDOW_OPEN - 1 - window.ns ? window.ns + window.post_ns : ADA_WINDOW_OPEN - 1;
	if (mark->pre_events)
		pre_roll(marks, mark, &window);
	if ((mark->post_events && post_roll(marks, mark, &window)) || ada_windows_mark(marks->windows, &window))
		return false;
	note(marks, &window);
	return true;
}

void ada_marks_own(struct ada_segment *segment, uint64_t start, uint64_t end)
{
	struct ada_detail_control *control = &segment->shm->detail;

	if (__atomic_load_n(&control->own_start, __ATOMIC_RELAXED) == UINT64_MAX)
		__atomic_store_n(&control->own_end, 0, __ATOMIC_RELAXED);
	if (end > __atomic_load_n(&control->own_end, __ATOMIC_RELAXED))
		__atomic_store_n(&control->own_end, end, __ATOMIC_RELAXED);
	if (start < __atomic_load_n(&control->own_start, __ATOMIC_RELAXED))
		__atomic_store_n(&control->own_start, start, __ATOMIC_RELEASE);
}

/* Marks give their bounds themselves; an end that is still open counts as now. */
void ada_marks_settle(struct ada_marks *marks, bool (*wanted)(void *context, uint64_t first, uint64_t last), void *context)
{
	struct ada_detail_control *control = &marks->segment->shm->detail;
	uint64_t settled = __atomic_load_n(&control->settled, __ATOMIC_RELAXED), now = ada_clock_counter();

	if (marks->tail - settled > ADA_MARKS) /* those are overwritten, or the number isn't ours */
		settled = marks->tail - (marks->tail < ADA_MARKS ? marks->tail : ADA_MARKS);
	while (settled < marks->tail) {
		const struct ada_mark *mark = &marks->segment->marks[settled % ADA_MARKS];
		uint64_t ready = __atomic_load_n(&mark->ready, __ATOMIC_ACQUIRE);
		uint64_t start = mark->pin_start, end = __atomic_load_n(&mark->pin_end, __ATOMIC_RELAXED);

		/* Windows say what they still want of the mark. A place given up, or taken anew, says nothing. */
		if (ready == settled + 1 && wanted(context, start, end < now ? end : now))
			break;
		settled++;
	}
	__atomic_store_n(&control->settled, settled, __ATOMIC_RELEASE);
	if (__atomic_load_n(&control->own_start, __ATOMIC_RELAXED) != UINT64_MAX &&
	    !wanted(context, control->own_start, control->own_end < now ? control->own_end : now))
		__atomic_store_n(&control->own_start, UINT64_MAX, __ATOMIC_RELEASE);
}

/* Missed marks are known by number only. Their times are not known, but the marks that filled the ring are near. */
static bool enter_missed(struct ada_marks *marks)
{
	struct ada_mark_control *control = &marks->segment->shm->marks;
	struct ada_detail_control *detail;
	uint64_t missed, own_start, rules, own_end, start, end, now;
	struct ada_window_mark window;

	if (!__atomic_load_n(&control->missed, __ATOMIC_ACQUIRE))
		return false;
	detail = &marks->segment->shm->detail;
	own_start = __atomic_load_n(&detail->own_start, __ATOMIC_RELAXED);
	own_end = __atomic_load_n(&detail->own_end, __ATOMIC_RELAXED);
	/* While `missed` counts some, agents keep all that the pin holds; this interval makes them do so until the window is entered. */
	ada_marks_own(marks->segment, 0, UINT64_MAX);
	missed = __atomic_exchange_n(&control->missed, 0, __ATOMIC_SEQ_CST);
	rules = __atomic_exchange_n(&control->missed_rules, 0, __ATOMIC_RELAXED);
	start = __atomic_exchange_n(&control->missed_start, 0, __ATOMIC_RELAXED);
	end = __atomic_exchange_n(&control->missed_end, 0, __ATOMIC_RELAXED);
	now = ada_clock_counter();
	/* A mark may be counted only after its bounds went with those before: then it is of some time up to now. */
	end = end && end < now ? end : now;
	__atomic_store_n(&detail->own_end, own_start == UINT64_MAX ? end : later(own_end, end), __ATOMIC_RELAXED);
	__atomic_store_n(&detail->own_start, start && start < own_start ? start : own_start, __ATOMIC_RELEASE);
	window = (struct ada_window_mark){ .rules = rules,
					   .version = marks->last.version,
					   .thread = ADA_NONE,
					   .index_seq = UINT64_MAX,
					   .seq = UINT64_MAX,
					   .more = missed - 1,
					   .pin_start = start };
	window.ns = marks->last.ns ? marks->last.ns : ns_of(marks, now);
	window.start_ns = start > 1 && start <= now ? ns_before(marks, start, window.ns) : window.ns;
	window.end_ns = later(ns_of(marks, end), window.ns);
	if (ada_windows_mark(marks->windows, &window))
		return false;
	note(marks, &window);
	return true;
}

static bool read_place(struct ada_marks *marks, uint64_t n, bool *changed)
{
	const struct ada_mark *place = &marks->segment->marks[n % ADA_MARKS];
	uint64_t bit = 1ull << n % 64, *word = &marks->read[n % ADA_MARKS / 64];
	struct ada_mark mark;

	if (*word & bit)
		return true;
	if (__atomic_load_n(&place->ready, __ATOMIC_ACQUIRE) != n + 1)
		return false;
	mark = *place;
	*changed |= mark_enter(marks, &mark);
	*word |= bit;
	return true;
}

static void pass_place(struct ada_marks *marks)
{
	marks->read[marks->tail % ADA_MARKS / 64] &= ~(1ull << marks->tail % 64);
	marks->tail++;
}

/* Where a thread was stopped, or killed, between taking and filling a place, that place holds up no later mark, but keeps the ring's
 * tail; after a while we give it up. */
static bool read_ring(struct ada_marks *marks, bool final)
{
	struct ada_mark_control *control = &marks->segment->shm->marks;
	uint64_t head = __atomic_load_n(&control->head, __ATOMIC_ACQUIRE);
	bool changed = false;

	if (head - marks->tail > ADA_MARKS) /* no agent does that */
		return false;
	for (uint64_t n = marks->tail; n < head; n++)
		read_place(marks, n, &changed);
	while (marks->tail < head) {
		if (!(marks->read[marks->tail % ADA_MARKS / 64] >> marks->tail % 64 & 1)) {
			uint64_t now = ada_clock_boottime_ns();

			if (marks->stuck != marks->tail) {
				marks->stuck = marks->tail;
				marks->stuck_ns = now;
			}
			if (!final && now - marks->stuck_ns < STUCK_NS)
				break;
		}
		pass_place(marks);
	}
	__atomic_store_n(&control->tail, marks->tail, __ATOMIC_RELEASE);
	return changed;
}

/* --- Places ------------------------------------------------------------------------------------------------------------- */

/* False: some are to be looked up again. */
static bool place_marks(const struct ada_marks *marks, struct ada_window *window)
{
	size_t missing = 0;

	for (size_t i = 0; i < window->marks.count && missing < PLACES_MISSING; i++) {
		struct ada_window_mark *mark = &window->marks.items[i];
		enum ada_mark_answer answer;

		if (mark->index_seq != UINT64_MAX || mark->thread == ADA_NONE)
			continue;
		answer = marks->source.place(marks->source.context, mark->thread, mark->seq, &mark->segment, &mark->index_seq);
		missing += answer == ADA_MARK_LATER; /* most likely like those behind it */
		if (answer != ADA_MARK_KNOWN)
			mark->index_seq = UINT64_MAX;
	}
	return !missing;
}

static void place(struct ada_marks *marks)
{
	for (size_t i = marks->placed; i < ada_windows_count(marks->windows); i++) {
		struct ada_window *window = ada_windows_at(marks->windows, i);
		bool all = place_marks(marks, window);

		if (window->settled && all && i == marks->placed) /* the drain may come to the window's marks later */
			marks->placed++;
	}
}

/* Post-rolls first: a window that is over must not take in later marks. */
static bool turn(struct ada_marks *marks, bool final)
{
	bool changed = resolve(marks, final);

	changed |= read_ring(marks, final);
	changed |= enter_missed(marks);
	place(marks);
	return changed;
}

bool ada_marks_read(struct ada_marks *marks)
{
	return turn(marks, false);
}

void ada_marks_finish(struct ada_marks *marks, uint64_t end_ns)
{
	turn(marks, true);
	resolve(marks, true);
	marks->open.count = 0; /* the rest ends with the process: ada_windows_end */
}

struct ada_mark_last ada_marks_last(const struct ada_marks *marks)
{
	return marks->last;
}
