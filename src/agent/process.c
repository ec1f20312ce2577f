/* The process that records, and how it changes: attached, forked.
 *
 * A fork's child is a provider of its own, with a segment of its own, or it records nothing. It must never write into its
 * parent's: the first thing that runs in it is fork_child (registered before anyone else's handlers) or, where fork was
 * made past libc, the child's first hook, which finds its state wiped and comes to ada_process_forked_slow.
 * A vfork child shares our memory and records into it until it executes something; only the crash handler asks who it is.
 */
#include "agent/life.h"
#include "agent/sys.h"

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));

static struct ada_shm *segment;			/* the one attached now */
static uint64_t segment_bytes;
static uint32_t welcome_flags;
static uint32_t filters_at_start;		/* a container's own, under which sockets work */
static uint32_t tracer_at_start;		/* of ada, too, as it goes */
static uint32_t own_pid;			/* as this process sees itself: a namespace may number it otherwise */

/* Filters of seccomp on this thread, as far as the kernel tells. Reading a file is what dlopen has just done too. */
static uint32_t filters_count(void)
{
	static const char key[] = "\nSeccomp_filters:";
	char status[2048];
	long bytes = ada_sys_read_file("/proc/thread-self/status", status, sizeof status - 1);
	uint32_t count = 0;

	status[ada_sys_failed(bytes) ? 0 : bytes] = 0;
	for (const char *at = status; *at; at++) {
		if (!ada_string_begins(at, key))
			continue;
		for (at += sizeof key - 1; *at == '\t' || *at == ' '; at++)
			;
		for (; *at >= '0' && *at <= '9'; at++)
			count = count * 10 + (*at - '0');
		break;
	}
	return count;
}

uint32_t ada_process_tracer(void)
{
	static const char field[] = "\nTracerPid:\t";
	char text[512];
	long bytes = ada_sys_read_file("/proc/thread-self/status", text, sizeof text);
	uint32_t pid = 0;

	for (long at = 0; at + (long)sizeof field <= bytes; at++) {
		if (memcmp(text + at, field, sizeof field - 1))
			continue;
		for (at += sizeof field - 1; at < bytes && text[at] >= '0' && text[at] <= '9'; at++)
			pid = pid * 10 + (text[at] - '0');
		break;
	}
	return pid;
}

bool ada_process_is_traced(void)
{
	uint32_t tracer = ada_process_tracer();

	/* The recorder itself traces for a moment, to put hooks in. */
	return tracer && tracer != tracer_at_start && segment &&
	       ada_sys4(SYS_tgkill, segment->recorder_pid, tracer, 0, 0) == -ESRCH;
}

bool ada_process_is_confined(void)
{
	return ada_quiet() || ada_restraint_reason() || filters_count() > filters_at_start;
}

void ada_process_start(void)
{
	tracer_at_start = ada_process_tracer();
}

void ada_process_attach(struct ada_shm *shm, uint64_t bytes, uint32_t flags)
{
	segment = shm;
	segment_bytes = bytes;
	welcome_flags = flags;
	own_pid = ada_sys_pid();
	filters_at_start = filters_count();
	ada_core_attach(shm);
}

uint32_t ada_process_pid(void)
{
	return own_pid;
}

bool ada_process_is_own(void)
{
	bool own;

	if (ada_core_is_silent() || ada_quiet_guest())
		return false;
	if (!ada_quiet_enter())
		return true;
	own = own_pid == ada_sys_pid();
	ada_quiet_leave();
	return own;
}

bool ada_process_follows(void)
{
	return (welcome_flags & ADA_WELCOME_FOLLOW) && !ada_presence_gone();
}

void ada_count_error(void)
{
	struct ada_shm *shm = ada_core_shm();

	if (shm)
		__atomic_add_fetch(&shm->internal_errors, 1, __ATOMIC_RELAXED);
}

static bool ran_out(int status)
{
	return status == -ENOMEM || status == -EMFILE || status == -ENFILE || status == -ENOBUFS;
}

/* Gives the child a segment of its own, with its parent's modules under their numbers. */
static void child_attach(void)
{
	struct ada_shm *parent = segment, *own;
	struct ada_conversation *conversation;
	uint64_t parent_bytes = segment_bytes, bytes;
	int status;

	segment = NULL;
	if (!parent || !(welcome_flags & ADA_WELCOME_FOLLOW)) {
		ada_core_disable(ADA_DISABLE_NO_RECORDER);
	} else if (parent->disabled || ada_process_is_confined()) {
		ada_core_disable(ADA_DISABLE_NO_RECORDER);
		ada_heir_announce(parent, ADA_HEIR_FORK_DISABLED, 0, NULL, 0);
	} else if ((status = ada_connect(&conversation, ADA_HELLO_FORK, parent))) {
		ada_core_disable(ADA_DISABLE_NO_RECORDER);
		if (!ada_connect_was_heard())
			ada_heir_announce(parent, ran_out(status) ? ADA_HEIR_FORK : ADA_HEIR_FORK_UNREACHED, 0, NULL, 0);
	} else {
		own = ada_connect_segment(conversation, &bytes);
		if (own) {
			ada_module_copy_table(own, parent);
			ada_process_attach(own, bytes, ada_connect_flags(conversation));
			ada_life_busy = 0;	/* another thread of the parent's was */
			ada_late_attach(own);
		} else {
			welcome_flags = ada_connect_flags(conversation);	/* what it executes may be recorded yet */
			ada_core_disable(ADA_DISABLE_STOPPED);
		}
		ada_connect_end(conversation);
	}
	if (parent)
		ada_sys_unmap(parent, parent_bytes);
}

static void child_begin(void *unused)
{
	own_pid = ada_sys_pid();
	ada_core_forked();
	child_attach();
}

static void fork_child(void)
{
	uint64_t mask;

	ada_quiet_forked();
	if (ada_core_is_silent() || ada_quiet()) {
		if (welcome_flags & ADA_WELCOME_FOLLOW)
			ada_heir_announce(segment, ADA_HEIR_FORK_DISABLED, 0, NULL, 0);
		return;
	}
	mask = ada_sys_signals_block();
	if (!ada_process_is_own())		/* else: ada_process_forked_slow was here first */
		ada_aside(child_begin, NULL);
	ada_sys_signals_restore(mask);
}

ADA_SLOW void ada_process_forked_slow(void)
{
	fork_child();
}

void ada_process_watch_forks(void)
{
	if (&__register_atfork && __register_atfork(NULL, NULL, fork_child, (void *)&segment))
		ada_count_error();
}
