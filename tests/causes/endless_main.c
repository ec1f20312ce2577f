/* Calls endless.c's serve, which is linked into it or a library. */
#include <stdlib.h>
#include <unistd.h>

void serve(void);

int main(void)
{
	if (write(1, "ready\n", 6) != 6)
		abort();
	serve();
	return 0;
}
