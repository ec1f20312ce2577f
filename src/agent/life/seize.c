/* A program that attaches to a recorded one, as sandboxes and crash reporters do, in the very moment in which the recorder holds that to
 * change its hooks. A thread has one tracer, so the kernel would refuse the program (EPERM) for our sake: its call is made again until
 * the recorder has let go, which takes some milliseconds. Who is refused for another reason hears so within a fraction of one.
 *
 * A tracer that isn't recorded is refused all the same (ada-trace(1)).
 */
#include <linux/time_types.h>
#include <sys/ptrace.h>
#include "agent/life/life.h"
#include "agent/talk/talk.h"

#define ROUNDS_MAX 1000 /* a hold ends by itself long before (late_threads.c) */
#define ROUND_NS 1000000
#define LOOKS 10 /* that find it free: the recorder may have let go between an attempt and the look, and take it again behind that */

static bool is_seizing(long request)
{
	return request == PTRACE_SEIZE || request == PTRACE_ATTACH;
}

long ada_seize(ada_ptrace_function *original, long request, long tid, long address, long data)
{
	const struct __kernel_timespec pause = { 0, ROUND_NS };
	long result = original(request, tid, address, data);
	int looks = is_seizing(request) && !ada_quiet_filtered() ? LOOKS : 0;

	for (int round = 0; result == -1 && looks && round < ROUNDS_MAX; round++) {
		if (ada_process_holds(tid))
			ada_sys4(SYS_nanosleep, (long)&pause, 0, 0, 0);
		else
			looks--;
		result = original(request, tid, address, data);
	}
	return result;
}
