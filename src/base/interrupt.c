/* Signals that ask a command to end. */
#include "base/interrupt.h"
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static atomic_int caught;	  /* the signal; of all threads, so no sig_atomic_t */
static _Atomic uint64_t limit_ns; /* of CLOCK_MONOTONIC; 0: none */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void catch (int number)
{
	caught = number;
}

void ada_interrupt_catch(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	/* SA_RESETHAND: a second signal ends a program that doesn't come round to asking. */
	struct sigaction action = { .sa_handler = catch, .sa_flags = SA_RESETHAND }, before;

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		/* What the parent ignores stays ignored: nohup. */
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
}

bool ada_interrupted(void)
{
	return caught || ada_interrupt_expired();
}

int ada_interrupt_status(void)
{
	return 128 + caught;
}

void ada_interrupt_after(uint64_t ns)
{
	uint64_t now = now_ns();

	atomic_store(&limit_ns, !ns ? 0 : ns < UINT64_MAX - now ? now + ns : UINT64_MAX);
}

bool ada_interrupt_expired(void)
{
	uint64_t limit = atomic_load_explicit(&limit_ns, memory_order_relaxed);

	return limit && !caught && now_ns() >= limit;
}
