/* __builtin_return_address in a caller-checking function: it must lie in the program's own text, at the call.
 *
 * expect: inside its caller 100
 * expect: same site, same address
 */
#include "check.h"

NOINLINE static void *who_called(void)
{
	BARRIER;
	return __builtin_extract_return_addr(__builtin_return_address(0));
}
NOINLINE static void *ask(void)
{
	void *address = who_called();

	BARRIER;
	return address;
}
NOINLINE static void after_ask(void)
{
	BARRIER;
}

int main(void)
{
	int inside = 0;
	void *first = ask();

	for (int i = 0; i < 100; i++) {
		char *address = ask();

		CHECK(address == first);
		inside += address > (char *)ask && address < (char *)ask + 256;
	}
	after_ask();
	printf("inside its caller %d\n", inside);
	puts("same site, same address");
	return 0;
}
