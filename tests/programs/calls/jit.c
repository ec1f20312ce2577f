/* Code made at run time calls into the program and is called from it: no module, no names, no unwind tables.
 *
 * expect: made 1000, sum 1501500
 */
#include <string.h>
#include <sys/mman.h>
#include "check.h"

NOINLINE static long from_jit(long n) { BARRIER; return n * 3; }

int main(void)
{
	/* sub $8,%rsp; movabs $from_jit,%rax; call *%rax; add $8,%rsp; ret */
	unsigned char code[] = { 0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3 };
	void *target = (void *)from_jit;
	long sum = 0;
	int made = 0;
	memcpy(code + 6, &target, 8);
	for (int i = 1; i <= 1000; i++, made++) {
		void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(page, code, sizeof(code));
		mprotect(page, 4096, PROT_READ | PROT_EXEC);
		sum += ((long (*)(long))page)(i);
		munmap(page, 4096);
	}
	printf("made %d, sum %ld\n", made, sum);
	return 0;
}
