/* mlockall of all that is and will be mapped, within a limit: what the tracer maps must not break the program's mmap.
 *
 * needs: root
 * expect: locked, mapped 64, worked 11
 */
#include <sys/mman.h>
#include "check.h"

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}

int main(void)
{
	int mapped = 0;
	int locked = mlockall(MCL_CURRENT | MCL_FUTURE);

	for (int i = 0; i < 64; i++)
		mapped += mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
	printf("%s, mapped %d, worked %d\n", locked ? "not locked" : "locked", mapped, work(10));
	return 0;
}
