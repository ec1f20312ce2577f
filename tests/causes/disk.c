/* A read from a slow file: a FIFO stands in for the disk, for no disk is slow when a test asks for it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include "causes.h"

static char path[64];

static void *disk(void *unused)
{
	int file = open(path, O_RDWR);

	usleep(caused ? LONG_US : 1);
	if (file < 0 || write(file, "x", 1) != 1)
		abort();
	return unused;
}

OUT void load(int file)
{
	char byte;

	if (read(file, &byte, 1) != 1)
		abort();
}

OUT void serve(int file)
{
	load(file);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int file;

	begin(argc, argv);
	snprintf(path, sizeof path, "/tmp/slow-table-%d", (int)getpid());
	close(open("/dev/null", O_RDONLY)); /* another file had its number before */
	if (mkfifo(path, 0600))
		abort();
	file = open(path, O_RDWR);
	pthread_create(&thread, NULL, disk, NULL);
	if (!caused)
		pthread_join(thread, NULL);
	serve(file);
	if (caused)
		pthread_join(thread, NULL);
	unlink(path);
	end();
}
