/* The slow path of each direction: one whole event, for whatever hook.S doesn't do. First event of a thread, child of a fork,
 * chunk full, call site not seen before, shadow stack out of step, recording stopped.
 */
#include "agent/record/lane.h"

uint64_t ada_entry_slow(struct ada_hook *hook, uint64_t *slot, const struct ada_registers *registers);
void ada_exit_slow(uint64_t slot, const struct ada_registers *registers);

#define STACK_BYTES 1024      /* what a slow path, calls included, needs of the program's stack where it has no other */
#define STACK_BYTES_ASIDE 512 /* ... and where it has one */
#define FLAGS_TRAP 0x100ull

/* A call, or a return: hook NULL. */
struct call {
	struct ada_thread *thread;
	struct ada_hook *hook;
	struct ada_hook *near; /* of the near stub through which the call came; NULL: none */
	struct ada_moment moment;
	uint64_t next;
};

static uint64_t events_of(const struct call *call)
{
	return call->hook ? ada_site_events(call->hook, *(const uint64_t *)call->moment.slot) : 1;
}

/* Asked with the program's signals open, since with them blocked a fault or a trap is the end:
 *   a program that single-steps itself traps at each instruction of ours, too: it goes on unrecorded meanwhile (false)
 *   a stack that ends here has to overflow here, where the program's own handler gets the signal
 */
static bool has_stack(void)
{
	(void)*((volatile char *)__builtin_frame_address(0) - (ada_slow_has_stack() ? STACK_BYTES_ASIDE : STACK_BYTES));
	return !(__builtin_ia32_readeflags_u64() & FLAGS_TRAP);
}

/* Whether this event may be recorded. */
static bool may_record(const struct call *call)
{
	if (!ada_core_is_forked() && !ada_core_recording())
		return false;
	if (ada_slow_forbidden()) {
		ada_slow_lost(events_of(call));
		return false;
	}
	return has_stack();
}

/* In a fork's child that fork.c did not see coming (raw clone, _Fork): fork.c decides what becomes of the child. */
static void forked(void)
{
	ada_above.forked_slow();
	if (ada_core_is_forked())
		ada_core_forked();
}

/* The calling thread, attached; NULL where it records nothing. Ends with ada_slow_end of whatever is in *thread. */
static bool event_begin(struct ada_thread **thread, uint64_t slot)
{
	uint32_t returned;

	for (;;) {
		*thread = ada_slow_begin(slot);
		if (!*thread)
			return false;
		if (ada_core_is_forked()) {
			forked();
			*thread = &ada_no_thread;
		}
		if (ada_core_recording() && !(*thread)->index) {
			struct ada_thread *attached = ada_thread_attach();

			*thread = attached ? attached : &ada_no_thread;
		}
		if (!ada_core_recording() || (*thread)->index || !ada_thread_may_wait(&returned))
			return ada_core_recording() && (*thread)->index;
		ada_core_wait(*thread, returned, ADA_LACK_FULL);
		ada_slow_end(ada_slow_thread()); /* a handler may have attached meanwhile */
	}
}

/* Where there is no stub the call is recorded without its return: its frame is there for the depth of what it calls. */
static void event_enter(void *argument)
{
	struct call *call = argument;
	struct ada_thread *thread = call->thread;
	uint64_t return_address = *(uint64_t *)call->moment.slot;
	bool tail_call = ada_stub_is_return(return_address);
	struct ada_site *site = ada_site_find(return_address, call->hook->function_id);

	if (!site)
		site = ada_site_intern(call->hook, return_address);
	if (site && call->near)
		ada_above.near_known(call->near, site->entry);
	if (ada_frames(thread) > thread->sweep_frames)
		ada_shadow_sweep(thread);
	ada_shadow_enter(thread, call->moment.slot, tail_call);
	if (ada_shadow_push(thread, call->hook, &call->moment, site || tail_call) && site)
		call->next = site->entry;
}

/* Records a whole call. Returns where the trampoline goes on: the stub, or the body itself where nobody shall see the return. A call that
 * can't be recorded gets no stub, so all its events are lost. */
ADA_SLOW uint64_t ada_entry_slow(struct ada_hook *hook, uint64_t *slot, const struct ada_registers *registers)
{
	struct call call = { .hook = hook, .moment = { registers, (uint64_t)slot } };

	if (hook->is_near) {
		call.near = hook;
		call.hook = hook = ada_hook_of_near(hook);
	}
	if (!(ada_policy_flags()[hook->number] & ADA_POLICY_MUTED) && may_record(&call)) {
		call.thread = ada_self;
		if (call.thread->index && ada_chunk_hopeless(call.thread)) {
			ada_event_lost(call.thread, events_of(&call));
		} else {
			if (event_begin(&call.thread, (uint64_t)slot))
				call.thread = ada_slow_run(call.thread, event_enter, &call);
			if (call.thread)
				ada_slow_end(call.thread);
			else
				ada_slow_lost(events_of(&call));
		}
	}
	return call.next ? call.next : hook->start + ADA_TRAMPOLINE_NO_STUB;
}

static void leave(void *argument)
{
	struct call *call = argument;

	if (!ada_shadow_leave(call->thread, &call->moment, ADA_EVENT_RETURN))
		__atomic_fetch_add(&call->thread->entry->orphans, 1, __ATOMIC_RELAXED);
}

struct object {
	struct ada_thread *thread;
	const struct ada_judged *call;
	const struct ada_said *said;
};

static void object_write(void *argument)
{
	const struct object *object = argument;

	ada_object_write(object->thread, object->call, object->said);
}

void ada_object_slow(const struct ada_judged *call, const struct ada_said *said)
{
	struct object job = { .call = call, .said = said };

	if (ada_core_is_forked() || !ada_core_recording() || ada_slow_forbidden() || !has_stack())
		return;
	job.thread = ada_slow_begin(call->slot);
	if (!job.thread)
		return;
	if (job.thread->index && !ada_core_is_forked())
		job.thread = ada_slow_run(job.thread, object_write, &job);
	ada_slow_end(job.thread);
}

/* A return, whole. */
ADA_SLOW void ada_exit_slow(uint64_t slot, const struct ada_registers *registers)
{
	struct call call = { .moment = { registers, slot } };

	if (!may_record(&call))
		return;
	if (event_begin(&call.thread, slot))
		call.thread = ada_slow_run(call.thread, leave, &call);
	if (call.thread)
		ada_slow_end(call.thread);
	else
		ada_slow_lost(events_of(&call));
}
