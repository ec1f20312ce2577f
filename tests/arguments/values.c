/* Calls whose arguments and results test_arguments.py knows. */
#include <complex.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define F __attribute__((noinline, noclone, noipa))
typedef const volatile unsigned short small;
enum colour { RED = 2, GREEN, BLUE = 200 };
enum sign { MINUS = -1, ZERO, PLUS };
enum { READ = 1, WRITE = 2, APPEND = 4, ALL = 7 };
enum flags { F_READ = 1, F_WRITE = 2, F_APPEND = 4, F_SYNC = 16 };
struct point { int x, y; };
struct mixed { double real; long whole; };
struct reals { float a, b, c; };
struct bits { unsigned low : 3, high : 5; };
struct big { long a[5]; };
struct tagged { const char *name; short kind; };
union either { int number; float real; };
typedef int (*callback)(const char *, ...);

F int integers(int8_t a, uint8_t b, short c, small d, int e, unsigned f) { return a + b + c + d + e + (int)f; }
F long longs(long a, unsigned long b, size_t c, int64_t d) { return -a; }
F bool truth(bool yes, _Bool no) { return yes && !no; }
F char characters(char a, char b, char c, signed char d) { return a; }
F enum colour colours(enum colour a, enum colour b, enum colour c) { return BLUE; }
F enum sign signs(enum sign a, enum sign b) { return MINUS; }
F enum flags flagged(enum flags a, enum flags b, enum flags c) { return F_SYNC; }
F double reals(float a, double b, int between, double c) { return a + b + between + c; }
F float narrow(float a) { return a; }
F void *pointers(void *a, struct point *b, const int *c, callback d, struct point **e) { return a; }
F const char *texts(const char *on_stack, const char *constant, const char *heap, const char *none) { return constant; }
F int stacked(int a, int b, int c, int d, int e, int f, short g, const char *h, double i, uint8_t j) { return g; }
F struct point by_value(struct point a, struct mixed b, struct reals c, struct big d, int e) { return a; }
F struct mixed mixed(double a) { return (struct mixed){ a, 7 }; }
F struct big hidden(int a, const char *b) { return (struct big){ { a } }; }
F __int128 wide(__int128 a, unsigned __int128 b, int c) { return a; }
F long double extended(long double a, int b) { return a; }
F struct tagged tagged(struct tagged a) { return a; }
F union either either(union either a) { return a; }
F struct bits bits(struct bits a) { return a; }
F double _Complex complexes(double _Complex a, float b) { return a; }
F int variadic(const char *format, int first, ...) { return first; }
F void nothing(void) { __asm__ volatile(""); }
F int unnamed(int, int b);
F int unnamed(int a, int b) { return b; }
F int unused(int a, int b, int c) { return c; }
/* The compiler may do with it what it likes. */
static __attribute__((noinline)) int local(int a, int unused_here, struct point *p) { __asm__ volatile(""); return a + p->x; }
F void large(const char *text) { __asm__ volatile("" : : "r"(text)); }
F void mark(int times) { __asm__ volatile("" : : "r"(times)); }

int main(int argc, char **argv)
{
	char *heap = strdup("on the heap");
	char line[] = "on the \"stack\"\n";
	struct point point = { 3, -4 }, *to = &point;
	static const int three = 3;
	char room[400];
	int fd;

	mark(1);
	integers(-5, 250, -300, 65535, -70000, 4000000000u);
	longs(-1, UINT64_MAX, 1ul << 40, INT64_MIN);
	truth(true, false);
	characters('x', '\n', '\0', -1);
	colours(RED, BLUE, (enum colour)9);
	signs(MINUS, PLUS);
	flagged(F_READ | F_APPEND, (enum flags)(F_WRITE | 32), (enum flags)0);
	reals(1.5f, -0.1, 7, 1e300);
	narrow(0.1f);
	pointers(NULL, &point, &three, printf, &to);
	{
		char inner[] = "on the \"stack\"\n";
		texts(inner, "a constant", heap, NULL);
		__asm__ volatile("" : : "r"(inner) : "memory");
	}
	stacked(1, 2, 3, 4, 5, 6, -7, "eighth", 9.5, 10);
	by_value(point, (struct mixed){ 2.5, -9 }, (struct reals){ 1, 2, 3 }, (struct big){ { 11, 12, 13, 14, 15 } }, 16);
	mixed(0.25);
	hidden(17, "behind the place for the result");
	wide(-(__int128)1 << 64, (unsigned __int128)1 << 100, 18);
	extended(1.25L, 19);
	tagged((struct tagged){ "name", -20 });
	either((union either){ .number = 21 });
	bits((struct bits){ 5, 17 });
	complexes(1.0 + 2.0 * I, 22.5f);
	variadic("%d %s", 23, 1, "x");
	nothing();
	unnamed(24, 25);
	unused(26, 27, 28);
	local(29 + argc - 1, 30, &point);
	memset(room, 'r', sizeof room - 1);
	room[sizeof room - 1] = 0;
	large(room);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	free(heap);
	mark(2);
	return (int)strlen(line) + (point.x == 99) + (argv == NULL);
}
