// What each kind of trigger looks for, once, at a call or return that the test can count to; beside it threads that call
// filler() all the time, so that marks are made under load.
//   kinds MODE [FILLERS]
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP(x) __asm__ volatile("" : "+r"(x))

static std::atomic<bool> stop;
static volatile long sink;

extern "C" {
NOINLINE long filler(long x) { KEEP(x); return x + 1; }
NOINLINE long step(long x) { KEEP(x); return x + 1; }
NOINLINE int chosen(long i, int minus) { KEEP(i); return static_cast<int>(2 * i) + 0 * minus; }
NOINLINE double half(long i) { KEEP(i); return -static_cast<double>(i) / 2; }
NOINLINE void slow(long ms)
{
	timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	if (ms)
		nanosleep(&pause, nullptr);
	__asm__ volatile("");
}
NOINLINE long deep(long n) { long r = n > 1 ? deep(n - 1) : 0; KEEP(r); return r + 1; }
NOINLINE long target(long x) { KEEP(x); return x + 1; }
NOINLINE long from_a(long x) { x = target(x); KEEP(x); return x; }
NOINLINE long from_b(long x) { x = target(x); KEEP(x); return x + 1; }
NOINLINE void burn(long ms)
{
	timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	long end = now.tv_sec * 1000000000l + now.tv_nsec + ms * 1000000;
	while (now.tv_sec * 1000000000l + now.tv_nsec < end)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}
NOINLINE void handler(int) { __asm__ volatile(""); }
NOINLINE void thrower(int what)
{
	if (what == 3)
		throw std::runtime_error("three");
	if (what)
		throw std::string("other");
}
}

static void steps(long n)
{
	long x = 0;
	for (long i = 0; i < n; i++)
		x = step(x);
	sink = x;
}

static void calls(const std::string &mode)
{
	if (mode == "chosen") {
		for (long i = 0; i < 12; i++) {
			sink = chosen(i, static_cast<int>(-i));
			sink = static_cast<long>(half(i));
			steps(40);
		}
	} else if (mode == "deep") {
		steps(40);
		sink = deep(40);
		steps(40);
	} else if (mode == "callers") {
		for (int i = 0; i < 5; i++)
			sink = from_a(i);
		steps(40);
		sink = from_b(9);
		steps(40);
	} else if (mode == "throw") {
		for (int i = 0; i < 6; i++) {
			try {
				thrower(i);
			} catch (const std::exception &) {
				sink = 1;
			} catch (const std::string &) {
				sink = 2;
			}
			steps(40);
		}
	}
}

static void durations(const std::string &mode)
{
	if (mode == "slow") {
		for (long i = 0; i < 40; i++) {
			slow(i == 30 ? 60 : 0);
			steps(40);
		}
	} else if (mode == "slow-twice") {
		for (long i = 0; i < 140; i++) {
			slow(i == 120 || i == 125 ? 30 : 0);
			steps(20);
		}
	} else if (mode == "half-slow") {
		for (long ms : { 0, 0, 20, 20, 20, 20 }) {
			slow(ms);
			steps(40);
		}
	} else if (mode == "burn") {
		burn(0);
		steps(40);
		slow(80);
		burn(80);
		steps(40);
	}
}

static void ends(const std::string &mode)
{
	steps(40);
	if (mode == "signal") {
		struct sigaction action = {};
		action.sa_handler = handler;
		sigaction(SIGUSR1, &action, nullptr);
		raise(SIGUSR1);
		steps(40);
	} else if (mode == "crash") {
		*reinterpret_cast<volatile int *>(sink - sink + 16) = 1;
	} else if (mode == "abort") {
		abort();
	} else if (mode == "_exit") {
		_exit(0);
	} else if (mode == "three") {
		exit(3);
	}
}

int main(int argc, char **argv)
{
	std::string mode = argc > 1 ? argv[1] : "chosen";
	std::vector<std::thread> threads;
	for (int i = argc > 2 ? atoi(argv[2]) : 0; i > 0; i--)
		threads.emplace_back([] { long x = 0; while (!stop) x = filler(x); sink = x; });
	steps(50);
	calls(mode);
	durations(mode);
	ends(mode);
	stop = true;
	for (auto &thread : threads)
		thread.join();
	return 0;
}
