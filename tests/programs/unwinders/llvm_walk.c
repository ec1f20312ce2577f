/* The cursors of LLVM's libunwind: the frames of the program and no others.
 *
 * flags: -rdynamic -funwind-tables
 * libs: -l:libunwind.so.1 -L/usr/lib/llvm-14/lib -Wl,-rpath,/usr/lib/llvm-14/lib
 * expect: frames: walk_cursor by_library sorter recurses recurses recurses recurses main
 * expect: others 0
 */
#include "lib/llvm.h"
#include "lib/walks.h"

NOINLINE void walk_cursor(void)
{
	struct unw_context context;
	struct unw_cursor cursor;
	uint64_t ip;

	CHECK(!unw_getcontext(&context) && !unw_init_local(&cursor, &context));
	do {
		CHECK(!unw_get_reg(&cursor, UNW_REG_IP, &ip));
		note((void *)ip);
	} while (unw_step(&cursor) > 0);
}

static void walk(void)
{
	walk_cursor();
	BARRIER;
}
