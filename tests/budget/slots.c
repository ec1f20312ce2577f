/* slots LIBRARY: calls a function of libc by its slot in the GOT as often as a line on stdin says, and says "done"; on "load" it loads the
 * library instead, and on an empty line ends. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	char line[64];
	long sum = 0;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) && *line != '\n') {
		if (!strcmp(line, "load\n") && !dlopen(argv[argc - 1], RTLD_NOW))
			return 1;
		for (long i = strtol(line, NULL, 10); i; i--)
			sum += labs(i);
		puts("done");
		fflush(stdout);
	}
	return sum < 0;
}
