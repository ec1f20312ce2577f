/* Calls of proto.c. */
#include <stddef.h>
int mkdir(const char *path, unsigned mode);
long pread(int fd, void *buffer, unsigned long count, long offset);
double pow(double x, double y);
int printf(const char *format, ...);
int of_its_own(int a);

__attribute__((noinline)) void mark(int times)
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0" : : "r"(times));
}

int main(void)
{
	volatile double two = 2;
	char buffer[32] = "text on the stack";

	mark(1);
	mkdir("/a/directory", 0755);
	pread(-1, buffer, 16, 1l << 33);
	pow(two, 1.5);
	printf(buffer);
	of_its_own(1);
	mark(2);
	return 0;
}
