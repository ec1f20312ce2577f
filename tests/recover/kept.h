/* What kept.c does, as kept_check.c must find it again. */
#ifndef KEPT_H
#define KEPT_H
#include <stdint.h>

#define KEPT_THREADS 64
#define KEPT_FUNCTIONS 5
#define KEPT_MARK 4 /* number of the function that triggers */
#define KEPT_MARK_EVERY 20011

struct kept_line {
	uint64_t calls; /* that have returned */
	uint32_t thread_id;
	uint32_t reserved[13];
};

/* Which function call number `i` of a thread calls: an event that is missing, comes twice, or at another place shows at once. */
static inline unsigned int kept_function(uint64_t thread, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15u ^ thread << 56;

	if (i % KEPT_MARK_EVERY == KEPT_MARK_EVERY - 1)
		return KEPT_MARK;
	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
	return (unsigned int)(x >> 61) & 3;
}
#endif
