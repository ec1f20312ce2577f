/* Signals of faults that nobody's instruction raised: they come at any moment, also to a thread that a tracer has on a stack of
 * its own. Each handler runs on the stack that the program gave it, and overwrites nobody's frames there.
 *
 * run: below -> 0
 * run: above -> 0
 * run: plain -> 0
 * run: jumps -> 0
 * compilers: gcc
 * counts: kept
 * returns: some
 * expect: stacks sane
 * expect: calls after 3000
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "check.h"

#define STACK_BYTES (256 << 10)
#define FRAME_BYTES (40 << 10) /* of a handler on the thread's own stack: more than a tracer would have there */
#define ROUNDS 200

static const int numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
#define NUMBERS (int)(sizeof numbers / sizeof *numbers)

static volatile long handled; /* how many handlers have begun */
static timer_t timers[NUMBERS];
static volatile char *low, *high; /* where handlers have to be */
static sigjmp_buf target;
static volatile int jumping;			      /* handlers may leave by a jump now */
static long (*volatile by_jit)(long (*)(long), long); /* each such call is a tracer's slow path */

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static long after(long n)
{
	BARRIER;
	return n + 2;
}

static void make_jit(void)
{
	/* sub $8,%rsp; mov %rdi,%rax; mov %rsi,%rdi; call *%rax; add $8,%rsp; ret */
	static const unsigned char code[] = {
		0x48, 0x83, 0xec, 8, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3
	};
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(page, code, sizeof code);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	by_jit = (long (*)(long (*)(long), long))page;
}

static void work(volatile char *frame, int bytes, int number)
{
	long count = __atomic_add_fetch(&handled, 1, __ATOMIC_SEQ_CST);

	memset((char *)frame, number, bytes);
	for (int i = 0; i < 10; i++)
		CHECK(by_jit(leaf, i) == i + 1);
	for (int i = 0; i < bytes; i++)
		CHECK(frame[i] == number);
	if (count % 5 == 0 && jumping)
		siglongjmp(target, 1);
}

static void on_signal(int number)
{
	volatile char frame[512];

	CHECK(frame >= low && frame + sizeof frame <= high);
	work(frame, sizeof frame, number);
}

static void on_signal_large(int number)
{
	volatile char frame[FRAME_BYTES];

	CHECK(frame >= low && frame + sizeof frame <= high);
	work(frame, sizeof frame, number);
}

static void install(const char *how)
{
	static char below[STACK_BYTES];
	void *above = mmap((void *)0x7ffffff00000, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_sp = strcmp(how, "above") ? below : above, .ss_size = STACK_BYTES };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };

	low = stack.ss_sp;
	high = low + STACK_BYTES;
	if (!strcmp(how, "plain")) {
		action.sa_handler = on_signal_large;
		action.sa_flags = SA_RESTART;
		high = (char *)__builtin_frame_address(0) + (1 << 20);
		low = high - (8 << 20);
	} else {
		CHECK(!sigaltstack(&stack, NULL));
	}
	for (int i = 0; i < NUMBERS; i++)
		CHECK(!sigaction(numbers[i], &action, NULL));
}

/* One of each signal, at moments that differ; until all have come. */
static void round_of(long number)
{
	for (int i = 0; i < NUMBERS; i++) {
		struct itimerspec times = { .it_value = { 0, 2000 + (number * 7919 + i * 3571) % 20000 } };

		CHECK(!timer_settime(timers[i], 0, &times, NULL));
	}
	while (handled < (number + 1) * NUMBERS)
		CHECK(by_jit(leaf, 3) == 4);
}

static void make_timers(void)
{
	for (int i = 0; i < NUMBERS; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = numbers[i] };

		CHECK(!timer_create(CLOCK_MONOTONIC, &event, &timers[i]));
	}
}

int main(int count, char **arguments)
{
	volatile long n = 0, rounds = 0;
	sigset_t mask;

	make_jit();
	install(arguments[1]);
	CHECK(by_jit(leaf, 1) == 2);
	make_timers();
	/* Were it siglongjmp that opens the mask, the next handler would begin where this one is. */
	sigsetjmp(target, 0);
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	jumping = !strcmp(arguments[1], "jumps");
	while (rounds < ROUNDS)
		round_of(rounds++);
	for (n = 0; n < 6000;)
		n = after(n);
	printf("stacks sane\ncalls after 3000\n");
	return 0;
}
