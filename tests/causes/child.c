/* A child process that takes its time. */
#include <sys/wait.h>
#include "causes.h"

OUT int run_child(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child) {
		usleep(caused ? LONG_US : 1);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

OUT void serve(void)
{
	run_child();
}

int main(int argc, char **argv)
{
	begin(argc, argv);
	serve();
	end();
}
