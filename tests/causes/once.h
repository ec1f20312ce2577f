/* What all wait for until it is initialised, once, by the thread that came first; OBJECT, ONCE and FIRST say in which way. Two others wait
 * beside serve, and came before it. */
#ifndef ONCE_H
#define ONCE_H
#include "causes.h"

#define OTHERS 2

static atomic_bool began;

OUT void load_tables(void)
{
	usleep(caused ? LONG_US : 1);
}

OUT void initialise(void)
{
	began = true;
	load_tables();
	__asm__ volatile("");
}

static OBJECT once = FIRST;

OUT void warm_up(void)
{
	ONCE;
	__asm__ volatile("");
}

static void *starter(void *unused)
{
	warm_up();
	return unused;
}

OUT void bystand(void)
{
	ONCE;
	__asm__ volatile("");
}

static void *bystander(void *unused)
{
	bystand();
	return unused;
}

OUT void serve(void)
{
	ONCE;
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	pthread_t thread, others[OTHERS];

	begin(argc, argv);
	pthread_create(&thread, NULL, starter, NULL);
	while (!began)
		usleep(100);
	for (int i = 0; i < OTHERS; i++)
		pthread_create(&others[i], NULL, bystander, NULL);
	serve();
	for (int i = 0; i < OTHERS; i++)
		pthread_join(others[i], NULL);
	pthread_join(thread, NULL);
	end();
}
#endif
