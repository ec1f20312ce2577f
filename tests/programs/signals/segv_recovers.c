/* A garbage collector's trick: a SIGSEGV handler maps the page and the access is done again; faults in mid function.
 *
 * expect: 64 faults, sum 2016
 * expect: code and address right
 */
#include <signal.h>
#include <sys/mman.h>
#include "check.h"

static char *heap;
static int faults, right;
NOINLINE static void open_page(char *page)
{
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	BARRIER;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	char *address = info->si_addr;

	right += info->si_code == SEGV_ACCERR && address >= heap && address < heap + 64 * 4096;
	faults++;
	open_page(heap + (address - heap) / 4096 * 4096);
}
NOINLINE static void put(int page, int value)
{
	heap[page * 4096L + 123] = value;
}
NOINLINE static int get(int page)
{
	return heap[page * 4096L + 123];
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	int sum = 0;

	heap = mmap(NULL, 64 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 64; i++)
		put(i, i);
	for (int i = 0; i < 64; i++)
		sum += get(i);
	printf("%d faults, sum %d\n", faults, sum);
	puts(right == 64 ? "code and address right" : "code or address wrong");
	return 0;
}
