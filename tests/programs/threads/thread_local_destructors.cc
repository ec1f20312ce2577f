/* thread_local objects of threads and of main: their destructors call hooked functions at the very end.
 *
 * flags: -pthread
 * expect: thread done, sum 55
 * expect: main done
 * expect: destroyed main, sum 6
 */
#include <thread>
#include "check.h"

NOINLINE static int sum_to(int n) { return n ? sum_to(n - 1) + n : 0; }

struct Local {
	const char *name = "";
	int sum = 0;
	~Local() { if (*name == 'm') printf("destroyed %s, sum %d\n", name, sum); else printf("thread done, sum %d\n", sum); }
};
static thread_local Local local;
NOINLINE static void touch(const char *name, int n) { local.name = name; local.sum = sum_to(n); }

int main()
{
	std::thread([] { touch("thread", 10); }).join();
	touch("main", 3);
	puts("main done");
}
