/* 512 call sites of one function, and 512 functions at one site: more pairs than a cache word holds.
 *
 * expect: sites 51200, functions 22425600
 */
#include "check.h"

NOINLINE static int leaf(int n)
{
	BARRIER;
	return n;
}
#define EIGHT(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define SIXTY_FOUR(m, n)                                                                                                                   \
	EIGHT(m, n##0) EIGHT(m, n##1) EIGHT(m, n##2) EIGHT(m, n##3) EIGHT(m, n##4) EIGHT(m, n##5) EIGHT(m, n##6) EIGHT(m, n##7)
#define ALL(m)                                                                                                                             \
	SIXTY_FOUR(m, 10)                                                                                                                  \
	SIXTY_FOUR(m, 11) SIXTY_FOUR(m, 12) SIXTY_FOUR(m, 13) SIXTY_FOUR(m, 14) SIXTY_FOUR(m, 15) SIXTY_FOUR(m, 16) SIXTY_FOUR(m, 17)
#define SITE(n) sites += leaf(n) == n;
#define FUNCTION(n)                                                                                                                        \
	NOINLINE static int small_##n(int i)                                                                                               \
	{                                                                                                                                  \
		BARRIER;                                                                                                                   \
		return i + n - 1000;                                                                                                       \
	}
#define NAME(n) small_##n,
ALL(FUNCTION)
static int (*const functions[])(int) = { ALL(NAME) };

int main(void)
{
	long sites = 0, sum = 0;

	for (int i = 0; i < 100; i++) {
		ALL(SITE)
		for (unsigned k = 0; k < sizeof functions / sizeof *functions; k++)
			sum += functions[k](i);
	}
	printf("sites %ld, functions %ld\n", sites, sum);
	return 0;
}
