/* getenv finds nothing, and the program asks how long it is: strlen's code is one of several that libc has. */
#include "crash.h"

static char *volatile nobody_set;
static volatile size_t sum;

OUT size_t serve(const char *name)
{
	char *value = getenv(name);

	return strlen(value) + 1;
}

/* It asks, and goes on with what was never set. */
OUT size_t serve_default(const char *name)
{
	char *value = getenv(name);

	return strlen(value ? value : nobody_set) + 1;
}

int main(int argc, char **argv)
{
	begin_crash(argc, argv);
	setenv("SET_HERE", "yes", 1);
	sum += serve("SET_HERE");
	sum += (innocent ? serve_default : serve)(caused ? "SET_NOWHERE" : "SET_HERE");
	end();
}
