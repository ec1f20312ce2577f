/* Enters marks into the ring, and widens the pin around what they want kept (abi/policy.h, abi/detail.h).
 *
 * Everything here is lock-free: a signal handler's hooks may mark while a mark is being entered, and a thread may be killed in the midst
 * of entering one. A place of the ring is reserved before it is written; the recorder waits for `ready`, or for the process's end. A mark
 * that finds no room is added to the missed ones, and pins all the same.
 */
#include "agent/ground/sys.h"
#include "agent/judge/parts.h"

#define HISTORY 16 /* chunks that a thread remembers */

/* Where this thread's chunks begin, newest at (history_count - 1) % HISTORY: for pre-rolls counted in events. */
static __thread struct {
	uint64_t first_seq, first_counter;
} history[HISTORY];
static __thread uint64_t history_count;

/* Post-rolls in events that this thread's marks wait for. A handler in between may cost one its entry: then the recorder ends that
 * post-roll. */
#define PENDING 16
static __thread struct {
	struct ada_mark *mark;
	uint64_t ready, last_seq;
} pending[PENDING];
static __thread uint32_t pending_count;

static void pending_add(struct ada_mark *place, uint64_t ready, const struct ada_mark *mark)
{
	uint32_t count = pending_count;

	if (mark->pin_end != UINT64_MAX || mark->seq == UINT64_MAX || count >= PENDING)
		return;
	pending[count].mark = place;
	pending[count].ready = ready;
	pending[count].last_seq = mark->seq + mark->post_events;
	pending_count = count + 1;
}

/* A chunk begins with event first_seq: ends the post-rolls that waited for earlier events. */
static void pending_end(uint64_t first_seq, uint64_t first_counter)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < pending_count; i++) {
		struct ada_mark *mark = pending[i].mark;
		uint64_t open = UINT64_MAX;

		if (pending[i].last_seq >= first_seq)
			pending[kept++] = pending[i];
		else if (__atomic_load_n(&mark->ready, __ATOMIC_ACQUIRE) == pending[i].ready)
			__atomic_compare_exchange_n(&mark->pin_end, &open, first_counter, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	pending_count = kept;
}

void ada_judge_forked(void)
{
	pending_count = 0;
	history_count = 0;
	ada_descents_forget();
}

void ada_judge_chunk(uint64_t first_seq, uint64_t first_counter)
{
	if (pending_count)
		pending_end(first_seq, first_counter);
	history[history_count % HISTORY].first_seq = first_seq;
	history[history_count % HISTORY].first_counter = first_counter;
	history_count++;
}

/* A time not later than that event; 0: not known. A fork's child finds its own chunks, which begin anew at 0, before its parent's. */
static uint64_t counter_of_event(uint64_t seq)
{
	for (uint64_t n = history_count; n && n + HISTORY > history_count; n--)
		if (history[(n - 1) % HISTORY].first_seq <= seq)
			return history[(n - 1) % HISTORY].first_counter;
	return 0;
}

static void lift(uint64_t *to, uint64_t value)
{
	if (*to < value)
		*to = value;
}

void ada_mark_add(struct ada_mark *mark, uint32_t slot, const struct ada_rule *rule)
{
	mark->rules |= 1ull << slot;
	lift(&mark->pre_ticks, rule->pre_ticks);
	lift(&mark->pre_events, rule->pre_events);
	lift(&mark->post_ticks, rule->post_ticks);
	lift(&mark->post_events, rule->post_events);
}

static void bounds(struct ada_mark *mark)
{
	mark->pin_start = mark->counter > mark->pre_ticks ? mark->counter - mark->pre_ticks : 0;
	if (mark->pre_events) {
		uint64_t known = mark->seq != UINT64_MAX && mark->seq >= mark->pre_events;
		uint64_t start = known ? counter_of_event(mark->seq - mark->pre_events) : 0;

		if (start < mark->pin_start)
			mark->pin_start = start;
	}
	mark->pin_end = mark->counter + mark->post_ticks;
	if (mark->post_events || mark->pin_end < mark->counter)
		mark->pin_end = UINT64_MAX;
}

static void miss(struct ada_mark_control *control, const struct ada_mark *mark)
{
	uint64_t start = mark->pin_start ? mark->pin_start : 1; /* 0 says that there is none */
	uint64_t old = __atomic_load_n(&control->missed_start, __ATOMIC_RELAXED);

	while ((!old || start < old) &&
	       !__atomic_compare_exchange_n(&control->missed_start, &old, start, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	ada_word_raise(&control->missed_end, mark->pin_end);
	__atomic_fetch_or(&control->missed_rules, mark->rules, __ATOMIC_RELAXED);
	__atomic_fetch_add(&control->missed, 1, __ATOMIC_RELEASE);
}

void ada_mark_enter(struct ada_shm *shm, struct ada_mark *mark)
{
	struct ada_mark_control *control = &shm->marks;
	struct ada_mark *place, *ring = (struct ada_mark *)((char *)shm + shm->marks_offset);
	uint64_t head = __atomic_load_n(&control->head, __ATOMIC_RELAXED);
	bool room;

	bounds(mark);
	do
		room = head - __atomic_load_n(&control->tail, __ATOMIC_ACQUIRE) < ADA_MARKS;
	while (room && !__atomic_compare_exchange_n(&control->head, &head, head + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	if (room) {
		place = &ring[head % ADA_MARKS];
		mark->ready = 0;
		*place = *mark;
		__atomic_store_n(&place->ready, head + 1, __ATOMIC_RELEASE);
		pending_add(place, head + 1, mark);
	} else {
		miss(control, mark);
	}
	__atomic_fetch_add(&control->detected, 1, __ATOMIC_RELAXED);
	ada_pin_widen(&shm->detail.pin, mark->pin_start, mark->pin_end, UINT32_MAX);
}

bool ada_judge_wants(const struct ada_shm *shm, uint64_t first_counter, uint64_t last_counter)
{
	const struct ada_mark *ring = (const struct ada_mark *)((const char *)shm + shm->marks_offset);
	const struct ada_detail_control *detail = &shm->detail;
	uint64_t settled = __atomic_load_n(&detail->settled, __ATOMIC_ACQUIRE);
	uint64_t head = __atomic_load_n(&shm->marks.head, __ATOMIC_ACQUIRE);

	if (__atomic_load_n(&shm->marks.missed, __ATOMIC_ACQUIRE) || head - settled > ADA_MARKS)
		return true;
	if (ada_ticks_overlap(__atomic_load_n(&detail->own_start, __ATOMIC_RELAXED), __atomic_load_n(&detail->own_end, __ATOMIC_RELAXED),
			      first_counter, last_counter))
		return true;
	for (uint64_t n = settled; n < head; n++) {
		const struct ada_mark *mark = &ring[n % ADA_MARKS];

		if (__atomic_load_n(&mark->ready, __ATOMIC_ACQUIRE) != n + 1)
			return true; /* the mark is being written and may want anything */
		if (ada_ticks_overlap(mark->pin_start, __atomic_load_n(&mark->pin_end, __ATOMIC_RELAXED), first_counter, last_counter))
			return true;
	}
	/* Where a place was overwritten meanwhile, it says nothing of the mark that was there. */
	return __atomic_load_n(&shm->marks.head, __ATOMIC_ACQUIRE) - settled > ADA_MARKS;
}
