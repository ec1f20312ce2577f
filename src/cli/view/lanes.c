/* What a thread's picture has besides calls: losses, what has gone to totals, when the thread had a CPU, and what isn't read yet. */
#include <errno.h>
#include <stdlib.h>
#include "atf/session/thread.h"
#include "cli/view/view.h"
#include "query/session/sched.h"

#define COARSE 4	    /* columns that are one where nothing was read yet */
#define PLACES_NS 50000000u /* for so long it is looked where their events are */

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
struct losses {
	struct numbers numbers;
	const struct ada_view *view;
	const struct ada_zoom_view *range;
	uint64_t column_ns;
	struct ada_zoom_loss told;
};

static void loss_tell(struct losses *losses)
{
	if (!losses->told.events)
		return;
	put_number(&losses->numbers, ada_view_relative(losses->view, losses->told.from_ns));
	put_number(&losses->numbers, ada_view_relative(losses->view, losses->told.to_ns));
	put_number(&losses->numbers, losses->told.events);
}

static void loss_take(struct losses *losses, const struct ada_zoom_loss *loss)
{
	if (loss->to_ns < losses->range->from_ns || loss->from_ns >= losses->range->to_ns)
		return;
	if (losses->told.events && loss->from_ns - losses->told.from_ns < losses->column_ns) {
		losses->told.to_ns = loss->to_ns;
		losses->told.events += loss->events;
		return;
	}
	loss_tell(losses);
	losses->told = *loss;
}

static void put_losses(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		       const struct ada_zoom_view *range)
{
	struct losses losses = { .numbers = { .output = output },
				 .view = view,
				 .range = range,
				 .column_ns = (range->to_ns - range->from_ns) / range->columns + 1 };

	for (size_t i = 0; i < thread->losses.count; i++)
		if (!is_overwritten(thread, i))
			loss_take(&losses, &thread->losses.items[i]);
	for (size_t i = 0; i < thread->ahead.count; i++) {
		const struct ada_zoom_thread *part = thread->ahead.items[i];

		for (size_t j = 0; j < part->losses.count; j++)
			if (part->losses.items[j].to_ns > thread->read_ns)
				loss_take(&losses, &part->losses.items[j]);
	}
	loss_tell(&losses);
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
	size_t parts = thread->ahead.count;
	uint64_t read_ns = parts && thread->ahead.items[parts - 1]->read_ns > thread->read_ns ? thread->ahead.items[parts - 1]->read_ns :
												thread->read_ns;

	if (!sched || !read_ns)
		return;
	ada_output_string(output, ", \"sched\": {\"from\": ");
	ada_output_u64(output, ada_view_relative(view, sched->first_ns));
	ada_view_put(output, "to", ada_view_relative(view, read_ns));
	ada_output_string(output, ", \"off\": [");
	put_spells(output, view, sched, range, read_ns);
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

/* From and to of what was read ahead; parts that lie less than a column from each other are one. */
static void put_ahead(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		      const struct ada_zoom_view *range)
{
	uint64_t column_ns = (range->to_ns - range->from_ns) / range->columns + 1, to_ns = 0;
	struct numbers numbers = { .output = output };

	for (size_t i = 0; i < thread->ahead.count; i++) {
		const struct ada_zoom_thread *part = thread->ahead.items[i];
		uint64_t first_ns = part->levels[0].nodes.count ? part->levels[0].nodes.items[0].first_ns : part->read_ns;

		if (part->read_ns <= thread->read_ns || part->read_ns < range->from_ns || first_ns >= range->to_ns)
			continue;
		if (!to_ns || first_ns > to_ns + column_ns) {
			if (to_ns)
				put_number(&numbers, ada_view_relative(view, to_ns));
			put_number(&numbers, ada_view_relative(view, first_ns > thread->read_ns ? first_ns : thread->read_ns));
		}
		to_ns = part->read_ns;
	}
	if (to_ns)
		put_number(&numbers, ada_view_relative(view, to_ns));
}

/* Positions of the first events at evenly spaced times, the coarsest distances first: of a file that lies on a disk each costs many pages. Those
 * for which there is no time lie evenly between their neighbours. */
static void find_places(uint64_t *places, uint32_t count, const struct atf_thread *events, const struct ada_zoom_view *range)
{
	uint64_t until_ns = ada_view_now_ns() + PLACES_NS;
	uint32_t step = 1, next;

	while (step < count)
		step *= 2;
	for (uint32_t i = 0; i <= count; i++)
		places[i] = UINT64_MAX;
	places[0] = atf_thread_lower_bound(events, range->from_ns);
	places[count] = atf_thread_lower_bound(events, range->to_ns);
	for (; step && ada_view_now_ns() < until_ns; step /= 2)
		for (uint32_t i = step; i < count && ada_view_now_ns() < until_ns; i += step)
			if (places[i] == UINT64_MAX)
				places[i] = atf_thread_lower_bound(
					events, range->from_ns + (uint64_t)((unsigned __int128)(range->to_ns - range->from_ns) * i *
									    COARSE / range->columns));
	for (uint32_t i = 1; i < count; i++) {
		if (places[i] != UINT64_MAX)
			continue;
		for (next = i + 1; places[next] == UINT64_MAX;)
			next++;
		places[i] = places[i - 1] + (places[next] - places[i - 1]) / (next - i + 1);
	}
}

/* Where the reading stands and, behind that, how many events the index has by time that weren't read ahead: a sketch of what will be
 * there. */
static int put_unread(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		      const struct ada_zoom_view *range)
{
	uint32_t count = (range->columns + COARSE - 1) / COARSE;
	struct numbers numbers = { .output = output };
	uint64_t *places;

	if (!thread->thread->events || thread->read == thread->thread->count)
		return 0;
	places = malloc((count + 1) * sizeof *places);
	if (!places)
		return -ENOMEM;
	find_places(places, count, thread->thread->events, range);
	ada_output_string(output, ", \"unread\": {\"from\": ");
	ada_output_u64(output, ada_view_relative(view, thread->read ? thread->read_ns : range->from_ns));
	ada_output_string(output, ", \"events\": [");
	for (uint32_t i = 0; i < count; i++) {
		uint64_t from = places[i] > thread->read ? places[i] : thread->read, to = places[i + 1];

		put_number(&numbers, to > from ? to - from - ada_zoom_ahead_events(thread, from, to) : 0);
	}
	free(places);
	ada_output_string(output, "], \"ahead\": [");
	put_ahead(output, view, thread, range);
	ada_output_string(output, "]");
	ada_view_put(output, "columns", COARSE);
	ada_output_string(output, "}");
	return 0;
}

int ada_view_put_lanes(struct ada_output *output, const struct ada_view *view, const struct ada_zoom_thread *thread,
		       const struct ada_zoom_view *range)
{
	ada_output_string(output, ", \"losses\": [");
	put_losses(output, view, thread, range);
	ada_output_string(output, "]");
	put_sched(output, view, thread, range);
	put_aged(output, view, thread);
	return put_unread(output, view, thread, range);
}
