/* What crashes holds a mutex that another thread has waited for: why that waits is true, too, and not what the user asks first. */
#include "crash.h"
#include "entries.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t taken;
static volatile int served;

OUT int value_of(struct entry *entry)
{
	return entry->value;
}

OUT int serve(const char *key)
{
	return value_of(look_up(key)) + 1;
}

OUT void wait_for_it(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void *waiter(void *unused)
{
	pthread_barrier_wait(&taken);
	wait_for_it();
	return unused;
}

OUT void hold(void)
{
	pthread_mutex_lock(&lock);
	pthread_barrier_wait(&taken);
	usleep(LONG_US);
	served = serve(caused && !innocent ? "three" : "two");
	pthread_mutex_unlock(&lock);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin_crash(argc, argv);
	pthread_barrier_init(&taken, NULL, 2);
	pthread_create(&thread, NULL, waiter, NULL);
	hold();
	pthread_join(thread, NULL);
	if (innocent)
		*(volatile int *)0x123456789000 = 1;
	end();
}
