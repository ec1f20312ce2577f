/* What a thread's picture has besides calls: losses, what has gone to totals, when the thread had a CPU, and what isn't read yet. */
#include "atf/session/thread.h"
#include "cli/view/view.h"
#include "query/session/sched.h"

#define COARSE 4 /* columns that are one where nothing was read yet */

/* A list of numbers. */
struct numbers {
	struct ada_output *output;
	bool any;
};

static void put_number(struct numbers *numbers, uint64_t number)
{
	if (numbers->any)
		ada_output_string(numbers->output, ",");
	ada_output_u64(numbers->output, number);
	numbers->any = true;
}

/* In a circular buffer newer events replaced the oldest, which are missing before all others: that is no loss. */
static bool is_overwritten(const struct ada_zoom_thread *thread, size_t loss)
{
	return !loss && thread->thread->overwritten && thread->losses.items[0].events <= thread->thread->overwritten;
}

/* From, to and events of each loss in the view; those under one pixel are one. */
static void put_losses(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		       const struct ada_zoom_view *range)
{
	uint64_t column_ns = (range->to_ns - range->from_ns) / range->columns + 1;
	struct ada_zoom_loss told = {};
	struct numbers numbers = { .output = output };

	for (size_t i = 0; i <= thread->losses.count; i++) {
		const struct ada_zoom_loss *loss = i < thread->losses.count ? &thread->losses.items[i] : NULL;

		if (loss && (loss->to_ns < range->from_ns || loss->from_ns >= range->to_ns || is_overwritten(thread, i)))
			continue;
		if (loss && told.events && loss->from_ns - told.from_ns < column_ns) {
			told.to_ns = loss->to_ns;
			told.events += loss->events;
			continue;
		}
		if (told.events) {
			put_number(&numbers, ada_view_relative(view, told.from_ns));
			put_number(&numbers, ada_view_relative(view, told.to_ns));
			put_number(&numbers, told.events);
		}
		if (loss)
			told = *loss;
	}
}

/* --- on and off its CPU --------------------------------------------------------------------------------------------------- */

enum { WAITS, READY, UNKNOWN, MANY };

static void put_spell(struct numbers *numbers, const struct ada_view *view, uint64_t from_ns, uint64_t to_ns, unsigned int what,
		      uint64_t number)
{
	put_number(numbers, ada_view_relative(view, from_ns));
	put_number(numbers, ada_view_relative(view, to_ns));
	put_number(numbers, what);
	put_number(numbers, number);
}

/* When the column ends that the time lies in. */
static uint64_t column_end(const struct ada_zoom_view *range, uint64_t ns)
{
	uint64_t span_ns = range->to_ns - range->from_ns, at_ns = ns > range->from_ns ? ns - range->from_ns : 0;
	uint64_t column = (uint64_t)((unsigned __int128)at_ns * range->columns / span_ns) + 1;

	return range->from_ns + (uint64_t)(((unsigned __int128)column * span_ns + range->columns - 1) / range->columns);
}

/* Spells off the CPU: from, to, what, and of READY who had the CPU. Those that are shorter than a column are one MANY a column, with how
 * long they are together. What lies between is on a CPU. */
