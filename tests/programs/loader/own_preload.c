/* The program has an LD_PRELOAD of its own: it stays in the environment, works, and children get it too.
 *
 * library: libinterposer.so lib/interposer.c
 * env: LD_PRELOAD={dir}/libinterposer.so
 * expect: preload kept, interposed
 * expect: child: preload kept, interposed
 */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

int main(int count, char **arguments)
{
	int *interposed = dlsym(RTLD_DEFAULT, "interposed");
	const char *preload = getenv("LD_PRELOAD");

	printf("%spreload %s, %s\n", count > 1 ? "child: " : "",
	       preload && !strcmp(strrchr(preload, '/'), "/libinterposer.so") && !strchr(preload, ':') && !strchr(preload, ' ') ? "kept" :
																  "changed",
	       interposed && *interposed > 0 ? "interposed" : "not interposed");
	fflush(stdout);
	if (count == 1)
		execl(arguments[0], arguments[0], "child", (char *)NULL);
	return 0;
}
