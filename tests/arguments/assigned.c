/* Parameters that are assigned to before anything else happens: debug information then tells of the new value at the function's
 * entry, and what was handed over is not there any more, or in another's register. And parameters that nobody reads: optimised
 * callers may not even fill their registers. */
#define F __attribute__((noinline))
#define USE(x) __asm__ volatile("" ::"g"(x) : "memory")
struct point {
	int x, y;
};
struct two {
	long a, b;
};

F void mark(int times)
{
	USE(times);
	__asm__("nop; nop; nop; nop; nop; nop");
}
F int copied(int a, int b)
{
	a = b;
	USE(a);
	return a + b;
}
F int copied_back(int a, int b)
{
	b = a;
	USE(b);
	USE(a);
	return b;
}
F int constant(int a, int b)
{
	a = 5;
	USE(a);
	USE(b);
	return a;
}
F int counted(int a, int b)
{
	USE(b);
	a++;
	USE(a);
	return a;
}
F int swapped(int a, int b)
{
	int t = a;

	a = b;
	b = t;
	USE(a);
	USE(b);
	return a - b;
}
F static int own_copied(int a, int b)
{
	a = b;
	USE(a);
	return a + b;
}
F static int own_swapped(int a, int b)
{
	int t = a;

	a = b;
	b = t;
	USE(a);
	USE(b);
	return a - b;
}
F static int own_unread(int a, long b, int c)
{
	USE(c);
	return c;
}
F int unread(int a, long b, int c)
{
	USE(c);
	return c;
}
F int half(struct point a, int c)
{
	USE(c);
	return a.y;
}
F int halves(struct two a, int c)
{
	USE(c);
	return (int)a.b;
}
F static int own_halves(struct two a, int c)
{
	USE(c);
	return (int)a.b;
}
F double real_unread(double a, double b)
{
	USE(b);
	return 1.5;
}

int main(void)
{
	volatile int x = 40;

	mark(1);
	for (int i = 1; i < 3; i++) {
		USE(copied(x + i, x + 3));
		USE(copied_back(x + i, x + 3));
		USE(constant(x + i, x + 3));
		USE(counted(x + i, x + 3));
		USE(swapped(x + i, x + 3));
		USE(own_copied(x + i, x + 3));
		USE(own_swapped(x + i, x + 3));
		USE(own_unread(x + i, x + 2, x + 3));
		USE(unread(x + i, x + 2, x + 3));
		USE(half((struct point){ x + i, x + 2 }, x + 3));
		USE(halves((struct two){ x + i, x + 2 }, x + 3));
		USE(own_halves((struct two){ x + i, x + 2 }, x + 3));
		USE(real_unread(x + i, x + 3));
	}
	mark(2);
	return 0;
}