static void put_spells(struct ada_output *output, const struct ada_view *view, const struct ada_sched_thread *sched,
		       const struct ada_zoom_view *range, uint64_t end_ns)
{
	uint64_t wide_ns = (range->to_ns - range->from_ns) / range->columns + 1;
	const struct ada_off_cpu *spells = sched->spells.items;
	size_t i = ada_sched_spell(sched, range->from_ns), count = sched->spells.count;
	struct numbers numbers = { .output = output };

	while (i < count && spells[i].from_ns < range->to_ns) {
		uint64_t to_ns = spells[i].to_ns < end_ns ? spells[i].to_ns : end_ns, column_ns, off_ns;
		size_t behind;

		if (to_ns <= spells[i].from_ns)
			break;
		if (to_ns - spells[i].from_ns >= wide_ns) {
			put_spell(&numbers, view, spells[i].from_ns, to_ns,
				  spells[i].unknown   ? UNKNOWN :
				  spells[i].preempted ? READY :
							WAITS,
				  spells[i].other_tid);
			i++;
			continue;
		}
		column_ns = column_end(range, spells[i].from_ns);
		behind = ada_first_not(k, i, count, spells[k].from_ns < column_ns);
		/* Of those that begin in the column only the last one can be wide. */
		if (spells[behind - 1].to_ns - spells[behind - 1].from_ns >= wide_ns)
			behind--;
		off_ns = spells[behind - 1].before_ns + spells[behind - 1].to_ns - spells[behind - 1].from_ns - spells[i].before_ns;
		put_spell(&numbers, view, spells[i].from_ns, spells[behind - 1].to_ns, MANY, off_ns);
		i = behind;
	}
}

static void put_sched(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		      const struct ada_zoom_view *range)
{
	const struct ada_sched_thread *sched = ada_sched_of(thread->thread);

	if (!sched || !thread->read)
		return;
	ada_output_string(output, ", \"sched\": {\"from\": ");
	ada_output_u64(output, ada_view_relative(view, sched->first_ns));
	ada_view_put(output, "to", ada_view_relative(view, thread->read_ns));
	ada_output_string(output, ", \"off\": [");
	put_spells(output, view, sched, range, thread->read_ns);
	ada_output_string(output, "]}");
}

/* --- what has gone, and what is to come ----------------------------------------------------------------------------------- */

static void put_aged(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread)
{
	const AtfTotalsHeader *totals = thread->thread->events ? atf_thread_totals(thread->thread->events) : NULL;
	struct numbers numbers = { .output = output };
	const struct ada_zoom_loss *gone = thread->losses.count && is_overwritten(thread, 0) ? &thread->losses.items[0] : NULL;

	if (!totals && !gone)
		return;
	ada_output_string(output, ", \"aged\": [");
	put_number(&numbers, totals ? ada_view_relative(view, totals->time_start_ns) : 0);
	put_number(&numbers, ada_view_relative(view, totals ? totals->time_end_ns : gone->to_ns));
	put_number(&numbers, totals ? totals->calls + totals->ends : gone->events);
	if (!totals)
		put_number(&numbers, 1); /* overwritten */
	ada_output_string(output, "]");
}

/* Where the reading stands and, behind that, how many events the index has by time: a sketch of what will be there. */
static void put_unread(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		       const struct ada_zoom_view *range)
{
	const struct atf_thread *events = thread->thread->events;
	uint64_t from_ns = thread->read ? thread->read_ns : range->from_ns, before;
	struct numbers numbers = { .output = output };

	if (!events || thread->read == thread->thread->count)
		return;
	ada_output_string(output, ", \"unread\": {\"from\": ");
	ada_output_u64(output, ada_view_relative(view, from_ns));
	ada_output_string(output, ", \"events\": [");
	if (from_ns < range->from_ns)
		from_ns = range->from_ns;
	before = atf_thread_lower_bound(events, from_ns);
	for (uint32_t column = 0; column < range->columns; column += COARSE) {
		uint64_t end_ns = range->from_ns +
				  (uint64_t)((unsigned __int128)(range->to_ns - range->from_ns) * (column + COARSE) / range->columns);
		uint64_t behind = end_ns > from_ns ? atf_thread_lower_bound(events, end_ns) : before;

		put_number(&numbers, behind > before ? behind - before : 0);
		before = behind > before ? behind : before;
	}
	ada_output_string(output, "]");
	ada_view_put(output, "columns", COARSE);
	ada_output_string(output, "}");
}

void ada_view_put_lanes(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
			const struct ada_zoom_view *range)
{
	ada_output_string(output, ", \"losses\": [");
	put_losses(output, view, thread, range);
	ada_output_string(output, "]");
	put_sched(output, view, thread, range);
	put_aged(output, view, thread);
	put_unread(output, view, thread, range);
}
