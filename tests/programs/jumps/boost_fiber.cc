/* boost.context fibers with exceptions inside; one is dropped half-way, which unwinds its stack by force.
 *
 * libs: -lboost_context
 * expect: plain 50
 * expect: exceptions 100
 * expect: dropped 1
 */
#include <boost/context/fiber.hpp>
#include <stdexcept>
#include "check.h"

namespace context = boost::context;
struct Guard { int &count; NOINLINE ~Guard() { count++; } };

NOINLINE static int throw_at(int depth, int &count)
{
	Guard guard{count};
	if (!depth)
		throw std::runtime_error("x");
	return throw_at(depth - 1, count) + 1;
}

NOINLINE static int yield(context::fiber &other)
{
	other = std::move(other).resume();
	BARRIER;
	return 1;
}

NOINLINE static int fibers(bool exceptions)
{
	int n = 0;
	context::fiber fiber{[&](context::fiber &&other) {
		for (int i = 0; i < 50; i++) {
			int count = 0;
			if (exceptions)
				try { throw_at(i, count); } catch (std::exception &) { n += yield(other); }
			n += yield(other);
		}
		return std::move(other);
	}};
	while (fiber) {
		int count = 0;
		try { throw_at(3, count); } catch (std::exception &) { }
		fiber = std::move(fiber).resume();
	}
	return n;
}

NOINLINE static int dropped()
{
	int n = 0;
	{
		context::fiber fiber{[&](context::fiber &&other) {
			Guard guard{n};
			for (;;)
				yield(other);
			return std::move(other);
		}};
		fiber = std::move(fiber).resume();
	}
	return n;
}

int main()
{
	printf("plain %d\n", fibers(false));
	printf("exceptions %d\n", fibers(true));
	printf("dropped %d\n", dropped());
}
