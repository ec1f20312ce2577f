/* The same in C++: test_types.c. */
namespace ns {
struct Held { ~Held(); int x; };
Held::~Held() { x = 0; }
struct Outer { int y; Held held; };
struct Plain { int y, z, u; Plain() = default; ~Plain() = default; int get() { return y; } };
class Class {
public:
	__attribute__((noinline)) unsigned char method(short a, bool b, const Held &c);
	__attribute__((noinline)) short by_value(Held held, signed char last);
	__attribute__((noinline)) Held held(short a);
	__attribute__((noinline)) virtual int virtual_one(unsigned short a);
	virtual ~Class() {}
	__attribute__((noinline)) void outer(Outer a, short b);
	__attribute__((noinline)) int plain(Plain a, short b);
};
unsigned char Class::method(short a, bool b, const Held &c) { return (unsigned char)(a + b + c.x); }
short Class::by_value(Held held, signed char last) { return (short)(held.x + last); }
Held Class::held(short a) { return Held{a}; }
void Class::outer(Outer a, short b) { a.y = b; }
int Class::plain(Plain a, short b) { return a.get() + b; }
int Class::virtual_one(unsigned short a) { return a; }
__attribute__((noinline)) decltype(nullptr) null() { return nullptr; }
template <typename T> __attribute__((noinline)) T identity(T value) { return value; }
template unsigned short identity(unsigned short);
}
