/* How much of the program's stack a hook takes: painted stacks, on which functions are called that are hooked. MOST: bytes. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "check.h"

#define BYTES (256 << 10)
#define PAINT 0xa5

static char *place, *top;

/* Calls function() with the stack pointer at the end of the painted place. */
__attribute__((naked)) static void on_painted(void (*function)(void), char *end)
{
	__asm__("push %rbp; mov %rsp,%rbp; mov %rsi,%rsp; call *%rdi; leave; ret");
}

/* Bytes that it takes, each call of ours included; `own`: what it takes by itself. */
static void measure(const char *what, void (*function)(void), int own)
{
	memset(place, PAINT, BYTES);
	on_painted(function, top);
	int used = BYTES;
	while (used && place[BYTES - used] == (char)PAINT)
		used--;
	printf("%s: %s", what, used <= own + MOST ? "fits" : "too much");
	if (used > own + MOST)
		printf(": %d", used - own);
	printf("\n");
}

#define FRAME 64 /* bytes that the functions here take at most for a level */
NOINLINE static int leaf(int n)
{
	BARRIER;
	return n + 1;
}
NOINLINE static void first(void)
{
	leaf(1);
	BARRIER;
}
#define CALL sum += leaf(sum);
NOINLINE static void callers(void)
{
	int sum = 0;

	CALL CALL CALL CALL CALL CALL CALL CALL BARRIER;
}
NOINLINE static void many(void)
{
	for (int i = 0; i < 20000; i++)
		leaf(i);
}
NOINLINE static void exec_nothing(void)
{
	char *none[] = { NULL };

	execve("/nonexistent", none, none);
	BARRIER;
}
/* It ends with all of its thread's frames closed. */
static void *body(void *unused)
{
	measure("a thread", first, 2 * FRAME);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	place = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	top = place + BYTES;
	measure("the first event", first, 2 * FRAME);
	measure("new callers", callers, 2 * FRAME);
	measure("new chunks", many, 2 * FRAME);
	measure("a plain call", first, 2 * FRAME);
	measure("exec", exec_nothing, 2 * FRAME);
	CHECK(!pthread_create(&thread, NULL, body, NULL));
	pthread_join(thread, NULL);
	return 0;
}
