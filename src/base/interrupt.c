/* Signals that ask a command to end. */
#include "base/interrupt.h"
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void catch(int number)
{
	caught = number;
}

void ada_interrupt_catch(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	/* Reset, so that the second one ends a program that doesn't come round to asking. */
	struct sigaction action = { .sa_handler = catch, .sa_flags = SA_RESETHAND }, before;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		/* What the parent ignores stays ignored: nohup. */
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

bool ada_interrupted(void)
{
	return caught;
}

int ada_interrupt_status(void)
{
	return 128 + caught;
}
