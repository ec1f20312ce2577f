/* budget_program stress PLUGIN: until its input ends, eight threads in hot code, each of which knows what every call returns; signals whose
 * handlers call the same functions, and of which none may be lost; exceptions, jumps, callbacks of libc; and a library that comes and goes.
 * "wrong 0 sent N taken N": all was right. budget_program calls ROUNDS EACH: calls of a small function, and of every EACH calls above it one that takes long.
 * budget_program crowd THREADS ROUNDS: calls, in each of so many threads. budget_program path, or cause: one call takes long,
 * and then as many of the same functions come as each line of the input says. budget_program family: at each line of its input a child, of which the first and the others call different functions, until the input ends.
 * budget_program serve: the same, as many rounds as its input says. budget_program crash ROUNDS: so many calls of
 * `step`, the last of which leads to a crash. budget_program loops: in a loop that begins within a patch's bytes. */
#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define THREADS 8
#define NOINLINE __attribute__((noinline, noclone))

static std::atomic<bool> over;
static std::atomic<unsigned long long> wrong, taken;
static unsigned long long sent;

/* Their first instructions are several, so that threads stand between any two of them. */
#define EACH10(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define EACH(X) EACH10(X, 1) EACH10(X, 2) EACH10(X, 3) EACH10(X, 4)
#define DEFINE(n)                                                                                                                          \
	extern "C" NOINLINE int target_##n(int x);                                                                                         \
	extern "C" NOINLINE int target_##n(int x)                                                                                          \
	{                                                                                                                                  \
		__asm__ volatile("nop\n\tnop\n\tnop\n\tlea 1(%0), %0\n\tnop\n\tnop\n\tlea -1(%0), %0" : "+r"(x));                          \
		return x + n;                                                                                                              \
	}
EACH(DEFINE)
#define NAME(n) target_##n,
static int (*const volatile targets[])(int) = { EACH(NAME) };
#define TARGETS 40

/* A loop that begins within the patch's bytes: whoever is in it comes back there. */
extern "C" long early_loop(long rounds);
__asm__(".text\n.p2align 4\n.type early_loop,@function\nearly_loop:\n.cfi_startproc\n"
	"	xor %eax, %eax\n1:	inc %rax\n	nopl 0(%rax)\n	dec %rdi\n	jnz 1b\n	ret\n"
	".cfi_endproc\n.size early_loop, .-early_loop\n");

extern "C" NOINLINE int leaf(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x ^ 5;
}

extern "C" NOINLINE int tail(int x)
{
	return leaf(x + 1);
}

extern "C" NOINLINE int direct(int x)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += leaf(x + i) + target_10(i) + target_25(i);
	return sum + tail(x);
}

static int direct_expected(int x)
{
	int sum = 0;

	for (int i = 0; i < 10; i++)
		sum += ((x + i) ^ 5) + i + 10 + i + 25;
	return sum + ((x + 1) ^ 5);
}

extern "C" NOINLINE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

extern "C" NOINLINE int thrower(int x)
{
	if (x % 3 == 0)
		throw std::runtime_error("third");
	return leaf(x);
}

extern "C" NOINLINE int catcher(int x)
{
	try {
		return thrower(x);
	} catch (const std::runtime_error &error) {
		return -x;
	}
}

extern "C" NOINLINE void jumper(jmp_buf place, int x)
{
	if (x)
		longjmp(place, x);
}

extern "C" NOINLINE int jumped(int x)
{
	jmp_buf place;
	int came = setjmp(place);

	if (!came)
		jumper(place, x);
	return came;
}

