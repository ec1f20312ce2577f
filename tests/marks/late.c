/* Loaded by kinds.c while it runs. */
int late_function(int value);
static __attribute__((noinline, used)) int not_exported(int value)
{
	return value * value - 7 * value + 1;
}
int late_function(int value)
{
	return not_exported(value) * 2;
}
