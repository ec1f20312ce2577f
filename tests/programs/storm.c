/* Preloaded into the programs of tests/programs (--storm=MICROSECONDS): a signal in this interval, with a handler that looks at the
 * registers it may change, so that hooks are interrupted wherever they stand. Which thread gets the signal is the kernel's choice, as
 * busy threads do. Children that are forked have no timer, executed programs do. The recorder is left alone. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern char *program_invocation_short_name;

static volatile unsigned long signals;

static void on_signal(int number)
{
	signals += (unsigned long)number;
}

__attribute__((constructor)) static void begin(void)
{
	const char *interval = getenv("ADA_TEST_STORM_US");
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL };
	struct itimerspec every = { 0 };
	timer_t timer;

	if (!interval || !strcmp(program_invocation_short_name, "ada"))
		return;
	event.sigev_signo = SIGRTMAX - 1;
	every.it_interval.tv_nsec = every.it_value.tv_nsec = strtol(interval, NULL, 10) * 1000;
	if (!sigaction(event.sigev_signo, &action, NULL) && !timer_create(CLOCK_MONOTONIC, &event, &timer))
		timer_settime(timer, 0, &every, NULL);
}
