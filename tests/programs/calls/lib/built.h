/* What each built_*.c is made of: loops, recursion, a jump table and calls from libc. They differ in how it is compiled. */
#include <string.h>
#include "check.h"

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
NOINLINE static void fill(int *values, int count)
{
	for (int i = 0; i < count; i++)
		values[i] = (i * 7919) % count;
}
NOINLINE static int is_sorted(const int *values, int count)
{
	for (int i = 1; i < count; i++)
		if (values[i - 1] > values[i])
			return 0;
	return 1;
}
NOINLINE static long add(const int *values, int count)
{
	return count ? add(values + 1, count - 1) + *values : 0;
}
NOINLINE static int pick(int n)
{
	switch (n) {
	case 0: return 4;
	case 1: return strlen("one");
	case 2: return strlen("two");
	case 3: return 9;
	case 4: return 11;
	default: return 0;
	}
}

int main(void)
{
	int values[1000];

	fill(values, 1000);
	qsort(values, 1000, sizeof *values, compare);
	printf("sorted %d, sum %ld, names %d\n", is_sorted(values, 1000), add(values, 1000), pick(values[2]));
	return 0;
}
