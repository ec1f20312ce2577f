/* Memory and strings without libc: mem.h. Built with -fno-builtin, or the loops here would become calls of themselves. */
#include <stdint.h>
#include "agent/ground/mem.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
	void *end = to;

	__asm__ volatile("rep movsb" : "+D"(end), "+S"(from), "+c"(bytes) : : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
	char *target = to;
	const char *source = from;

	if ((uintptr_t)to - (uintptr_t)from >= bytes)
		return memcpy(to, from, bytes);
	while (bytes--)
		target[bytes] = source[bytes];
	return to;
}

void *memset(void *to, int value, size_t bytes)
{
	void *end = to;

	__asm__ volatile("rep stosb" : "+D"(end), "+c"(bytes) : "a"(value) : "memory");
	return to;
}

int memcmp(const void *one, const void *two, size_t bytes)
{
	const uint8_t *a = one, *b = two;

	for (size_t i = 0; i < bytes; i++)
		if (a[i] != b[i])
			return a[i] - b[i];
	return 0;
}

size_t ada_string_bytes(const char *string)
{
	size_t bytes = 0;

	while (string[bytes])
		bytes++;
	return bytes;
}

bool ada_string_equal(const char *one, const char *two)
{
	while (*one && *one == *two)
		one++, two++;
	return *one == *two;
}

bool ada_string_begins(const char *string, const char *prefix)
{
	while (*prefix && *string == *prefix)
		string++, prefix++;
	return !*prefix;
}

size_t ada_string_copy(char *to, size_t capacity, const char *from)
{
	size_t bytes = 0;

	for (; bytes + 1 < capacity && from[bytes]; bytes++)
		to[bytes] = from[bytes];
	to[bytes] = 0;
	return bytes;
}
