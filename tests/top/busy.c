/* Says that it is ready; then for each line "work N" calls worker() N times, for "touch N" one that takes no time, says that it is done, and waits
 * for the next. */
#include <stdio.h>

static volatile long sum;

__attribute__((noinline)) void worker(long number)
{
	for (long i = 0; i < 1000; i++)
		sum += number;
}

__attribute__((noinline)) void touch(long number)
{
	sum += number;
}

int main(void)
{
	char line[32];
	long count;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "work %ld", &count) == 1)
			for (long i = 0; i < count; i++)
				worker(i);
		if (sscanf(line, "touch %ld", &count) == 1)
			for (long i = 0; i < count; i++)
				touch(i);
		puts("done");
		fflush(stdout);
	}
	return 0;
}
