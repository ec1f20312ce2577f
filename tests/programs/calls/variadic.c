/* Variadic calls: al says how many vector registers hold doubles, and a hook that changes it loses them.
 *
 * expect: 1.5 2.5 3.5 text 4 5.5 c 6.500
 * expect: sums 36.0 55 10.50
 */
#include <stdarg.h>
#include "check.h"

NOINLINE static double doubles(int count, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, count);
	while (count--)
		sum += va_arg(list, double);
	va_end(list);
	return sum;
}
NOINLINE static int integers(int count, ...)
{
	va_list list;
	int sum = 0;

	va_start(list, count);
	while (count--)
		sum += va_arg(list, int);
	va_end(list);
	return sum;
}
NOINLINE static long double long_doubles(int count, ...)
{
	va_list list;
	long double sum = 0;

	va_start(list, count);
	while (count--)
		sum += va_arg(list, long double) + va_arg(list, double);
	va_end(list);
	return sum;
}
NOINLINE static void print(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vprintf(format, list);
	va_end(list);
}

int main(void)
{
	print("%.1f %.1f %.1f %s %d %.1f %c %.3Lf\n", 1.5, 2.5, 3.5, "text", 4, 5.5, 'c', 6.5L);
	print("sums %.1f %d %.2Lf\n", doubles(8, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), integers(10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
	      long_doubles(2, 1.5L, 2.0, 3.0L, 4.0));
	return 0;
}
