/* An allocator whose only arena all threads want. */
#include <malloc.h>
#include "causes.h"

#define CHURNERS 2
#define SLOTS 1024
#define BYTES 70000 /* the arena grows and shrinks by each */

static _Atomic(void *) slots[SLOTS]; /* what serve has allocated, for others to free */

OUT void churn(void)
{
	for (unsigned int i = 0; !over; i = (i + 1) % SLOTS) {
		free(atomic_exchange(&slots[i], NULL));
		free(malloc(BYTES));
	}
}

static void *churner(void *unused)
{
	churn();
	return unused;
}

static long long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

OUT void serve(void)
{
	long long end = now_us() + LONG_US * 3 / 4;

	for (unsigned int i = 0; caused ? i % 64 || now_us() < end : i < 64; i++)
		free(atomic_exchange(&slots[i % SLOTS], malloc(BYTES)));
}

int main(int argc, char **argv)
{
	pthread_t threads[CHURNERS];

	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TOP_PAD, 0);
	mallopt(M_TRIM_THRESHOLD, 0);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	begin(argc, argv);
	for (int i = 0; i < CHURNERS && caused; i++)
		pthread_create(&threads[i], NULL, churner, NULL);
	serve();
	end();
	for (int i = 0; i < CHURNERS && caused; i++)
		pthread_join(threads[i], NULL);
}
