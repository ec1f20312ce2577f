/* The shadow stack: which calls of a thread are in progress, over all the stacks that it runs on.
 *
 * Frames lie in the order of their calls. Control flow never reads them: a return finds its way by its stub, so a frame that
 * is missing or stays too long costs an event or a depth, never the program.
 *
 * On one stack, a frame below the stack pointer is dead. We know which frames are on the thread's own stack (stack.c). About other stacks
 * (fibers, sigaltstack) we guess nothing from distance: their frames stay until a return, an unwinder, a new call in the very slot or
 * sweep.c shows that they are gone.
 *
 * A call without a stub has a frame for the depth of what it calls. That frame is closed without an event, as soon as something shows
 * that it may be dead.
 *
 * Frames that are closed out of order carry the depth of their call, so that a reader can pair them.
 */
#include <signal.h>
#include "agent/record/lane.h"

static struct ada_frame *innermost(const struct ada_thread *thread)
{
	return ada_frame_at(thread, (int64_t)ada_frames(thread) - 1);
}

static bool any(const struct ada_thread *thread, const struct ada_frame *frame)
{
	return frame >= ada_frame_at(thread, 0);
}

/* --- the policy (abi/policy.h) -------------------------------------------------------------------------------------------- */

static struct ada_judged judged_of(struct ada_thread *thread, enum ada_event_kind kind, const struct ada_frame *frame,
				   const struct ada_moment *moment, const struct ada_written *written)
{
	struct ada_judged event = { .counter = written->counter,
				    .function_id = ada_frame_hook(frame)->function_id,
				    .seq = written->seq,
				    .start_counter = frame->counter,
				    .slot = ada_frame_slot(frame),
				    .number = ada_frame_hook(frame)->number,
				    .thread = thread->id,
				    .depth = frame->depth / ADA_EVENT_DEPTH_UNIT,
				    .kind = kind,
				    .registers = moment->registers };

	if (moment->registers) {
		event.return_address = ada_site_return_address(*(const uint64_t *)event.slot);
		__asm__("movq %%xmm0,%0" : "=m"(event.xmm0)); /* the program's: no code of ours touches it */
	}
	return event;
}

static void exit_judge(struct ada_thread *thread, enum ada_event_kind kind, const struct ada_frame *frame, const struct ada_moment *moment,
		       const struct ada_written *written)
{
	const struct ada_judged event = judged_of(thread, kind, frame, moment, written);

	if (ada_policy_flags()[event.number] & ADA_POLICY_CAPTURE)
		ada_capture(thread, &event, true);
	ada_judge(&event);
}

/* The call is the innermost one. Afterwards frames may lie elsewhere. A function of its own, as objects_commit (object.c). */
static __attribute__((noinline)) void objects_write(struct ada_thread *thread, const struct ada_judged *call)
{
	struct ada_said said[ADA_OBJECTS_MAX];
	uint32_t count = ada_objects_of(thread, call, said);

	for (uint32_t i = 0; i < count; i++)
		ada_object_write(thread, call, &said[i]);
}

/* --- frames ---------------------------------------------------------------------------------------------------------------- */

static void close_at(struct ada_thread *thread, struct ada_frame *frame, enum ada_event_kind kind, const struct ada_moment *moment)
{
	struct ada_frame closed = *frame;
	struct ada_written written;
	bool kept = !ada_frame_is_unreturned(frame) && ada_event_write(thread, kind, frame, moment, &written);

	closed.counter = frame->counter; /* a wait for the recorder is no part of the call */
	for (struct ada_frame *last = innermost(thread); frame < last; frame++)
		*frame = frame[1];
	ada_state_set(thread, ada_state(thread) - ((uint64_t)ADA_FRAME_BYTES << ADA_COMMIT_FRAMES));
	if (kept && ada_policy_flags()[ada_frame_hook(&closed)->number] & ADA_POLICY_RETURN)
		exit_judge(thread, kind, &closed, moment, &written);
}

