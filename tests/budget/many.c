/* many THREADS: until its input ends, so many threads call 2,000 functions, each of which lies in a page of its own, one after the other.
 * "sum right": all calls returned what they should. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FUNCTIONS 2000
#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

__asm__(".altmacro\n"
	".macro function n\n"
	"	.p2align 12\n	.globl many_\\n\n	.type many_\\n,@function\n"
	"many_\\n:\n	.cfi_startproc\n	lea 1(%rdi), %rax\n	nop\n	nop\n	ret\n	.cfi_endproc\n	.size many_\\n, .-many_\\n\n"
	".endm\n"
	".macro one_call n\n	mov %rax, %rdi\n	call many_\\n\n.endm\n"
	".text\n.set number, 0\n.rept " TEXT(
		FUNCTIONS) "\n	function %number\n	.set number, number+1\n.endr\n"
			   ".globl call_all\n.type call_all,@function\ncall_all:\n	.cfi_startproc\n	push %rbp\n	.cfi_adjust_cfa_offset 8\n	mov %rdi, %rax\n"
			   ".set number, 0\n.rept " TEXT(
				   FUNCTIONS) "\n	one_call %number\n	.set number, number+1\n.endr\n"
					      "	pop %rbp\n	.cfi_adjust_cfa_offset -8\n	ret\n	.cfi_endproc\n	.size call_all, .-call_all\n.noaltmacro\n");
long call_all(long from);

static atomic_bool over, wrong;

static void *work(void *unused)
{
	while (!over)
		if (call_all(7) != 7 + FUNCTIONS)
			wrong = true;
	return unused;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t *threads = calloc((size_t)count, sizeof *threads);
	char byte;

	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	over = true;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	puts(wrong ? "sum wrong" : "sum right");
	return wrong;
}
