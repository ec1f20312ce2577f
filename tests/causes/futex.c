/* A lock of the program's own, in inlined instructions: nobody sees who holds it, only who wakes whom. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include "causes.h"

static atomic_int word;
static atomic_bool held;

static inline void take(void)
{
	int free_word = 0;

	if (atomic_compare_exchange_strong(&word, &free_word, 1))
		return;
	while (atomic_exchange(&word, 2))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void give_back(void)
{
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

OUT void compact(int us)
{
	usleep(us);
}

OUT void sweep(void)
{
	take();
	held = true;
	compact(caused ? LONG_US : 1);
	give_back();
}

static void *sweeper(void *unused)
{
	sweep();
	return unused;
}

OUT void serve(void)
{
	take();
	give_back();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin(argc, argv);
	pthread_create(&thread, NULL, sweeper, NULL);
	while (!held)
		usleep(100);
	serve();
	pthread_join(thread, NULL);
	end();
}
