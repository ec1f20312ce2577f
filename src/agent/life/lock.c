/* mlockall, without our memory: the pools alone would lock hundreds of megabytes, more than a limit (RLIMIT_MEMLOCK) permits that is
 * enough for the program.
 *
 * We lock what is mapped now range by range, as /proc says, and leave ours out. Only where the program's own memory is more than its
 * limit we ask the kernel for everything: it may permit that all the same, or gives the error that the program would get; afterwards ours
 * is unlocked again. The kernel locks what is mapped from now on (MCL_FUTURE), and we unlock what we map before we touch it (sys.c).
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "agent/ground/space.h"
#include "agent/life/life.h"

#define TEXT_BYTES 65536
#define SPARE_RANGES 64 /* that are mapped while we look */
#define EVERY (MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT)

struct job {
	long (*call)(long flags); /* the program's own way, with its errno */
	long flags, result;
	struct ada_range *ours;
	size_t our_count, our_next;
	uint64_t mapped; /* bytes of `ours` and `text` */
	char *text;
	uint64_t total; /* bytes of the program's */
};

static void range_count(struct job *job, uint64_t start, uint64_t end)
{
	job->total += end - start;
}

/* Errors come from memory that can't be touched: it is locked all the same, as the kernel does it. */
static void range_lock(struct job *job, uint64_t start, uint64_t end)
{
	ada_sys4(SYS_mlock2, start, end - start, job->flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0, 0);
}

/* Calls each() for the parts of [start, end) that are not ours. */
static void range_cut(struct job *job, uint64_t start, uint64_t end, void (*each)(struct job *, uint64_t, uint64_t))
{
	if (start >> 63) /* the kernel's: vsyscall */
		return;
	for (; job->our_next < job->our_count && job->ours[job->our_next].start < end; job->our_next++) {
		const struct ada_range *our = &job->ours[job->our_next];

		if (our->start > start)
			each(job, start, our->start);
		if (our->end > start)
			start = our->end;
		if (start >= end) /* it may go on in the next */
			return;
	}
	each(job, start, end);
}

static uint64_t hex_read(const char **at)
{
	uint64_t number = 0;

	for (;; ++*at) {
		if (**at >= '0' && **at <= '9')
			number = number * 16 + (**at - '0');
		else if (**at >= 'a' && **at <= 'f')
			number = number * 16 + (**at - 'a' + 10);
		else
			return number;
	}
}

/* Walks through whole lines only; returns their bytes. */
static size_t lines_walk(struct job *job, size_t bytes, void (*each)(struct job *, uint64_t, uint64_t))
{
	size_t line = 0;

	for (size_t i = 0; i < bytes; i++) {
		const char *at = job->text + line;
		uint64_t start;

		if (job->text[i] != '\n')
			continue;
		start = hex_read(&at);
		at++; /* the dash */
		range_cut(job, start, hex_read(&at), each);
		line = i + 1;
	}
	return line;
}

/* Each range that is not ours. False: /proc can't be read. */
static bool ranges_walk(struct job *job, void (*each)(struct job *, uint64_t, uint64_t))
{
	long fd = ada_sys_open("/proc/self/maps"), got;
	size_t kept = 0;

	if (ada_sys_failed(fd))
		return false;
	job->our_next = 0;
	while ((got = ada_sys4(SYS_read, fd, (long)job->text + kept, TEXT_BYTES - kept, 0)) > 0 || got == -EINTR) {
		size_t bytes = kept + (got > 0 ? got : 0), done = lines_walk(job, bytes, each);

		kept = bytes - done;
		memmove(job->text, job->text + done, kept);
	}
	ada_sys_close(fd);
	return !got;
}

static bool job_begin(struct job *job)
{
	size_t most = ada_space_ranges(NULL, 0) + SPARE_RANGES;

	job->mapped = TEXT_BYTES + most * sizeof *job->ours;
	job->text = ada_sys_map(job->mapped);
	if (!job->text)
		return false;
	job->ours = (struct ada_range *)(job->text + TEXT_BYTES);
	job->our_count = ada_space_ranges(job->ours, most);
	return true;
}

static void ours_unlock(const struct job *job)
{
	for (size_t i = 0; i < job->our_count; i++)
		ada_sys4(SYS_munlock, job->ours[i].start, job->ours[i].end - job->ours[i].start, 0, 0);
}

/* Whether the limit suffices for the program's own memory. */
static bool is_permitted(const struct job *job)
{
	struct rlimit limit;

	return !ada_sys_failed(ada_sys4(SYS_prlimit64, 0, RLIMIT_MEMLOCK, 0, (long)&limit)) && job->total <= limit.rlim_cur;
}

static void lock_whole(struct job *job)
{
	job->result = job->call(job->flags);
	if (!job->result)
		ours_unlock(job);
}

static void lock_ranges(struct job *job)
{
	const bool permitted = is_permitted(job), future = job->flags & MCL_FUTURE;

	if (!permitted) {
		job->result = job->call(MCL_CURRENT | MCL_ONFAULT);
		if (job->result)
			return;
		ours_unlock(job);
	}
	if (future)
		job->result = job->call(job->flags & ~MCL_CURRENT);
	else if (permitted && ada_sys_future_locked(false)) /* as mlockall without it ends that */
		ada_sys4(SYS_munlockall, 0, 0, 0, 0);
	if (!job->result)
		ranges_walk(job, range_lock);
}

static void lock_run(void *argument)
{
	struct job *job = argument;
	bool was = job->flags & MCL_FUTURE ? ada_sys_future_locked(true) : true;

	if (!job_begin(job)) {
		job->result = job->call(job->flags);
	} else {
		if (ranges_walk(job, range_count))
			lock_ranges(job);
		else
			lock_whole(job);
		ada_sys_unmap(job->text, job->mapped);
	}
	if (job->result && !was)
		ada_sys_future_locked(false);
}

long ada_lock_all(long flags, long (*call)(long flags))
{
	struct job job = { .call = call, .flags = flags };
	uint64_t mask;

	if (ada_base_moved() || ada_quiet_filtered() || flags & ~EVERY || !(flags & (MCL_CURRENT | MCL_FUTURE)) || !ada_quiet_enter())
		return call(flags);
	mask = ada_sys_signals_block();
	if (flags & MCL_CURRENT) {
		ada_aside(lock_run, &job);
	} else {
		bool was = ada_sys_future_locked(true);

		job.result = call(flags);
		if (job.result && !was)
			ada_sys_future_locked(false);
	}
	ada_sys_signals_restore(mask);
	ada_quiet_leave();
	return job.result;
}
