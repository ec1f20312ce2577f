/* Code made at run time calls into the program and is called from it: no module, no names, no unwind tables. Such calls are recorded
 * without their returns, and what they call has its depth below them.
 *
 * expect: made 1000, sum 1501500
 * expect: calls from_jit 2000
 * expect: calls below 2000
 * expect: calls behind 1000
 * counts: yes
 * returns: some
 */
#include <string.h>
#include <sys/mman.h>
#include "check.h"

NOINLINE static long below(long n)
{
	BARRIER;
	return n;
}
NOINLINE static long from_jit(long n)
{
	long result = below(n) * 3;

	BARRIER;
	return result;
}
NOINLINE static long behind(long n)
{
	BARRIER;
	BARRIER;
	return n;
}

int main(void)
{
	/* sub $8,%rsp; mov %rdi,(%rsp); movabs $from_jit,%rax; call *%rax; mov (%rsp),%rdi; movabs $from_jit,%rax; call *%rax
	 * add $8,%rsp; ret */
	unsigned char code[] = { 0x48, 0x83, 0xec, 8, 0x48, 0x89, 0x3c, 0x24, 0x48, 0xb8, 0,	0,    0,   0,
				 0,    0,    0,	   0, 0xff, 0xd0, 0x48, 0x8b, 0x3c, 0x24, 0x48, 0xb8, 0,   0,
				 0,    0,    0,	   0, 0,    0,	  0xff, 0xd0, 0x48, 0x83, 0xc4, 8,    0xc3 };
	void *target = (void *)from_jit;
	long sum = 0;
	int made = 0;

	memcpy(code + 10, &target, 8);
	memcpy(code + 26, &target, 8);
	for (int i = 1; i <= 1000; i++, made++) {
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		memcpy(page, code, sizeof code);
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		sum += behind(((long (*)(long))page)(i));
		munmap(page, 4096);
	}
	printf("made %d, sum %ld\ncalls from_jit 2000\ncalls below 2000\ncalls behind 1000\n", made, sum);
	return 0;
}
