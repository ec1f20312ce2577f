/* Weak and strong definitions, an ifunc, data and a function whose address both sides compare. */
int answer(void)
{
	return 2;
}
__attribute__((weak)) int maybe(void)
{
	return 3;
}
int library_value = 4;
int (*library_address(void))(void)
{
	return answer;
}
static int fast(void)
{
	return 5;
}
static void *resolve(void)
{
	return (void *)fast;
}
int chosen(void) __attribute__((ifunc("resolve")));
