/* Throw, catch and rethrow across 50 frames with destructors: the unwinder must walk through every return stub.
 *
 * expect: caught 51
 * expect: rethrown 7 through 50
 * expect: while unwinding 5
 * expect: often 2000
 */
#include <stdexcept>
#include "check.h"

struct Guard { int &count; NOINLINE ~Guard() { count++; } };

NOINLINE static int throw_at(int depth, int &count)
{
	Guard guard{count};
	if (!depth)
		throw std::runtime_error("x");
	return throw_at(depth - 1, count) + 1;
}

NOINLINE static int catch_from(int depth)
{
	int count = 0;
	try { throw_at(depth, count); } catch (const std::exception &) { return count; }
	return -1;
}

NOINLINE static int rethrow_at(int depth, int &passed)
{
	if (!depth)
		throw 7;
	try { return rethrow_at(depth - 1, passed); } catch (int) { Guard guard{passed}; throw; }
}

struct Thrower { ~Thrower() noexcept(false) { try { int n = 0; throw_at(3, n); } catch (...) { } } };

NOINLINE static int throw_while_unwinding()
{
	try { Thrower thrower; throw 5; } catch (int value) { return value; }
}

int main()
{
	int passed = 0, often = 0;
	printf("caught %d\n", catch_from(50));
	try { rethrow_at(50, passed); } catch (int value) { printf("rethrown %d through %d\n", value, passed); }
	printf("while unwinding %d\n", throw_while_unwinding());
	for (int i = 0; i < 2000; i++)
		often += catch_from(i & 15) == (i & 15) + 1;
	printf("often %d\n", often);
}
