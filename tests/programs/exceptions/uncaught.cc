/* Nobody catches: std::terminate says what on stderr and aborts, found by a search phase through all frames.
 *
 * run: -> -6
 */
#include <stdexcept>
#include "check.h"

NOINLINE static int dive(int depth)
{
	if (!depth)
		throw std::runtime_error("nobody catches this");
	return dive(depth - 1) + 1;
}

int main() { return dive(30); }