static int compare(const void *a, const void *b)
{
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static void check(bool right)
{
	if (!right)
		wrong++;
}

static void work_once(unsigned round)
{
	char text[32];
	int numbers[16];
	int x = static_cast<int>(round % 1000) + 1;

	for (int i = 0; i < TARGETS; i++)
		check(targets[i](x) == x + 10 + i);
	check(direct(x) == direct_expected(x));
	check(fib(8) == 21);
	check(early_loop(5000) == 5000);
	check(catcher(x) == (x % 3 ? x ^ 5 : -x));
	check(jumped(x) == x);
	for (int i = 0; i < 16; i++)
		numbers[i] = (i * 7 + x) % 16;
	qsort(numbers, 16, sizeof *numbers, compare);
	for (int i = 0; i < 16; i++)
		check(numbers[i] == i);
	snprintf(text, sizeof text, "%d", x);
	check(atoi(text) == x && strlen(text) == static_cast<size_t>(1 + (x > 9) + (x > 99) + (x > 999)));
}

static void *spin(void *)
{
	double kept = 1.25;

	for (unsigned round = 0; !over.load(std::memory_order_relaxed); round++) {
		__asm__ volatile("" : "+x"(kept));
		work_once(round);
		__asm__ volatile("" : "+x"(kept));
		check(kept == 1.25);
	}
	return nullptr;
}

static void handle(int)
{
	check(leaf(1) == 4 && target_17(1) == 18 && fib(5) == 5);
	taken++;
}

static void *send_signals(void *argument)
{
	pthread_t *threads = static_cast<pthread_t *>(argument);

	while (!over) {
		if (!pthread_sigqueue(threads[sent % THREADS], SIGRTMIN + 3, sigval{}))
			sent++;
		usleep(200);
	}
	return nullptr;
}

static void plug(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW);
	int (*run)(int) = plugin ? reinterpret_cast<int (*)(int)>(dlsym(plugin, "plugin_run")) : nullptr;
	int expected = 7;

	for (int i = 0; i < 50; i++)
		expected = (expected * 3 + 1) & 0xffff;
	for (int i = 0; i < 200; i++)
		check(run && run(7) == expected);
	if (plugin)
		dlclose(plugin);
}

/* Until its input ends, nearly all the time in that loop. */
static int loops()
{
	pollfd input = { STDIN_FILENO, POLLIN, 0 };

	puts("ready");
	fflush(stdout);
	do
		for (int i = 0; i < 50; i++)
			check(early_loop(100000) == 100000);
	while (poll(&input, 1, 0) <= 0);
	printf("wrong %llu\n", wrong.load());
	return 0;
}

static int stress(const char *plugin)
{
	pthread_t threads[THREADS], sender;
	struct sigaction action = {};
	pollfd input = { STDIN_FILENO, POLLIN, 0 };

	action.sa_handler = handle;
	action.sa_flags = SA_RESTART;
	sigaction(SIGRTMIN + 3, &action, nullptr);
	for (pthread_t &thread : threads)
		pthread_create(&thread, nullptr, spin, nullptr);
	pthread_create(&sender, nullptr, send_signals, threads);
	puts("ready");
	fflush(stdout);
	do
		plug(plugin);
	while (poll(&input, 1, 5) <= 0 || !taken); /* the sender may not have had a CPU yet */
	over = true;
	pthread_join(sender, nullptr);
	for (pthread_t &thread : threads)
		pthread_join(thread, nullptr);
	printf("wrong %llu sent %llu taken %llu\n", wrong.load(), sent, taken.load());
	return 0;
}

