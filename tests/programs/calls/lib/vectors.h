/* Vectors of VECTOR_BYTES by value: what avx_values.c and avx512_values.c are made of. */
#include <string.h>
#include "check.h"

typedef double vector __attribute__((vector_size(VECTOR_BYTES)));
enum { COUNT = VECTOR_BYTES / sizeof(double) };

NOINLINE static vector add(vector a, vector b)
{
	BARRIER;
	return a + b;
}
NOINLINE static vector last_of(vector a, vector b, vector c, vector d, vector e, vector f, vector g, vector h)
{
	BARRIER;
	return a + b + c + d + e + f + g + h;
}
NOINLINE static vector recurse(vector a, int depth)
{
	vector result = depth ? recurse(a, depth - 1) : a;

	BARRIER;
	return result + 1.0;
}
NOINLINE static int leaf(int n)
{
	BARRIER;
	return n;
}
NOINLINE static double keeps(vector *in)
{
	vector kept = *in * 2.0; /* -fipa-ra may keep it in a register over the call */

	leaf(1);
	kept += *in;
	return kept[0] + kept[COUNT - 1];
}

int main(void)
{
	for (int i = 0; i < 10000; i++) {
		vector a, b;

		for (int k = 0; k < COUNT; k++) {
			a[k] = i + k;
			b[k] = 2 * k;
		}
		vector sum = add(a, b), all = last_of(a, b, a, b, a, b, a, b), deep = recurse(a, 20);
		for (int k = 0; k < COUNT; k++)
			CHECK(sum[k] == i + 3 * k && all[k] == 4 * (i + 3 * k) && deep[k] == i + k + 21);
		CHECK(keeps(&a) == 3.0 * (i + i + COUNT - 1));
	}
	puts("sums right");
	return 0;
}
