/* Comes and goes while the program runs. */
long late_leaf(long value);

long late_leaf(long value)
{
	return value + 1;
}
