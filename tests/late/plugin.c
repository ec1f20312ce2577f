/* Is loaded while the program runs. */
int ada_late_plugin(int x);
__attribute__((noinline, noclone)) int ada_late_plugin(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 3;
}
