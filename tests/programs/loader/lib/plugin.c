/* A plugin: several functions, a constructor and a destructor that tell their turn, calls back into the program. */
#include <stdio.h>

int host_twice(int n);
static int loads;

__attribute__((noinline)) static int helper(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}
__attribute__((constructor)) static void loaded(void)
{
	loads = helper(loads);
}
__attribute__((destructor)) static void unloaded(void)
{
	loads = -helper(loads);
}
int plugin_run(int n)
{
	return host_twice(helper(n)) + loads;
}
