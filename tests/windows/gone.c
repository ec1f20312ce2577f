/* Marks at its beginning and at its end, with many more calls in between than a small buffer holds. */
static volatile int kept;

__attribute__((noinline)) void mark_me(void)
{
	kept++;
}

__attribute__((noinline)) void leaf(void)
{
	kept--;
}

int main(void)
{
	for (int i = 0; i < 1000; i++)
		leaf();
	mark_me();
	for (int i = 0; i < 1000000; i++)
		leaf();
	mark_me();
	return 0;
}
