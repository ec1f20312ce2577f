/* The film of ada-anchor(1): waits for the next picture, and draws it; for half a second. */
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile int sink;

NOINLINE void draw(int picture)
{
	sink = picture;
}

int main(void)
{
	const struct itimerspec pictures = { { .tv_nsec = 5000000 }, { .tv_nsec = 5000000 } };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t due;

	timerfd_settime(timer, 0, &pictures, NULL);
	for (int i = 0; i < 100 && read(timer, &due, sizeof due) > 0; i++)
		draw(i);
	return 0;
}
