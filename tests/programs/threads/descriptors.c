/* A file that is opened gets the lowest number that is free: the same one each time, whatever threads begin and end beside that.
 *
 * flags: -pthread
 * expect: all had one number
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>
#include "check.h"

#define CROWD 4

static atomic_bool over;
static atomic_long ended;

NOINLINE static void leave(jmp_buf *place)
{
	longjmp(*place, 1);
}

NOINLINE static void leaf(void)
{
	BARRIER;
}

/* It ends inside a call, and has left one by a jump before that. */
static void *body(void *unused)
{
	jmp_buf place;

	if (!setjmp(place))
		leave(&place);
	leaf();
	atomic_fetch_add(&ended, 1);
	pthread_exit(unused);
}

static void *crowd(void *unused)
{
	pthread_t thread;

	while (!over) {
		pthread_create(&thread, NULL, body, NULL);
		pthread_join(thread, NULL);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[CROWD];
	int expected;
	long other = 0;

	pthread_create(&threads[0], NULL, body, NULL); /* the first one that exits opens the library that unwinds its stack */
	pthread_join(threads[0], NULL);
	expected = open("/dev/null", O_RDONLY);
	close(expected);
	for (int i = 0; i < CROWD; i++)
		pthread_create(&threads[i], NULL, crowd, NULL);
	for (long i = 0; i < 2000 || ended < 500; i++) {
		int file = open("/dev/null", O_RDONLY);

		other += file != expected;
		close(file);
	}
	over = true;
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	if (other)
		printf("%ld had another number\n", other);
	else
		printf("all had one number\n");
	return 0;
}
