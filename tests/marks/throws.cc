// 31 throws: 11 of Mine, 10 of std::bad_alloc, 10 of std::out_of_range; one more is only thrown again.
#include <new>
#include <stdexcept>

namespace app {
struct Mine : std::runtime_error { using runtime_error::runtime_error; };
}

__attribute__((noinline)) static void thrower(int i)
{
	if (i % 3 == 0)
		throw app::Mine("x");
	if (i % 3 == 1)
		throw std::bad_alloc();
	throw std::out_of_range("y");
}

__attribute__((noinline)) static void again()
{
	try {
		thrower(0);
	} catch (...) {
		throw;
	}
}

int main()
{
	int caught = 0;

	for (int i = 0; i < 30; i++)
		try {
			thrower(i);
		} catch (std::exception &) {
			caught++;
		}
	try {
		again();
	} catch (...) {
		caught++;
	}
	return caught != 31;
}
