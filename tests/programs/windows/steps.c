/* Does what its arguments say, one after the other, so that a test knows every event:
 *
 *   work:N  N calls of work()       mark, other  one call of marked(), of other()    sleep:MS
 *   spin:N  the same, some us apart threads:N    N threads call work() until `join`   kill:SIGNAL  exit:N  _exit:N
 *   await:N until each of these threads has begun N calls more
 *   thread:N  a thread that calls work() N times and marked() in the middle, and ends
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

#define THREADS 16

static atomic_bool stop;
static pthread_t threads[THREADS];
static int count;

static atomic_long rounds[THREADS]; /* of each worker */
static volatile int calls[3];	    /* functions with the same body would become one */
NOINLINE static void work(void)
{
	calls[0]++;
}
NOINLINE static void marked(void)
{
	calls[1]++;
}
NOINLINE static void other(void)
{
	calls[2]++;
}

static void pause_some_us(void)
{
	for (volatile int i = 0; i < 2000; i++)
		;
}

static void *worker(void *mine)
{
	while (!stop) {
		++*(atomic_long *)mine;
		work();
		pause_some_us();
	}
	return NULL;
}

static void await(long number)
{
	long before[THREADS];

	for (int i = 0; i < count; i++)
		before[i] = rounds[i];
	for (int i = 0; i < count; i++)
		while (rounds[i] < before[i] + number)
			usleep(100);
}

static void *one_mark(void *argument)
{
	long number = *(long *)argument;

	for (long i = 0; i < number; i++) {
		if (i == number / 2)
			marked();
		work();
	}
	return NULL;
}

static void start(void *(*body)(void *), void *argument)
{
	CHECK(count < THREADS && !pthread_create(&threads[count++], NULL, body, argument));
}

static void join(void)
{
	stop = 1;
	while (count)
		CHECK(!pthread_join(threads[--count], NULL));
}

static int is(const char *word, const char *name)
{
	return !strncmp(word, name, strlen(name)) && !strchr("s_", word[strlen(name)] ? word[strlen(name)] : '.');
}

static void step(const char *word)
{
	const char *colon = strchr(word, ':');
	long number = colon ? strtol(colon + 1, NULL, 10) : 0;
	struct timespec duration = { number / 1000, number % 1000 * 1000000 };

	if (is(word, "work"))
		for (long i = 0; i < number; i++)
			work();
	else if (is(word, "spin"))
		for (long i = 0; i < number; i++, pause_some_us())
			work();
	else if (is(word, "mark"))
		marked();
	else if (is(word, "other"))
		other();
	else if (is(word, "sleep"))
		CHECK(!nanosleep(&duration, NULL));
	else if (is(word, "threads"))
		for (long i = 0; i < number; i++)
			start(worker, &rounds[count]);
	else if (is(word, "thread"))
		start(one_mark, &number), join();
	else if (is(word, "await"))
		await(number);
	else if (is(word, "join"))
		join();
	else if (is(word, "kill"))
		kill(getpid(), (int)number);
	else if (is(word, "exit"))
		exit((int)number);
	else
		_exit((int)number);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	return 0;
}
