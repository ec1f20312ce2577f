/* EINTR and SA_RESTART as without a tracer: sleeps, reads, sigsuspend, sigwait, poll; and errno as it was.
 *
 * flags: -pthread
 * expect: read EINTR, restarted x, sigsuspend EINTR, sigwait 12, nanosleep EINTR
 * expect: errno kept
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "check.h"

static int ends[2], feed;
NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
static void on_alarm(int number)
{
	int kept = errno;

	work(5);
	if (feed)
		write(ends[1], "x", 1);
	errno = kept;
}

static void arm(int flags)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = flags };
	struct itimerval timer = { { 0, 5000 }, { 0, 5000 } }; /* again and again: the first may come before the call that it is for */

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}
static const char *outcome(long result)
{
	return result == -1 && errno == EINTR ? "EINTR" : "?";
}

int main(void)
{
	struct timespec long_time = { 10, 0 };
	char byte = '-';
	sigset_t set, empty;
	int number;

	CHECK(!pipe(ends));
	arm(0);
	printf("read %s, ", outcome(read(ends[0], &byte, 1)));
	feed = 1;
	arm(SA_RESTART);
	CHECK(read(ends[0], &byte, 1) == 1);
	printf("restarted %c, ", byte);
	sigemptyset(&empty);
	arm(0);
	printf("sigsuspend %s, ", outcome(sigsuspend(&empty)));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR2);
	sigwait(&set, &number);
	printf("sigwait %d, ", number);
	arm(0);
	printf("nanosleep %s\n", outcome(nanosleep(&long_time, NULL)));
	errno = 77;
	for (int i = 0; i < 100000; i++)
		work(3);
	puts(errno == 77 ? "errno kept" : "errno changed");
	return 0;
}
