/* A library that is loaded late. Its constructor's call must be hooked too. */
#include <unistd.h>

static int asked;

__attribute__((noipa)) int victim_library_ask(int number)
{
	return asked + number + (getppid() > 0);
}

__attribute__((constructor)) static void begin(void)
{
	asked = victim_library_ask(99);
}
