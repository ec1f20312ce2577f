/* What saves its caller's context, whatever its name, from a library that isn't traced: the address that it finds must lie in the
 * program, and its caller goes on there more than once.
 *
 * library: libcontexts.so lib/contexts.S
 * libs: -lcontexts
 * expect: kept 50, resumed 50, kept 50, resumed 50
 * expect: all places in the program
 */
#include <stdint.h>
#include "check.h"

int keep_place(uint64_t *place) __attribute__((returns_twice));
int keep_place_popped(uint64_t *place) __attribute__((returns_twice));
void go_to_place(uint64_t *place, int value) __attribute__((noreturn));
extern char __executable_start[], etext[];

static volatile int kept, resumed;
static int outside;
static uint64_t place[8];

static void see(int value)
{
	*(value ? &resumed : &kept) += 1;
	outside += place[7] < (uint64_t)__executable_start || place[7] >= (uint64_t)etext;
}

NOINLINE void leaves(int depth)
{
	if (!depth)
		go_to_place(place, 1);
	leaves(depth - 1);
	BARRIER;
}
NOINLINE void plain(void)
{
	int value = keep_place(place);

	see(value);
	if (!value)
		leaves(3);
	BARRIER;
}
NOINLINE void popped(void)
{
	int value = keep_place_popped(place);

	see(value);
	if (!value)
		leaves(3);
	BARRIER;
}

int main(void)
{
	for (int i = 0; i < 50; i++)
		plain();
	printf("kept %d, resumed %d, ", kept, resumed);
	kept = resumed = 0;
	for (int i = 0; i < 50; i++)
		popped();
	printf("kept %d, resumed %d\n", kept, resumed);
	puts(outside ? "places elsewhere" : "all places in the program");
	return 0;
}
