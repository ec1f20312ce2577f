/* A library without debug information whose name promises libc's prototypes. */
int mkdir(const char *path, unsigned mode)
{
	return path ? -1 : (int)mode;
}
long pread(int fd, void *buffer, unsigned long count, long offset)
{
	return buffer ? (long)count : fd + offset;
}
double pow(double x, double y)
{
	return x * y;
}
int printf(const char *format, ...)
{
	return format ? 5 : 0;
}
int of_its_own(int a)
{
	return a + 1;
}
