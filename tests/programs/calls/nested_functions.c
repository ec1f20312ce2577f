/* GCC's nested functions: r10 carries the frame of the outer one, and code on the stack jumps into them.
 *
 * compilers: gcc
 * expect: sum 5050, through a pointer 338350, recursive 120
 */
#include "check.h"

NOINLINE static void for_each(int n, void (*visit)(int))
{
	for (int i = 1; i <= n; i++)
		visit(i);
	BARRIER;
}

int main(void)
{
	long sum = 0, squares = 0;
	int factor = 1;

	__attribute__((noinline)) void add(int i)
	{
		sum += i;
		BARRIER;
	}
	__attribute__((noinline)) void square(int i)
	{
		squares += (long)i * i * factor;
		BARRIER;
	}
	__attribute__((noinline)) long factorial(int n)
	{
		BARRIER;
		return n > 1 ? n * factorial(n - 1) : factor;
	}
	for (int i = 1; i <= 100; i++)
		add(i);
	for_each(100, square);
	printf("sum %ld, through a pointer %ld, recursive %ld\n", sum, squares, factorial(5));
	return 0;
}
