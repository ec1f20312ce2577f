// Crashes of functions that end with a call that never returns: the address behind it is another function's, and GCC keeps such calls apart
// from the function that they belong to. MARKs are lines of the frames.
#include <cstdlib>
#include <stdexcept>

#define OUT __attribute__((noinline, noclone))

static volatile int sink;

OUT [[noreturn]] static void fail(int number)
{
	sink = number;
	throw std::runtime_error("no luck"); // MARK fail
}

OUT [[noreturn]] static void give_up(int number)
{
	sink = number;
	abort(); // MARK give_up
}

OUT [[noreturn]] static void trap(int number)
{
	sink = number;
	__builtin_trap(); // MARK trap
}

OUT static int check(int number)
{
	sink = number;
	if (number > 1)
		throw number; // MARK check
	return number + 1;
}

static inline __attribute__((always_inline)) int ask(int number)
{
	return check(number + 3) + 1; // MARK ask
}

OUT static int through(int number)
{
	return ask(number) + 2; // MARK through
}

int main(int argc, char **argv)
{
	switch (*argv[1]) {
	case 'f': fail(argc); // MARK main-fail
	case 'g': give_up(argc); // MARK main-give_up
	case 't': trap(argc); // MARK main-trap
	case 'c': return check(argc); // MARK main-check
	case 'i': return through(argc); // MARK main-through
	}
}
