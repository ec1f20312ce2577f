// Does, in a known order and number, what rules of every kind look for: test_marks.py counts the marks.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

#define PLAIN extern "C" __attribute__((noipa))

PLAIN int answer(int n) { return n; }
PLAIN double share(double n) { return n / 2; }
PLAIN long given(int a, long b, unsigned c) { return a + b + (c & 1); }
PLAIN int asked(int n) { return n + 1; }
PLAIN int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
PLAIN int burst(int n) { return n; }
PLAIN void pause_for(int ms)
{
	timespec time = { 0, ms * 1000000l };
	if (ms)
		nanosleep(&time, nullptr);
}
PLAIN void paced(int ms) { pause_for(ms); }
PLAIN void work(int ms, bool busy)
{
	timespec start, now;
	if (!busy)
		return pause_for(ms);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000000l + now.tv_nsec - start.tv_nsec < ms * 1000000l);
}

namespace own { struct trouble { int n; }; }

PLAIN void throws(int what)
{
	if (what == 0)
		throw std::runtime_error("one");
	if (what == 1)
		throw own::trouble{ 1 };
	throw what;
}

static void catches(int what)
{
	try { throws(what); } catch (const std::exception &) { } catch (own::trouble) { } catch (int) { }
}

PLAIN int caller_one(int n) { return asked(n) + 1; }
PLAIN int caller_two(int n) { return asked(n) + 2; }
PLAIN int caller_three(int n) { return asked(n) + 3; }

static void took(int) { }

int main()
{
	int sum = 0;
	for (int i = 0; i < 100; i++)
		sum += answer(i - 50);
	sum += share(1.0) > share(5.0);
	for (int i = 1; i <= 6; i++)
		sum += given(i, 10 * i, -1);
	for (int i = 0; i < 6; i++) {
		sum += caller_one(i);
		if (i % 2)
			sum += caller_two(i);
		if (i == 5)
			sum += caller_three(i);
	}
	sum += deep(30);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 8; i++)
			paced(i < 4 ? 0 : 30);
	for (int i = 0; i < 50; i++)
		sum += burst(i);
	work(40, true);
	work(40, false);
	for (int i = 0; i < 6; i++)
		catches(i < 2 ? 0 : i < 5 ? 1 : 7);
	for (int i = 0; i < 7; i++)
		free(strdup("text"));
	signal(SIGUSR1, took);
	raise(SIGUSR1);
	raise(SIGUSR1);
	return sum & 1;
}
