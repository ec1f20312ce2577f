/* Reads that may fault, and a handler that knows them by the instruction pointer: it compares it with a label at a function's first
 * instruction (HotSpot's SafeFetch), at its second, in a loop that begins the function, or with a table of such places.
 *
 * expect: 40 faults, 40 found, sum 20 of good ones
 */
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "check.h"

#define FUNCTION(name) ".p2align 4\n.globl " name "\n.type " name ",@function\n" name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " name ",.-" name "\n"
long at_first(const int *from, long otherwise), at_second(const int *from, long otherwise);
long in_loop(const int *from, long otherwise), by_table(const int *from, long otherwise);
extern char first_fault[], second_fault[], loop_fault[], first_continues[], second_continues[], loop_continues[];
extern const uintptr_t faults[2];
__asm__(".text\n" FUNCTION("at_first") "first_fault: movslq (%rdi),%rax\n ret\nfirst_continues: mov %rsi,%rax\n ret\n" END("at_first") FUNCTION(
	"at_second") " mov %rdi,%rdx\nsecond_fault: movslq (%rdx),%rax\n ret\nsecond_continues: mov %rsi,%rax\n ret\n" END("at_second")
		FUNCTION(
			"in_loop") "1: mov $2,%ecx\nloop_fault: movslq (%rdi),%rax\n test %rdi,%rdi\n jz 1b\n ret\n"
				   "loop_continues: mov %rsi,%rax\n ret\n" END("in_loop")
					   FUNCTION("by_table") " xor %eax,%eax\n.Lfault: movslq (%rdi),%rax\n ret\n.Lcontinues: mov %rsi,%rax\n ret\n" END(
						   "by_table") ".section .data.rel.ro,\"aw\"\n.p2align 3\n.globl faults\nfaults: .quad .Lfault, .Lcontinues\n.text\n");

static volatile int seen;

static void on_fault(int number, siginfo_t *info, void *context)
{
	greg_t *rip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	const uintptr_t places[][2] = { { (uintptr_t)first_fault, (uintptr_t)first_continues },
					{ (uintptr_t)second_fault, (uintptr_t)second_continues },
					{ (uintptr_t)loop_fault, (uintptr_t)loop_continues },
					{ faults[0], faults[1] } };

	seen++;
	for (int i = 0; i < 4; i++)
		if ((uintptr_t)*rip == places[i][0]) {
			*rip = places[i][1];
			return;
		}
	_Exit(98);
}

int main(void)
{
	static long (*const reads[])(const int *, long) = { at_first, at_second, in_loop, by_table };
	const int *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), good = 5;
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	long found = 0, sum = 0;

	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 40; i++)
		found += reads[i % 4](nothing, i) == i;
	for (int i = 0; i < 4; i++)
		sum += reads[i](&good, 0);
	printf("%d faults, %ld found, sum %ld of good ones\n", seen, found, sum);
	return 0;
}
