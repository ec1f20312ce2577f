/* Calls counted over a process and its five children, each of which is recorded apart and from its fork on.
 *
 * counts: yes
 * threads: open
 * expect: calls child_work 5000
 * expect: calls parent_work 5
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static long *counts;
NOINLINE static void child_work(void)
{
	__atomic_fetch_add(&counts[0], 1, __ATOMIC_RELAXED);
}
NOINLINE static void parent_work(void)
{
	counts[1]++;
}

int main(void)
{
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++) {
		parent_work();
		if (!fork()) {
			for (int k = 0; k < 1000; k++)
				child_work();
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	printf("calls child_work %ld\ncalls parent_work %ld\n", counts[0], counts[1]);
	return 0;
}
