/* A server of ada-status(1) and others: a line of input is a request that takes so many microseconds; each is answered by a line. */
#include <stdio.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE long parse(const char *line)
{
	long us = 0;

	sscanf(line, "%ld", &us);
	sink++;
	return us;
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

NOINLINE void handle(long us)
{
	long long end = now_us() + us;

	while (now_us() < end) /* not so often that the disk couldn't keep up */
		for (int i = 0; i < 1000; i++)
			sink++;
}

int main(void)
{
	char line[64];

	setlinebuf(stdout);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		handle(parse(line));
		puts("done");
	}
	return 0;
}
