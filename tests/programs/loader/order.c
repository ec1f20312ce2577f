/* The order of constructors, destructors, init arrays and atexit handlers over program and library.
 *
 * library: liborder.so lib/order.c
 * libs: -lorder
 * expect: library early
 * expect: library late
 * expect: preinit 1
 * expect: early
 * expect: late
 * expect: library used
 * expect: main
 * expect: atexit
 * expect: gone
 * expect: library gone
 * expect: library atexit
 */
#include "check.h"

void order_used(void);
static int preinit_ran;
NOINLINE static void say(const char *text)
{
	puts(text);
	BARRIER;
}
static void preinit(int count, char **arguments, char **environment)
{
	preinit_ran = count;
}
__attribute__((section(".preinit_array"), used)) static void (*entry)(int, char **, char **) = preinit;
static void at_exit(void)
{
	say("atexit");
}
__attribute__((constructor(101))) static void early(void)
{
	printf("preinit %d\n", preinit_ran);
	say("early");
}
__attribute__((constructor)) static void late(void)
{
	say("late");
}
__attribute__((destructor)) static void gone(void)
{
	say("gone");
}

int main(void)
{
	order_used();
	atexit(at_exit);
	say("main");
	return 0;
}
