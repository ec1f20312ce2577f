#include <asm/prctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "check.h"

int arch_prctl(int code, unsigned long address);

static unsigned long outside, block[1024];
static const char *how;

NOINLINE static int set_base(unsigned long base)
{
#ifdef WRFSBASE
	__asm__ volatile("wrfsbase %0" :: "r"(base) : "memory");
	return 0;
#endif
	return *how == 's' ? syscall(SYS_arch_prctl, ARCH_SET_FS, base) : arch_prctl(ARCH_SET_FS, base);
}

NOINLINE static int work(int depth) { int n = depth ? work(depth - 1) : 0; BARRIER; return n + 1; }
NOINLINE static int sum(int n) { int s = n ? sum(n - 1) + n : 0; BARRIER; return s; }

/* Returns of calls that began outside come inside, too, and the other way round. */
NOINLINE static int enter_guest(int depth)
{
	int n = 1;
	if (depth)
		n += enter_guest(depth - 1);
	else
		set_base(*how == 'n' ? 0 : (unsigned long)&block[512]);
	BARRIER;
	return n;
}

int main(int count, char **arguments)
{
	how = arguments[1];
	CHECK(!arch_prctl(ARCH_GET_FS, (unsigned long)&outside));
	memset(block, 0x5a, sizeof(block));
	int before = work(10);
	int outer = enter_guest(5);
	int guest = 0;
	for (int i = 0; i < 1000; i++)
		guest = sum(100);
	set_base(outside);
	printf("before %d, guest %d, outer %d, after %d\n", before, guest, outer, work(10));
	return 0;
}
