/* Calls that fail for reasons known beforehand, in two threads, and that don't. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void *fail_elsewhere(void *unused)
{
	if (open("/etc", O_WRONLY) >= 0)
		return unused;
	return &errno;
}

int main(void)
{
	struct stat status;
	pthread_t thread;

	errno = E2BIG; /* what is left from before is no reason */
	if (stat("/etc", &status))
		return 1;
	if (open("/no/such/file", O_RDONLY) >= 0 || fopen("/etc/passwd/below", "r") || !access("/no/such/other", R_OK))
		return 2;
	if (pthread_create(&thread, NULL, fail_elsewhere, NULL) || pthread_join(thread, NULL))
		return 3;
	return fopen("/etc/passwd", "r") ? 0 : 4;
}
