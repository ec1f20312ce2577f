/* Leaves that keep data in the red zone while a part of theirs runs that lies elsewhere (as gcc -fprofile-use makes them), in
 * a file without symbols: there such a part looks like a function. It is jumped to, by condition and through a table, and
 * jumps back, to the leaf's middle and to its very start, or returns. Meanwhile signals come.
 *
 * flags: -s
 * expect: sums 15000 20000 45000 40000 25000 10000
 */
#include <signal.h>
#include <sys/time.h>
#include "check.h"

#define PART(name) ".p2align 4\n.type " name ",@function\n" name ":\n.cfi_startproc\n"
#define END(name) ".cfi_endproc\n.size " name ",.-" name "\n"
#define KEEP " mov %rdi,-8(%rsp); mov %rdi,-64(%rsp); mov %rdi,-128(%rsp)\n"
#define SUM " mov -8(%rsp),%rax; cmp -64(%rsp),%rax; jne 9f; cmp -128(%rsp),%rax; jne 9f; add %rsi,%rax; ret\n9: xor %eax,%eax; ret\n"

long goes_back(long n, long more), returns(long n, long more), begins_again(long n, long more);
long by_table(long n, long more), looks_up(long n, long more), chained(long n, long more);
__asm__(".text\n" PART("goes_back") KEEP " xor %esi,%esi; test $1,%edi; jnz goes_back_part\n1:" SUM END("goes_back") PART("returns") KEEP
	" xor %esi,%esi; test $1,%edi; jnz returns_part\n" SUM END("returns")
	/* The part leads to where the leaf's patch lies. */
	PART("begins_again") " lea 7(%rsi),%rsi; cmp $7,%rsi; jne 2f\n" KEEP " jmp begins_again_part\n2:" SUM END("begins_again")
		PART("by_table") KEEP " lea table(%rip),%rdx; mov %edi,%eax; and $1,%eax; movslq (%rdx,%rax,4),%rax; add %rdx,%rax\n"
				      " xor %esi,%esi; jmp *%rax\n3:" SUM END("by_table")
	/* Reads its return address behind the way back. */
	PART("looks_up") KEEP
	" xor %esi,%esi; test $1,%edi; jnz looks_up_part\n4: mov (%rsp),%rdx; lea looks_up_end(%rip),%rcx; cmp %rcx,%rdx\n"
	" mov $5,%edi; mov $-1000,%rax; cmove %rdi,%rax; ret\n" END("looks_up") PART("chained") KEEP
	" xor %esi,%esi; jmp chained_part\n5:" SUM END("chained") ".globl call_looks_up\n" PART(
		"call_looks_up") " sub $8,%rsp\n .cfi_def_cfa_offset 16\n call looks_up\nlooks_up_end: add $8,%rsp\n"
				 " .cfi_def_cfa_offset 8\n ret\n" END("call_looks_up") ".section .text.apart,\"ax\",@progbits\n" PART(
					 "goes_back_part") " lea 2(%rsi),%rsi; nopl 0(%rax); jmp 1b\n" END("goes_back_part")
					 PART("returns_part") " lea 4(%rsi),%rsi; nopl 0(%rax)\n" SUM END("returns_part") PART(
						 "begins_again_part") " lea -7(%rsi),%rsi; lea 1(%rsi),%rsi; jmp begins_again\n" END("begins_again_part")
						 PART("by_table_part") " lea 1(%rsi),%rsi; lea -2(%rsi),%rsi; jmp 3b\n" END("by_table_part") PART(
							 "looks_up_part") " lea 1(%rsi),%rsi; nopl 0(%rax); jmp 4b\n" END("looks_up_part")
							 PART("chained_part") " lea 1(%rsi),%rsi; nopl 0(%rax); jmp chained_further\n" END(
								 "chained_part")
								 PART("chained_further") " lea -2(%rsi),%rsi; nopl 0(%rax); jmp 5b\n" END(
									 "chained_further") ".section .rodata\n.p2align 2\ntable: .long 3b-table, by_table_part-table\n.text\n");
long call_looks_up(long n, long more);

static volatile int handled;
NOINLINE static void handle(int number)
{
	handled++;
}
static void on_alarm(int number)
{
	handle(number);
	BARRIER;
}

int main(void)
{
	struct itimerval timer = { { 0, 300 }, { 0, 300 } };
	long sums[6] = { 0 };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 5000; i++) {
		long n = i % 5;

		sums[0] += goes_back(1, 0) + returns(2, 0) - 2;
		sums[1] += goes_back(3, 0) - 1;
		sums[2] += returns(5, 0);
		sums[3] += begins_again(n, 0) - n;
		sums[4] += by_table(6, 0) + by_table(5, 0) - 5;
		sums[5] += call_looks_up(1, 0) + chained(7, 0) - 9;
	}
	printf("sums %ld %ld %ld %ld %ld %ld\n", sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]);
	return 0;
}
