/* GHC's code jumps from module to module through the GOT, and what lies on the stack then is no return address, though it
 * may look like one.
 *
 * library: libhaskell_rts.so lib/haskell_rts.c
 * library: libhaskell.so lib/haskell.c
 * flags: -fPIC
 * libs: -lhaskell -lhaskell_rts
 * expect: taken 1
 */
#include "check.h"

extern char stg_upd_frame_info[] __attribute__((visibility("default")));

NOINLINE static long take(long value)
{
	long taken;

	__asm__ volatile("sub $128,%%rsp\n\tpush %1\n\tlea 1f(%%rip),%%rdx\n\tjmp taken_info@PLT\n1:\tpop %0\n\tadd $128,%%rsp"
			 : "=&c"(taken)
			 : "r"(value)
			 : "rax", "rdx", "memory", "cc");
	return taken;
}

int main(void)
{
	char *volatile mark = stg_upd_frame_info; /* by this import is such a file known */

	CHECK(mark);
	printf("taken %d\n", take((long)main) == (long)main);
	return 0;
}
