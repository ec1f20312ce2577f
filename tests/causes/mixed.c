/* A lock whose holder waits for a condition, for a thread's end, or for pages that it writes to first: by the second argument. */
#include <sys/mman.h>
#include "causes.h"

#define BYTES (64u << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, ready_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready_condition = PTHREAD_COND_INITIALIZER;
static atomic_bool held;
static bool ready, joins, faults;

OUT void toil(void)
{
	usleep(caused ? LONG_US : 1);
}

static void *feeder(void *unused)
{
	toil();
	pthread_mutex_lock(&ready_lock);
	ready = true;
	pthread_mutex_unlock(&ready_lock);
	pthread_cond_signal(&ready_condition);
	return unused;
}

OUT void await_ready(void)
{
	pthread_mutex_lock(&ready_lock);
	while (!ready)
		pthread_cond_wait(&ready_condition, &ready_lock);
	pthread_mutex_unlock(&ready_lock);
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

OUT void touch(char *memory)
{
	for (size_t i = 0; i < BYTES; i += 4096)
		memory[i] = 1;
}

OUT void fill(void)
{
	long long end = now_us() + LONG_US;

	while (caused && now_us() < end) {
		char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED || madvise(memory, BYTES, MADV_NOHUGEPAGE))
			abort();
		touch(memory);
		munmap(memory, BYTES);
	}
}

static void *reloader(void *feeding)
{
	pthread_mutex_lock(&lock);
	held = true;
	if (joins)
		pthread_join(*(pthread_t *)feeding, NULL);
	else if (faults)
		fill();
	else
		await_ready();
	pthread_mutex_unlock(&lock);
	return NULL;
}

OUT void serve(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t feeding, reloading;

	joins = argc > 2 && !strcmp(argv[2], "join");
	faults = argc > 2 && !strcmp(argv[2], "fault");
	begin(argc, argv);
	pthread_create(&feeding, NULL, feeder, NULL);
	pthread_create(&reloading, NULL, reloader, &feeding);
	while (!held)
		usleep(100);
	serve();
	pthread_join(reloading, NULL);
	if (!joins)
		pthread_join(feeding, NULL);
	end();
}
