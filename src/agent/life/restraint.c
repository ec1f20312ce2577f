/* What the program forbids itself, or lets others see, and what the agent makes of it.
 *
 * We do everything that needs a system call before the program's own call goes on: afterwards there may be none. Meanwhile no thread's
 * slow path begins (quiet.c), and we wait for those under way, since a filter may be for all threads at once; what is not recorded in
 * that time is counted. Where the kernel refuses (a probe, say), all is as before. A vfork child restrains only itself: its parent's
 * thread records again when the child is gone.
 *
 * The strict mode of seccomp takes the TSC from the thread as well, as PR_SET_TSC does: there no hook may read it.
 */
#include "agent/life/life.h"

static bool is_seccomp(enum ada_restraint_kind kind)
{
	return kind == ADA_RESTRAINT_FILTER || kind == ADA_RESTRAINT_STRICT;
}

static void guest_begin(enum ada_restraint_kind kind)
{
	ada_guest_reason = is_seccomp(kind)		  ? ADA_HEIR_CONFINED :
			   kind == ADA_RESTRAINT_TRACED	  ? ADA_HEIR_TRACED :
			   kind == ADA_RESTRAINT_DISPATCH ? ADA_HEIR_DISPATCHED :
							    ADA_HEIR_COUNTER;
	ada_core_hide();
	ada_quiet_guest_begin();
}

/* Concerns only this thread, and is never undone: the kernel refuses this call to no one. */
static void counter_begin(void)
{
	ada_core_disable(ADA_DISABLE_NO_COUNTER);
	ada_crash_unwatch();
	ada_core_leave();
}

/* From here on the thread's events count as lost wherever a slow path is forbidden. A crash is the program's business, since its handler
 * for SIGSYS would see our system calls. */
static void dispatch_begin(struct ada_restraint *restraint, uint64_t selector, bool mute)
{
	if (!mute) {
		ada_core_thread_begin();
		ada_crash_unwatch();
	}
	ada_late_forbid();
	restraint->dispatch = ada_quiet_dispatch((struct ada_dispatch){ true, (const volatile uint8_t *)selector });
}

/* `mute`: system calls are forbidden already, so we can't find out anything. */
static void restraint_begin(struct ada_restraint *restraint, uint64_t program, bool mute)
{
	enum ada_filter_verdict verdict = ADA_FILTER_FORBIDS;

	if (restraint->kind == ADA_RESTRAINT_FILTER && !mute)
		verdict = ada_filter_try(program);
	restraint->forbids = verdict != ADA_FILTER_ALLOWS;
	restraint->held = verdict == ADA_FILTER_FORBIDS;
	if (restraint->held) {
		restraint->watched = !mute && ada_crash_unwatch();
		ada_quiet_hold(1);
		if (!mute)
			ada_quiet_settle();
	}
	if (restraint->kind == ADA_RESTRAINT_STRICT)
		ada_core_hide();
	if (restraint->kind == ADA_RESTRAINT_TRACED)
		ada_process.traced = true;
}

void ada_restraint_begin(struct ada_restraint *restraint, enum ada_restraint_kind kind, uint64_t argument)
{
	bool mute;

	*restraint = (struct ada_restraint){ .kind = ADA_RESTRAINT_NONE };
	if (kind == ADA_RESTRAINT_NONE || ada_base_moved())
		return;
	restraint->kind = kind;
	if (ada_core_is_forked()) /* and no hook has run in it */
		ada_process_forked_slow();
	mute = ada_core_is_silent() || ada_quiet();
	if (!mute && !ada_process_is_own()) {
		restraint->guest = true;
		guest_begin(kind);
		return;
	}
	if (is_seccomp(kind))
		ada_quiet_filter(1);
	if (kind == ADA_RESTRAINT_DISPATCH)
		dispatch_begin(restraint, argument, mute);
	else if (kind == ADA_RESTRAINT_COUNTER)
		counter_begin();
	else if (!ada_core_is_silent())
		restraint_begin(restraint, argument, mute);
}

static void undo(const struct ada_restraint *restraint)
{
	if (is_seccomp(restraint->kind))
		ada_quiet_filter(-1);
	if (restraint->kind == ADA_RESTRAINT_DISPATCH)
		ada_quiet_dispatch(restraint->dispatch);
	if (restraint->kind == ADA_RESTRAINT_TRACED)
		ada_process.traced = false;
	if (restraint->kind == ADA_RESTRAINT_STRICT)
		ada_core_show();
	if (!restraint->held)
		return;
	ada_quiet_hold(-1);
	if (restraint->watched && !ada_quiet())
		ada_crash_watch();
}

void ada_restraint_end(const struct ada_restraint *restraint, bool kept)
{
	if (restraint->guest) {
		if (!kept) {
			ada_quiet_guest_end();
			ada_core_show();
		}
	} else if (!kept) {
		undo(restraint);
	} else if (restraint->forbids) {
		ada_core_disable(restraint->kind == ADA_RESTRAINT_TRACED ? ADA_DISABLE_TRACED : ADA_DISABLE_CONFINED);
		if (!restraint->held)
			ada_quiet_hold(1);
		if (restraint->kind == ADA_RESTRAINT_STRICT) {
			ada_core_show();
			ada_core_leave();
		}
	}
}
