/* A walk from within calls, one of them of a library through a callback: names the frames up to main, and finds the same
 * once more. The program says how a cursor goes.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

static char names[512];
static int frames, others, after_main;

static void note(void *address)
{
	Dl_info info;
	const char *name = dladdr((char *)address - 1, &info) && info.dli_sname ? info.dli_sname : "";

	frames++;
	if (strstr(info.dli_fname, "ada"))
		others++;
	if (!after_main && strcmp(name, "qsort") && strcmp(name, "qsort_r") && *name && !strstr(info.dli_fname, "libc.so"))
		strcat(strcat(names, " "), name);
	after_main |= !strcmp(name, "main");
}

static void walk(void);

NOINLINE int by_library(const void *a, const void *b)
{
	walk();
	BARRIER;
	return 0;
}
NOINLINE void sorter(void)
{
	int two[2] = { 2, 1 };

	qsort(two, 2, sizeof *two, by_library);
	BARRIER;
}
NOINLINE int recurses(int n)
{
	int result = n ? recurses(n - 1) + 1 : (sorter(), 0);

	BARRIER;
	return result;
}

int main(void)
{
	CHECK(recurses(3) == 3);
	printf("frames:%s\n", names);
	printf("others %d\n", others);
	return 0;
}
