/* Preloaded into `ada trace`: names each change that its thread ada-bound makes to files, and kills at one of them.
 *   BOUND_FAULT=log:FILE     appends a line for each: what is done, and to which file, numbers in names being N
 *   BOUND_FAULT=kill:COUNT:STEP    just before the COUNTth one of that name: the program first, so that it counts no more, then the recorder
 *   BOUND_FAULT=killall:COUNT:STEP    ... with its keeper, and what only memory holds is lost
 * The nth write of a file since it was made is "write.n". */
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int written; /* since a file was made; ada-bound writes one at a time */

static int is_bound(void)
{
	char name[16] = "";

	pthread_getname_np(pthread_self(), name, sizeof name);
	return !strcmp(name, "ada-bound");
}

/* The children of the recorder: its keeper, and the program. */
static void kill_children(int keeper)
{
	char path[64], name[16];
	FILE *children, *file;
	int pid;

	snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &pid) == 1) {
		siginfo_t end;

		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		file = fopen(path, "re");
		if (!file || fscanf(file, "%15s", name) != 1 || (strcmp(name, "ada-keeper") == 0) != keeper) {
			if (file)
				fclose(file);
			continue;
		}
		fclose(file);
		kill(pid, SIGKILL);
		waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT);
	}
	if (children)
		fclose(children);
}

/* Files that are made under another name first: "totals.0123456789abcdef.tmp" is totals.tmp. */
static void plain_name(char *name, const char *path)
{
	const char *at = strrchr(path, '/');

	for (at = at ? at + 1 : path; *at; at++) {
		if (*at == '.' && strspn(at + 1, "0123456789abcdef") == 16) {
			at += 16;
		} else if (isdigit((unsigned char)*at)) {
			*name++ = 'N';
			at += strspn(at, "0123456789") - 1;
		} else {
			*name++ = *at;
		}
	}
	*name = 0;
}

static void step(const char *what, const char *path)
{
	static int count;
	const char *fault = getenv("BOUND_FAULT");
	char line[8192], name[4096];
	int all;

	if (!fault || !is_bound())
		return;
	plain_name(name, path);
	snprintf(line, sizeof line, "%s %s\n", what, name);
	if (!strncmp(fault, "log:", 4)) {
		int fd = NEXT(open64)(fault + 4, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

		if (fd < 0 || NEXT(write)(fd, line, strlen(line)) < 0)
			abort();
		close(fd);
		return;
	}
	all = !strncmp(fault, "killall:", 8);
	fault = strchr(fault, ':') + 1;
	line[strlen(line) - 1] = 0;
	if (strcmp(strchr(fault, ':') + 1, line) || ++count != atoi(fault))
		return;
	if (all)
		kill_children(1);
	kill_children(0);
	kill(getpid(), SIGKILL);
	pause();
}

static void step_of(const char *what, int fd)
{
	char link[40], path[4096];
	ssize_t length;

	if (!getenv("BOUND_FAULT") || !is_bound())
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof path - 1);
	path[length > 0 ? length : 0] = 0;
	if (*path == '/' && strncmp(path, "/proc/", 6))
		step(what, path);
}

static void step_write(int fd)
{
	char what[24];

	if (!is_bound())
		return;
	snprintf(what, sizeof what, "write.%d", written++);
	step_of(what, fd);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
	step_write(fd);
	return NEXT(pwrite64)(fd, bytes, count, offset);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
	step_write(fd);
	return NEXT(write)(fd, bytes, count);
}

static void step_make(const char *path, int flags)
{
	if (flags & O_CREAT && is_bound()) {
		written = 0;
		step("make", path);
	}
}

int open64(const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	step_make(path, flags);
	return NEXT(open64)(path, flags, mode);
}

int openat64(int directory, const char *path, int flags, ...)
{
	va_list rest;
	mode_t mode;

	va_start(rest, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	step_make(path, flags);
	return NEXT(openat64)(directory, path, flags, mode);
}

int ftruncate64(int fd, off64_t length)
{
	step_of("cut", fd);
	return NEXT(ftruncate64)(fd, length);
}

int fsync(int fd)
{
	step_of("sync", fd);
	return NEXT(fsync)(fd);
}

int renameat(int from, const char *old, int to, const char *new)
{
	step("rename", new);
	return NEXT(renameat)(from, old, to, new);
}

int rename(const char *old, const char *new)
{
	step("rename", new);
	return NEXT(rename)(old, new);
}

int unlink(const char *path)
{
	if (!access(path, F_OK))
		step("remove", path);
	return NEXT(unlink)(path);
}
