/* A tool that takes long, started by posix_spawn. */
#include <spawn.h>
#include <sys/wait.h>
#include "causes.h"

extern char **environ;

OUT void run_tool(void)
{
	char *arguments[] = { "sleep", caused ? "0.4" : "0", NULL };
	pid_t tool;

	if (posix_spawnp(&tool, *arguments, NULL, NULL, arguments, environ))
		abort();
	waitpid(tool, NULL, 0);
}

OUT void serve(void)
{
	run_tool();
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	serve();
	end();
}
