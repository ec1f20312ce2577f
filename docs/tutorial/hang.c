/* Two accounts, two locks, two transfers in opposite directions: one day the program stands still. */
#include <pthread.h>
#include <stdio.h>

struct account {
	pthread_mutex_t lock;
	long balance;
};
static struct account mine = { PTHREAD_MUTEX_INITIALIZER, 100 }, yours = { PTHREAD_MUTEX_INITIALIZER, 100 };
static pthread_barrier_t begun, both;

__attribute__((noinline)) static void transfer(struct account *from, struct account *to, long amount)
{
	pthread_mutex_lock(&from->lock);
	pthread_barrier_wait(&both); /* stands for bad luck: both have their first lock now */
	pthread_mutex_lock(&to->lock);
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *give(void *unused)
{
	pthread_barrier_wait(&begun);
	transfer(&mine, &yours, 10);
	return unused;
}

static void *take(void *unused)
{
	transfer(&yours, &mine, 20);
	return unused;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&begun, NULL, 2);
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, give, NULL);
	pthread_barrier_wait(&begun);
	pthread_create(&threads[1], NULL, take, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%ld\n", mine.balance + yours.balance);
	return 0;
}
