/* pthread_once, call_once with an exception, condition variables, and a function static raced for by eight threads.
 *
 * flags: -pthread
 * expect: once 1, statics 1, turns 800
 */
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
#include "check.h"

static int once_count, static_count, turns, tries;
static std::once_flag flag;
static std::mutex lock;
static std::condition_variable changed;

NOINLINE static int slow_static() { return ++static_count; }
NOINLINE static void once() { if (!tries++) throw 1; once_count++; }
NOINLINE static void take_turn(int number)
{
	std::unique_lock<std::mutex> guard(lock);
	changed.wait(guard, [&] { return turns % 8 == number; });
	turns++;
	changed.notify_all();
}

static void body(int number)
{
	static int made = slow_static();
	try { std::call_once(flag, once); } catch (int) { std::call_once(flag, once); }
	for (int i = 0; i < 100; i++)
		take_turn(number);
	CHECK(made == 1);
}

int main()
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 8; i++)
		threads.emplace_back(body, i);
	for (auto &thread : threads)
		thread.join();
	printf("once %d, statics %d, turns %d\n", once_count, static_count, turns);
}
