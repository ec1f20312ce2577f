/* Comes and goes while hooks do: plugin_step is called often, in the library and through its table of symbols. */
int plugin_step(int x);
int plugin_run(int x);

__attribute__((noinline)) int plugin_step(int x)
{
	return x * 3 + 1;
}

int plugin_run(int x)
{
	for (int i = 0; i < 50; i++)
		x = plugin_step(x) & 0xffff;
	return x;
}
