/* A program with its own malloc, which the loader, libc and the C++ run-time use too, also before main; no one else's.
 *
 * flags: -fno-builtin -pthread
 * expect: own malloc used, sum 4950
 * expect: only the program's own
 */
#include <pthread.h>
#include <string.h>
#include "check.h"

static char arena[8 << 20] __attribute__((aligned(16)));
static size_t used;
static long allocations, frees;

NOINLINE static void *take(size_t size)
{
	size_t at = __atomic_fetch_add(&used, (size + 31) / 16 * 16, __ATOMIC_RELAXED);

	if (at + size + 16 > sizeof arena)
		return NULL;
	*(size_t *)(arena + at) = size;
	__atomic_fetch_add(&allocations, 1, __ATOMIC_RELAXED);
	return arena + at + 16;
}
void *malloc(size_t size)
{
	return take(size);
}
void free(void *place)
{
	CHECK(!place || ((char *)place >= arena && (char *)place < arena + sizeof arena));
	frees++;
}
void *calloc(size_t count, size_t size)
{
	void *place = take(count * size);

	return place ? memset(place, 0, count * size) : NULL;
}
void *realloc(void *old, size_t size)
{
	void *place = take(size);

	if (old && place) {
		size_t old_size = ((size_t *)old)[-2];

		memcpy(place, old, old_size < size ? old_size : size);
	}
	return place;
}
void *aligned_alloc(size_t alignment, size_t size)
{
	char *p = take(size + alignment);

	return p + (-(size_t)p & (alignment - 1));
}
void *memalign(size_t alignment, size_t size)
{
	return aligned_alloc(alignment, size);
}
static void *body(void *unused)
{
	char *text = strdup("text");

	free(text);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	long before = allocations, sum = 0;
	int *values = malloc(100 * sizeof(int));

	for (int i = 0; i < 100; i++)
		values[i] = i;
	values = realloc(values, 200 * sizeof(int));
	for (int i = 0; i < 100; i++)
		sum += values[i];
	CHECK(allocations == before + 2); /* hooks allocate nothing */
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, body, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("own malloc used, sum %ld\n", sum);
	puts(frees >= 4 ? "only the program's own" : "no frees");
	return 0;
}
