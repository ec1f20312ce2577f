/* Each way out: return, exit, _exit, quick_exit, abort, exit in an atexit handler, a raw exit_group.
 *
 * run: return -> 3
 * run: exit -> 4
 * run: _exit -> 5
 * run: quick_exit -> 6
 * run: abort -> -6
 * run: twice -> 8
 * run: exit_group -> 9
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

static const char *how;
NOINLINE static void leave(int depth)
{
	if (depth) {
		leave(depth - 1);
		BARRIER;
		return;
	}
	if (!strcmp(how, "exit") || !strcmp(how, "twice"))
		exit(4);
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(6);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "exit_group"))
		syscall(SYS_exit_group, 9);
}
static void at_exit(void)
{
	fprintf(stderr, "atexit after %s\n", how);
	if (!strcmp(how, "twice"))
		exit(8);
}
static void on_quick_exit(void)
{
	fprintf(stderr, "at_quick_exit\n");
}
__attribute__((destructor)) static void destructor(void)
{
	fprintf(stderr, "destructor\n");
}

int main(int count, char **arguments)
{
	how = arguments[1];
	atexit(at_exit);
	at_quick_exit(on_quick_exit);
	leave(10);
	return 3;
}
