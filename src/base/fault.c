/* See fault.h. */
#include "base/fault.h"
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uintptr_t first;
static uintptr_t page_bytes;
static _Thread_local volatile bool held, held_one; /* of ada_fault_hold; the handler runs on the thread that faults */

/* mmap is a bare system call. A fault that no mapped file caused, or that can't be mended, kills as before. */
static void mend(int number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes - 1), none = 0;
	int before = errno;

	if (info->si_code != BUS_ADRERR || !page ||
	    mmap((void *)page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(number, SIG_DFL);
	else if (held)
		held_one = true;
	else
		atomic_compare_exchange_strong(&first, &none, (uintptr_t)info->si_addr);
	errno = before;
}

void ada_fault_catch(void)
{
	struct sigaction action = { .sa_sigaction = mend, .sa_flags = SA_SIGINFO };

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &action, NULL);
}

uintptr_t ada_fault_address(void)
{
	return atomic_load(&first);
}

void ada_fault_hold(void)
{
	held_one = false;
	held = true;
}

bool ada_fault_release(void)
{
	held = false;
	return held_one;
}
