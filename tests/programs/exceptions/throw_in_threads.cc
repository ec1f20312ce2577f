/* Four threads throw at once, and an exception travels from one thread to another.
 *
 * flags: -pthread
 * expect: 4000
 * expect: carried: from the thread
 */
#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include "check.h"

NOINLINE static int dive(int depth)
{
	if (!depth)
		throw depth;
	int value = dive(depth - 1);
	BARRIER;
	return value;
}

static std::atomic<int> caught;
static void throw_often()
{
	for (int i = 0; i < 1000; i++)
		try { dive(i & 31); } catch (int value) { caught += value == 0; }
}

int main()
{
	std::thread threads[4];
	for (auto &thread : threads)
		thread = std::thread(throw_often);
	for (auto &thread : threads)
		thread.join();
	printf("%d\n", caught.load());
	auto future = std::async(std::launch::async, []() -> int { throw std::runtime_error("from the thread"); });
	try { future.get(); } catch (const std::exception &error) { printf("carried: %s\n", error.what()); }
}
