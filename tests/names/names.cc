/* Functions with all kinds of names. Each is called once, and calls nothing. */
#define NAMED(text) __asm__(text)
#define OWN __attribute__((noinline, noclone))

static volatile int sum;

extern "C" OWN void plain(int n) { sum += n; }
/* As gcc calls what it makes of outer() and of ns::work(int). */
OWN void outer_clone(const char *text, int n) NAMED("outer.isra.0");
OWN void outer_clone(const char *text, int n) { sum += n + *text; }
OWN void work_clone(int n) NAMED("_ZN2ns4workEi.constprop.0");
OWN void work_clone(int n) { sum += n; }

namespace ns {
OWN __attribute__((abi_tag("cxx11"))) void tagged(int n) { sum += n; }
template <typename A, typename B> OWN void pair(A a, B b) { sum += (int)(a + b); }
struct box {
	OWN int operator[](int n) const { sum += n; return n; }
	OWN bool operator<(int n) const { sum += n; return n != 0; }
};
}

int main()
{
	ns::box box;

	plain(1);
	outer_clone("a", 7);
	work_clone(2);
	ns::tagged(3);
	ns::pair<int, char>(4, 5);
	return box[6] - 6 + !(box < 7);
}
