/* The program of step_*.c, which differ in whose unwinder walks: walk_stack notes where the functions begin, from within. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include "check.h"

int main(int count, char **arguments);
enum { ENOUGH = 6000 };
static volatile long signals, misses;
static volatile int inside_run, inside_middle, stepped;
static uintptr_t missed_at;

NOINLINE static long leaf(long n)
{
	BARRIER;
	return n;
}
NOINLINE static long loop(long n)
{
	long sum = 0;

	while (n)
		sum += n--;
	return sum;
}
NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	BARRIER;
	return a + b + c + d + e + f + g + h;
}
NOINLINE static long tail(long n)
{
	BARRIER;
	return n & 1 ? leaf(n) : loop(n);
}
NOINLINE static long recurse(long n)
{
	long sum = n ? n + recurse(n - 1) : 0;

	BARRIER;
	return sum;
}

/* Calls within the bytes that are patched, a branch to them, and one that counts. A part that is jumped to, with a red zone. */
long calls_first(long n), branches_first(long n), counts_first(long n), loops_long(long n), keeps_low(long n);
__asm__(".text\n"
	".macro FUNCTION name\n.p2align 4\n.type \\name,@function\n\\name:\n.cfi_startproc\n.endm\n"
	".macro END name\n.cfi_endproc\n.size \\name,.-\\name\n.endm\n"
	"FUNCTION calls_first\n push %rbx\n .cfi_def_cfa_offset 16\n call adds_one\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\nEND calls_first\n"
	"FUNCTION adds_one\n lea 1(%rdi),%rax\n nop\n ret\nEND adds_one\n"
	"FUNCTION branches_first\n test %edi,%edi\n jz 1f\n mov %rdi,%rax\n ret\n1: mov $1,%eax\n ret\nEND branches_first\n"
	"FUNCTION counts_first\n mov %rdi,%rcx\n jrcxz 1f\n lea 1(%rdi),%rax\n ret\n1: mov $3,%eax\n ret\nEND counts_first\n"
	"FUNCTION loops_long\n xor %eax,%eax\n1: add %rdi,%rax\n nopl 0x12345678(%rax,%rax)\n nopl 0x12345678(%rax,%rax)\n"
	" nopl 0x12345678(%rax,%rax)\n nopl 0x12345678(%rax,%rax)\n nopl 0x12345678(%rax,%rax)\n nopl 0x12345678(%rax,%rax)\n"
	" dec %rdi\n jnz 1b\n ret\nEND loops_long\n"
	"FUNCTION keeps_low\n mov %rdi,-8(%rsp)\n jmp keeps_low_part\n2: mov -8(%rsp),%rax\n ret\nEND keeps_low\n"
	"keeps_low_part:\n.cfi_startproc\n nopl 0x12345678(%rax,%rax)\n jmp 2b\n.cfi_endproc\n");

NOINLINE static long middle(long n)
{
	long sum;

	inside_middle = 1;
	sum = leaf(n) + loop(n) + many(n, 1, 1, 1, 1, 1, 1, 1) + tail(n) + tail(n + 1) + recurse(3);
	sum += calls_first(n) + branches_first(n) + branches_first(0) + counts_first(n) + counts_first(0) + loops_long(n + 1) +
	       keeps_low(n);
	sum += strtol("7", NULL, 10) + labs(-n);
	inside_middle = 0;
	return sum;
}

NOINLINE static long run(void)
{
	long sum = 0;

	inside_run = 1;
	for (int i = 0; i < 10; i++)
		sum += middle(i);
	inside_run = 0;
	return sum;
}

struct walk {
	uintptr_t starts[64];
	int count;
};

static void walk_stack(struct walk *walk);

/* The frames from main inwards. */
static int found(const struct walk *walk)
{
	int at = walk->count - 1;

	while (at > 0 && walk->starts[at] != (uintptr_t)main)
		at--;
	if (at < 1 || !inside_run)
		return at > 0;
	if (walk->starts[--at] != (uintptr_t)run || !inside_middle)
		return walk->starts[at] == (uintptr_t)run;
	return at > 0 && walk->starts[at - 1] == (uintptr_t)middle;
}

/* The next one a moment after the last one was handled, wherever the program is by then. A thread that sends them would need a CPU, too, and
 * on a full machine a slice of it for each. */
static void arm(void)
{
	static unsigned int random = 1;

	random = random * 1103515245 + 12345;
	setitimer(ITIMER_REAL, &(struct itimerval){ .it_value.tv_usec = 20 + (random >> 16) % 100 }, NULL);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	struct walk walk = { .count = 0 };

	if (stepped) { /* by pushf and popf, it would trap between the two, with another stack */
		((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
		return;
	}
	walk_stack(&walk);
	signals++;
	if (context && !found(&walk) && !misses++)
		missed_at = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	if (number == SIGALRM && signals < ENOUGH)
		arm();
}

int main(int count, char **arguments)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	long sum;

	on_signal(0, NULL, NULL); /* the unwinder's own start */
	signals = misses = 0;
	sigaction(SIGTRAP, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	if (!strcmp(arguments[1], "step")) {
		__asm__ volatile("pushfq; orl $0x100, (%%rsp); popfq" ::: "cc", "memory");
		sum = run();
		stepped = 1;
		CHECK(signals > 1000);
	} else {
		arm();
		while (signals < ENOUGH)
			sum = run();
	}
	printf("sum %ld, enough, %s\n", sum, misses ? "callers missed" : "no caller missed");
	if (misses)
		fprintf(stderr, "%ld of %ld missed, the first at %#lx\n", misses, signals, missed_at);
	return 0;
}
