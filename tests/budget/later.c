/* later: calls a function from one place until that call leads to it, as in its file, and then from another place likewise. Says how each
 * call was found: "first: bound, out; second: bound, out", where a call that leads elsewhere is bound. Gives up behind a minute. */
#include <stdbool.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define CALL 0xe8
#define TURN 10000
#define LIMIT_S 60
#define PATCH 5									 /* bytes of a function that its hook may change */
#define ROOM() __asm__ volatile("nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop") /* so that no call is among them */

static volatile long calls;

__attribute__((noinline, noclone)) static void dear(void)
{
	calls++;
}

__attribute__((noinline, noclone)) static void first(void)
{
	ROOM();
	dear();
	calls++;
}

__attribute__((noinline, noclone)) static void second(void)
{
	ROOM();
	dear();
	calls--;
}

/* No instruction between the patch and the call has such a byte. */
static bool is_plain(void (*caller)(void))
{
	const uint8_t *at = memchr((const uint8_t *)caller + PATCH, CALL, 32);
	int32_t distance;

	memcpy(&distance, at + 1, sizeof distance);
	return at + 5 + distance == (const uint8_t *)dear;
}

static const char *look(void (*caller)(void))
{
	return is_plain(caller) ? "out" : "bound";
}

static void call(const char *name, void (*caller)(void))
{
	time_t end = time(NULL) + LIMIT_S;

	printf("%s: %s, ", name, look(caller));
	do {
		for (int i = 0; i < TURN; i++)
			caller();
	} while (!is_plain(caller) && time(NULL) < end);
	printf("%s\n", look(caller));
}

int main(void)
{
	call("first", first);
	call("second", second);
	return 0;
}
