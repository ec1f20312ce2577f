/* What each static_*.cc is made of. They differ in how much of the C++ run-time is in the program. */
#include <stdexcept>
#include <string>
#include "check.h"

struct Guard {
	int &count;
	NOINLINE ~Guard()
	{
		count++;
	}
};

NOINLINE static void dive(int depth, int &count)
{
	Guard guard{ count };
	if (!depth)
		throw std::runtime_error(std::to_string(count));
	dive(depth - 1, count);
}

int main()
{
	int caught = 0;

	for (int i = 0; i < 100; i++) {
		int count = 0;

		try {
			dive(i, count);
		} catch (const std::exception &) {
			caught += count == i + 1;
		}
	}
	printf("caught %d\n", caught);
}
