/* A server that answers 3,000 requests in a few microseconds each. Now and then one takes ten thousand times longer. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int done;
static long index_of[1024];

__attribute__((noinline)) static void compact(void)
{
	usleep(100000);
}

__attribute__((noinline)) static void rebuild_index(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 1024; i++)
		index_of[i] += i;
	compact();
	pthread_mutex_unlock(&lock);
}

static void *housekeeper(void *unused)
{
	while (!done) {
		rebuild_index();
		usleep(200000);
	}
	return unused;
}

__attribute__((noinline)) static long look_up(int key)
{
	long value;

	pthread_mutex_lock(&lock);
	value = index_of[key % 1024];
	pthread_mutex_unlock(&lock);
	return value;
}

__attribute__((noinline)) static long handle_request(int number)
{
	return look_up(number * 7) + look_up(number * 13);
}

int main(void)
{
	pthread_t thread;
	long sum = 0;

	pthread_create(&thread, NULL, housekeeper, NULL);
	for (int i = 0; i < 3000; i++) {
		sum += handle_request(i);
		usleep(50);
	}
	done = 1;
	pthread_join(thread, NULL);
	printf("%s\n", sum ? "served" : "nothing");
	return 0;
}
