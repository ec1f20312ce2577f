/* Growable array: struct { T *items; size_t count, capacity; }. Items move when it grows. */
#ifndef ADA_BASE_ARRAY_H
#define ADA_BASE_ARRAY_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ADA_ARRAY(type)                                                                                                                    \
	struct {                                                                                                                           \
		type *items;                                                                                                               \
		size_t count, capacity;                                                                                                    \
	}

/* 0 or -ENOMEM; makes room for `more` items behind the last. */
#define ada_array_reserve(array, more)                                                                                                     \
	ada_array_grow((void **)&(array)->items, &(array)->capacity, (array)->count + (more), sizeof *(array)->items)
/* Appends; evaluates to 0 or -ENOMEM. */
#define ada_array_push(array, ...) (ada_array_reserve(array, 1) ? -12 : ((array)->items[(array)->count++] = (__VA_ARGS__), 0))
#define ada_array_free(array) ada_array_release((void **)&(array)->items, &(array)->count, &(array)->capacity)

/* How many items, sorted by their uint64_t `member`, have it below `key`: the position of the first that has not. */
#define ada_array_below(array, member, key)                                                                                                \
	ada_array_count_below((array)->items, (array)->count, sizeof *(array)->items, offsetof(__typeof__(*(array)->items), member), key)

static inline size_t ada_array_count_below(const void *items, size_t count, size_t item_bytes, size_t offset, uint64_t key)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t value;

		memcpy(&value, (const char *)items + middle * item_bytes + offset, sizeof value);
		if (value < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int ada_array_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes);
void ada_array_release(void **items, size_t *count, size_t *capacity);
#endif
