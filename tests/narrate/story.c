/* What narratives are held against: programs whose story is known. A second thread waits in poll all the while.
 *   story plain | crash | wild | nowhere | overflow | abort | caller | errors | throw | fork | many | alike | exit | live
 * live: works once for each character of its input. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static int ends[2];
static volatile long sink;
static jmp_buf back;
static int (*volatile nowhere)(int);

static void pause_us(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, NULL);
}

static volatile int waiter_id;

/* A system call without a call: none that the story would have to tell of. */
static inline __attribute__((always_inline)) long raw(long number, long a, long b, long c)
{
	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return number;
}

/* The second thread has begun, and sleeps: it is in poll. */
static inline __attribute__((always_inline)) int waits(void)
{
	static const char before[] = "/proc/self/task/", after[] = "/stat";
	char path[48], text[64], digits[12];
	int length = 0, count = 0, id = waiter_id;

	if (!id)
		return 0;
	for (; id; id /= 10)
		digits[count++] = (char)('0' + id % 10);
	for (unsigned i = 0; i < sizeof before - 1; i++)
		path[length++] = before[i];
	while (count)
		path[length++] = digits[--count];
	for (unsigned i = 0; i < sizeof after; i++)
		path[length++] = after[i];
	long file = raw(SYS_open, (long)path, O_RDONLY, 0), got = raw(SYS_read, file, (long)text, sizeof text), at = 0;
	raw(SYS_close, file, 0, 0);
	while (at < got && text[at] != ')')
		at++;
	return at + 2 < got && text[at + 2] == 'S';
}

NOINLINE void *waiter(void *argument)
{
	struct pollfd end = { .fd = ends[0], .events = POLLIN };

	waiter_id = (int)raw(SYS_gettid, 0, 0, 0);
	poll(&end, 1, -1);
	sink++;
	return argument;
}

NOINLINE int process_image(int number, const char *name)
{
	sink += number + name[0];
	if (number == 57)
		pause_us(300000);
	return number;
}

NOINLINE int check(int number)
{
	sink++;
	return number == 70 ? -7 : number;
}

NOINLINE void try_open(const char *path)
{
	sink += open(path, O_RDONLY);
}

NOINLINE void odd_caller(int number)
{
	process_image(number, "odd");
	sink++;
}

NOINLINE void work(void)
{
	for (int i = 1; i <= 100; i++) {
		process_image(i, "picture");
		check(i);
	}
	sink++;
}

NOINLINE void inner(volatile int *where)
{
	*where = 7;
	sink++;
}

NOINLINE void outer(volatile int *where)
{
	inner(where);
	sink++;
}

NOINLINE int call(int (*where)(int), int number)
{
	return where(number) + 1;
}

NOINLINE int overflow(int number)
{
	volatile char room[4096];

	room[number % 4096] = 1;
	return overflow(number + 1) + room[0];
}

NOINLINE void leave(void)
{
	sink++;
	longjmp(back, 1);
}

NOINLINE void thrower(void)
{
	leave();
	sink++;
}

NOINLINE void tick(int number)
{
	sink += number;
}

NOINLINE void forked(void)
{
	pid_t child = fork();

	if (!child) {
		work();
		_exit(3);
	}
	waitpid(child, NULL, 0);
}

NOINLINE void live(void)
{
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF) {
		work();
		puts("done");
		fflush(stdout);
	}
}

/* Another time each, the longest one in the midst of them. */
NOINLINE void nap(long us)
{
	pause_us(us);
	sink++;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";
	pthread_t thread;

	if (pipe(ends))
		return 1;
	pthread_create(&thread, NULL, waiter, NULL);
	do
		pause_us(20000);
	while (!waits());
	work();
	if (!strcmp(what, "crash"))
		outer(NULL);
	if (!strcmp(what, "wild"))
		outer((volatile int *)0x4141414141414141);
	if (!strcmp(what, "nowhere"))
		sink += call(nowhere, 5);
	if (!strcmp(what, "overflow"))
		sink += overflow(0);
	if (!strcmp(what, "abort"))
		abort();
	if (!strcmp(what, "caller"))
		odd_caller(500);
	if (!strcmp(what, "errors"))
		try_open("/nowhere/at/all");
	if (!strcmp(what, "throw") && !setjmp(back))
		thrower();
	if (!strcmp(what, "fork"))
		forked();
	if (!strcmp(what, "live"))
		live();
	for (int i = 0; !strcmp(what, "many") && i < 60; i++) {
		tick(i);
		pause_us(2000);
	}
	for (int i = 0; !strcmp(what, "alike") && i < 12; i++) {
		nap(20000 + i * 5 % 12 * 2000);
		pause_us(2000);
	}
	if (write(ends[1], "x", 1) != 1)
		return 1;
	pthread_join(thread, NULL);
	return !strcmp(what, "exit") ? 3 : 0;
}
