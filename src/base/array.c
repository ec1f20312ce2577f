/* See array.h. */
#include "base/array.h"
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The macros pass a T ** as void **, so the pointer is read and written as bytes: the two types may not alias. */
int ada_array_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes)
{
	size_t grown = *capacity ? *capacity : 8;
	void *old, *new;

	if (wanted <= *capacity)
		return 0;
	if (wanted > SIZE_MAX / 2 / item_bytes)
		return -ENOMEM;
	while (grown < wanted)
		grown += grown / 2;
	memcpy(&old, items, sizeof old);
	new = reallocarray(old, grown, item_bytes);
	if (!new)
		return -ENOMEM;
	memcpy(items, &new, sizeof new);
	*capacity = grown;
	return 0;
}

void ada_array_release(void **items, size_t *count, size_t *capacity)
{
	void *old;

	memcpy(&old, items, sizeof old);
	free(old);
	memset(items, 0, sizeof *items);
	*count = *capacity = 0;
}
