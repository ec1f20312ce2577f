/* Events that are in no index file: the windows that may have held them say so. */
#include "recorder/detail/detail_state.h"

#define LOSSES_KEPT 8192

static bool overlaps(const struct detail_loss *loss, const struct ada_window *window)
{
	return loss->from_ns <= window->end_ns && loss->to_ns >= window->start_ns;
}

static void loss_tell(struct ada_window *window, const struct detail_loss *loss)
{
	window->lost += loss->count;
	window->shorts |= ADA_SHORT_LOST;
}

/* Two neighbours become one: more windows say that they may miss something, none says less. */
static void halve(struct ada_details *details)
{
	struct detail_loss *losses = details->losses.items;

	for (size_t i = 0; i < LOSSES_KEPT / 2; i++) {
		const struct detail_loss *a = &losses[2 * i], *b = &losses[2 * i + 1];

		losses[i] = (struct detail_loss){ a->from_ns < b->from_ns ? a->from_ns : b->from_ns,
						  a->to_ns > b->to_ns ? a->to_ns : b->to_ns, a->count + b->count };
	}
	details->losses.count = LOSSES_KEPT / 2;
}

void ada_details_lost(struct ada_details *details, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
	const struct detail_loss loss = { from_ns, to_ns, count };

	for (size_t i = ada_windows_count(details->windows); i--;) {
		struct ada_window *window = ada_windows_at(details->windows, i);

		if (window->end_ns < from_ns)
			break;
		if (window->settled && overlaps(&loss, window))
			loss_tell(window, &loss); /* the others: when they are settled */
	}
	if (details->losses.count == LOSSES_KEPT)
		halve(details);
	ada_array_push(&details->losses, loss);
}

void ada_detail_settle_losses(const struct ada_details *details, struct ada_window *window)
{
	for (size_t i = 0; i < details->losses.count; i++)
		if (overlaps(&details->losses.items[i], window))
			loss_tell(window, &details->losses.items[i]);
}
