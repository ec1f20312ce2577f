/* An exception meets a noexcept function: the terminate handler runs with the frames still there.
 *
 * run: -> 42
 * expect: terminate: std
 */
#include <exception>
#include <stdexcept>
#include "check.h"

NOINLINE static void thrower(int depth)
{
	if (!depth)
		throw std::runtime_error("std");
	thrower(depth - 1);
	BARRIER;
}
NOINLINE static void wall() noexcept { thrower(5); BARRIER; }

static void on_terminate()
{
	try { throw; } catch (const std::exception &error) { printf("terminate: %s\n", error.what()); }
	fflush(stdout);
	_Exit(42);
}

int main()
{
	std::set_terminate(on_terminate);
	wall();
}
