/* What sigaction and sigprocmask tell a program at its start: every signal is at its default, none blocked, no alternate
 * stack; what it sets is what it reads back, SIGSEGV and SIGABRT too.
 *
 * expect: default 62, blocked 0, pending 0, no alternate stack
 * expect: read back 12, restored
 */
#include <signal.h>
#include <string.h>
#include "check.h"

static void handler(int number, siginfo_t *info, void *context)
{
}

int main(void)
{
	static const int fatal[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGTERM, SIGINT, SIGQUIT, SIGUSR1, SIGALRM
	};
	int defaults = 0, blocked = 0, waiting = 0, read_back = 0;
	struct sigaction action, old, set = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t mask, pending;
	stack_t stack;

	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigpending(&pending);
	for (int i = 1; i <= 64; i++) {
		if (!sigaction(i, NULL, &action))
			defaults += action.sa_handler == SIG_DFL && !(action.sa_flags & ~0x04000000);
		blocked += sigismember(&mask, i) == 1;
		waiting += sigismember(&pending, i) == 1;
	}
	sigaltstack(NULL, &stack);
	printf("default %d, blocked %d, pending %d, %s\n", defaults, blocked, waiting,
	       stack.ss_flags == SS_DISABLE ? "no alternate stack" : "an alternate stack");
	sigaddset(&set.sa_mask, SIGUSR2);
	for (int i = 0; i < 12; i++) {
		CHECK(!sigaction(fatal[i], &set, &old) && old.sa_handler == SIG_DFL);
		CHECK(!sigaction(fatal[i], NULL, &action));
		read_back += action.sa_sigaction == handler && (action.sa_flags & SA_RESTART) && sigismember(&action.sa_mask, SIGUSR2);
		CHECK(signal(fatal[i], SIG_DFL) != SIG_ERR);
		CHECK(!sigaction(fatal[i], NULL, &action) && action.sa_handler == SIG_DFL);
	}
	printf("read back %d, restored\n", read_back);
	return 0;
}
