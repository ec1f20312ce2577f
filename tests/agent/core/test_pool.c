/* No thread waits for another in a ring: one is stopped behind each instruction of a seal and of a recycle in turn, as a
 * preemption would, and meanwhile another goes round the ring several times. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include "abi/ring.h"
#include "../../test.h"

#define CHUNKS 5u /* no power of two: laps and places don't fall together */
#define LAPS 3
#define TAKEN 99u

static struct shared {
	uint64_t sealed[CHUNKS], head, tail;
	uint32_t number; /* what the stopped one has recycled */
	uint32_t done;	 /* the stopped one has come to its end */
} * shared;
static struct ada_ring sealed_ring;

/* Chunks 0 to `sealed` - 1 are in the ring, which has gone round before; none is free. */
static void begin(uint32_t sealed)
{
	memset(shared, 0, sizeof *shared);
	sealed_ring = (struct ada_ring){ .entries = shared->sealed, .head = &shared->head, .tail = &shared->tail, .count = CHUNKS };
	for (uint32_t i = 0; i < 2 * CHUNKS + 1; i++) {
		uint32_t number;

		if (i >= sealed)
			assert_true(ada_ring_take_oldest(&sealed_ring, &number) && number == i % sealed);
		ada_ring_put(&sealed_ring, i % sealed);
	}
	assert_int_equal(shared->head - shared->tail, sealed);
}

static void go_round(void)
{
	uint32_t number = TAKEN;

	for (uint32_t i = 0; i < LAPS * CHUNKS; i++) {
		assert_true(ada_ring_take_oldest(&sealed_ring, &number));
		assert_true(number < CHUNKS);
		ada_ring_put(&sealed_ring, number);
	}
}

static void seal(void)
{
	ada_ring_put(&sealed_ring, CHUNKS - 1);
}

static void recycle(void)
{
	if (!ada_ring_take_oldest(&sealed_ring, &shared->number))
		shared->number = TAKEN;
}

/* A child that has run `steps` instructions of `action`, or less where it has come to its end. */
static pid_t run(void (*action)(void), int steps)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		__asm__ volatile("int3");
		action();
		shared->done = 1;
		for (;;)
			__asm__ volatile("int3");
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	while (steps-- && !shared->done) {
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	}
	return pid;
}

static void go_on(pid_t pid)
{
	int status;

	if (!shared->done) {
		assert_int_equal(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_int_equal(shared->done, 1);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Which chunks are in the ring; each once at most. */
static uint32_t ring(void)
{
	uint32_t number, found = 0;

	while (ada_ring_take_oldest(&sealed_ring, &number)) {
		assert_true(number < CHUNKS && !(found >> number & 1));
		found |= 1u << number;
	}
	return found;
}

#define ALL ((1u << CHUNKS) - 1)

static void a_seal_that_is_interrupted(void **state)
{
	bool done = false;
	int steps;

	for (steps = 0; !done; steps++) {
		pid_t pid;

		begin(CHUNKS - 1);
		pid = run(seal, steps);
		done = shared->done;
		go_round();
		go_on(pid);
		end(pid);
		go_round();
		assert_int_equal(ring(), ALL);
	}
	assert_true(steps > 10);
}

static void a_recycle_that_is_interrupted(void **state)
{
	bool done = false;
	int steps;

	for (steps = 0; !done; steps++) {
		pid_t pid;

		begin(CHUNKS);
		pid = run(recycle, steps);
		done = shared->done;
		go_round();
		go_on(pid);
		end(pid);
		go_round();
		assert_true(shared->number < CHUNKS);
		assert_int_equal(ring(), ALL & ~(1u << shared->number));
	}
	assert_true(steps > 10);
}

/* A vfork child, for one. Its chunk is lost or not; the others' never. */
static void a_seal_that_is_never_ended(void **state)
{
	bool done = false;

	for (int steps = 0; !done; steps++) {
		pid_t pid;

		begin(CHUNKS - 1);
		pid = run(seal, steps);
		done = shared->done;
		end(pid);
		go_round();
		assert_int_equal(ring() | 1u << (CHUNKS - 1), ALL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_seal_that_is_interrupted),
		cmocka_unit_test(a_recycle_that_is_interrupted),
		cmocka_unit_test(a_seal_that_is_never_ended),
	};

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
