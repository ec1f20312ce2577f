/* A library that dlopen can't finish: its initialiser throws through the loader's frames, and is caught inside. */
#include <stdexcept>
#include <cstdio>

static int fail(int depth)
{
	if (!depth)
		throw std::runtime_error("in the library's initialiser");
	return fail(depth - 1) + 1;
}

static int guarded()
{
	try { return fail(20); } catch (const std::exception &error) { puts(error.what()); return 1; }
}
static int ready = guarded();
extern "C" int library_ready() { return ready; }
