/* A function's static whose initialiser throws (__cxa_guard_abort) is tried again; a global's is caught nowhere else.
 *
 * expect: failed 1
 * expect: failed 2
 * expect: made at try 3
 * expect: made at try 3
 */
#include <stdexcept>
#include "check.h"

static int tries;
struct Fragile {
	int made;
	NOINLINE Fragile() : made(++tries) { if (made < 3) throw std::runtime_error("not yet"); }
};

NOINLINE static Fragile &instance()
{
	static Fragile fragile;
	return fragile;
}

int main()
{
	for (int i = 0; i < 4; i++) {
		try {
			printf("made at try %d\n", instance().made);
		} catch (const std::exception &) {
			printf("failed %d\n", tries);
		}
	}
}
