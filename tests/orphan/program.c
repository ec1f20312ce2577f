/* Calls functions as fast as it can, and says how far it is in a file that it maps, while its recorder dies or stands still.
 *
 *   program FILE THREADS [LIBRARY]
 *
 * FILE: a word a thread, how many calls it has made. Behind "ready" each line of stdin is an order, answered by "done":
 *   fork   a child calls a function, and ends with 3        load   LIBRARY is opened, its function called, and closed
 *   exec   /bin/true, by a child                            count  answered by the number of descriptors instead
 *   family a child and its child do so, both end with 3
 * At the end of stdin the threads end; it prints "wrong N" and ends with 7.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 64
#define LINE 64 /* bytes between two words: each has a cache line of its own */

static volatile uint8_t *page;
static volatile int ends;
static volatile long wrong;

__attribute__((noinline)) static long leaf(long value)
{
	__asm__ volatile("" : "+r"(value));
	return value + 1;
}

__attribute__((noinline)) static long twice(long value)
{
	return leaf(leaf(value));
}

static void *work(void *argument)
{
	volatile uint64_t *count = (volatile uint64_t *)(page + (long)argument * LINE);

	for (long value = 0; !ends;) {
		long next = twice(value);

		if (next != value + 2)
			__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
		value = next;
		*count = (uint64_t)value;
	}
	return NULL;
}

/* As an exit status says it, or -1. */
static int child(int (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(run());
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int call(void)
{
	return (int)twice(1);
}

static int parent(void)
{
	return child(call) == 3 ? call() : 1;
}

static int execute(void)
{
	execl("/bin/true", "true", NULL);
	return 1;
}

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	long (*function)(long) = library ? (long (*)(long))dlsym(library, "late_leaf") : NULL;

	if (!function || function(1) != 2)
		wrong++;
	if (library)
		dlclose(library);
}

static int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	while (directory && readdir(directory))
		count++;
	closedir(directory);
	return count - 3; /* . and .., and the directory itself */
}

int main(int count, char **words)
{
	pthread_t threads[THREADS_MAX];
	char line[32];
	int fd = open(words[1], O_RDWR), thread_count = atoi(words[2]);

	page = mmap(NULL, THREADS_MAX * LINE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED || thread_count > THREADS_MAX)
		return 1;
	for (long i = 0; i < thread_count; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)i))
			return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		if (!strcmp(line, "fork\n"))
			wrong += child(call) != 3;
		else if (!strcmp(line, "family\n"))
			wrong += child(parent) != 3;
		else if (!strcmp(line, "exec\n"))
			wrong += child(execute) != 0;
		else if (!strcmp(line, "load\n"))
			load(words[3]);
		if (!strcmp(line, "count\n"))
			printf("%d\n", count_descriptors());
		else
			puts("done");
	}
	ends = 1;
	for (int i = 0; i < thread_count; i++)
		pthread_join(threads[i], NULL);
	printf("wrong %ld\n", wrong);
	return 7;
}