extern "C" NOINLINE int quick(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

/* Of every `each` rounds one is slow: the only one whose calls of `above` take long. */
extern "C" NOINLINE int above(int round, int each)
{
	int x = 0;

	for (int i = 0; i < 2000; i++)
		x = quick(x);
	if (round % each == each - 1)
		usleep(400000);
	return x;
}

extern "C" NOINLINE void fall(volatile int *nowhere)
{
	*nowhere = 1;
}

extern "C" NOINLINE int step(int x, bool last)
{
	if (last)
		fall(nullptr);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

extern "C" NOINLINE int way(int rounds)
{
	int x = 0;

	for (int i = 0; i < rounds; i++)
		x = step(x, i == rounds - 1);
	return x;
}

static int calls(int rounds, int each)
{
	long sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += above(i, each);
	printf("sum %ld\n", sum);
	return 0;
}

struct member {
	pthread_t thread;
	int rounds;
	long sum;
};

static void *member_run(void *argument)
{
	member *self = static_cast<member *>(argument);

	for (int i = 0; i < self->rounds; i++)
		self->sum += above(0, 2);
	return nullptr;
}

static int crowd(int threads, int rounds)
{
	std::vector<member> members(static_cast<size_t>(threads));
	long sum = 0;

	for (member &one : members) {
		one.rounds = rounds;
		pthread_create(&one.thread, nullptr, member_run, &one);
	}
	for (member &one : members) {
		pthread_join(one.thread, nullptr);
		sum += one.sum;
	}
	printf("sum %ld\n", sum);
	return 0;
}

/* "N": so many rounds. */
static int serve()
{
	int rounds;

	puts("ready");
	fflush(stdout);
	while (scanf("%d", &rounds) == 1) {
		for (int i = 0; i < rounds; i++)
			above(0, 2);
		puts("done");
		fflush(stdout);
	}
	return 0;
}

extern "C" NOINLINE void rare()
{
	usleep(50000);
}

extern "C" NOINLINE int outer(int x, bool slow)
{
	if (slow)
		rare();
	return leaf(x) + 1;
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<bool> is_held;

extern "C" NOINLINE int holder(int x, bool slow)
{
	pthread_mutex_lock(&held);
	if (slow) {
		is_held = true;
		usleep(50000);
	}
	x = leaf(x);
	pthread_mutex_unlock(&held);
	return x;
}

extern "C" NOINLINE void waiter()
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
}

static void *hold(void *)
{
	holder(1, true);
	return nullptr;
}

/* A call that takes long, by way of a function or because of another thread's; then, as its input says, many calls of the same functions. */
static int slow_once(bool by_another)
{
	pthread_t thread;
	int rounds, x = 0;

	if (by_another) {
		pthread_create(&thread, nullptr, hold, nullptr);
		while (!is_held)
			usleep(100);
		waiter();
		pthread_join(thread, nullptr);
	} else {
		outer(1, true);
	}
	puts("ready");
	fflush(stdout);
	while (scanf("%d", &rounds) == 1) {
		for (int i = 0; i < rounds; i++)
			x ^= by_another ? holder(i, false) : outer(i, false);
		puts("done");
		fflush(stdout);
	}
	return x == 1;
}

static int family()
{
	char line[16];
	int over_all[2], children = 0;

	if (pipe(over_all))
		return 1;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		if (!fork()) {
			pollfd end = { over_all[0], POLLIN, 0 };

			close(over_all[1]);
			while (poll(&end, 1, 0) == 0)
				for (int i = 0; i < 1000; i++)
					children ? above(0, 2) : direct(i);
			_exit(0);
		}
		children++;
	}
	close(over_all[1]);
	while (children--)
		wait(nullptr);
	puts("done");
	return 0;
}

int main(int count, char **words)
{
	if (count == 3 && !strcmp(words[1], "stress"))
		return stress(words[2]);
	if (count == 4 && !strcmp(words[1], "calls"))
		return calls(atoi(words[2]), atoi(words[3]));
	if (count == 4 && !strcmp(words[1], "crowd"))
		return crowd(atoi(words[2]), atoi(words[3]));
	if (count == 3 && !strcmp(words[1], "crash"))
		return way(atoi(words[2]));
	if (count == 2 && !strcmp(words[1], "loops"))
		return loops();
	if (count == 2 && (!strcmp(words[1], "path") || !strcmp(words[1], "cause")))
		return slow_once(!strcmp(words[1], "cause"));
	if (count == 2 && !strcmp(words[1], "family"))
		return family();
	if (count == 2 && !strcmp(words[1], "serve"))
		return serve();
	return 2;
}
