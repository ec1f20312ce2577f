/* Has a hook of its own, an import and a constructor. */
#include <stdlib.h>
#include <string.h>

static char *text;

__attribute__((constructor)) static void begin(void)
{
	text = strdup("come");
}

__attribute__((destructor)) static void end(void)
{
	free(text);
}

__attribute__((noinline)) long come(long n)
{
	return n + (long)strlen(text) - 3;
}
