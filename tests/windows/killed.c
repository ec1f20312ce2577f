/* Forks CHILDREN processes one after the other; each opens a window (begin) and goes on calling step(), noting in shared
 * memory how many calls have returned; the parent kills it with SIGKILL after a random time. Prints "PID RETURNED" of each.
 *   killed CHILDREN SEED THREADS */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct progress {
	long returned;
	char pad[56];
};
static volatile struct progress *progress;

NOINLINE static long begin(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x;
}
NOINLINE static long step(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static void *run(void *argument)
{
	volatile struct progress *mine = argument;

	for (long x = 0;;) {
		x = step(x);
		mine->returned = x;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int children = atoi(argv[1]), threads = argc > 3 ? atoi(argv[3]) : 1;

	srandom(atoi(argv[2]));
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < children; i++) {
		struct timespec pause = { .tv_nsec = random() % 3000000 };
		pthread_t id;
		pid_t pid;
		int status;

		for (int t = 0; t < threads; t++)
			progress[t].returned = 0;
		pid = fork();
		if (!pid) {
			begin(1);
			for (int t = 1; t < threads; t++)
				pthread_create(&id, NULL, run, (void *)&progress[t]);
			run((void *)&progress[0]);
		}
		while (!progress[0].returned)
			;
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		printf("%d", pid);
		for (int t = 0; t < threads; t++)
			printf(" %ld", progress[t].returned);
		putchar('\n');
	}
	return 0;
}
