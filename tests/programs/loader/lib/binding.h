/* What each binding_*.c is made of: calls into libmath.so with every argument register live. They differ in how it is linked. */
#include <stdarg.h>
#include "check.h"

long many(long a, long b, long c, long d, long e, long f, long g, long h);
double doubles(double a, double b, double c, double d, double e, double f, double g, double h);
double mixed(int count, ...);
__int128 wide(__int128 a, __int128 b);

int main(void)
{
	for (int i = 0; i < 2; i++)
		CHECK(many(1, 2, 3, 4, 5, 6, 7, 8) == 36);
	double sum = doubles(1, 2, 3, 4, 5, 6, 7, 8);
	printf("%ld %.1f %.1f %d\n", many(1, 2, 3, 4, 5, 6, 7, 8), sum, mixed(8, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0),
	       (int)(wide((__int128)1 << 100, 21) >> 64 ? 21 : 0));
	return 0;
}
