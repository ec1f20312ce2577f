/* Built with AddressSanitizer: shadow memory over most of the address space, its own malloc, its own unwinder.
 *
 * flags: -fsanitize=address -pthread
 * compilers: gcc clang
 * env: ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
 * expect: sum 499500, caught 11, thread 45
 */
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>
#include "check.h"

struct Guard { int &count; NOINLINE ~Guard() { count++; } };
NOINLINE static void dive(int depth, int &count)
{
	Guard guard{count};
	char frame[32];
	memset(frame, depth, sizeof(frame));
	if (!depth)
		throw std::runtime_error("x");
	dive(depth - 1, count);
}
NOINLINE static long add(const int *values, int n) { return n ? add(values + 1, n - 1) + *values : 0; }

int main()
{
	int count = 0;
	long thread_sum = 0;
	auto values = std::make_unique<int[]>(1000);
	for (int i = 0; i < 1000; i++)
		values[i] = i;
	try { dive(10, count); } catch (const std::exception &) { }
	std::thread([&] { thread_sum = add(values.get(), 10); }).join();
	printf("sum %ld, caught %d, thread %ld\n", add(values.get(), 1000), count, thread_sum);
}
