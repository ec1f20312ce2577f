/* pages CALLS: calls a function whose patch lies in two pages, so that it can't be taken out: writing it could be seen half done. Says how
 * many calls it made. */
#include <stdio.h>
#include <stdlib.h>

/* The patch's five bytes begin three before the page's end. */
__asm__(".text\n"
	".balign 4096\n"
	".skip 4093, 0x90\n"
	".type across,@function\n"
	"across:\n"
	".cfi_startproc\n"
	"	lea 1(%rdi),%rax\n"
	"	lea 0(%rax),%rax\n"
	"	ret\n"
	".cfi_endproc\n"
	".size across,.-across\n");
unsigned long across(unsigned long);

int main(int count, char **words)
{
	unsigned long calls = count > 1 ? strtoul(words[1], NULL, 10) : 0, sum = 0;

	while (sum < calls)
		sum = across(sum);
	printf("calls %lu\n", sum);
	return 0;
}
