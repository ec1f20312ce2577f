/* Who this process is to the recorder: which segment it is attached to; whether it is itself, or a vfork child in its memory; whether
 * traced, confined. */
#include "agent/ground/mem.h"
#include "agent/ground/sys.h"
#include "agent/talk/heir.h"
#include "agent/talk/talk.h"

struct ada_process ada_process;
__thread enum ada_heir_kind ada_guest_reason;

/* How many filters of seccomp this thread has, as far as the kernel tells. It may read a file: dlopen has just done the same. */
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

static uint32_t tracer_in(const char *path)
{
	static const char field[] = "\nTracerPid:\t";
	char text[512];
	long bytes = ada_sys_read_file(path, text, sizeof text);
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

uint32_t ada_process_tracer(void)
{
	return tracer_in("/proc/thread-self/status");
}

/* The recorder itself traces for a moment, when it puts hooks in or takes them out. */
static bool is_recorders(uint32_t tracer)
{
	return ada_process.segment && ada_sys4(SYS_tgkill, ada_process.segment->recorder_pid, tracer, 0, 0) != -ESRCH;
}

bool ada_process_is_traced(void)
{
	uint32_t tracer = ada_process_tracer();

	return tracer && tracer != ada_process.tracer_at_start && ada_process.segment && !is_recorders(tracer);
}

bool ada_process_holds(uint32_t tid)
{
	char path[sizeof "/proc//status" + 10] = "/proc/";
	uint32_t tracer;

	ada_string_copy(ada_heir_number(path + ada_string_bytes(path), tid), sizeof "/status", "/status");
	tracer = tracer_in(path);
	return tracer && is_recorders(tracer);
}

enum ada_heir_kind ada_restraint_reason(void)
{
	if (ada_quiet_guest())
		return ada_guest_reason;
	return ada_process.traced     ? ADA_HEIR_TRACED :
	       ada_quiet_filtered()   ? ADA_HEIR_CONFINED :
	       ada_quiet_dispatched() ? ADA_HEIR_DISPATCHED :
					ADA_HEIR_EXEC;
}

bool ada_process_is_confined(void)
{
	return ada_quiet() || ada_restraint_reason() || filters_count() > ada_process.filters_at_start;
}

void ada_process_start(void)
{
	ada_process.tracer_at_start = ada_process_tracer();
	ada_process.filters_at_start = filters_count();
}

void ada_process_is(struct ada_shm *shm, uint64_t bytes, uint32_t flags)
{
	ada_process.segment = shm;
	ada_process.segment_bytes = bytes;
	ada_process.welcome_flags = flags;
	ada_process.pid = ada_sys_pid();
}

uint32_t ada_process_pid(void)
{
	return ada_process.pid;
}

bool ada_process_is_own(void)
{
	bool own;

	if (ada_core_is_silent() || ada_quiet_guest())
		return false;
	if (!ada_quiet_enter())
		return true;
	own = ada_process.pid == ada_sys_pid();
	ada_quiet_leave();
	return own;
}

bool ada_process_follows(void)
{
	return (ada_process.welcome_flags & ADA_WELCOME_FOLLOW) && !ada_presence_gone();
}

void ada_count_error(void)
{
	struct ada_shm *shm = ada_core_shm();

	if (shm)
		__atomic_add_fetch(&shm->internal_errors, 1, __ATOMIC_RELAXED);
}
