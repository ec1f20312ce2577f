/* A shop: two tills share a ledger, and wait for the bread of a baker, whose every eighth tray takes longer; one order in 97 is odd. The baker
 * begins when somebody waits for bread: on a full machine all of it would lie there before the tills begin.
 * With an argument it opens once for each line of its input, and says when it is "ready" and "done". */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))
#define ORDERS 120
#define TRAYS 60

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER, shelf = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fresh = PTHREAD_COND_INITIALIZER, hunger = PTHREAD_COND_INITIALIZER;
static int breads, closing, hungry;
static volatile unsigned long counted;

OUT void count_coins(int coins)
{
	for (int i = 0; i < coins * 400; i++)
		counted += (unsigned long)i;
}

OUT void write_down(int order)
{
	pthread_mutex_lock(&ledger);
	count_coins(order % 97 == 96 ? 9000 : 20);
	pthread_mutex_unlock(&ledger);
}

OUT void take_bread(void)
{
	pthread_mutex_lock(&shelf);
	while (!breads && !closing) {
		if (!hungry++)
			pthread_cond_signal(&hunger);
		pthread_cond_wait(&fresh, &shelf);
	}
	breads -= breads > 0;
	pthread_mutex_unlock(&shelf);
}

OUT void sell(int order)
{
	count_coins(3 + order % 5);
	take_bread();
	write_down(order);
}

static void *till(void *first)
{
	for (int i = 0; i < ORDERS; i++)
		sell((int)(long)first + 2 * i);
	return NULL;
}

OUT void bake(int tray)
{
	count_coins(60);
	if (tray % 8 == 7)
		usleep(600);
	pthread_mutex_lock(&shelf);
	breads += 4;
	pthread_cond_broadcast(&fresh);
	pthread_mutex_unlock(&shelf);
}

static void *baker(void *unused)
{
	pthread_mutex_lock(&shelf);
	while (!hungry)
		pthread_cond_wait(&hunger, &shelf);
	pthread_mutex_unlock(&shelf);
	for (int i = 0; i < TRAYS; i++)
		bake(i);
	pthread_mutex_lock(&shelf);
	closing = 1;
	pthread_cond_broadcast(&fresh);
	pthread_mutex_unlock(&shelf);
	return unused;
}

OUT void open_shop(void)
{
	pthread_t threads[3];

	breads = closing = hungry = 0;
	pthread_create(&threads[0], NULL, till, (void *)0);
	pthread_create(&threads[1], NULL, till, (void *)1);
	pthread_create(&threads[2], NULL, baker, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	char line[8];

	setlinebuf(stdout);
	if (argc < 2) {
		open_shop();
		return 0;
	}
	puts("ready");
	while (fgets(line, sizeof line, stdin)) {
		open_shop();
		puts("done");
	}
	return 0;
}
