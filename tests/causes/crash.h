/* What the programs that crash share. They take the modes of causes.h, and
 *
 * PROGRAM innocent   crashes, too, but for a reason that the recording doesn't show: what looks like one is none
 *
 * Beside 16 threads (crowd, innocent) others free blocks, get null and catch exceptions, before the crash, and know what to do with it. */
#include "causes.h"

static bool innocent;
static atomic_int decoys;

OUT void *find_nothing(void)
{
	return NULL;
}

OUT void free_own(char *block)
{
	free(block);
}

OUT int read_own(const char *block)
{
	return block[1];
}

static void *crash_decoy(void *number)
{
	for (int i = 0; i < 4; i++) {
		char *block = (char *)malloc(64);

		block[1] = (char)(long)number;
		read_own(block);
		free_own(block);
		if (find_nothing())
			abort();
	}
	decoys++;
	return NULL;
}

/* Returns when the decoys have done what they do, and the crowd of causes.h goes on. */
static void begin_crash(int argc, char **argv)
{
	pthread_t thread;

	innocent = argc > 1 && !strcmp(argv[1], "innocent");
	argv[1] = innocent ? (char *)"crowd" : argv[1];
	begin(argc, argv);
	if (argc < 2 || strcmp(argv[1], "crowd"))
		return;
	for (long i = 0; i < CROWD; i++) {
		pthread_create(&thread, NULL, crash_decoy, (void *)i);
		pthread_detach(thread);
	}
	while (decoys < CROWD)
		usleep(1000);
}
