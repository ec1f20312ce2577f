/* The shadow stack: which calls of a thread are in progress, over all the stacks that it runs on.
 *
 * Frames lie in the order of their calls. Control flow never reads them: a return finds its way by its stub, so a frame that
 * is missing or stays too long costs an event or a depth, never the program.
 *
 * On one stack, a frame below the stack pointer is dead. Which stack a frame is on is known for the thread's own one
 * (stack.c). About other stacks (fibers, sigaltstack) nothing is guessed from distance: their frames stay until a return, an
 * unwinder, a new call in the very slot or sweep.c shows that they are gone.
 *
 * Frames that are closed out of order carry the depth of their call, so that a reader can pair them.
 */
#include <signal.h>
#include "agent/core.h"

static struct ada_frame *innermost(const struct ada_thread *thread)
{
	return ada_frame_at(thread, (int64_t)ada_frames(thread) - 1);
}

static bool any(const struct ada_thread *thread, const struct ada_frame *frame)
{
	return frame >= ada_frame_at(thread, 0);
}

void ada_shadow_close(struct ada_thread *thread, struct ada_frame *frame, enum ada_event_kind kind)
{
	ada_event_write(thread, kind, frame->function_id, frame->depth);
	for (struct ada_frame *last = innermost(thread); frame < last; frame++)
		*frame = frame[1];
	ada_state_set(thread, ada_state(thread) - ((uint64_t)ADA_FRAME_BYTES << 32));
}

void ada_shadow_drop(struct ada_thread *thread, uint64_t low, uint64_t high)
{
	for (struct ada_frame *frame = innermost(thread); any(thread, frame); frame--)
		if (frame->slot >= low && frame->slot < high)
			ada_shadow_close(thread, frame, ADA_EVENT_EXCEPTION);
}

/* The stack pointer is on the thread's own stack just above `end`: closes that stack's frames below. They lie in order, so the
 * first one that is alive ends the search. */
static void drop_below(struct ada_thread *thread, uint64_t end)
{
	for (struct ada_frame *frame = innermost(thread); any(thread, frame); frame--) {
		if (!ada_stack_own(thread, frame->slot))
			continue;
		if (frame->slot >= end)
			return;
		ada_shadow_close(thread, frame, ADA_EVENT_EXCEPTION);
	}
}

/* A chain of tail calls shares one slot; an endless one must not pile up frames, so all but the first are closed. */
static void tail_calls_limit(struct ada_thread *thread, uint64_t slot)
{
	if (innermost(thread)[1 - ADA_TAIL_CALLS_MAX].slot != slot)
		return;
	while (any(thread, innermost(thread) - 1) && innermost(thread)[-1].slot == slot)
		ada_shadow_close(thread, innermost(thread), ADA_EVENT_RETURN);
}

void ada_shadow_enter(struct ada_thread *thread, uint64_t slot, bool tail_call)
{
	if (ada_stack_own(thread, slot))
		drop_below(thread, tail_call ? slot : slot + 1);
	while (!tail_call && any(thread, innermost(thread)) && innermost(thread)->slot == slot)
		ada_shadow_close(thread, innermost(thread), ADA_EVENT_EXCEPTION);	/* the slot has a new owner */
	if (tail_call)
		tail_calls_limit(thread, slot);
	if (!ada_frames(thread))	/* so that the hook finds the next outermost calls in order */
		innermost(thread)->slot = (slot + ADA_NEAR_BYTES / 2) | 1;
}

bool ada_shadow_push(struct ada_thread *thread, uint64_t slot, uint64_t function_id)
{
	struct ada_frame *frame = innermost(thread) + 1;
	uint32_t depth = ada_frames(thread);

	if ((uint64_t)frame >= thread->shadow_end) {
		__atomic_fetch_add(&thread->entry->skipped, 1, __ATOMIC_RELAXED);
		ada_event_lost(thread, 2);
		return false;
	}
	if (!ada_chunk_room(thread)) {
		if (ada_core_recording())
			ada_event_lost(thread, 2);
		return false;
	}
	*frame = (struct ada_frame){ slot, ada_sys_counter(), function_id, depth, 0 };
	ada_event_write(thread, ADA_EVENT_CALL, function_id, depth);
	ada_state_set(thread, ada_state(thread) + ((uint64_t)ADA_FRAME_BYTES << 32));
	return true;
}

bool ada_shadow_leave(struct ada_thread *thread, uint64_t slot, enum ada_event_kind kind)
{
	struct ada_frame *frame;

	if (ada_stack_own(thread, slot))
		drop_below(thread, slot);
	for (frame = innermost(thread); any(thread, frame) && frame->slot != slot; frame--)
		;
	if (!any(thread, frame))
		return false;
	for (; any(thread, frame) && frame->slot == slot; frame--)
		ada_shadow_close(thread, frame, kind);
	return true;
}

void ada_core_longjmp(uint64_t sp)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	struct ada_thread *thread;
	stack_t alternate = { 0 };

	ada_slow_abandoned();
	if (!ada_core_recording())
		return;
	thread = ada_slow_begin(0);
	if (!thread->index)
		goto out;
	if (ada_stack_own(thread, sp)) {
		drop_below(thread, sp);
	} else if (ada_stack_own(thread, here)) {
		goto out;			/* a switch of stacks */
	}
	/* A handler on the alternate stack jumps away: nothing there goes on. */
	ada_sys4(SYS_sigaltstack, 0, (long)&alternate, 0, 0);
	if (alternate.ss_flags & SS_ONSTACK && sp - (uint64_t)alternate.ss_sp >= alternate.ss_size)
		ada_shadow_drop(thread, (uint64_t)alternate.ss_sp, (uint64_t)alternate.ss_sp + alternate.ss_size);
out:
	ada_slow_end(thread);
}
