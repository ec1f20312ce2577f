/* Other calling conventions in one program: ms_abi, no_caller_saved_registers-like asm, sysv callbacks from ms code.
 *
 * expect: ms 36 10.0, back 15
 */
#include "check.h"

typedef int callback(int, int, int, int, int);
__attribute__((ms_abi, noinline)) static long ms(long a, long b, long c, long d, long e, long f, long g, long h)
{
	BARRIER;
	return a + b + c + d + e + f + g + h;
}
__attribute__((ms_abi, noinline)) static double ms_double(double a, double b, double c, double d)
{
	BARRIER;
	return a + b + c + d;
}
__attribute__((ms_abi, noinline)) static int ms_back(callback *function)
{
	int n = function(1, 2, 3, 4, 5);

	BARRIER;
	return n;
}
static int sysv(int a, int b, int c, int d, int e)
{
	return a + b + c + d + e;
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		CHECK(ms(1, 2, 3, 4, 5, 6, 7, 8) == 36 && ms_back(sysv) == 15);
	printf("ms %ld %.1f, back %d\n", ms(1, 2, 3, 4, 5, 6, 7, 8), ms_double(1, 2, 3, 4), ms_back(sysv));
	return 0;
}
