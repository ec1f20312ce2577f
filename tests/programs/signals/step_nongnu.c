/* As step_backtrace, by nongnu libunwind's cursors.
 *
 * flags: -fasynchronous-unwind-tables
 * libs: -lpthread -lunwind
 * compilers: gcc
 * levels: -O2
 * trace: --on-full=block
 * run: step -> 0
 * run: storm -> 0
 * expect: sum 1208, enough, no caller missed
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include "lib/step.h"

static void walk_stack(struct walk *walk)
{
	unw_proc_info_t info;
	unw_context_t context;
	unw_cursor_t cursor;

	CHECK(!unw_getcontext(&context) && !unw_init_local(&cursor, &context));
	do
		walk->starts[walk->count++] = unw_get_proc_info(&cursor, &info) ? 0 : info.start_ip;
	while (walk->count < 64 && unw_step(&cursor) > 0);
}