void ada_shadow_close(struct ada_thread *thread, struct ada_frame *frame, enum ada_event_kind kind)
{
	close_at(thread, frame, kind, &(struct ada_moment){ NULL, ada_frame_slot(frame) });
}

/* Closes frames with low <= slot < high. */
static void drop_between(struct ada_thread *thread, uint64_t low, uint64_t high)
{
	for (struct ada_frame *frame = innermost(thread); any(thread, frame); frame--)
		if (ada_frame_slot(frame) >= low && ada_frame_slot(frame) < high)
			ada_shadow_close(thread, frame, ADA_EVENT_EXCEPTION);
}

/* The stack pointer is on the thread's own stack just above `end`: closes that stack's frames below. They lie in order, so the
 * first one that is alive ends the search. */
static void drop_below(struct ada_thread *thread, uint64_t end)
{
	for (struct ada_frame *frame = innermost(thread); any(thread, frame); frame--) {
		if (!ada_stack_own(thread, ada_frame_slot(frame)))
			continue;
		if (ada_frame_slot(frame) >= end)
			return;
		ada_shadow_close(thread, frame, ADA_EVENT_EXCEPTION);
	}
}

/* Whether a call without a stub is over when another call is entered at `slot`: it is where its own slot lies a little below, or holds
 * something else by now. A wrong guess costs a depth. */
static bool is_over(struct ada_thread *thread, const struct ada_frame *frame, uint64_t slot)
{
	uint64_t own = ada_frame_slot(frame);

	if (slot - own < ADA_NEAR_BYTES)
		return true;
	return (!ada_stack_own(thread, own) && !ada_stack_readable(own)) || *(const uint64_t *)own != frame->counter;
}

/* A chain of tail calls shares one slot; an endless one must not pile up frames, so all but the first are closed. */
static void tail_calls_limit(struct ada_thread *thread, uint64_t slot)
{
	if (ada_frame_slot(innermost(thread) + 1 - ADA_TAIL_CALLS_MAX) != slot)
		return;
	while (any(thread, innermost(thread) - 1) && ada_frame_slot(innermost(thread) - 1) == slot)
		ada_shadow_close(thread, innermost(thread), ADA_EVENT_RETURN);
}

void ada_shadow_enter(struct ada_thread *thread, uint64_t slot, bool tail_call)
{
	if (ada_stack_own(thread, slot))
		drop_below(thread, tail_call ? slot : slot + 1);
	while (any(thread, innermost(thread)) && ada_frame_is_unreturned(innermost(thread)) && is_over(thread, innermost(thread), slot))
		ada_shadow_close(thread, innermost(thread), ADA_EVENT_EXCEPTION);
	while (!tail_call && any(thread, innermost(thread)) && ada_frame_slot(innermost(thread)) == slot)
		ada_shadow_close(thread, innermost(thread), ADA_EVENT_EXCEPTION); /* the slot has a new owner */
	if (tail_call)
		tail_calls_limit(thread, slot);
	if (!ada_frames(thread)) /* so that the hook finds the next outermost calls in order */
		innermost(thread)->slot = (slot + ADA_NEAR_BYTES / 2) | 1;
}

