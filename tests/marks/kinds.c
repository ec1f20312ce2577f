/* Calls of which test_kinds.py knows how many fit a rule. kinds PART. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define F __attribute__((noinline, noclone, used))

F short twice(short value)
{
	return (short)(value * 2);
}
F double half(double value)
{
	return value / 2;
}
F void *nothing_at(long i)
{
	return i % 4 ? (void *)i : NULL;
}
F unsigned char status_of(int a, uint64_t flags)
{
	return (unsigned char)(a + (int)(flags >> 40));
}

F void values(void)
{
	volatile double sum = 0;

	for (int i = -500; i < 500; i++)
		sum += twice((short)i) + half(i) + (nothing_at(i) != NULL) + status_of(i, (uint64_t)(i + 500) << 40);
}

F void nap(int ms)
{
	struct timespec left = { 0, ms * 1000000L };

	while (ms && nanosleep(&left, &left)) /* of 0 ms it would last, too, as long as others keep the CPU */
		;
}

F void naps(void)
{
	for (int i = 0; i < 8; i++)
		nap(i < 4 ? 0 : 150);
}

F void burn(int ms)
{
	struct timespec now;
	int64_t start, end = 0;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	start = now.tv_sec * 1000000000L + now.tv_nsec;
	for (end = start; end < start + ms * 1000000L; end = now.tv_sec * 1000000000L + now.tv_nsec)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

F void burns(void)
{
	for (int i = 0; i < 10; i++)
		burn(i % 4 == 3 ? 30 : 0);
}

F int dive(int depth)
{
	return depth ? dive(depth - 1) + 1 : 0;
}

F void dives(void)
{
	for (int i = 1; i <= 5; i++)
		dive(i * 10);
}

/* Each round goes below dips three times from the same places: 21 calls that return, 21 that a jump leaves, 21 in one slot. */
static jmp_buf out;
F int plunge(int depth)
{
	if (!depth)
		longjmp(out, 1);
	return plunge(depth - 1) + 1;
}
__attribute__((optimize("optimize-sibling-calls"))) F void slide(volatile int *steps);
__attribute__((optimize("optimize-sibling-calls"))) F void slip(volatile int *steps)
{
	(*steps)++;
	slide(steps);
}
F void slide(volatile int *steps)
{
	if (*steps < 10)
		slip(steps);
}
F void dips(void)
{
	for (volatile int i = 0; i < 100; i++) {
		dive(20);
		if (!setjmp(out))
			plunge(20);
		slide(&(volatile int){ 0 });
	}
}

/* Not so short that no jump has room in it. */
static volatile int counted;
F void tick(void)
{
	counted += 3;
}

F void ticks(void)
{
	for (int i = 0; i < 100; i++)
		tick();
}

F void callee(void)
{
	counted += 5;
}
F void first_place(void)
{
	callee();
	__asm__ volatile("");
}
F void second_place(void)
{
	callee();
	__asm__ volatile("");
}
F void third_place(void)
{
	callee();
	__asm__ volatile("");
}

F void places(void)
{
	for (int i = 0; i < 4; i++) {
		first_place();
		if (i)
			second_place();
	}
	third_place();
}

/* A library that is there from some moment on only. */
F void late(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*function)(int) = library ? (int (*)(int))dlsym(library, "late_function") : NULL;

	if (!function)
		exit(1);
	for (int i = 0; i < 7; i++)
		function(i);
}

static void on_signal(int number)
{
	(void)number;
}

F void signals(void)
{
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	for (int i = 0; i < 5; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
	}
}

int main(int count, char **arguments)
{
	const char *part = count > 1 ? arguments[1] : "";

	if (strcmp(part, "values") == 0)
		values();
	else if (strcmp(part, "naps") == 0)
		naps();
	else if (strcmp(part, "burns") == 0)
		burns();
	else if (strcmp(part, "dives") == 0)
		dives();
	else if (strcmp(part, "dips") == 0)
		dips();
	else if (strcmp(part, "ticks") == 0)
		ticks();
	else if (strcmp(part, "places") == 0)
		places();
	else if (strcmp(part, "late") == 0)
		late(arguments[2]);
	else if (strcmp(part, "signals") == 0)
		signals();
	else if (strcmp(part, "abort") == 0)
		abort();
	else
		return 2;
	return 0;
}
