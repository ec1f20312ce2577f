/* Stands before libc: each function calls the next one, which dlsym finds by its caller's address. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int interposed;

int puts(const char *text)
{
	static int (*next)(const char *);

	if (!next)
		next = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
	interposed++;
	return next(text);
}

char *getenv(const char *name)
{
	char *(*next)(const char *) = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");

	interposed++;
	return next(name);
}

int atoi(const char *text)
{
	int (*next)(const char *) = (int (*)(const char *))dlvsym(RTLD_NEXT, "atoi", "GLIBC_2.2.5");

	interposed++;
	return next(text);
}
