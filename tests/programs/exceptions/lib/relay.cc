/* Half of throw_across_so: frames with cleanups between a thrower and a catcher in other modules. */
#include <string>

extern "C" int relay(int (*next)(int), int depth)
{
	std::string kept(depth, 'x');
	try {
		int value = depth ? relay(next, depth - 1) : next(depth);
		return value + static_cast<int>(kept.size());
	} catch (const std::string &) {
		throw;
	}
}
