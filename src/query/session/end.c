/* When a process ended, or that it goes on. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "query/session/session.h"

#define TICK_NS 10000000ull /* /proc counts in ticks of a hundredth of a second */

/* When the process `pid` of this machine began, in ns of CLOCK_BOOTTIME. False: there is none that still runs. */
static bool find_start(uint32_t pid, uint64_t *start_ns)
{
	unsigned long long ticks;
	char path[32], text[512], state, *behind;
	FILE *file;
	size_t length;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	file = fopen(path, "r");
	if (!file)
		return false;
	length = fread(text, 1, sizeof text - 1, file);
	fclose(file);
	text[length] = 0;
	behind = strrchr(text, ')'); /* the name before it may hold anything */
	if (!behind ||
	    sscanf(behind + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &ticks) != 2)
		return false;
	*start_ns = ticks * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	return state != 'Z' && state != 'X';
}

static bool runs_program(uint32_t pid, const char *program)
{
	char path[32], target[4096];
	ssize_t length;

	snprintf(path, sizeof path, "/proc/%u/exe", pid);
	length = readlink(path, target, sizeof target);
	return length > 0 && length < (ssize_t)sizeof target && strlen(program) == (size_t)length &&
	       !memcmp(program, target, (size_t)length);
}

/* Whether it is recorded at this moment: nobody has ended its manifest, and the process of that number is the one that began before and
 * runs that program. */
static bool is_live(const struct ada_process *process, uint64_t now_ns)
{
	uint64_t recorded_ns = ada_json_u64(process->manifest, "startNs", 0), start_ns;

	return !process->finalized && recorded_ns && recorded_ns < now_ns && find_start(process->pid, &start_ns) &&
	       start_ns <= recorded_ns + TICK_NS && runs_program(process->pid, ada_json_text(process->manifest, "program", ""));
}

bool ada_process_is_live(const struct ada_process *process)
{
	struct timespec now;

	return !clock_gettime(CLOCK_BOOTTIME, &now) && is_live(process, (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec);
}

static uint64_t find_end(const struct ada_process *process)
{
	uint64_t last_ns = ada_session_last_ns(process->session, process->first_thread, process->thread_count);
	uint64_t end_ns = ada_json_u64(process->manifest, "endNs", 0), now_ns;
	struct timespec now;

	if (!end_ns && !clock_gettime(CLOCK_BOOTTIME, &now)) {
		now_ns = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
		end_ns = is_live(process, now_ns) ? now_ns : 0;
	}
	return end_ns > last_ns ? end_ns : last_ns;
}

uint64_t ada_process_end_ns(const struct ada_process *process)
{
	struct ada_process *own = (struct ada_process *)process;
	uint64_t known = atomic_load_explicit(&own->end_ns, memory_order_relaxed), found;

	if (known)
		return known;
	found = find_end(process);
	/* Who came first has said it: "now" is one time for the whole answer. */
	return atomic_compare_exchange_strong(&own->end_ns, &known, found) ? found : known;
}

uint64_t ada_session_end_ns(const struct ada_session *session)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < session->processes.count; i++) {
		uint64_t end_ns = ada_process_end_ns(session->processes.items[i]);

		last_ns = end_ns > last_ns ? end_ns : last_ns;
	}
	return last_ns;
}

void ada_session_take_now(struct ada_session *session)
{
	for (size_t i = 0; i < session->processes.count; i++)
		if (!session->processes.items[i]->finalized)
			atomic_store_explicit(&session->processes.items[i]->end_ns, 0, memory_order_relaxed);
}
