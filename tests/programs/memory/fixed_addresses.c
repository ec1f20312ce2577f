/* A run-time that wants its heap at fixed places near its text and in the low 2 GiB: they must still be free.
 *
 * pie: no
 * expect: low 8, near 1, high 4
 */
#include <stdint.h>
#include <sys/mman.h>
#include "check.h"

static int reserve(uintptr_t at, size_t bytes)
{
	void *place = mmap((void *)at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			   0);

	return place == (void *)at;
}

int main(void)
{
	int low = 0, near = 0, high = 0;

	for (int i = 0; i < 8; i++)
		low += reserve(0x10000000 + i * 0x1000000ul, 1 << 20);
	near = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0) != MAP_FAILED;
	for (int i = 0; i < 4; i++)
		high += reserve(0x10000000000ul + i * 0x40000000ul, 1 << 30);
	printf("low %d, near %d, high %d\n", low, near, high);
	return 0;
}
