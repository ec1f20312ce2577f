/* -fipa-ra: the caller of a static function keeps values in caller-saved registers that the callee does not touch.
 *
 * compilers: gcc
 * flags: -fipa-ra -fno-inline
 * levels: -O1 -O2 -O3
 * expect: doubles 1000000.0 2000000.0 3000000.0 4000000.0
 * expect: integers 500000500000 1000000 1500000 2000000 2500000 3000000 3500000
 */
#include "check.h"

static volatile long sink;
/* Touches rax and rdi alone, so all of rcx rdx rsi r8 to r11 and xmm0 to xmm15 stay live around it. */
NOINLINE static void leaf(long n)
{
	sink = n;
}

NOINLINE static void doubles(long n)
{
	double a = 0, b = 0, c = 0, d = 0;

	for (long i = 0; i < n; i++) {
		a += 1;
		b += 2;
		leaf(i);
		c += 3;
		d += 4;
	}
	printf("doubles %.1f %.1f %.1f %.1f\n", a, b, c, d);
}

NOINLINE static void integers(long n)
{
	long a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0;

	for (long i = 1; i <= n; i++) {
		a += i;
		b += 1;
		c += i & 1 ? 2 : 1;
		d += 2;
		leaf(i);
		e += i & 1 ? 3 : 2;
		f += 3;
		g += i & 1 ? 4 : 3;
	}
	printf("integers %ld %ld %ld %ld %ld %ld %ld\n", a, b, c, d, e, f, g);
}

int main(void)
{
	doubles(1000000);
	integers(1000000);
	return 0;
}
