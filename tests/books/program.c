/* books_program BOOK THREADS ROUNDS GENERATIONS [slow]: threads that count their own calls.
 *
 * Each of so many generations of threads, one after the other, makes ROUNDS rounds of calls of known depth. What a thread counts lies
 * in its entry of the file BOOK, which a SIGKILL leaves as it is: a call is counted once it is in the body (its CALL is committed by
 * then), its end before it returns. So at any moment an entry is one event ahead of, or behind, what the thread has committed.
 * ROUNDS 0: until killed. slow: a pause after every 256 rounds. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "../programs/check.h"

#define ENTRIES (1u << 16)

struct entry {
	uint64_t tid, calls, ends, reserved;
};

static struct entry *book;
static uint32_t used;
static uint64_t rounds;
static int slow;
static __thread struct entry *own;
static __thread jmp_buf out;

static inline void called(void)
{
	__atomic_store_n(&own->calls, own->calls + 1, __ATOMIC_RELAXED);
}
static inline void ends(uint64_t count)
{
	__atomic_store_n(&own->ends, own->ends + count, __ATOMIC_RELAXED);
}

static NOINLINE void counted_leaf(void)
{
	called();
	BARRIER;
	ends(1);
}

static NOINLINE void counted_deep(int depth)
{
	called();
	if (depth)
		counted_deep(depth - 1);
	else
		counted_leaf();
	BARRIER;
	ends(1);
}

/* Left by a jump, with the one that called it. */
static NOINLINE void counted_jumper(void)
{
	called();
	ends(2);
	longjmp(out, 1);
}

static NOINLINE void counted_jumped(void)
{
	called();
	counted_jumper();
	BARRIER;
}

static NOINLINE void jump(void)
{
	if (!setjmp(out))
		counted_jumped();
}

static void *count(void *argument)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };

	own = &book[__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED) % ENTRIES];
	own->tid = (uint64_t)syscall(SYS_gettid);
	for (uint64_t i = 0; !rounds || i < rounds; i++) {
		counted_leaf();
		counted_deep((int)(i % 7));
		if (i % 16 == 3)
			jump();
		if (slow && i % 256 == 255)
			nanosleep(&pause, NULL);
	}
	/* What a jump left is closed by the next event of its thread. */
	counted_leaf();
	return argument;
}

int main(int argc, char **argv)
{
	uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
	int fd = argc > 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	pthread_t *ids = calloc(threads + 1, sizeof *ids);

	CHECK(fd >= 0 && threads && ids && !ftruncate(fd, ENTRIES * sizeof *book));
	book = mmap(NULL, ENTRIES * sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(book != MAP_FAILED);
	rounds = strtoull(argv[3], NULL, 10);
	slow = argc > 5;
	puts("ready");
	fflush(stdout);
	for (int generation = atoi(argv[4]); generation > 0; generation--) {
		for (uint32_t i = 0; i < threads; i++)
			CHECK(!pthread_create(&ids[i], NULL, count, NULL));
		for (uint32_t i = 0; i < threads; i++)
			CHECK(!pthread_join(ids[i], NULL));
	}
	return 0;
}
