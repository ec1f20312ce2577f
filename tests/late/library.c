/* A library that is not traced: what it calls inside is only seen where a rule names it. */
int ada_late_inner(int x);
__attribute__((noinline, noclone)) int ada_late_inner(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

int ada_late_library(int count);
int ada_late_library(int count)
{
	int x = 0;

	for (int i = 0; i < count; i++)
		x = ada_late_inner(x);
	return x;
}
