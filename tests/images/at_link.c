/* Preloaded into a recorder, which has only its parent's tables of names to link to a process's: it is killed there instead, once there is
 * the file that AT_LINK names. Its keeper links them then. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t recorder;

__attribute__((constructor)) static void begin(void)
{
	recorder = getpid();
}

int link(const char *from, const char *to)
{
	if (getpid() != recorder)
		return ((__typeof__(&link))dlsym(RTLD_NEXT, "link"))(from, to);
	while (access(getenv("AT_LINK"), F_OK))
		usleep(1000);
	return kill(getpid(), SIGKILL);
}
