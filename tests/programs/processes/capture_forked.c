/* Captures go on in a fork's child, whose pointers are its own, and in a vfork's child, which executes a path of its parent's.
 * trace: --trigger=symbol=take@pre=1000ev,post=1000ev --capture=take:1=str
 * expect: child 0
 * expect: parent: vfork 0, fork 0
 */
#define _GNU_SOURCE
#include "check.h"
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[16] = "parents";

NOINLINE int take(const char *what)
{
	BARRIER;
	return strlen(what) > 64;
}

int main(void)
{
	int forked, vforked, status = take(text);
	pid_t child = fork();

	if (!child) {
		strcpy(text, "childs");
		printf("child %d\n", take(text));
		return 0;
	}
	CHECK(waitpid(child, &forked, 0) == child);
	child = vfork();
	if (!child) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	CHECK(waitpid(child, &vforked, 0) == child);
	status += take(text);
	printf("parent: vfork %d, fork %d\n", vforked + status, forked);
	return 0;
}
