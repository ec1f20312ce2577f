/* A program that is executed from memory: its file has no name under which anyone could find it.
 *
 * counts: yes
 * threads: open
 * expect: calls executed 1000
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"

NOINLINE long executed(long n)
{
	BARRIER;
	return n + 1;
}

int main(int argc, char **argv)
{
	char *image[] = { argv[0], "image", NULL };
	struct stat file;
	int from, to;

	if (argc > 1) {
		for (int i = 0; i < 1000; i++)
			executed(i);
		printf("calls executed %d\n", 1000);
		return 0;
	}
	from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	to = memfd_create("image", MFD_CLOEXEC);
	CHECK(from >= 0 && to >= 0 && !fstat(from, &file));
	CHECK(sendfile(to, from, NULL, file.st_size) == file.st_size);
	fexecve(to, image, environ);
	return 9;
}
