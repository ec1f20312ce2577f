/* A hundred million events, or as many as it is told, in bursts: calls of some depth, by numbers that only look random. Now and then one is
 * a thousand times as long as the others. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RARE 999983u	 /* one call in so many takes long */
#define BURST 40000u	 /* calls */
#define PAUSE_NS 1000000 /* at most, between two of them */

static volatile unsigned int last;
static uint64_t calls, left, state = 88172645463325252u;

static inline __attribute__((always_inline)) uint64_t some(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static __attribute__((noinline)) void rare(void)
{
	for (volatile unsigned int i = 0; i < 100000; i++)
		;
}

/* Functions that call each other, each a level deeper. */
#define LEVEL(name, below)                                                                                                                 \
	static __attribute__((noinline)) void name(unsigned int count)                                                                     \
	{                                                                                                                                  \
		if (!left)                                                                                                                 \
			return;                                                                                                            \
		left--;                                                                                                                    \
		if (++calls % RARE == 0)                                                                                                   \
			rare();                                                                                                            \
		for (unsigned int i = 0; i < count; i++)                                                                                   \
			below((unsigned int)(some() % 3));                                                                                 \
	}

static __attribute__((noinline)) void leaf(unsigned int count)
{
	calls++;
	last = count;
}

LEVEL(decode, leaf)
LEVEL(fetch, decode)
LEVEL(look_up, fetch)
LEVEL(check, look_up)
LEVEL(plan, check)
LEVEL(run, plan)
LEVEL(answer, run)
LEVEL(route, answer)
LEVEL(parse, route)
LEVEL(receive, parse)

int main(int argc, char **argv)
{
	uint64_t goal = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000;

	while (2 * calls < goal) { /* each has two events */
		left = BURST;
		while (left && 2 * calls < goal)
			receive(2 + (unsigned int)(some() % 2));
		nanosleep(&(struct timespec){ .tv_nsec = (long)(some() % PAUSE_NS) }, NULL);
	}
	printf("%llu\n", (unsigned long long)calls);
	return 0;
}
