/* For all test programs: a condition that must hold, else one line on stderr and exit status 99. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                                                   \
	do {                                                                                                                               \
		if (!(condition)) {                                                                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                    \
			_Exit(99);                                                                                                         \
		}                                                                                                                          \
	} while (0)
#define NOINLINE __attribute__((noinline))
#define BARRIER __asm__ volatile("" ::: "memory") /* keeps a call before it from becoming a tail call */
#endif
