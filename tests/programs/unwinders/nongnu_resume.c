/* unw_set_reg and unw_resume out of hooked calls, into the middle of a caller: what libunwind writes where it saw the return
 * address must not reach the next call, which returns.
 *
 * libs: -lunwind
 * expect: resumed 100, returned 100
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include "check.h"

long runs(void (*function)(void));
extern char runs_landing[];
__asm__(".text\n.p2align 4\n.globl runs\n.type runs,@function\nruns:\n.cfi_startproc\n"
	" push %rbx\n .cfi_def_cfa_offset 16\n call *%rdi\n mov $1,%eax\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\n"
	".globl runs_landing\nruns_landing:\n .cfi_def_cfa_offset 16\n mov $2,%eax\n pop %rbx\n .cfi_def_cfa_offset 8\n ret\n"
	".cfi_endproc\n.size runs,.-runs\n");

static int resumes;

NOINLINE void deep(int depth)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_proc_info_t info;

	if (depth) {
		deep(depth - 1);
		BARRIER;
		return;
	}
	if (!resumes)
		return;
	CHECK(!unw_getcontext(&context) && !unw_init_local(&cursor, &context));
	do
		CHECK(unw_step(&cursor) > 0 && !unw_get_proc_info(&cursor, &info));
	while (info.start_ip != (unw_word_t)runs);
	CHECK(!unw_set_reg(&cursor, UNW_REG_IP, (unw_word_t)runs_landing));
	unw_resume(&cursor);
	CHECK(0);
}

NOINLINE void either(void)
{
	deep(3);
	BARRIER;
}

int main(void)
{
	int resumed = 0, returned = 0;

	for (int i = 0; i < 200; i++) {
		resumes = i & 1;
		switch (runs(either)) {
		case 1: returned++; break;
		case 2: resumed++; break;
		}
	}
	printf("resumed %d, returned %d\n", resumed, returned);
	return 0;
}
