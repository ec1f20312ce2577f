// A program whose calls are known: how many, who called them, how they ended, and for how long at least.
//   main: 3 x outer, outer: 4 x inner, inner: leaf once; fib(12); 10 x catcher, of which every other one catches what
//   thrower threw through middle; 5 x nap, of 2 ms each; 4 threads of 1,000 x work each; a fork, whose child calls child_work 7 times.
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define KEEP extern "C" __attribute__((noipa))
#define HERE __asm__ volatile("" ::: "memory")

KEEP int leaf(int n) { HERE; return n + 1; }
KEEP int inner(int n) { int got = leaf(n); HERE; return got; }
KEEP int outer(int n) { for (int i = 0; i < 4; i++) n = inner(n); HERE; return n; }
KEEP int fib(int n) { HERE; return n < 2 ? n : fib(n - 1) + fib(n - 2); }

struct Guard { ~Guard() { HERE; } };
KEEP void thrower(bool now) { HERE; if (now) throw std::runtime_error("known"); }
KEEP void middle(bool now) { Guard guard; thrower(now); HERE; }
KEEP int catcher(bool now)
{
	try {
		middle(now);
	} catch (const std::exception &) {
		HERE;
		return 1;
	}
	HERE;
	return 0;
}

KEEP void nap()
{
	struct timespec time = { 0, 2000000 };
	while (nanosleep(&time, &time))
		;
	HERE;
}

namespace ns { struct Thing { __attribute__((noipa)) int update(int n) { HERE; return n; } }; }

KEEP int work(int n) { HERE; return n * 3; }
KEEP void *run(void *)
{
	int n = 1;
	for (int i = 0; i < 1000; i++)
		n = work(n);
	HERE;
	return reinterpret_cast<void *>(static_cast<long>(n & 0));
}

KEEP int child_work(int n) { HERE; return n + 2; }

int main()
{
	int n = 0, caught = 0;
	pthread_t threads[4];

	for (int i = 0; i < 3; i++)
		n = outer(n);
	n += fib(12);
	for (int i = 0; i < 10; i++)
		caught += catcher(i % 2);
	for (int i = 0; i < 5; i++)
		nap();
	for (int i = 0; i < 6; i++)
		n += ns::Thing().update(i);
	for (pthread_t &thread : threads)
		pthread_create(&thread, nullptr, run, nullptr);
	for (pthread_t &thread : threads)
		pthread_join(thread, nullptr);
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < 7; i++)
			n = child_work(n);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	return n == 12 + 144 + 15 && caught == 5 && status == 0 ? 0 : 1;
}
