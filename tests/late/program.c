/* late_program serve|threads|blocked */
#include "program.h"
#include <string.h>
#include <unistd.h>

int ada_late_library(int count);
__attribute__((noinline, noclone)) int quiet(int x);
__attribute__((noinline, noclone)) int quiet(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}

/* "quiet N", "library N": that many calls, then "done". */
static void serve(void)
{
	char what[32];
	int count;
	puts("ready");
	fflush(stdout);
	while (scanf("%31s %d", what, &count) == 2) {
		int x = 0;
		if (!strcmp(what, "quiet")) {
			for (int i = 0; i < count; i++)
				x = quiet(x);
			check(x == 2 * count, "quiet");
		} else {
			check(ada_late_library(count) == count, "library");
		}
		puts("done");
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	check(argc == 2, "arguments");
	if (!strcmp(argv[1], "serve"))
		serve();
	else if (!strcmp(argv[1], "threads"))
		late_threads();
	else
		late_blocked();
	return 0;
}
