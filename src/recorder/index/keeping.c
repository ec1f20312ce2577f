#include "recorder/index/keeping.h"
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

void ada_keeping_end(pid_t keeper)
{
	if (keeper <= 0)
		return;
	kill(keeper, SIGKILL);
	while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
		;
}
