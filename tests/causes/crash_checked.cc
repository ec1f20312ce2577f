// An exception that libstdc++ throws for the program, as vector::at does.
#include <stdexcept>
#include "crash.h"

OUT void check(unsigned long at)
{
	if (at >= 3)
		std::__throw_out_of_range_fmt("check: at (which is %zu) >= size (which is %zu)", at, 3ul);
}

OUT void pick(unsigned long at)
{
	check(at);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	begin_crash(argc, argv);
	pick(1);
	if (innocent) {
		try {
			pick(9);
		} catch (const std::exception &) {
		}
		abort();
	}
	if (caused)
		pick(9);
	end();
}
