/* A global whose initialiser throws: std::terminate before main, from a constructor that the loader called.
 *
 * run: -> -6
 */
#include <stdexcept>
#include "check.h"

NOINLINE static int fail(int depth)
{
	if (!depth)
		throw std::runtime_error("before main");
	return fail(depth - 1) + 1;
}
static int never = fail(10);

int main() { return never; }
