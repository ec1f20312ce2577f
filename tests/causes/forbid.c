/* To be preloaded into ada: a kernel that forbids perf_event_open. */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/syscall.h>

long syscall(long number, ...)
{
	static long (*real)(long, ...);
	long words[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		words[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open) {
		errno = EACCES;
		return -1;
	}
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
