// As values.c, of C++.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#define F __attribute__((noinline))
#define KEEP __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0" : : : "memory")

extern "C" F void mark(int) { KEEP; }

namespace shapes {
enum class Colour : unsigned char { red, green = 7 };
struct Empty {};
struct Plain { int x, y; };
struct Owner { int x; Owner(int value) : x(value) {} ~Owner(); };
Owner::~Owner() { KEEP; }
struct Copied { long x; Copied(long value) : x(value) {} Copied(const Copied &other); };
Copied::Copied(const Copied &other) : x(other.x) { KEEP; }
struct Base { virtual ~Base() {} virtual int area(int scale) const { return scale; } long id = 1; };
struct Square : Base { int side; Square(int value) : side(value) {} F int area(int scale) const override; };
int Square::area(int scale) const { KEEP; return side * side * scale; }
class Counter {
	int count = 0;
public:
	F int add(int by, const char *why);
	F static int twice(int what);
};
int Counter::add(int by, const char *) { KEEP; return count += by; }
int Counter::twice(int what) { KEEP; return 2 * what; }
F int references(const int &a, Plain &b, Plain &&c) { KEEP; return a + b.x + c.y; }
F std::string joined(const std::string &a, std::string b, std::string *c) { KEEP; return a + b + *c; }
F int viewed(std::string_view view, int after) { KEEP; return after; }
F Colour painted(Colour a, Empty, int b) { KEEP; return a; }
F int owned(Owner a, Copied b, int c) { KEEP; return a.x + static_cast<int>(b.x) + c; }
F Owner made(int x) { KEEP; return Owner(x); }
F Plain summed(Plain a, Plain b) { KEEP; return { a.x + b.x, a.y + b.y }; }
template <typename T> F T same(T value) { KEEP; return value; }
F int listed(const std::vector<int> &all, std::nullptr_t none) { KEEP; return static_cast<int>(all.size()); }
F void thrower(int what) { KEEP; if (what) throw what; }
F bool letters(char16_t a, char32_t b, wchar_t c) { KEEP; return a < b; }
}

// Each has a small frame, so that it is captured.
using namespace shapes;

F void join(std::string *third)
{
	std::string first = "inline text";
	joined(first, "second", third);
	KEEP;
}

F void join_long()
{
	std::string first = "text that has no room in the object";
	joined(first, std::string(), &first);
	KEEP;
}

F void own()
{
	owned(Owner(12), Copied(13), 14);
	made(15);
	KEEP;
}

F void refer()
{
	const int five = 5;
	Plain plain{ 1, 2 };
	references(five, plain, Plain{ 8, 9 });
	summed(plain, Plain{ 16, 17 });
	auto inner = [&](int inside) __attribute__((noinline)) { KEEP; plain.x = inside; };
	inner(22);
	KEEP;
}

int main(int argc, char **)
{
	Counter counter;
	Square square(3);
	Base *base = &square;
	std::string third = "third";

	mark(1);
	refer();
	join(&third);
	join_long();
	viewed(std::string_view("viewed text", 6), 10);
	painted(Colour::green, Empty(), 11);
	own();
	same(18.5);
	same<unsigned char>(200);
	listed(std::vector<int>(3), nullptr);
	counter.add(19, "why");
	Counter::twice(20);
	base->area(argc);
	try {
		thrower(21);
	} catch (int) {
		KEEP;
	}
	letters(u'\u00e9', U'\U0001f600', L'w');
	mark(2);
	return 0;
}
