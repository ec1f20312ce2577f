/* The process that records, and how it changes: attached, forked.
 *
 * A fork's child is a provider of its own, with a segment of its own, or it records nothing. The child must never write into its parent's
 * segment: the first thing that runs in it is fork_child (registered before anyone else's handlers) or, where fork was made past libc,
 * the child's first hook, which finds its state wiped and comes to ada_process_forked_slow. A vfork child shares our memory and records
 * into it until it executes something; only the crash handler asks who it is.
 */
#include "agent/life/life.h"

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

void ada_process_attach(struct ada_shm *shm, uint64_t bytes, uint32_t flags)
{
	ada_process_is(shm, bytes, flags);
	ada_core_attach(shm);
}

static bool ran_out(int status)
{
	return status == -ENOMEM || status == -EMFILE || status == -ENFILE || status == -ENOBUFS;
}

static void child_begin_with(struct ada_shm *own, uint64_t bytes, uint32_t flags)
{
	ada_process_attach(own, bytes, flags);
	ada_life_busy = 0; /* another thread of the parent's was busy */
	ada_late_attach(own);
}

/* With a segment that lies ready the child waits for nobody: it tells the recorder, and goes on. */
static bool attach_ready(const struct ada_shm *parent)
{
	uint64_t bytes;
	struct ada_shm *own = ada_ready_take(parent, &bytes);

	if (!own)
		return false;
	ada_module_copy_table(own, parent); /* before HELLO, from which on the recorder looks at it */
	if (ada_connect_tell(own, parent)) {
		ada_ready_leave(own, bytes);
		return false;
	}
	child_begin_with(own, bytes, ada_process.welcome_flags);
	return true;
}

/* Gives the child a segment of its own, with its parent's modules under their numbers. */
static void child_attach(void)
{
	struct ada_shm *parent = ada_process.segment, *own;
	struct ada_conversation *conversation;
	uint64_t parent_bytes = ada_process.segment_bytes, bytes;
	int status;

	ada_process.segment = NULL;
	if (!parent || !(ada_process.welcome_flags & ADA_WELCOME_FOLLOW)) {
		ada_core_disable(ADA_DISABLE_NO_RECORDER);
	} else if (parent->disabled || ada_process_is_confined()) {
		ada_core_disable(ADA_DISABLE_NO_RECORDER);
		ada_heir_announce(parent, ADA_HEIR_FORK_DISABLED, 0, NULL, 0);
	} else if (attach_ready(parent)) {
		;
	} else if ((status = ada_connect(&conversation, ADA_HELLO_FORK, parent))) {
		ada_core_disable(ADA_DISABLE_NO_RECORDER);
		if (!ada_connect_was_heard())
			ada_heir_announce(parent, ran_out(status) ? ADA_HEIR_FORK : ADA_HEIR_FORK_UNREACHED, 0, NULL, 0);
	} else {
		own = ada_connect_segment(conversation, &bytes);
		if (own) {
			ada_module_copy_table(own, parent);
			child_begin_with(own, bytes, ada_connect_flags(conversation));
		} else {
			ada_process.welcome_flags = ada_connect_flags(conversation); /* images that it executes may yet be recorded */
			ada_core_disable(ADA_DISABLE_STOPPED);
		}
		ada_connect_end(conversation);
	}
	if (parent)
		ada_sys_unmap(parent, parent_bytes);
}

static void child_begin(void *unused)
{
	ada_process.pid = ada_sys_pid();
	ada_core_forked();
	child_attach();
}

static void fork_child(void)
{
	uint64_t mask;

	ada_quiet_forked();
	if (ada_core_is_silent() || ada_quiet()) {
		if (ada_process.welcome_flags & ADA_WELCOME_FOLLOW)
			ada_heir_announce(ada_process.segment, ADA_HEIR_FORK_DISABLED, 0, NULL, 0);
		return;
	}
	mask = ada_sys_signals_block();
	if (!ada_process_is_own()) /* own: ada_process_forked_slow was here first */
		ada_aside(child_begin, NULL);
	ada_sys_signals_restore(mask);
}

ADA_SLOW void ada_process_forked_slow(void)
{
	fork_child();
}

void ada_process_watch_forks(void)
{
	if (&__register_atfork && __register_atfork(NULL, NULL, fork_child, (void *)&ada_process))
		ada_count_error();
}
