/* Faults in an instruction that a hook has moved, when its input ends. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

__attribute__((noinline)) static int reads(volatile int *place)
{
	int value = *place;

	__asm__ volatile("");
	return value;
}

__attribute__((noinline)) static int asks(volatile int *place)
{
	int value = reads(place) + 1;

	__asm__ volatile("");
	return value;
}

int main(void)
{
	char byte;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	printf("%d\n", getpid());
	fflush(stdout);
	if (read(0, &byte, 1))
		return 9;
	return asks((int *)8);
}
