/* Functions whose types test_types.c knows. Built with debug information, and once without. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define F __attribute__((noinline, visibility("default")))
typedef const volatile unsigned short small;
typedef enum { MINUS = -1, ONE = 1 } sign;
enum plain { A, B };
struct pair {
	long a, b;
};
struct big {
	long a[5];
};
struct one {
	int a;
};

F int an_int(void)
{
	return 1;
}
F unsigned a_uint(void)
{
	return 1;
}
F long a_long(void)
{
	return 1;
}
F size_t a_size(void)
{
	return 1;
}
F char a_char(void)
{
	return 1;
}
F unsigned char a_uchar(void)
{
	return 1;
}
F bool a_bool(void)
{
	return true;
}
F short a_short(void)
{
	return 1;
}
F small a_small(void)
{
	return 1;
}
F sign a_sign(void)
{
	return ONE;
}
F enum plain an_enum(void)
{
	return B;
}
F void *a_pointer(void)
{
	return NULL;
}
F float a_float(void)
{
	return 1;
}
F double a_double(void)
{
	return 1;
}
F long double a_long_double(void)
{
	return 1;
}
F void nothing(void)
{
}
F struct pair a_pair(void)
{
	return (struct pair){ 1, 2 };
}
F struct big a_big(short a)
{
	return (struct big){ { a } };
}
F int64_t (*a_function(void))(int)
{
	return NULL;
}

F int many(char a, double x, unsigned short b, struct pair p, struct big q, float y, struct one o, uint64_t last)
{
	return (int)(a + x + b + p.a + q.a[0] + y + o.a + (long)last);
}

/* A static function, and one with two names. */
static __attribute__((noinline)) unsigned short hidden(int a)
{
	return (unsigned short)a;
}
F int uses_hidden(int a)
{
	return hidden(a);
}
F short alias_of(void)
{
	return 1;
}
extern __typeof__(alias_of) an_alias __attribute__((alias("alias_of")));
/* libc's name, another type: debug information goes before the table. */
F short readlinkat(void)
{
	return 1;
}
/* A resolver, as libc has one for memcmp. */
static int compare_bytes(const void *a, const void *b, size_t length)
{
	return length ? *(const char *)a - *(const char *)b : 0;
}
static void *resolve(void)
{
	return (void *)compare_bytes;
}
int memcmp(const void *a, const void *b, size_t length) __attribute__((ifunc("resolve")));
