/* Virtual calls, thunks of multiple and virtual inheritance, member pointers, lambdas, covariant returns.
 *
 * expect: 30 31 32 33, member 31, lambda 42, covariant 7
 */
#include <functional>
#include "check.h"

struct Base { virtual ~Base() = default; virtual int value(int n) { return n; } virtual Base *self() { return this; } int b = 1; };
struct Left : virtual Base { int value(int n) override { return n + 1; } int l = 2; };
struct Right : virtual Base { int r = 3; virtual int other(int n) { return n + 2; } };
struct Both : Left, Right {
	int value(int n) override { return n + l - 1; }
	int other(int n) override { return n + r; }
	Both *self() override { return this; }
	int seven = 7;
};

NOINLINE static int call(Base &base, int n) { int v = base.value(n); BARRIER; return v; }
NOINLINE static int call_other(Right &right, int n) { int v = right.other(n); BARRIER; return v; }

int main()
{
	Base base;
	Left left;
	Both both;
	int (Base::*member)(int) = &Base::value;
	int kept = 40;
	std::function<int(int)> lambda = [&](int n) { return kept + n; };
	for (int i = 0; i < 1000; i++)
		CHECK(call(both, i) == i + 1 && call_other(both, i) == i + 3);
	printf("%d %d %d %d, member %d, lambda %d, covariant %d\n", call(base, 30), call(left, 30), both.Right::other(30),
	       call_other(both, 30), (both.*member)(30), lambda(2), dynamic_cast<Both *>(static_cast<Base &>(both).self())->seven);
}
