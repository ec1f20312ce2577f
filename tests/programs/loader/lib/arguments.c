/* Functions with arguments in every register that the ABI has for them. */
#include <stdarg.h>

long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + b + c + d + e + f + g + h;
}
double doubles(double a, double b, double c, double d, double e, double f, double g, double h)
{
	return a + b + c + d + e + f + g + h;
}
double mixed(int count, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, count);
	while (count--)
		sum += va_arg(list, double);
	va_end(list);
	return sum;
}
__int128 wide(__int128 a, __int128 b)
{
	return a + b;
}
