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
	((array)->count + (more) <= (array)->capacity ?                                                                                    \
		 0 :                                                                                                                       \
		 ada_array_grow((void **)&(array)->items, &(array)->capacity, (array)->count + (more), sizeof *(array)->items))
/* Appends; evaluates to 0 or -ENOMEM. */
#define ada_array_push(array, ...) (ada_array_reserve(array, 1) ? -12 : ((array)->items[(array)->count++] = (__VA_ARGS__), 0))
#define ada_array_free(array) ada_array_release((void **)&(array)->items, &(array)->count, &(array)->capacity)

/* The first number `i` of those from `first` up to `end` of which `is_before` doesn't hold, as it doesn't of those behind; `end`: it
 * holds of all. */
#define ada_first_not(i, first, end, is_before)                                                                                            \
	({                                                                                                                                 \
		uint64_t low_ = (first), high_ = (end);                                                                                    \
                                                                                                                                           \
		while (low_ < high_) {                                                                                                     \
			uint64_t i = low_ + (high_ - low_) / 2;                                                                            \
                                                                                                                                           \
			if (is_before)                                                                                                     \
				low_ = i + 1;                                                                                              \
			else                                                                                                               \
				high_ = i;                                                                                                 \
		}                                                                                                                          \
		low_;                                                                                                                      \
	})
/* How many items, sorted by their `member`, have it below `key`: the position of the first that has not. */
#define ada_array_below(array, member, key)                                                                                                \
	({                                                                                                                                 \
		__typeof__((array)->items->member) key_ = (key);                                                                           \
                                                                                                                                           \
		ada_first_not(i_, 0, (array)->count, (array)->items[i_].member < key_);                                                    \
	})

int ada_array_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes);
void ada_array_release(void **items, size_t *count, size_t *capacity);
#endif
