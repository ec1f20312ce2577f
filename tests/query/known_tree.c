/* A program whose call tree is known: known_tree ROUNDS. Compiled with -DLATER it is a later version of itself. */
#include <pthread.h>
#include <stdlib.h>

static volatile unsigned int sink;

static void leaf(void)
{
	for (unsigned int i = 0; i < 10; i++)
		sink += i;
}

#ifdef LATER
static void added(void)
{
	leaf();
}
#else
static void removed(void)
{
	leaf();
}
#endif

static void left(void)
{
	for (int i = 0; i < 3; i++)
		leaf();
}

static void right(void)
{
	left();
	leaf();
}

static void down(int depth)
{
	if (depth)
		down(depth - 1);
	else
		leaf();
}

static void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		left();
		right();
		down(4);
#ifdef LATER
		added();
#else
		removed();
#endif
	}
}

static void *worker(void *rounds)
{
	work(*(int *)rounds);
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, worker, &rounds);
	work(rounds);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
