/* A call that never returns, and runs all the while: in the program itself, or in a library that is not recorded. */
unsigned step(unsigned number);
void serve(void);

__attribute__((noinline, noclone)) unsigned step(unsigned number)
{
	__asm__ volatile("" : "+r"(number));
	return number + 1;
}

void serve(void)
{
	for (unsigned number = 0;;)
		for (int i = 0; i < 100000; i++) /* most of it is its own */
			number = i ? number * 7 : step(number);
}
