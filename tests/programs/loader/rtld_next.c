/* RTLD_NEXT in a linked interposer and in the program itself: who calls dlsym decides the answer.
 *
 * library: libinterposer.so lib/interposer.c
 * libs: -Wl,--no-as-needed -linterposer
 * flags: -rdynamic -fno-builtin
 * env: VALUE=21
 * expect: through
 * expect: 21, interposed 3
 * expect: own labs 6
 */
#include <dlfcn.h>
#include "check.h"

extern int interposed;

/* The program's own labs stands before libc's, and calls it. */
long labs(long n)
{
	long (*next)(long) = (long (*)(long))dlsym(RTLD_NEXT, "labs");

	CHECK(next && next != labs);
	return next(n) + 1;
}

int main(void)
{
	puts("through");
	int (*volatile number)(const char *) = atoi;
	int value = number(getenv("VALUE"));
	printf("%d, interposed %d\n", value, interposed);
	long (*by_name)(long) = (long (*)(long))dlsym(RTLD_DEFAULT, "labs");
	CHECK(by_name == labs);
	printf("own labs %ld\n", by_name(-5));
	return 0;
}
