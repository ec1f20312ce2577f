/* C++20 coroutines: a frame on the heap is entered by one caller and resumed by others; exceptions leave it.
 *
 * compilers: gcc
 * expect: sum 4950
 * expect: caught 7
 * expect: nested 30
 */
#include <coroutine>
#include <exception>
#include <utility>
#include "check.h"

struct Generator {
	struct promise_type {
		int value = 0;
		std::exception_ptr error;
		Generator get_return_object() { return Generator{std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v) { value = v; return {}; }
		void return_void() {}
		void unhandled_exception() { error = std::current_exception(); }
	};
	std::coroutine_handle<promise_type> handle;
	explicit Generator(std::coroutine_handle<promise_type> h) : handle(h) {}
	Generator(Generator &&other) : handle(std::exchange(other.handle, nullptr)) {}
	~Generator() { if (handle) handle.destroy(); }
	NOINLINE bool next()
	{
		handle.resume();
		if (handle.promise().error)
			std::rethrow_exception(handle.promise().error);
		return !handle.done();
	}
	int value() { return handle.promise().value; }
};

static Generator count_to(int limit) { for (int i = 0; i < limit; i++) co_yield i; }
static Generator fails() { co_yield 1; throw 7; }
static Generator nested(int depth)
{
	if (!depth)
		co_return;
	Generator inner = nested(depth - 1);
	while (inner.next())
		co_yield inner.value();
	co_yield depth;
}
NOINLINE static bool resume_at(Generator &generator, int depth)
{
	bool more = depth ? resume_at(generator, depth - 1) : generator.next();
	BARRIER;
	return more;
}

int main()
{
	int sum = 0, deep = 0;
	Generator numbers = count_to(100);
	for (int i = 0; resume_at(numbers, i % 10); i++)
		sum += numbers.value();
	printf("sum %d\n", sum);
	try { Generator bad = fails(); while (bad.next()) ; } catch (int value) { printf("caught %d\n", value); }
	Generator tree = nested(30);
	while (tree.next())
		deep++;
	printf("nested %d\n", deep);
}
