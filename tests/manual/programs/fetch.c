/* A call with a string, a structure and a floating point number, of ada-dump(1). */
#include <stdio.h>

struct size {
	int width, height;
};

static volatile double sink;

__attribute__((noinline)) void fetch(const char *name, struct size size, double scale)
{
	sink += name[0] * size.width * size.height * scale;
}

int main(void)
{
	fetch("logo", (struct size){ 640, 480 }, .5);
	return 0;
}
