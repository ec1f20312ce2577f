/* A recursion that nothing ends. */
#include "crash.h"

#ifndef ROOM
#define ROOM 8 /* bytes of stack that the call within takes */
#endif

#ifndef BUSY_MS
#define BUSY_MS 0 /* what the recursion begins with: calls, for so long */
#endif

static bool (*volatile go_on)(int level);

static bool always(int level)
{
	volatile char room[ROOM];

	room[0] = (char)level;
	return true;
}

static bool to_a_hundred(int level)
{
	return level < 100;
}

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

OUT int walk(int level)
{
	long long end = BUSY_MS && level == 1 && go_on == always ? now_ms() + BUSY_MS : 0;
	volatile char room[200];

	while (end && now_ms() < end)
		;
	memset((char *)room, level, sizeof room);
	return go_on(level) ? walk(level + 1) + room[3] : level;
}

/* As deep as decoys go: and it stays there. */
static void *deep_thread(void *unused)
{
	walk(0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	begin_crash(argc, argv);
	go_on = to_a_hundred;
	pthread_create(&thread, NULL, deep_thread, NULL);
	pthread_join(thread, NULL);
	if (caused && !innocent)
		go_on = always;
	walk(0);
	if (innocent) /* deep enough, but something else */
		*(volatile int *)0x123456789000 = 1;
	end();
}
