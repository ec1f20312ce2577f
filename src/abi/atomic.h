/* Operations on shared memory that several processes change at once, or a thread and the handlers of its signals: without locks, for a
 * holder may be killed. Each operation says what it orders.
 */
#ifndef ADA_ABI_ATOMIC_H
#define ADA_ABI_ATOMIC_H
#include <stdbool.h>
#include <stdint.h>

/* Swaps two words at once, aligned to 16; full barrier. After a failure `old` has what was there. */
static inline bool ada_pair_swap(void *pair, uint64_t old[2], uint64_t first, uint64_t second)
{
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(uint8_t(*)[16])pair), "+a"(old[0]), "+d"(old[1])
			 : "b"(first), "c"(second)
			 : "memory");
	return done;
}

/* Raises the word to at least `value`. Release: a thread that reads that value finds what was written before. */
static inline void ada_word_raise(uint64_t *word, uint64_t value)
{
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

	while (old < value && !__atomic_compare_exchange_n(word, &old, value, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}
#endif
