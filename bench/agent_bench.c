/* ns an event of the agent's hot path, beside the floor measured in the same rounds (floor.S): `make bench`.
 *
 * Floor, hooked and plain workloads take turns, round by round, and each figure is the median of its rounds, so that a change
 * of the machine's speed meets all alike. The index runs in circular mode over 64 MiB: no recorder takes part.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include "fake.h"

#define HOOKED __attribute__((noinline, noclone, patchable_function_entry(5, 0)))
#define PLAIN __attribute__((noinline, noclone))
#define RING_BYTES (64ull << 20)
#define ROUNDS_MAX 101

void floor_index(uint64_t calls, void *ring, uint64_t ring_bytes);

/* Every workload twice: hooked and plain. */
#define LEAF(attribute, name) attribute static long name(long x) { __asm__ volatile(""); return x + 1; }
#define FIB(attribute, name) attribute static long name(long n) { return n < 2 ? n : name(n - 1) + name(n - 2); }
#define DEEP(attribute, name) attribute static long name(long n) { long r = n ? name(n - 1) : 0; __asm__ volatile(""); return r + 1; }
/* 160 independent operations: the pipeline is full, so nothing of a hook hides */
#define BUSY(attribute, name) attribute static long name(long x) \
{ \
	long a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4; \
	for (int i = 0; i < 32; i++) \
		__asm__ volatile("add $1,%0; add $2,%1; add $3,%2; add $4,%3; xor $5,%4" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e)); \
	return a + b + c + d + e; \
}
#define VIRTUAL(attribute, name) attribute static long name(long x) { __asm__ volatile("" : "+r"(x)); return x + 1; }
LEAF(HOOKED, leaf) LEAF(PLAIN, leaf_plain)
FIB(HOOKED, fib) FIB(PLAIN, fib_plain)
DEEP(HOOKED, deep) DEEP(PLAIN, deep_plain)
BUSY(HOOKED, busy) BUSY(PLAIN, busy_plain)
LEAF(HOOKED, popular) LEAF(PLAIN, popular_plain)

#define REPEAT8(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7)
#define REPEAT64(m, n) REPEAT8(m, n##0) REPEAT8(m, n##1) REPEAT8(m, n##2) REPEAT8(m, n##3) \
	REPEAT8(m, n##4) REPEAT8(m, n##5) REPEAT8(m, n##6) REPEAT8(m, n##7)
typedef long function(long);
#define CALLER(n) PLAIN static long caller_##n(long x) { x = popular(x); __asm__ volatile(""); return x; } \
	PLAIN static long caller_plain_##n(long x) { x = popular_plain(x); __asm__ volatile(""); return x; }
#define CALLER_NAME(n) caller_##n,
#define CALLER_PLAIN_NAME(n) caller_plain_##n,
REPEAT64(CALLER, x)
static function *const callers[] = { REPEAT64(CALLER_NAME, x) }, *const callers_plain[] = { REPEAT64(CALLER_PLAIN_NAME, x) };

static volatile long sink;

static void loop(function *f, long n)
{
	long x = 0;

	for (long i = 0; i < n; i++)
		x = f(x);
	sink = x;
}

static long run_leaf(bool hooked)
{
	loop(hooked ? leaf : leaf_plain, 200000);
	return 400000;
}

static long run_fib(bool hooked)
{
	sink = (hooked ? fib : fib_plain)(22);
	return 2 * 57313;
}

static long run_callers(bool hooked)
{
	function *const *table = hooked ? callers : callers_plain;
	long x = 0;

	for (long i = 0; i < 200000; i++)
		x = table[i & 63](x);
	sink = x;
	return 400000;
}

static long run_deep(bool hooked)
{
	for (int i = 0; i < 6000; i++)
		sink = (hooked ? deep : deep_plain)(30);
	return 6000 * 62;
}

static long run_busy(bool hooked)
{
	loop(hooked ? busy : busy_plain, 100000);
	return 200000;
}

static const struct { const char *name; long (*run)(bool hooked); } workloads[] = {
	{ "leaf", run_leaf }, { "fib", run_fib }, { "64 callers", run_callers }, { "30 deep", run_deep }, { "busy body", run_busy },
};
#define WORKLOADS (sizeof workloads / sizeof workloads[0])

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int compare(const void *one, const void *two)
{
	double a = *(const double *)one, b = *(const double *)two;

	return (a > b) - (a < b);
}

static double median(double *values, int count)
{
	qsort(values, count, sizeof *values, compare);
	return values[count / 2];
}

static double run_timed(int workload, bool hooked)
{
	uint64_t start = now_ns();
	long events = workloads[workload].run(hooked);

	return (double)(now_ns() - start) / events;
}

int main(int count, char **arguments)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	static double floors[ROUNDS_MAX], plain[WORKLOADS][ROUNDS_MAX], hooked[WORKLOADS][ROUNDS_MAX];
	int rounds = count > 1 ? atoi(arguments[1]) : 31;
	double floor_ns;
	cpu_set_t cpus;
	char *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (ring == MAP_FAILED || rounds < 1 || rounds > ROUNDS_MAX)
		return 1;
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	fake_begin(RING_BYTES / ADA_CHUNK_BYTES, ADA_INDEX_CIRCULAR, ADA_ON_FULL_DROP);
	fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries);
	for (int round = -2; round < rounds; round++) {
		int at = round < 0 ? 0 : round;		/* two to warm up */
		uint64_t start = now_ns();

		floor_index(200000, ring, RING_BYTES);
		floors[at] = (now_ns() - start) / 400000.;
		for (size_t i = 0; i < WORKLOADS; i++) {
			plain[i][at] = run_timed(i, false);
			hooked[i][at] = run_timed(i, true);
		}
	}
	floor_ns = median(floors, rounds);
	printf("ns an event, medians of %d rounds; floor (two rdtsc and two stores of 32 bytes a call): %.2f\n", rounds, floor_ns);
	printf("%-12s %8s %8s %8s\n", "", "hooked", "x floor", "untraced");
	for (size_t i = 0; i < WORKLOADS; i++) {
		double ns = median(hooked[i], rounds);

		printf("%-12s %8.2f %8.2f %8.2f\n", workloads[i].name, ns, ns / floor_ns, median(plain[i], rounds));
	}
	return 0;
}
