/* program: for each line "CALLS MARKS" of stdin calls counted_leaf so many times and counted_mark so many times, then says "done". */
#include <stdio.h>

static volatile unsigned long calls;

__attribute__((noinline)) static void counted_leaf(void)
{
	calls++;
}

__attribute__((noinline)) static void counted_mark(void)
{
	calls++;
}

int main(void)
{
	unsigned long leaves, marks;

	while (scanf("%lu %lu", &leaves, &marks) == 2) {
		while (leaves--)
			counted_leaf();
		while (marks--)
			counted_mark();
		puts("done");
		fflush(stdout);
	}
	return 7;
}
