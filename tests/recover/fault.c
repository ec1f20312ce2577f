/* Preloaded into `ada recover`: counts what changes files, and at the Nth of these kills the process, or from there on fails with ENOSPC.
 *   FAULT=kill:N    FAULT=full:N    FAULT=count:FILE, which gets their number
 * FAULT=later: it is an hour later. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static long calls;

/* True: fail. */
static int at_fault(int needs_room)
{
	const char *fault = getenv("FAULT");
	long number = ++calls;

	if (fault && !strncmp(fault, "kill:", 5) && number == atol(fault + 5))
		kill(getpid(), SIGKILL);
	if (!fault || strncmp(fault, "full:", 5) || number < atol(fault + 5) || !needs_room)
		return 0;
	errno = ENOSPC;
	return 1;
}

__attribute__((destructor)) static void tell(void)
{
	const char *fault = getenv("FAULT");

	FILE *file = fault && !strncmp(fault, "count:", 6) ? fopen(fault + 6, "we") : NULL;

	if (file) {
		fprintf(file, "%ld\n", calls);
		fclose(file);
	}
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
	return at_fault(1) ? -1 : NEXT(pwrite64)(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
	return fd > 2 && at_fault(1) ? -1 : NEXT(write)(fd, bytes, count);
}

int ftruncate64(int fd, off64_t length)
{
	return at_fault(0) ? -1 : NEXT(ftruncate64)(fd, length);
}

int fsync(int fd)
{
	return at_fault(0); /* and no disk is waited for */
}

int renameat(int from, const char *old, int to, const char *new)
{
	return at_fault(0) ? -1 : NEXT(renameat)(from, old, to, new);
}

int unlink(const char *path)
{
	return at_fault(0) ? -1 : NEXT(unlink)(path);
}

time_t time(time_t *now)
{
	const char *fault = getenv("FAULT");
	time_t value = NEXT(time)(NULL) + (fault && !strcmp(fault, "later") ? 3600 : 0);

	if (now)
		*now = value;
	return value;
}

int rmdir(const char *path)
{
	return at_fault(0) ? -1 : NEXT(rmdir)(path);
}
