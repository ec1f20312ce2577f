/* What arguments point at is captured of pointers that lead nowhere, off a mapping's end, into memory that may only be executed or not be
 * touched at all, and of buffers whose length is nonsense. The program must get the kernel's own answers.
 * trace: --trigger=symbol=take@pre=1000ev,post=1000ev --capture=take:1=str,take:2=buf[3],take:4=*256
 * libs: -ldl
 * expect: 7 bad pointers, 7 times EFAULT
 * expect: took 9
 */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

NOINLINE int take(const void *text, const void *buffer, uint64_t bytes, const void *block)
{
	BARRIER;
	return text != NULL && buffer != NULL && bytes && block != NULL;
}

int main(void)
{
	const long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *last, *text, *whole;
	const void *bad[7];
	int faults = 0, taken = 0;

	CHECK(pages != MAP_FAILED);
	last = pages + page - 9;
	strcpy(last, "at_edge"); /* its NUL lies before the page's end */
	text = pages + 2 * page - 8;
	memcpy(text, "edgeless", 8);
	CHECK(!munmap(pages + 2 * page, page));
	CHECK(!mprotect(pages, page, PROT_READ));
	whole = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(whole != MAP_FAILED);
	bad[0] = NULL, bad[1] = (void *)1, bad[2] = (void *)-1, bad[3] = (void *)0x8000000000000000ull,
	bad[4] = (void *)(0x7fffffffffff - 3);
	bad[5] = whole, bad[6] = text;
	for (int i = 0; i < 7; i++) {
		errno = 0;
		faults += open(bad[i], O_RDONLY) == -1 && errno == EFAULT;
	}
	printf("7 bad pointers, %d times EFAULT\n", faults);
	for (int i = 0; i < 7; i++)
		taken += take(bad[i], bad[i], i % 2 ? UINT64_MAX : 1000, bad[i]) >= 0;
	taken += take(last, text, 8, last);
	taken += take(text, last, UINT64_MAX, text);
	printf("took %d\n", taken);
	return 0;
}
