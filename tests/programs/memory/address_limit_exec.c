/* RLIMIT_AS that leaves no room for a tracer's memory at all: the program runs as ever, and the recording says why it has nothing.
 *
 * states: complete failed
 * expect: sum 500
 */
#include <sys/resource.h>
#include <unistd.h>
#include "check.h"

NOINLINE static int leaf(int n)
{
	BARRIER;
	return n + 1;
}

int main(int count, char **arguments)
{
	int n = 0;

	if (count == 1) {
		CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){ 64 << 20, 64 << 20 }));
		execl("/proc/self/exe", arguments[0], "limited", NULL);
		return 1;
	}
	for (int i = 0; i < 500; i++)
		n = leaf(n);
	printf("sum %d\n", n);
	return 0;
}
