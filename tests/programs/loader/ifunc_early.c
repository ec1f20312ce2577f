/* IRELATIVE relocations run their resolvers before the program's first instruction; one of them calls functions.
 *
 * flags: -Wl,-z,now
 * expect: 7 7 8
 */
#include "check.h"

NOINLINE static int decide(int n)
{
	BARRIER;
	return n > 3;
}
static int low(void)
{
	return 8;
}
static int high(void)
{
	return 7;
}
static void *resolve(void)
{
	return decide(5) ? (void *)high : (void *)low;
}
static void *resolve_other(void)
{
	return decide(2) ? (void *)high : (void *)low;
}
static int first(void) __attribute__((ifunc("resolve")));
static int second(void) __attribute__((ifunc("resolve_other")));
static int (*pointer)(void) = first;

int main(void)
{
	printf("%d %d %d\n", first(), pointer(), second());
	return 0;
}
