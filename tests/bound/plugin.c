/* A library whose functions call one another directly: plugin_run calls plugin_step three times, from two places. */
int plugin_run(int n);
static int plugin_step(int n);

static __attribute__((noinline, noclone)) int plugin_step(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 1;
}

int plugin_run(int n)
{
	int sum = plugin_step(n);

	for (int i = 0; i < 2; i++)
		sum += plugin_step(i);
	return sum;
}
