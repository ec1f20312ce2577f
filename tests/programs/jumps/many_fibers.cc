/* 5,000 fibers come and go, some left suspended: what they leave behind must be reclaimed, not pile up.
 *
 * libs: -lboost_context
 * expect: 5000 fibers, 15000 steps
 */
#include <boost/context/fiber.hpp>
#include <vector>
#include "check.h"

namespace context = boost::context;
static int steps;

NOINLINE static void yield_at(context::fiber &other, int depth)
{
	if (depth)
		yield_at(other, depth - 1);
	else
		other = std::move(other).resume();
	BARRIER;
}

int main()
{
	for (int batch = 0; batch < 50; batch++) {
		std::vector<context::fiber> fibers;
		for (int i = 0; i < 100; i++) {
			fibers.emplace_back([](context::fiber &&other) {
				for (int step = 0;; step++) {
					steps++;
					yield_at(other, step);
				}
				return std::move(other);
			});
		}
		for (int round = 0; round < 3; round++)
			for (auto &fiber : fibers)
				fiber = std::move(fiber).resume();
	}
	printf("5000 fibers, %d steps\n", steps);
}
