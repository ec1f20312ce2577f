/* Calls whose arguments and results test_arguments.py knows. */
#include <complex.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef F
#define F __attribute__((noinline))
#endif
/* Of five bytes, so that there is room for a hook; and the call stays, whatever becomes of its result. */
#define KEEP __asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0" : : : "memory")
typedef const volatile unsigned short small;
enum colour { RED = 2, GREEN, BLUE = 200 };
enum sign { MINUS = -1, ZERO, PLUS };
enum flags { F_READ = 1, F_WRITE = 2, F_APPEND = 4, F_SYNC = 16 };
struct point {
	int x, y;
};
struct mixed {
	double real;
	long whole;
};
struct reals {
	float a, b, c;
};
struct big {
	long a[5];
};
struct tagged {
	const char *name;
	short kind;
};
struct fields {
	unsigned a : 3;
	int b : 5;
	unsigned long c : 40;
	bool d : 1;
	enum colour e : 9;
};
union either {
	int number;
	float real;
};
union word {
	const char *text;
	long number;
	struct {
		short low, high;
	};
};
struct variant {
	int kind;
	union {
		int whole;
		float real;
	};
};
union odd {
	long bits;
	float _Complex pair;
};
typedef int (*callback)(const char *, ...);

F int integers(int8_t a, uint8_t b, short c, small d, int e, unsigned f)
{
	KEEP;
	return a + b + c + d + e + (int)f;
}
F long longs(long a, unsigned long b, size_t c, int64_t d)
{
	KEEP;
	return -a;
}
F bool truth(bool yes, _Bool no)
{
	KEEP;
	return yes && !no;
}
F char characters(char a, char b, char c, signed char d)
{
	KEEP;
	return a;
}
F enum colour colours(enum colour a, enum colour b, enum colour c)
{
	KEEP;
	return BLUE;
}
F enum sign signs(enum sign a, enum sign b)
{
	KEEP;
	return MINUS;
}
F enum flags flagged(enum flags a, enum flags b, enum flags c)
{
	KEEP;
	return F_SYNC;
}
F double reals(float a, double b, int between, double c)
{
	KEEP;
	return a + b + between + c;
}
F float narrow(float a)
{
	KEEP;
	return a;
}
F void *pointers(void *a, struct point *b, const int *c, callback d, struct point **e)
{
	KEEP;
	return a;
}
F const char *texts(const char *on_stack, const char *constant, const char *heap, const char *none)
{
	KEEP;
	return constant;
}
F int stacked(int a, int b, int c, int d, int e, int f, short g, const char *h, double i, uint8_t j)
{
	KEEP;
	return g;
}
F struct point by_value(struct point a, struct mixed b, struct reals c, struct big d, int e)
{
	KEEP;
	return a;
}
F struct mixed mixed(double a)
{
	KEEP;
	return (struct mixed){ a, 7 };
}
F struct big hidden(int a, const char *b)
{
	KEEP;
	return (struct big){ { a } };
}
F __int128 wide(__int128 a, unsigned __int128 b, int c)
{
	KEEP;
	return a;
}
F long double extended(long double a, int b)
{
	KEEP;
	return a;
}
F struct tagged tagged(struct tagged a)
{
	KEEP;
	return a;
}
F struct fields fields(struct fields a, int b)
{
	KEEP;
	return a;
}
F union either either(union either a)
{
	KEEP;
	return a;
}
F struct variant unions(union word a, union word b, struct variant c, union odd d)
{
	KEEP;
	return c;
}
F double _Complex complexes(double _Complex a, float b)
{
	KEEP;
	return a;
}
F int variadic(const char *format, int first, ...)
{
	KEEP;
	return first;
}
F void nothing(void)
{
	KEEP;
}
F int unnamed(int, int b);
F int unnamed(int a, int b)
{
	KEEP;
	return b;
}
F int unused(int a, int b, int c)
{
	KEEP;
	return c;
}
F void large(const char *text)
{
	KEEP;
}
F void mark(int times)
{
	KEEP;
}
/* The compiler may do with it what it likes. */
static F int local(int a, int unused_here, struct point *p)
{
	KEEP;
	return a + p->x;
}

/* Each has a small frame, so that it is captured. */
F void strings(const char *heap)
{
	char inner[] = "on the \"stack\"\n";

	texts(inner, "a constant", heap, NULL);
	KEEP;
}

F void long_string(void)
{
	char room[600];

	memset(room, 'r', sizeof room - 1);
	room[sizeof room - 1] = 0;
	large(room);
	KEEP;
}

F void structures(int argc)
{
	struct point point = { 3, -4 };

	by_value(point, (struct mixed){ 2.5, -9 }, (struct reals){ 1, 2, 3 }, (struct big){ { 11, 12, 13, 14, 15 } }, 16);
	local(29 + argc - 1, 30, &point);
	KEEP;
}

F void return_large(void)
{
	hidden(17, "behind the place for the result");
	KEEP;
}

int main(int argc, char **argv)
{
	char *heap = strdup("on the heap");
	static struct point point = { 3, -4 }, *to = &point;
	static const int three = 3;
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
	strings(heap);
	stacked(1, 2, 3, 4, 5, 6, -7, "eighth", 9.5, 10);
	structures(argc);
	mixed(0.25);
	return_large();
	wide(-(__int128)1 << 64, (unsigned __int128)1 << 100, 18);
	extended(1.25L, 19);
	tagged((struct tagged){ "name", -20 });
	fields((struct fields){ 5, -7, 0x8000000001, true, BLUE }, 20);
	either((union either){ .number = 21 });
	unions((union word){ .number = 0x70006 }, (union word){}, (struct variant){ 1, { 3 } }, (union odd){ 0x123 });
	complexes(1.0 + 2.0 * I, 22.5f);
	variadic("%d %s", 23, 1, "x");
	nothing();
	unnamed(24, 25);
	unused(26, 27, 28);
	long_string();
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	free(heap);
	mark(2);
	return argv == NULL;
}
