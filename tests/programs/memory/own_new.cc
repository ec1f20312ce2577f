/* Own operator new and delete that count, throwing bad_alloc now and then.
 *
 * expect: balanced, refused 10, text 1000
 */
#include <cstdlib>
#include <new>
#include <string>
#include <vector>
#include "check.h"

static long alive;
static bool refuse;
NOINLINE void *operator new(std::size_t size)
{
	if (refuse && size > 100000)
		throw std::bad_alloc();
	alive++;
	return std::malloc(size);
}
NOINLINE void operator delete(void *place) noexcept { alive -= place != nullptr; std::free(place); }
NOINLINE void operator delete(void *place, std::size_t) noexcept { alive -= place != nullptr; std::free(place); }

int main()
{
	long before = alive, refused = 0;
	std::size_t length = 0;
	refuse = true;
	for (int i = 0; i < 10; i++) {
		std::vector<std::string> texts(100, std::string(10 * (i + 1), 'x'));
		length = texts.back().size() * 10;
		try { std::string large(200000, 'y'); puts(large.c_str()); } catch (const std::bad_alloc &) { refused++; }
	}
	printf("%s, refused %ld, text %zu\n", alive == before ? "balanced" : "leaked", refused, length);
}
