/* ns an event of the agent's hot path, beside the floors measured in the same rounds (floor.S): `make bench`.
 *
 * Floors, and each workload plain and hooked under each setting, take turns, round by round, and each figure is the median of
 * its rounds, so that a change of the machine's speed meets all alike. Both lanes run in circular mode: no recorder takes part.
 * The pools are ada's default, 64 MiB each, but for one column: where it differs, that is the price of the memory.
 *
 *   agent_bench [ROUNDS]
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fake.h"

#define HOOKED __attribute__((noinline, noclone, patchable_function_entry(5, 0)))
#define PLAIN __attribute__((noinline, noclone))
#define RING_BYTES (64ull << 20)
#define ROUNDS_MAX 101

void floor_index(uint64_t calls, void *ring, uint64_t ring_bytes);
void floor_detail(uint64_t calls, void *ring, uint64_t ring_bytes, void *detail, void *detail_end);

/* clang-format off */
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
/* clang-format on */

static volatile long sink;

/* By direct calls, as programs have them. */
#define LOOP(f, n)                                                                                                                         \
	do {                                                                                                                               \
		long x_ = 0;                                                                                                               \
                                                                                                                                           \
		for (long i_ = 0; i_ < (n); i_++)                                                                                          \
			x_ = f(x_);                                                                                                        \
		sink = x_;                                                                                                                 \
	} while (0)

static long run_leaf(bool hooked)
{
	if (hooked)
		LOOP(leaf, 200000);
	else
		LOOP(leaf_plain, 200000);
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
	if (hooked)
		LOOP(busy, 100000);
	else
		LOOP(busy_plain, 100000);
	return 200000;
}

static const struct {
	const char *name;
	long (*run)(bool hooked);
} workloads[] = {
	{ "leaf", run_leaf }, { "fib", run_fib }, { "64 callers", run_callers }, { "30 deep", run_deep }, { "busy body", run_busy },
};
#define WORKLOADS (sizeof workloads / sizeof workloads[0])

static const struct setting {
	const char *name;
	struct fake_detail detail;
	bool rules; /* 64 in the policy, none of which names what is measured */
} settings[] = {
	{ "index", { 0, 0, 0, true }, false },
	{ "+ rules", { 0, 0, 0, true }, true },
	{ "detail", { RING_BYTES / ADA_DETAIL_CHUNK_BYTES(128, 0), 128, ADA_DETAIL_CIRCULAR, true }, false },
	{ "+ rules", { RING_BYTES / ADA_DETAIL_CHUNK_BYTES(128, 0), 128, ADA_DETAIL_CIRCULAR, true }, true },
	{ "registers", { RING_BYTES / ADA_DETAIL_CHUNK_BYTES(0, 0), 0, ADA_DETAIL_CIRCULAR, true }, false },
	{ "in cache", { 2, 128, ADA_DETAIL_CIRCULAR, true }, false },
};
#define SETTINGS (sizeof settings / sizeof settings[0])

/* Hooks are made for one of the two, and calls are bound for good: each part is a process of its own. */
static const struct part {
	const char *name;
	size_t first, end;
	bool bound;
} parts[] = {
	{ "index", 0, 2, false },
	{ "index, bound calls", 0, 2, true },
	{ "detail", 2, SETTINGS, false },
	{ "detail, bound calls", 2, SETTINGS, true },
};

static struct ada_shm *setting_make(const struct setting *setting)
{
	const uint32_t functions = 100000;
	struct ada_policy_table *table;
	struct ada_shm *shm;

	fake_detail = setting->detail;
	shm = fake_begin(RING_BYTES / ADA_CHUNK_BYTES, ADA_INDEX_CIRCULAR, ADA_ON_FULL_DROP);
	if (!setting->rules)
		return shm;
	table = (void *)((char *)shm + shm->policy_offset);
	table->version = 1;
	table->functions = functions;
	for (uint32_t i = 0; i < ADA_RULES_MAX; i++)
		table->rules[i] = (struct ada_rule){ .kind = ADA_RULE_SYMBOL, .flags = ADA_RULE_ENABLED, .incarnation = 1 };
	for (uint32_t i = 1000; i < functions; i += 7)
		((uint8_t *)table)[ADA_POLICY_FLAGS + i] = ADA_POLICY_CALL | ADA_POLICY_RETURN;
	return shm;
}

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

static double floors[2][ROUNDS_MAX], plain[WORKLOADS][ROUNDS_MAX], hooked[SETTINGS][WORKLOADS][ROUNDS_MAX];

static void *ring_make(void)
{
	void *ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (ring == MAP_FAILED)
		exit(1);
	return ring;
}

static void floors_run(int at)
{
	static char *ring, *detail;
	uint64_t start;

	if (!ring) {
		ring = ring_make();
		detail = ring_make();
	}
	start = now_ns();
	floor_index(200000, ring, RING_BYTES);
	floors[0][at] = (now_ns() - start) / 400000.;
	start = now_ns();
	floor_detail(200000, ring, RING_BYTES, detail, detail + RING_BYTES / 320 * 320);
	floors[1][at] = (now_ns() - start) / 400000.;
}

static void round_run(int at, struct ada_shm *const *segments, struct part part)
{
	floors_run(at);
	for (size_t i = 0; i < WORKLOADS; i++)
		plain[i][at] = run_timed(i, false);
	for (size_t s = part.first; s < part.end; s++) {
		fake_use(segments[s]);
		for (size_t i = 0; i < WORKLOADS; i++)
			hooked[s][i][at] = run_timed(i, true);
	}
}

static void figures_print(int rounds, struct part part)
{
	double floor_ns = median(floors[part.first != 0], rounds);

	printf("%s: floor %.2f\n%-12s %8s", part.name, floor_ns, "", "untraced");
	for (size_t s = part.first; s < part.end; s++)
		printf(" %9s %5s", settings[s].name, "x");
	printf("\n");
	for (size_t i = 0; i < WORKLOADS; i++) {
		printf("%-12s %8.2f", workloads[i].name, median(plain[i], rounds));
		for (size_t s = part.first; s < part.end; s++) {
			double ns = median(hooked[s][i], rounds);

			printf(" %9.2f %5.2f", ns, ns / floor_ns);
		}
		printf("\n");
	}
	fflush(stdout);
}

static void part_run(struct part part, int rounds)
{
	extern void *__start___patchable_function_entries[], *__stop___patchable_function_entries[];
	struct ada_shm *segments[SETTINGS];

	for (size_t s = part.first; s < part.end; s++)
		segments[s] = setting_make(&settings[s]);
	fake_hook(__start___patchable_function_entries, __stop___patchable_function_entries);
	if (part.bound)
		fake_bind(__start___patchable_function_entries, __stop___patchable_function_entries);
	for (int round = -2; round < rounds; round++)
		round_run(round < 0 ? 0 : round, segments, part); /* two to warm up */
	figures_print(rounds, part);
}

int main(int count, char **arguments)
{
	int rounds = count > 1 ? atoi(arguments[1]) : 31;
	cpu_set_t cpus;

	if (rounds < 1 || rounds > ROUNDS_MAX)
		return 1;
	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof cpus, &cpus);
	printf("ns an event, medians of %d rounds; x: times the floor of the same rounds, the same clock reads and stores round a plain call\n"
	       "(with detail: and stores of 320 bytes)\n",
	       rounds);
	fflush(stdout);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		pid_t part = fork();

		if (!part) {
			part_run(parts[i], rounds);
			return 0;
		}
		waitpid(part, NULL, 0);
	}
	return 0;
}
