/* 5,000 threads, 50 at a time, in a process whose entries, mappings and descriptors stay as few as the threads that live.
 * expect: threads 5000
 * expect: flat
 * libs: -pthread
 * trace: --on-full=block
 * compilers: gcc
 * levels: -O0
 * pie: yes
 */
#include <dirent.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "check.h"

#define ROUNDS 100
#define AT_ONCE 50

static int lines_of(const char *path)
{
	FILE *file = fopen(path, "r");
	int lines = 0, c;

	CHECK(file);
	while ((c = fgetc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static int descriptors_of(pid_t pid)
{
	char path[64];
	DIR *directory;
	int count = 0;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	directory = opendir(path);
	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

NOINLINE static long work(long n)
{
	BARRIER;
	return n + 1;
}

static void *run(void *n)
{
	return (void *)work((long)n);
}

static long round_of(void)
{
	pthread_t threads[AT_ONCE];
	void *result;
	long sum = 0;

	for (long i = 0; i < AT_ONCE; i++)
		CHECK(!pthread_create(&threads[i], NULL, run, (void *)i));
	for (long i = 0; i < AT_ONCE; i++) {
		CHECK(!pthread_join(threads[i], &result));
		sum += (long)result == i + 1;
	}
	return sum;
}

int main(void)
{
	long done = 0;
	int maps = 0, own = 0;

	for (int i = 0; i < ROUNDS; i++) {
		done += round_of();
		if (i == ROUNDS / 10) {
			maps = lines_of("/proc/self/maps");
			own = descriptors_of(getpid());
		}
	}
	printf("threads %ld\n", done);
	/* As many as at a tenth of it, but for what 50 threads may begin with one another. */
	CHECK(lines_of("/proc/self/maps") <= maps + 2 * AT_ONCE);
	CHECK(descriptors_of(getpid()) == own);
	puts("flat");
	return 0;
}
