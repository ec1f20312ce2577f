/* The main thread joins another, which reads until its input ends.
 *
 * PROGRAM sleep    there is one beside it
 * PROGRAM reuse    it has the memory of a thread that has ended
 * PROGRAM unseen   the same, and it makes no call that is recorded where `hide` isn't */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OUT __attribute__((noinline, noclone))

OUT void await_input(void)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
}

OUT void *rest(void *name)
{
	prctl(PR_SET_NAME, name);
	await_input();
	return NULL;
}

/* By no function of the library. */
OUT void *hide(void *unused)
{
	char byte;
	long result;

	do
		__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_read), "D"(0), "S"(&byte), "d"(1) : "rcx", "r11", "memory");
	while (result > 0);
	return unused;
}

OUT void *first(void *unused)
{
	prctl(PR_SET_NAME, "first");
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t before, thread;
	const char *mode = argc > 1 ? argv[1] : "sleep";

	pthread_create(&before, NULL, strcmp(mode, "sleep") ? first : rest, "beside");
	if (strcmp(mode, "sleep"))
		pthread_join(before, NULL);
	pthread_create(&thread, NULL, strcmp(mode, "unseen") ? rest : hide, "sleeper");
	if (strcmp(mode, "sleep") && thread != before)
		abort();
	if (write(1, "ready\n", 6) != 6)
		abort();
	pthread_join(thread, NULL);
	if (!strcmp(mode, "sleep"))
		pthread_join(before, NULL);
	return 0;
}
