/* The direction flag set around a string operation, with a signal handler between; cleared at each call by the ABI.
 *
 * expect: backwards ok
 */
#include <string.h>
#include "check.h"

NOINLINE static void copy_backwards(char *to, const char *from, long count)
{
	char *last_to = to + count - 1;
	const char *last_from = from + count - 1;

	__asm__ volatile("std; rep movsb; cld" : "+D"(last_to), "+S"(last_from), "+c"(count) : : "memory", "cc");
}
NOINLINE static int check(const char *a, const char *b)
{
	BARRIER;
	return !strcmp(a, b);
}

int main(void)
{
	char text[64] = "backwards ok";

	for (int i = 0; i < 1000; i++) {
		char moved[64];

		copy_backwards(moved, text, sizeof moved);
		CHECK(check(moved, text));
	}
	puts(text);
	return 0;
}
