#include <asm/prctl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

int arch_prctl(int code, unsigned long address);

static unsigned long outside, edge, block[1024];
static const char *how;

NOINLINE static int set_base(unsigned long base)
{
#ifdef WRFSBASE
	__asm__ volatile("wrfsbase %0" ::"r"(base) : "memory");
	return 0;
#endif
	return *how == 's' ? syscall(SYS_arch_prctl, ARCH_SET_FS, base) : arch_prctl(ARCH_SET_FS, base);
}

NOINLINE static int work(int depth)
{
	int n = depth ? work(depth - 1) : 0;

	BARRIER;
	return n + 1;
}
NOINLINE static int sum(int n)
{
	int s = n ? sum(n - 1) + n : 0;

	BARRIER;
	return s;
}

/* Returns of calls that began outside come inside, too, and the other way round. */
NOINLINE static int enter_guest(int depth)
{
	int n = 1;

	if (depth)
		n += enter_guest(depth - 1);
	else
		set_base(*how == 'n' ? 0 : *how == 'e' ? edge : (unsigned long)&block[512]);
	BARRIER;
	return n;
}

/* Of libc, what needs nothing below the thread pointer. */
NOINLINE static void use_libc(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	struct rlimit limit;

	CHECK(!sigaction(SIGSEGV, &action, NULL));
	CHECK(!getrlimit(RLIMIT_AS, &limit));
	CHECK(!setrlimit(RLIMIT_AS, &limit));
	CHECK(!prctl(PR_SET_TSC, PR_TSC_ENABLE));
	CHECK(!prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0));
	CHECK(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
	CHECK(!prctl(PR_SET_TSC, PR_TSC_ENABLE));
	CHECK(!getrlimit(RLIMIT_MEMLOCK, &limit));
	CHECK(!limit.rlim_cur || (!mlockall(MCL_FUTURE) && !munlockall()));
}

/* The first page of two is nobody's. */
static unsigned long edge_make(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(pages != MAP_FAILED && !mprotect(pages, 4096, PROT_NONE));
	return (unsigned long)pages + 4096;
}

int main(int count, char **arguments)
{
	how = arguments[1];
	CHECK(!arch_prctl(ARCH_GET_FS, (unsigned long)&outside));
	memset(block, 0x5a, sizeof block);
	edge = edge_make();
	int before = work(10);
	int outer = enter_guest(5);
	int guest = 0;
	for (int i = 0; i < 1000; i++)
		guest = sum(100);
	if (*how == 'e')
		use_libc();
	set_base(outside);
	printf("before %d, guest %d, outer %d, after %d\n", before, guest, outer, work(10));
	return 0;
}