bool ada_shadow_push(struct ada_thread *thread, const struct ada_hook *hook, const struct ada_moment *moment, bool returns)
{
	struct ada_judged event;
	struct ada_frame *frame;
	struct ada_written written;
	uint8_t flags;
	bool deeper;

	if (!ada_room_grow(thread, ada_frames(thread) + 1)) {
		__atomic_fetch_add(&thread->entry->skipped, 1, __ATOMIC_RELAXED);
		ada_event_lost(thread, returns ? 2 : 1);
		return false;
	}
	frame = innermost(thread) + 1;
	deeper = (uint64_t)frame >= thread->shadow_end; /* look now: a new chunk arms anew */
	if (!ada_chunk_room(thread)) {
		if (ada_core_recording())
			ada_event_lost(thread, returns ? 2 : 1);
		return false;
	}
	*frame = (struct ada_frame){ .slot = moment->slot,
				     .hook = (uint64_t)hook - ADA_HOOK_BEHIND,
				     .depth = ada_frames(thread) * ADA_EVENT_DEPTH_UNIT };
	if (!ada_event_write(thread, ADA_EVENT_CALL, frame, moment, &written))
		return false;
	frame->counter = written.counter;
	ada_state_set(thread, ada_state(thread) + ((uint64_t)ADA_FRAME_BYTES << ADA_COMMIT_FRAMES));
	flags = ada_policy_flags()[hook->number];
	event = judged_of(thread, ADA_EVENT_CALL, frame, moment, &written);
	if (flags & ADA_POLICY_CAPTURE && moment->registers)
		ada_capture(thread, &event, true);
	if (deeper || flags & ADA_POLICY_CALL)
		ada_judge(&event);
	if (any(thread, frame - 1) && ada_frame_slot(frame - 1) == moment->slot)
		frame->slot -= ADA_FRAME_TAIL;
	if (deeper)
		frame->slot -= ADA_FRAME_WATCHED;
	if (!returns) {
		frame->slot |= ADA_FRAME_UNRETURNED;
		frame->counter = *(const uint64_t *)moment->slot;
		__atomic_fetch_add(&thread->entry->unreturned, 1, __ATOMIC_RELAXED);
	}
	ada_shadow_arm(thread);
	if (flags & ADA_POLICY_OBJECTS)
		objects_write(thread, &event);
	return true;
}

bool ada_shadow_leave(struct ada_thread *thread, const struct ada_moment *moment, enum ada_event_kind kind)
{
	struct ada_frame *frame;
	uint64_t slot = moment->slot;

	if (ada_stack_own(thread, slot))
		drop_below(thread, slot);
	while (any(thread, innermost(thread)) && ada_frame_is_unreturned(innermost(thread))) /* calls made behind the one that returns */
		ada_shadow_close(thread, innermost(thread), ADA_EVENT_EXCEPTION);
	for (frame = innermost(thread); any(thread, frame) && ada_frame_slot(frame) != slot; frame--)
		;
	if (!any(thread, frame))
		return false;
	for (; any(thread, frame) && ada_frame_slot(frame) == slot; frame--)
		close_at(thread, frame, kind, moment);
	ada_shadow_arm(thread);
	return true;
}

struct jump {
	struct ada_thread *thread;
	uint64_t here, sp;
};

static void jump_follow(void *argument)
{
	const struct jump *jump = argument;
	struct ada_thread *thread = jump->thread;
	stack_t alternate = { 0 };
	uint64_t sp = jump->sp;

	if (ada_stack_own(thread, sp))
		drop_below(thread, sp);
	else if (ada_stack_own(thread, jump->here))
		return; /* a switch of stacks */
	/* A handler on the alternate stack jumps away: nothing there goes on. (The kernel's flag would speak of the stack that we are
	 * on.) */
	ada_sys4(SYS_sigaltstack, 0, (long)&alternate, 0, 0);
	if (jump->here - (uint64_t)alternate.ss_sp < alternate.ss_size && sp - (uint64_t)alternate.ss_sp >= alternate.ss_size)
		drop_between(thread, (uint64_t)alternate.ss_sp, (uint64_t)alternate.ss_sp + alternate.ss_size);
	ada_shadow_arm(thread);
}

void ada_core_longjmp(uint64_t sp)
{
	struct jump jump = { .here = (uint64_t)__builtin_frame_address(0), .sp = sp };

	ada_slow_abandoned();
	if (!ada_core_recording())
		return;
	jump.thread = ada_slow_begin(0);
	if (!jump.thread)
		return;
	if (jump.thread->index)
		jump.thread = ada_slow_run(jump.thread, jump_follow, &jump);
	ada_slow_end(jump.thread);
}
