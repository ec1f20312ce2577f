/* Crashes in the first instructions of a function, which ada runs from a copy: `argv[1]` says in which. Each names the place: fault_N. */
#include <stdlib.h>

#define FUNCTION(number, before, after)                                                                                                    \
	__asm__(".text\n.globl crash_" #number "\n.type crash_" #number ", @function\ncrash_" #number ":\n" before ".globl fault_" #number \
		"\nfault_" #number ":\n\tmov 8(%rdi), %rax\n" after "\tret\n.size crash_" #number ", .-crash_" #number "\n");              \
	void crash_##number(const void *)

FUNCTION(1, "", "\tnop\n\tnop\n\tnop\n");
FUNCTION(2, "\tsub $8, %rsp\n", "\tadd $8, %rsp\n");
FUNCTION(3, "\tpush %rbx\n\tlea fault_1(%rip), %rbx\n", "\tpop %rbx\n");
FUNCTION(4, "\txor %eax, %eax\n\tcmp %rax, %rdi\n\tjne 1f\n1:\n", "");

int main(int argc, char **argv)
{
	static void (*const all[])(const void *) = { crash_1, crash_2, crash_3, crash_4 };

	all[atoi(argv[argc - 1]) - 1](NULL);
	return 0;
}
