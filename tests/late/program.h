#ifndef ADA_TESTS_LATE_PROGRAM_H
#define ADA_TESTS_LATE_PROGRAM_H
#include <stdio.h>
#include <stdlib.h>

/* The program is driven through its stdin, and answers each line with one. */
static inline void check(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "late_program: %s: %m\n", what);
	_Exit(99);
}

#define LATE_TARGETS 100
int late_target(int number, int x); /* calls the function target_NUMBER: x + NUMBER */
void late_threads(int in_pairs);
void late_blocked(void);
void late_inside(void);
void late_loops(void);
#endif
