/* Looks through a deep shadow stack for frames that nobody will return to: a fiber's first function never returns, so each
 * finished fiber leaves frames behind, and on stacks whose bounds are unknown so does a jump.
 *
 * A frame is dead where
 *   a later frame has the same slot (and isn't its tail call, right above it)
 *   it is on the thread's own stack and a later one there has a higher slot
 *   its slot is gone from memory, or holds no return stub any more
 * All other frames stay. The next look comes when there are twice as many frames as are left.
 */
#include "agent/record/lane.h"

#define SWEEP_FRAMES_MIN 1024

/* Slots of the frames above, in a hash table behind the frames, where the shadow stack is not in use. */
struct seen {
	uint64_t *slots;
	uint64_t mask;
};

static bool seen_begin(struct ada_thread *thread, struct seen *seen)
{
	uint64_t frames = ada_frames(thread), entries = 2048;

	while (entries < 2 * frames)
		entries *= 2;
	if (!ada_room_grow(thread, frames + 1 + entries * sizeof seen->slots[0] / sizeof(struct ada_frame)))
		return false;
	seen->slots = (uint64_t *)ada_frame_at(thread, frames + 1);
	seen->mask = entries - 1;
	memset(seen->slots, 0, entries * sizeof seen->slots[0]);
	return true;
}

/* True: it was there already. */
static bool seen_add(struct seen *seen, uint64_t slot)
{
	uint64_t at = (slot * 0x9E3779B97F4A7C15ull >> 32) & seen->mask;

	for (; seen->slots[at]; at = (at + 1) & seen->mask)
		if (seen->slots[at] == slot)
			return true;
	seen->slots[at] = slot;
	return false;
}

static bool slot_holds_stub(uint64_t slot)
{
	return ada_stack_readable(slot) && ada_stub_is_return(*(uint64_t *)slot);
}

void ada_shadow_sweep(struct ada_thread *thread)
{
	uint64_t own_highest = 0, slot_above = 0;
	struct seen seen;
	bool hash = seen_begin(thread, &seen);

	for (int64_t i = (int64_t)ada_frames(thread) - 1; i >= 0; i--) {
		struct ada_frame *frame = ada_frame_at(thread, i);
		uint64_t slot = ada_frame_slot(frame);
		bool own = ada_stack_own(thread, slot), dead;

		dead = own ? slot < own_highest : slot != slot_above && ((hash && seen_add(&seen, slot)) || !slot_holds_stub(slot));
		if (own && slot > own_highest)
			own_highest = slot;
		if (dead)
			ada_shadow_close(thread, frame, ADA_EVENT_EXCEPTION);
		else
			slot_above = slot;
	}
	thread->sweep_frames = 2 * ada_frames(thread);
	if (thread->sweep_frames < SWEEP_FRAMES_MIN)
		thread->sweep_frames = SWEEP_FRAMES_MIN;
}
