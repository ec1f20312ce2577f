/* A backtrace from a signal handler at every instruction of calls and returns: those who called are always found. Once by the
 * trap flag, which a tracer may see; once by signals from another thread, so many that they hit everything.
 *
 * flags: -fasynchronous-unwind-tables
 * libs: -lpthread
 * trace: --on-full=block
 * run: step -> 0
 * run: storm -> 0
 * expect: sum 1208, enough, no caller missed
 */
#include <unwind.h>
#include "lib/step.h"

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;

	if (walk->count == 64)
		return _URC_END_OF_STACK;
	walk->starts[walk->count++] = _Unwind_GetRegionStart(context);
	return _URC_NO_REASON;
}

static void walk_stack(struct walk *walk)
{
	_Unwind_Backtrace(visit, walk);
}
