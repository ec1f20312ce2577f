/* Every class of return value: rax, rax:rdx, xmm0, xmm0:xmm1, mixed, x87, two of x87, and memory.
 *
 * expect: 7 3.5 2.25 1.125
 * expect: int128 1 2
 * expect: two 1 2, doubles 3.0 4.0, mixed 5 6.0, mixed 7.0 8
 * expect: complex 1.0 2.0, 3.0 4.0, 5.0 6.0
 * expect: large 2016, bytes 9 10 11
 */
#include <complex.h>
#include "check.h"

struct two {
	long a, b;
};
struct doubles {
	double a, b;
};
struct mixed {
	long a;
	double b;
};
struct mixed2 {
	double a;
	long b;
};
struct large {
	int values[64];
};
struct bytes {
	char a, b, c;
};

#define FUNCTION(type, name, value)                                                                                                        \
	NOINLINE static type name(int n)                                                                                                   \
	{                                                                                                                                  \
		BARRIER;                                                                                                                   \
		return value;                                                                                                              \
	}
FUNCTION(int, plain, n + 6)
FUNCTION(double, real, n + 2.5)
FUNCTION(float, single, n + 1.25f)
FUNCTION(long double, extended, n + 0.125L)
FUNCTION(__int128, wide, ((__int128)n << 64) + 2)
FUNCTION(struct two, pair, ((struct two){ n, n + 1 }))
FUNCTION(struct doubles, reals, ((struct doubles){ n + 2, n + 3 }))
FUNCTION(struct mixed, mix, ((struct mixed){ n + 4, n + 5 }))
FUNCTION(struct mixed2, mix2, ((struct mixed2){ n + 6, n + 7 }))
FUNCTION(double complex, complex_double, n + 2 * I)
FUNCTION(float complex, complex_float, n + 2 + 4 * I)
FUNCTION(long double complex, complex_extended, n + 4 + 6 * I)
FUNCTION(struct bytes, small, ((struct bytes){ n + 8, n + 9, n + 10 }))
NOINLINE static struct large big(int n)
{
	struct large result;

	for (int i = 0; i < 64; i++)
		result.values[i] = i * n;
	return result;
}

int main(void)
{
	for (volatile int i = 0; i < 1000; i++)
		CHECK(extended(i) == i + 0.125L && complex_extended(i) == i + 4 + 6 * I && wide(i) >> 64 == i);
	struct two t = pair(1);
	struct doubles d = reals(1);
	struct mixed m = mix(1);
	struct mixed2 m2 = mix2(1);
	struct bytes s = small(1);
	struct large l = big(1);
	int sum = 0;
	for (int i = 0; i < 64; i++)
		sum += l.values[i];
	printf("%d %.1f %.2f %.3Lf\n", plain(1), real(1), single(1), extended(1));
	printf("int128 %d %d\n", (int)(wide(1) >> 64), (int)wide(1));
	printf("two %ld %ld, doubles %.1f %.1f, mixed %ld %.1f, mixed %.1f %ld\n", t.a, t.b, d.a, d.b, m.a, m.b, m2.a, m2.b);
	printf("complex %.1f %.1f, %.1f %.1f, %.1Lf %.1Lf\n", creal(complex_double(1)), cimag(complex_double(1)),
	       (double)crealf(complex_float(1)), (double)cimagf(complex_float(1)), creall(complex_extended(1)),
	       cimagl(complex_extended(1)));
	printf("large %d, bytes %d %d %d\n", sum, s.a, s.b, s.c);
	return 0;
}
